# Kernels between classes, functions inside functions, decorators of others and odd but legal Python.
# RUN: tilec --emit=tir %s -o -
# CHECK: kernel @scale_kernel(
# CHECK: kernel @shift_kernel(
import contextlib
import functools
import os
import sys
from typing import (
    Any,
    Callable,
)

import triton
import triton.language as tl

__all__ = ["scale", "shift"]

if sys.version_info < (3, 8): raise RuntimeError("too old")
os.environ.setdefault("TRITON_CACHE_DIR", os.path.join("/tmp", f"cache-{os.getpid()}"))
matrix = lambda m, n, /, *, fill=0: [[fill] * n for _ in range(m)]
x: int; y: "str" = "a"; z = x_ = None
table = {
    "a": 1, **{"b": 2},
    "c": [i ** 2 for i in range(10) if i % 2 and i > 3],
    "d": {k: v for k, v in zip("ab", (1, 2))}, "e": {*()},
}


def measured(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        with contextlib.suppress(ValueError), open(os.devnull) as f:
            global table
            nonlocal_count = 0
            while True:
                nonlocal_count += 1
                if nonlocal_count > 3: break
            else:
                yield from ()
        return fn(*args, **kwargs)
    return inner


class Scale(object):
    """Keeps a factor."""
    factor = 2.0

    @staticmethod
    @measured
    def run(t, *rest, factor: float = factor, **options):
        async def later():
            async with t as u:
                await u
            return [v async for v in u]
        scale_kernel[(1, )](t, factor, **options)

    def __matmul__(self, other): return other @ self.factor


@triton.jit
def scale_kernel(p: "*fp32:16", factor: "fp32", BLOCK: tl.constexpr = 64):  # noqa: E501
    # Μέγεθος — a comment in another script; 注释
    o = tl.arange(0, BLOCK)  ; x = tl.load(p + o)
    tl.store(p + o, x * factor)


@triton.jit
def shift_kernel(p: "*i32", by: "i32" = 1, *, BLOCK: tl.constexpr = 32) -> None:
    r"""Adds \d to each."""
    name = "unused"
    o = tl.arange(0, BLOCK); tl.store(p + o, \
        tl.load(p + o) + by)


match = 3
print(match, "done", end="", file=sys.stderr) if __name__ == "__main__" else None
