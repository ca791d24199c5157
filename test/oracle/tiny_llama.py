"""Writes what mlx-lm answers on tiny random Llama folders. Usage: tiny_llama.py OUTPUT.json

Weights come from a seed by integer arithmetic, so that test/support/tiny-llama.ts makes the same bytes without Python:
tensor number i in the order of names draws its words from mulberry32 with seed SEED + i * 1000003, and every value is a
small fraction with a power of two below the line, exact in float16, bfloat16 and float32.
"""

import hashlib
import json
import platform
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_map_with_path
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import load_model

from golden_json import write

STEPS = 64
PROMPT_TOKENS = 40
LOGIT_STEPS = (0, 63)
HOW = (
    "Made by test/oracle/tiny_llama.py with mlx-lm on CPU, everything as float32: one forward over the prompt, then one "
    "token a step. logits: of the steps named by logitSteps, rounded to 5 decimals. sha256: over name and bytes of every "
    "tensor in the order of names. ownDifference: largest difference of those logits between mlx-lm's run on quantised "
    "and on dequantised weights in the model's own element type; 0 where nothing is quantised."
)

BASE = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "vocab_size": 256,
    "max_position_embeddings": 512,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


def quantized(bits, group_size, **layers):
    named = {name.replace("__", "."): value for name, value in layers.items()}
    return {"quantization": {"bits": bits, "group_size": group_size, **named}}


MIXED = quantized(
    4,
    64,
    model__layers__0__self_attn__q_proj={"bits": 8, "group_size": 32},
    model__layers__1__mlp__down_proj=False,
    model__embed_tokens={"bits": 6, "group_size": 64},
)
ODD_BITS = quantized(
    3,
    32,
    model__layers__0__self_attn__v_proj={"bits": 5, "group_size": 32},
    model__layers__1__self_attn__o_proj={"bits": 2, "group_size": 64},
    model__layers__1__mlp__gate_proj={"bits": 6, "group_size": 32},
)

VARIANTS = {
    "plain": ("F32", {}),
    "untied": ("F32", {"tie_word_embeddings": False}),
    "rope llama3": ("F32", {"rope_scaling": LLAMA3}),
    "rope linear": ("F32", {"rope_scaling": {"type": "linear", "factor": 4.0}}),
    "rope dynamic": ("F32", {"rope_scaling": {"type": "dynamic", "factor": 2.0}}),
    "biases": ("F32", {"attention_bias": True, "mlp_bias": True}),
    "wide heads": ("F32", {"head_dim": 32}),
    "a head each": ("F32", {"num_key_value_heads": 4}),
    "one head for all": ("F32", {"num_key_value_heads": 1, "rope_theta": 500000.0}),
    "float16": ("F16", {}),
    "bfloat16": ("BF16", {"tie_word_embeddings": False}),
    "4 bits by 32": ("F16", quantized(4, 32)),
    "4 bits by 64": ("BF16", {"intermediate_size": 128, "tie_word_embeddings": False, **quantized(4, 64)}),
    "4 bits by 128": ("F16", {"hidden_size": 128, "intermediate_size": 128, **quantized(4, 128)}),
    "8 bits by 64": ("F16", {"intermediate_size": 128, **quantized(8, 64)}),
    "8 bits by 32 with biases": ("F32", {"attention_bias": True, "mlp_bias": True, **quantized(8, 32)}),
    "mixed": ("F16", {**MIXED, "intermediate_size": 128}),
    "odd bits": ("BF16", {**ODD_BITS}),
}
TYPES = {"F32": mx.float32, "F16": mx.float16, "BF16": mx.bfloat16}


def words(seed, count):
    state = (seed + np.arange(1, count + 1, dtype=np.uint64) * 0x6D2B79F5).astype(np.uint32)
    mixed = (state ^ (state >> np.uint32(15))) * (state | np.uint32(1))
    mixed ^= mixed + (mixed ^ (mixed >> np.uint32(7))) * (mixed | np.uint32(61))
    return mixed ^ (mixed >> np.uint32(14))


def linears(config):
    """Name, rows, columns and whether it has a bias, of every matrix."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    head = config.get("head_dim") or hidden // config["num_attention_heads"]
    heads, shared = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    attention, mlp = config.get("attention_bias", False), config.get("mlp_bias", False)
    yield "model.embed_tokens", config["vocab_size"], hidden, False
    if not config["tie_word_embeddings"]:
        yield "lm_head", config["vocab_size"], hidden, False
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        yield at + "self_attn.q_proj", heads, hidden, attention
        yield at + "self_attn.k_proj", shared, hidden, attention
        yield at + "self_attn.v_proj", shared, hidden, attention
        yield at + "self_attn.o_proj", hidden, heads, attention
        yield at + "mlp.gate_proj", inner, hidden, mlp
        yield at + "mlp.up_proj", inner, hidden, mlp
        yield at + "mlp.down_proj", hidden, inner, mlp


def quantization(config, name):
    settings = config.get("quantization")
    own = settings and settings.get(name, settings)
    return own or None


def shapes(config):
    """Kind and shape of every tensor by name; of a quantised one also its bits."""
    found = {}
    for name, rows, columns, has_bias in linears(config):
        how = quantization(config, name)
        if how:
            groups = (rows, columns // how["group_size"])
            found[name + ".weight"] = ("packed", (rows, columns * how["bits"] // 32), how["bits"])
            found[name + ".scales"] = ("scales", groups, how["bits"])
            found[name + ".biases"] = ("biases", groups, how["bits"])
        else:
            found[name + ".weight"] = ("plain", (rows, columns), 0)
        if has_bias:
            found[name + ".bias"] = ("plain", (rows,), 0)
    norms = ["model.norm"]
    for layer in range(config["num_hidden_layers"]):
        norms += [f"model.layers.{layer}.{name}_layernorm" for name in ("input", "post_attention")]
    for name in norms:
        found[name + ".weight"] = ("norm", (config["hidden_size"],), 0)
    return found


def sixteenths(drawn):
    return 1 + (drawn >> np.uint32(28)).astype(np.float64)


def values(kind, drawn, scale_words, bits):
    if kind == "scales":
        return sixteenths(drawn) / 2 ** (bits + 5)
    if kind == "biases":
        return ((drawn >> np.uint32(30)).astype(np.float64) - 1.5) / 256 - sixteenths(scale_words) / 64
    if kind == "norm":
        return 1 + ((drawn >> np.uint32(26)).astype(np.float64) - 32) / 128
    return ((drawn >> np.uint32(24)).astype(np.float64) - 128) / 512


def make_tensors(config, element, seed):
    tensors = {}
    for index, (name, (kind, shape, bits)) in enumerate(sorted(shapes(config).items())):
        count = int(np.prod(shape))
        drawn = words(seed + index * 1000003, count)
        # The scales of a matrix follow its biases in the order of names.
        scale_words = words(seed + (index + 1) * 1000003, count)
        if kind == "packed":
            tensors[name] = mx.array(drawn.reshape(shape))
        else:
            tensors[name] = mx.array(values(kind, drawn, scale_words, bits).astype(np.float32).reshape(shape)).astype(TYPES[element])
    return tensors


def digest(tensors):
    whole = hashlib.sha256()
    for name in sorted(tensors):
        whole.update(name.encode())
        whole.update(bytes(memoryview(tensors[name].view(mx.uint8))))
    return whole.hexdigest()


def greedy(model, prompt):
    cache = make_prompt_cache(model)
    ids, rows, new = [], [], prompt
    for _ in range(STEPS):
        logits = model(mx.array(new)[None], cache=cache)[0, -1].astype(mx.float32)
        rows.append(logits)
        new = [mx.argmax(logits).item()]
        ids += new
    return ids, rows


def logits_along(model, prompt, ids):
    """Of every step, with the given tokens fed whatever the logits say."""
    cache = make_prompt_cache(model)
    rows = []
    for new in [prompt, *[[token] for token in ids[:-1]]]:
        rows.append(model(mx.array(new)[None], cache=cache)[0, -1].astype(mx.float32))
    return rows


def dequantize(model):
    """The same model with plain linear maps in the element type of its scales."""

    def plain(layer):
        if not hasattr(layer, "scales"):
            return layer
        how = {"group_size": layer.group_size, "bits": layer.bits}
        weight = mx.dequantize(layer.weight, layer.scales, layer.biases, **how)
        rows, columns = weight.shape
        if isinstance(layer, nn.QuantizedEmbedding):
            other = nn.Embedding(rows, columns)
        else:
            other = nn.Linear(columns, rows, bias="bias" in layer)
            if "bias" in layer:
                other.bias = layer.bias
        other.weight = weight
        return other

    leaves = tree_map_with_path(lambda _, layer: plain(layer), model.leaf_modules(), is_leaf=nn.Module.is_module)
    model.update_modules(leaves)
    return model


def difference(a, b):
    return max(mx.abs(x - y).max().item() for x, y in zip(a, b))


def own_difference(folder, config, prompt, ids):
    if "quantization" not in config:
        return 0
    quantised = logits_along(load_model(folder)[0], prompt, ids)
    return round(difference(quantised, logits_along(dequantize(load_model(folder)[0]), prompt, ids)), 5)


def golden(name, number):
    element, changes = VARIANTS[name]
    config, seed = {**BASE, **changes}, 1 + number
    tensors = make_tensors(config, element, seed)
    prompt = [int(word) % config["vocab_size"] for word in words(seed + 500000007, PROMPT_TOKENS)]
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        mx.save_safetensors(str(folder / "model.safetensors"), tensors, {"format": "mlx"})
        (folder / "config.json").write_text(json.dumps(config))
        model, _ = load_model(folder)
        model.set_dtype(mx.float32)
        ids, rows = greedy(model, prompt)
        own = own_difference(folder, config, prompt, ids)
    margins = [mx.topk(row, 2).tolist() for row in rows]
    smallest = min(abs(a - b) for a, b in margins)
    spread = max(row.max().item() - row.min().item() for row in rows)
    print(f"{name}: {len(set(ids))} different ids, margin {smallest:.5f}, range {spread:.2f}, own {own}", file=sys.stderr)
    return {
        "name": name,
        "seed": seed,
        "element": element,
        "config": config,
        "sha256": digest(tensors),
        "promptIds": prompt,
        "greedyIds": ids,
        "ownDifference": own,
        "logits": [[round(value, 5) for value in rows[step].tolist()] for step in LOGIT_STEPS],
    }


def main(path):
    versions = {name: version(name) for name in ("mlx", "mlx-lm", "numpy")}
    header = {"how": HOW, "versions": {**versions, "machine": platform.machine()}, "logitSteps": list(LOGIT_STEPS)}
    write(path, header, {"variants": [golden(name, number) for number, name in enumerate(VARIANTS)]})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: tiny_llama.py OUTPUT.json")
    mx.set_default_device(mx.cpu)
    main(Path(sys.argv[1]))
