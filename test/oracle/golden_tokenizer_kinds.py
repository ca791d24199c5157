"""Writes what the reference makes of each kind of tokenizer. Usage: golden_tokenizer_kinds.py GGUF OUTPUT.json

Byte-level kinds take the starter's vocabulary; SentencePiece kinds a small one, trained here and written too.
"""

import json
import sys
from pathlib import Path

import mlx.core as mx
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers.convert_slow_tokenizer import generate_merges

import tokenizer_texts as texts
from golden_json import write
from starter_gguf import StarterGguf

HOW = (
    "Made by test/oracle/golden_tokenizer_kinds.py. files: the tokenizer.json of each kind without vocabulary and merges, "
    "which are the starter's for byte-level kinds and those below for the others (for scores, merges follow from the "
    "order of the tokens). plain: ids with no special token known; marked: ids with special tokens found; decoded: what "
    "the plain ids give back where it is not the text."
)
SPECIAL = ["<s>", "</s>", "<|im_start|>", "<|im_end|>"]
MARKED = [
    "<s>",
    "<s>Hello</s>",
    "<|im_start|>user\nHi there<|im_end|>\n<|im_start|>assistant\n",
    "<s>[INST] Hello [/INST] Hi</s><s>[INST] 12 ² [/INST]",
    " <s> a  b </s> ",
    "<s>\n\n\nx</s>",
]
LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
PATTERNS = {
    "qwen2": rf"{CONTRACTIONS}|{LETTERS}|\p{{N}}|{REST}",
    "llama3": rf"{CONTRACTIONS}|{LETTERS}|\p{{N}}{{1,3}}|{REST}",
    "o200k": "|".join(
        [
            rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+{CONTRACTIONS}?",
            rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*{CONTRACTIONS}?",
            r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ]
    ),
}


def byte_level(gguf, kind):
    tokens = gguf.metadata["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in gguf.metadata["tokenizer.ggml.merges"]]
    vocab = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=kind == "llama3"))
    if kind == "gpt2":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    else:
        cut = pre_tokenizers.Split(Regex(PATTERNS[kind]), "isolated")
        write_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, write_bytes])
    if kind == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in SPECIAL if t in vocab])
    return tokenizer


def trained_model():
    """A small SentencePiece-style vocabulary: unknown, specials, 256 bytes, then pieces by score."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<unk>", *SPECIAL, *byte_tokens], show_progress=False, max_token_length=12
    )
    corpus = [word for text in texts.ORDINARY for word in f" {text}".replace(" ", "\n▁").split("\n")]
    tokenizer.train_from_iterator(corpus, trainer)
    return json.loads(tokenizer.to_str())["model"]


def sentence_piece(kind, model):
    vocab, merges = model["vocab"], [tuple(merge) for merge in model["merges"]]
    if kind == "scores":
        merges = generate_merges(vocab, {t: -i for t, i in vocab.items()}, [t for t in vocab if t[0] == "<" and len(t) > 2])
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    blanks = normalizers.Replace(" ", "▁")
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if kind in ("llama2", "scores"):
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), blanks])
    elif kind.startswith("metaspace"):
        split = kind == "metaspaceSplit"
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="first", split=split)
    else:
        tokenizer.normalizer = blanks
        tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence(steps if kind == "gemma" else [*steps, decoders.Strip(" ", 1, 0)])
    return tokenizer


def with_added_tokens(tokenizer, kind):
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    if kind == "gemma":
        tokenizer.add_tokens([AddedToken("\n\n", special=False, normalized=False)])
    return tokenizer


def without_special_tokens(tokenizer):
    file = json.loads(tokenizer.to_str())
    file["added_tokens"] = [token for token in file["added_tokens"] if not token["special"]]
    return Tokenizer.from_str(json.dumps(file))


def encoded(tokenizer, strings):
    return [[text, tokenizer.encode(text, add_special_tokens=False).ids] for text in strings]


def sections(tokenizers_by_kind, model):
    found = {"files": [], "plain": [], "marked": [], "decoded": []}
    for kind, tokenizer in tokenizers_by_kind.items():
        file = json.loads(tokenizer.to_str())
        file["model"].update(vocab={}, merges=[])
        found["files"].append([kind, file])
        plain = encoded(without_special_tokens(tokenizer), [*texts.ORDINARY[::3], *MARKED])
        found["plain"] += [[kind, *one] for one in plain]
        found["marked"] += [[kind, *one] for one in encoded(tokenizer, MARKED)]
        decoded = [[kind, ids, tokenizer.decode(ids, skip_special_tokens=False)] for _, ids in plain if ids]
        found["decoded"] += [one for one, (text, _) in zip(decoded, (pair for pair in plain if pair[1])) if one[2] != text]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    return found | {"tokens": [tokens], "merges": [model["merges"]]}


def main(gguf, path):
    model = trained_model()
    kinds = {kind: byte_level(gguf, kind) for kind in ("gpt2", "qwen2", "llama3", "o200k")}
    for kind in ("llama2", "metaspace", "metaspaceSplit", "gemma", "scores"):
        kinds[kind] = with_added_tokens(sentence_piece(kind, model), kind)
    write(path, {"how": HOW, "versions": {"tokenizers": tokenizers.__version__}}, sections(kinds, model))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: golden_tokenizer_kinds.py GGUF OUTPUT.json")
    mx.set_default_device(mx.cpu)
    main(StarterGguf(sys.argv[1]), Path(sys.argv[2]))
