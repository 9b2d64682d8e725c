# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Functions with constants, defaults and conditions of their own module.
import triton
import triton.language as tl
from triton_kernels_that_nobody_has import tl as language

FACTOR = tl.constexpr(2)
_HIDDEN = tl.constexpr(99)
WIDE = tl.int64


@triton.jit
def double(x, by=FACTOR):
    return x * by


if FACTOR == 2:

    @triton.jit
    def chosen(x):
        return x + 30

else:

    @triton.jit
    def chosen(x):
        return x + 31


@triton.jit
def in_language(x):
    return language.where(x > 0, x, 0)


@triton.jit
def not_for_this_compiler(x):
    return await x


def widths():
    return [triton.Config({"BLOCK": 8 * FACTOR}), triton.Config({"BLOCK": 32})]
