"""Golden files as JSON with one row a line, so that a change shows as a line; what cannot be seen is escaped."""

import json


def dump(value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def write(path, header, sections):
    parts = [f'"{key}": {dump(value)}' for key, value in header.items()]
    parts += [f'"{name}": [\n' + ",\n".join("  " + dump(row) for row in rows) + "\n]" for name, rows in sections.items()]
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
