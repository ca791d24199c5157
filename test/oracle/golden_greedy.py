"""Writes mlx-lm's greedy continuations of the float32 starter. Usage: golden_greedy.py MODEL_FOLDER OUTPUT.json"""

import platform
import sys
from importlib.metadata import version
from pathlib import Path

import mlx.core as mx
from mlx_lm import load
from mlx_lm.models.cache import make_prompt_cache

from golden_json import write
from greedy_prompts import PROMPTS

STEPS = 64
HOW = (
    "Made by test/oracle/golden_greedy.py with mlx-lm on CPU from the float32 folder of test/oracle/starter.py: one "
    "forward over the whole prompt, then one token a step; an end token does not stop it. margins[i]: best less second "
    "best logit of the step that chose greedyIds[i]."
)


def best_and_margin(logits):
    second, best = mx.topk(logits, 2).tolist()
    return mx.argmax(logits).item(), round(abs(best - second), 5)


def greedy(model, prompt_ids):
    cache = make_prompt_cache(model)
    ids, margins, new = [], [], prompt_ids
    for _ in range(STEPS):
        logits = model(mx.array(new)[None], cache=cache)[0, -1]
        best, margin = best_and_margin(logits)
        ids.append(best)
        margins.append(margin)
        new = [best]
    return ids, margins


def golden(model, tokenizer, messages):
    prompt_ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    ids, margins = greedy(model, prompt_ids)
    print(f"{len(prompt_ids)} prompt tokens, smallest margin {min(margins)}: {tokenizer.decode(ids)!r}", file=sys.stderr)
    return {"messages": messages, "promptIds": prompt_ids, "greedyIds": ids, "margins": margins}


def main(folder, path):
    model, tokenizer = load(folder)
    versions = {name: version(name) for name in ("mlx", "mlx-lm", "transformers", "tokenizers")}
    header = {"how": HOW, "versions": {**versions, "machine": platform.machine()}}
    write(path, header, {"prompts": [golden(model, tokenizer, messages) for messages in PROMPTS]})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: golden_greedy.py MODEL_FOLDER OUTPUT.json")
    mx.set_default_device(mx.cpu)
    main(sys.argv[1], Path(sys.argv[2]))
