"""Writes the tokenizer goldens of the starter. Usage: golden_tokenizer.py GGUF OUTPUT.json"""

import json
import sys
from pathlib import Path

import mlx.core as mx
import tokenizers
from tokenizers import Tokenizer

import tokenizer_texts as texts
from golden_json import write
from starter_gguf import StarterGguf

HOW = (
    "Made by test/oracle/golden_tokenizer.py from the starter GGUF. encode: special-looking text becomes its special "
    "token; encodePlain: the same text with no special token known. Decoding all ids gives the text back. decode: ids "
    "that may end inside a character, and their text with U+FFFD for what is incomplete."
)


def encoded(tokenizer, strings):
    rows = []
    for text in strings:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if tokenizer.decode(ids, skip_special_tokens=False) != text:
            raise ValueError(f"Decoding does not give {text!r} back.")
        rows.append([text, ids])
    return rows


def without_special_tokens(gguf):
    description = json.loads(gguf.tokenizer().to_str())
    description["added_tokens"] = []
    return Tokenizer.from_str(json.dumps(description))


def cut_short(tokenizer, strings):
    rows = []
    for text in strings:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        rows += [[ids[:n], tokenizer.decode(ids[:n], skip_special_tokens=False)] for n in range(1, len(ids) + 1)]
    return rows


def main(gguf, path):
    tokenizer = gguf.tokenizer()
    plain = without_special_tokens(gguf)
    sections = {
        "encode": encoded(tokenizer, texts.ORDINARY + texts.SPECIAL_LOOKING),
        "encodePlain": encoded(plain, texts.SPECIAL_LOOKING),
        "decode": cut_short(tokenizer, texts.CUT),
    }
    write(path, {"how": HOW, "versions": {"mlx": mx.__version__, "tokenizers": tokenizers.__version__}}, sections)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: golden_tokenizer.py GGUF OUTPUT.json")
    mx.set_default_device(mx.cpu)
    main(StarterGguf(sys.argv[1]), Path(sys.argv[2]))
