# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# One function does not parse, and one uses what there is not: both matter only to who needs them.
import triton
import triton.language as tl

from .gone import lost

_HIDDEN = tl.constexpr(1)
PLAIN = 4
UNKNOWN = tl.constexpr(undefined_function())


@triton.jit
def fine(x):
    return x


@triton.jit
def broken(x):
    return x +


@triton.jit
def mistaken(x):
    return tl.squirt(x) + lost(x)


def python_alone(x):
    return x
