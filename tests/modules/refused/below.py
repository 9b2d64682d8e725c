# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Reached as an attribute of its package.
import triton


@triton.jit
def mistaken(x):
    return x.nothing()
