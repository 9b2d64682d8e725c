# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Found by -I alone. A name that begins with an underscore is not taken by a star.
import triton
import triton.language as tl

EXTRA = tl.constexpr(7)
_PRIVATE = tl.constexpr(8)


@triton.jit
def half(x):
    return x // 2
