# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ring_a and ring_b import each other, and each uses a function of the other.
import triton

from . import ring_b
from .ring_b import last


@triton.jit
def first(x):
    return ring_b.middle(x) + 1


@triton.jit
def base(x):
    return x + 100
