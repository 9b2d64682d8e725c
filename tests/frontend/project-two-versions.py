# Definitions under conditions, and two under one name: of those that exist the last one counts, as in
# Python; where a condition is not known while compiling, the first that may exist.
# RUN: tilec --emit=tir %s -o -
# CHECK: kernel @fill(
# CHECK: const value=0x1p+0
# CHECK: func=exp2
# CHECK: const value=0x1p+3
# CHECK: const value=0x1p+4
# CHECK: kernel @unsure(
# CHECK-NOT: kernel
import os

import triton
import triton.language as tl

HAVE_NEW = triton.__version__ >= "3.0"

if HAVE_NEW:

    @triton.jit
    def value():
        return 1.0

elif os.environ.get("OLD", "0") == "2":

    @triton.jit
    def value():
        return 1.5

else:

    @triton.jit
    def value():
        return 2.0


if os.environ.get("FAST", "0") == "1":

    @triton.jit
    def exponent(x):
        return tl.exp(x)
else:
    exponent = tl.exp2
    EIGHT = tl.constexpr(8.0)

try:
    from .special import sixteen as SIXTEEN
except ImportError:
    if not HAVE_NEW:
        SIXTEEN = tl.constexpr(15.0)
SIXTEEN = tl.constexpr(16.0)


@triton.jit
def fill(p: "*fp32"):
    tl.store(p, 0.0)


@triton.jit
def fill(p: "*fp32"):
    tl.store(p, value())
    tl.store(p + 1, exponent(tl.load(p)))
    tl.store(p + 2, EIGHT)
    tl.store(p + 3, SIXTEEN)


if not is_installed("other"):

    def unsure(p):
        raise NotImplementedError
else:

    @triton.jit
    def unsure(p: "*fp32"):
        tl.store(p, 0.0)
