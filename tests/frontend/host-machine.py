# What a source asks of the machine: versions, the target's capability, dtypes and their limits, environment
# variables, modules. Kernels see it, too.
# RUN: tilec --emit=tir --target=sm_90a -D TILE_GIVEN=seven -s q=None -o - %s
import functools
import importlib
import importlib.util
import os
import platform
import sys
from importlib.metadata import version

import torch
import triton
import triton.language as tl
from packaging.version import Version, parse
from torch.utils._triton import has_triton

N = tl.constexpr
CAPABILITY = torch.cuda.get_device_capability()
PROPERTIES = torch.cuda.get_device_properties(0)
IS_HOPPER = CAPABILITY[0] == 9 and PROPERTIES.major == 9 and PROPERTIES.minor == 0
TARGET = triton.runtime.driver.active.get_current_target()
SIZES = {torch.float16: 2, torch.float32: 4, torch.int8: 1}

A = N(1 if IS_HOPPER and TARGET.arch == 90 and TARGET.backend == "cuda" else 0)
B = N(1 if sys.version_info >= (3, 10) and sys.version_info[0] == 3 and sys.platform == "linux" else 0)
C = N(1 if Version(torch.__version__) >= Version("2.0.0") and parse(version("triton")) > parse("3.5") else 0)
D = N(1 if torch.version.hip is None and torch.cuda.is_available() and not torch.xpu.is_available() else 0)
E = N(1 if importlib.util.find_spec("triton") is not None and importlib.util.find_spec("nowhere") is None else 0)
F = N(1 if "TILE_UNSET" not in os.environ and "TILE_GIVEN" in os.environ and os.environ["TILE_GIVEN"] == "seven" else 0)
G = N(1 if os.environ.get("TILE_UNSET", "0") == "0" and os.getenv("TILE_UNSET") is None else 0)
H = N(1 if os.getenv("TILE_GIVEN", "0") == "seven" and has_triton() and platform.system() == "Linux" else 0)
I = N(SIZES[torch.half] + SIZES[torch.float])
J = N(torch.iinfo(torch.int32).max)
K = N(torch.finfo(torch.float16).max)
L = N(1 if torch.iinfo(torch.uint8).min == 0 and torch.finfo(torch.float32).bits == 32 and hasattr(tl, "sort") else 0)
M = N(1 if torch.cuda.is_bf16_supported() and not hasattr(tl, "nothing") else 0)


@functools.cache
def backend():
    try:
        from triton.runtime import driver as the_driver

        found = the_driver.active.get_current_target().backend
    except BaseException as e:
        print(e)
        return "cpu"
    else:
        found = found + "!"
    finally:
        found = found + "?"
    return found


Q = N(1 if backend() == "cuda!?" else 0)


def largest():
    return int(torch.finfo(torch.bfloat16).eps * 2**10)


@triton.heuristics({"HAS": lambda args: isinstance(args["p"], torch.Tensor), "NOT": lambda args: torch.is_tensor(args["q"])})
@triton.jit
def kernel(p: "*i32", q, HAS: tl.constexpr, NOT: tl.constexpr, MOST: tl.constexpr = largest()):
    tl.static_assert(A == 1 and B == 1 and C == 1 and D == 1 and E == 1)
    tl.static_assert(F == 1 and G == 1 and H == 1 and L == 1 and M == 1 and Q == 1)
    tl.static_assert(HAS and not NOT)
    tl.store(p, I)
    tl.store(p + 1, J)
    low: tl.constexpr = torch.finfo(torch.float32).min
    tl.store(p + 2, tl.where(tl.load(p) > low, 1, K.value > 65000.0))
    tl.store(p + 3, MOST)


# CHECK: kernel @kernel(
# CHECK: const value=6
# CHECK: const value=2147483647
# CHECK: const value=8
