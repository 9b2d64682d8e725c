# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import extra
import triton


@triton.jit
def seven(x):
    return x + extra.EXTRA
