# Lists of configs as projects write them.
# RUN: tilec --emit=manifest %s -o -
# CHECK: "name": "first"
# CHECK: "constexprs": {"A": 1, "B": 64, "C": "x"}
# CHECK: "num_warps": 1
# CHECK: "name": "second"
# CHECK: "constexprs": {"A": 3, "B": 16, "C": "both"}
# CHECK: "num_warps": 2
# CHECK: "name": "third"
# CHECK: "constexprs": {"A": 8, "B": 128, "C": "fp16"}
import itertools
import os

import torch
import triton
import triton.language as tl
from triton import Config

IS_HIP = torch.version.hip is not None
WARPS = [1, 2] if not IS_HIP else [4]
STAGES = int(os.getenv("STAGES", "2"))
BASE = dict(C="x")
CONFIGS = [
    Config({"A": a, "B": 1, **dict(BASE, B=b)}, num_warps=w, num_stages=STAGES)
    for a, (b, w) in zip([1, 2], itertools.product([64], WARPS))
]


def keep(config):
    return config["B"] > 8


def kinds():
    """All that are kept, the last one first."""
    found = []
    for i, (name, wide) in enumerate({"narrow": 8, "both": 16}.items()):
        if any([wide < 4, name.startswith("z")]):
            continue
        entry = {"A": i + 2}
        entry["B"] = wide
        entry["C"] = name.lower()
        if keep(entry):
            found += [Config(entry, num_warps=2)]
    return [*reversed(found), *found]


def by_device(name: str = "cuda", *, sizes=(128, 256)):
    table = {"cuda": 8, "hip": 4}
    size = table.get(name, 1)
    n = 0
    while n < len(sizes):
        if sizes[n] == 128:
            break
        n += 1
    return [Config({"A": size, "B": sizes[n], "C": f"fp{16 if size > 4 else 8}"})]


@triton.autotune(CONFIGS, ["C"])
@triton.jit
def first(p: "*i32", A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    tl.store(p, A + B)


@triton.autotune(configs=kinds(), key=[], warmup=1, rep=2, use_cuda_graph=True)
@triton.jit
def second(p: "*i32", A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    tl.store(p, A + B)


@triton.autotune(configs=by_device("cuda"), key=["A"])
@triton.jit
def third(p: "*i32", A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    tl.store(p, A + B)
