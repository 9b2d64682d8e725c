# The many names of one thing: modules and functions under other names.
# RUN: tilec --emit=tir %s -o -
# CHECK: math {{.*}} func=exp
# CHECK: math {{.*}} func=exp
# CHECK: math {{.*}} func=rsqrt
# CHECK: math {{.*}} func=sqrt
# CHECK: math {{.*}} func=log2
# CHECK: max
# CHECK: store
import math
import triton as T
import triton.language as L
import triton.language.core as core
from triton import cdiv, jit, next_power_of_2 as np2
from triton.language import constexpr, load as read, math as M, store
from triton.language.extra import libdevice
from triton.language.extra.cuda.libdevice import sqrt as device_sqrt

try:
    from triton.language.extra.libdevice import rsqrt
except ModuleNotFoundError:
    from triton.language.math import rsqrt

PI = constexpr(math.pi)
SIZE = L.constexpr(np2(cdiv(100, 4) * 3))
exponent = L.exp


@jit
def twice(x):
    return x + x


@T.jit
def kernel(p: "*fp32", n: "i32"):
    o = L.arange(0, SIZE)
    x = read(p + o, mask=o < n, other=-float("inf"))
    a = M.exp(x) + exponent(x)
    b = rsqrt(a) + device_sqrt(a) + libdevice.log2(a)
    c = L.maximum(twice(b), core.full((SIZE,), 0.0, L.float32))
    store(p + o, c, mask=o < n)
