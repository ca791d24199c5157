"""Writes the starter GGUF as a float32 MLX-format model folder for mlx-lm. Usage: starter.py GGUF FOLDER"""

import json
import sys
from pathlib import Path

import mlx.core as mx

from starter_gguf import StarterGguf


def write_folder(gguf, folder):
    folder.mkdir(parents=True, exist_ok=True)
    weights = gguf.float32_weights()
    mx.eval(weights)
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    gguf.tokenizer().save(str(folder / "tokenizer.json"))
    write_json(folder / "tokenizer_config.json", gguf.tokenizer_config())
    write_json(folder / "config.json", gguf.config())


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: starter.py GGUF FOLDER")
    mx.set_default_device(mx.cpu)
    write_folder(StarterGguf(sys.argv[1]), Path(sys.argv[2]))
