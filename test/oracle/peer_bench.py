"""mlx-lm as the peer of our benches: one process, model loaded once, JSON lines in and out. Usage: peer_bench.py MODEL_FOLDER

Both timings run mlx-lm's own generate_step as shipped: spans of PREFILL_STEP tokens each ended by an evaluation of the KV
cache, the last prompt token as a step of its own, decoding one step ahead with async_eval.
"""

import ctypes
import hashlib
import inspect
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import mlx.core as mx
from mlx_lm import load
from mlx_lm.generate import generate_step

PREFILL_STEP = inspect.signature(generate_step).parameters["prefill_step_size"].default


def prefill(model, request):
    """From an empty KV cache to the evaluated first token: max_tokens 0 submits no step beyond it."""
    ids = mx.array(request["ids"])
    mx.eval(ids)
    start = time.perf_counter()
    for _ in generate_step(ids, model, max_tokens=0):
        raise RuntimeError("mlx-lm decoded a token while only a prefill was asked for.")
    return {"ms": (time.perf_counter() - start) * 1000, "tokens": len(request["ids"])}


def decode(model, request):
    """From the first token to the n-th after it, each time with the next step already submitted."""
    steps = request["n"]
    tokens = generate_step(mx.array(request["ids"]), model, max_tokens=steps + 1)
    ids = [next(tokens)[0]]
    start = time.perf_counter()
    ids += [next(tokens)[0] for _ in range(steps)]
    ms = (time.perf_counter() - start) * 1000
    tokens.close()
    mx.synchronize()
    return {"ms": ms, "tokens": steps, "ids": ids}


def open_blas():
    """The OpenBLAS that the preloaded forwarder made global, or None; numpy's own copy is another one."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "scipy_openblas_set_num_threads"):
        return None
    library.scipy_openblas_get_config.restype = ctypes.c_char_p
    return library


def set_threads(blas, request):
    if blas is None:
        raise RuntimeError("OpenBLAS is not loaded: start this process with LD_PRELOAD set to the BLAS forwarder.")
    blas.scipy_openblas_set_num_threads(request["n"])
    return {"threads": blas.scipy_openblas_get_num_threads()}


def libmlx_sha256():
    library = next((Path(mx.__file__).parent / "lib").glob("libmlx.*"))
    return hashlib.sha256(library.read_bytes()).hexdigest()


def describe(blas):
    return {
        "ready": True,
        "mlx": mx.__version__,
        "mlxLm": version("mlx-lm"),
        "libmlxSha256": libmlx_sha256(),
        "openBlas": blas.scipy_openblas_get_config().decode() if blas else None,
        "threads": blas.scipy_openblas_get_num_threads() if blas else 1,
        "prefillStepSize": PREFILL_STEP,
    }


def answer(operations, line):
    try:
        request = json.loads(line)
        return operations[request["op"]](request)
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main(folder):
    model, _ = load(folder)
    blas = open_blas()
    operations = {
        "prefill": lambda request: prefill(model, request),
        "decode": lambda request: decode(model, request),
        "threads": lambda request: set_threads(blas, request),
    }
    print(json.dumps(describe(blas)), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(operations, line)), flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: peer_bench.py MODEL_FOLDER")
    mx.set_default_device(mx.cpu)
    main(sys.argv[1])
