# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Classes whose fields, defaults and functions are those of their own module.
from typing import NamedTuple

import triton
import triton.language as tl

from .scale import FACTOR, double as d

TIMES = tl.constexpr(FACTOR + 1)


@triton.aggregate
class Scaled:
    value: tl.tensor
    times: tl.constexpr = TIMES

    @triton.jit
    def get(self):
        return d(self.value) * self.times


class Size(NamedTuple):
    m: tl.constexpr
    n: tl.constexpr = TIMES


@triton.constexpr_function
def area(size):
    return size.m * size.n
