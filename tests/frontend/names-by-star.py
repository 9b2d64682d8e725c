# Names of Triton's own modules by a star, classes named in texts, and everything that can be printed.
# RUN: tilec --emit=manifest -Wno-warnings -D OFF=-1 %s -o -
# CHECK: note: 9223372036854775808 tab line bell{{.*}} é nan class Inner function kernel method value tl.static_print
# CHECK: note: (1, (2, None)) int32 slice(1, 2, None) a range fp32 -1
# CHECK: "NAME": "\u00E9\t\"\uD83D\uDE00"
from collections import namedtuple

import torch
import triton
from triton.language import *
from triton.language.core import _aggregate as aggregate

Pair = namedtuple("Pair", "left right")
BIG = constexpr(2**63)
STRANGE = constexpr("tab\tline\nbell\x07\\ é")
NOT_A_NUMBER = constexpr(float("nan"))


@aggregate
class Inner:
    x: "tensor"
    n: "triton.language.constexpr"

    @triton.constexpr_function
    def __init__(self, x, n):
        self.x = x
        self.n = n


@aggregate
class Outer:
    inner: "Inner"

    @triton.constexpr_function
    def __init__(self, inner):
        self.inner = inner

    @triton.jit
    def value(self):
        return self.inner.x + self.inner.n


@triton.constexpr_function
def counted(n):
    total = 0
    for i in (0, 1, 2, 3, 4, 5)[:n]:
        if i % 2:
            continue
        total += i
    keys = [k for k in {"a": 1, "b": 2}]
    return total * 10 + len(keys)


@triton.jit
def kernel(p: "*i32", OFF: constexpr, NAME: constexpr = "é\t\"\U0001f600"):
    o = Outer(Inner(load(p), 3))
    static_print(BIG, STRANGE, NOT_A_NUMBER, Inner, kernel, o.value, static_print)
    static_print(Pair(1, (2, None)), int32, slice(1, 2), range(3), float32, OFF)
    static_assert(counted(6) == 62)
    store(p + OFF, o.value())
