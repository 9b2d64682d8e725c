# RUN: tilec --emit=ast -o - %s
# Only imports, functions and simple assignments of the top level are kept.
from __future__ import annotations
import os, numpy as np, torch.nn.functional
try:
    import triton, triton.language as tl
    from triton.language import (load,
                                 store as put,)
except ImportError: from .. import fallback
if os.environ.get("X"): from ..deep.er import *

A: tl.constexpr = tl.constexpr(1)
B = C = 2
D, E = A, B
table[3] = {x: y for x, y in z}
print(f"{A["nested"]}") if A else None


class Model(torch.nn.Module):
    """Not read."""
    BLOCK = 4

    @staticmethod
    def forward(ctx, *args, **kwargs):
        x = {1, 2}
        return await_(x) @ 3


async def wait(): await x


for i in range(3):
    E = i


def host(x: int = 3) -> dict:
    with open("x") as f:
        yield f
    try: raise X
    finally: del x


def host_with_a_set():
    return {1, 2}


if HAS_TRITON:
    @triton.autotune(
        configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (64, 128) for w in [4, 8]],
        key=["n"],
    )
    @triton.jit(noinline=True)
    def kernel(x, n, BLOCK: tl.constexpr):
        return
else:
    def kernel(x): raise NotImplementedError

if __name__ == "__main__":
    main()
# EXPECT:
# import annotations from __future__ as annotations @3:24
# import os as os @4:8
# import numpy as np @4:12
# import torch as torch @4:25
# import triton as triton @6:12
# import triton.language as tl @6:20
# import load from triton.language as load @7:34
# import store from triton.language as put @8:34
# import fallback from .. as fallback @9:36
# import * from ..deep.er as * @10:47
# global A @12:1
#   annotation: attribute constexpr @12:4
#     name tl @12:4
#   call @12:19
#     attribute constexpr @12:19
#       name tl @12:19
#     arg: int 1 @12:32
# global B @13:1
#   int 2 @13:9
# global C @13:5
#   int 2 @13:9
# global D @14:1
#   name A @14:8
# global E @14:4
#   name B @14:11
# global i @32:5
# global E @33:5
#   name i @33:9
# class Model @19:7
#   base: attribute Module @19:13
#     attribute nn @19:13
#       name torch @19:13
#   field BLOCK @21:5
#     int 4 @21:13
# func host @36:5
#   param x @36:10
#     annotation: name int @36:13
#     default: int 3 @36:19
#   body:
#     unsupported with @37:5
#     try @39:5
#       body:
#         raise @39:10
#           name X @39:16
#       finally:
#         unsupported del @40:14
# func host_with_a_set @43:5
#   body:
#     return @44:5
#       set @44:12
#         int 1 @44:13
#         int 2 @44:16
# func kernel @53:9
#   decorator: call @48:6
#     attribute autotune @48:6
#       name triton @48:6
#     keyword configs @49:9
#       listcomp @49:17
#         item: listcomp inner-for @49:17
#           item: call @49:18
#             attribute Config @49:18
#               name triton @49:18
#             arg: dict @49:32
#               key: string "BLOCK" @49:33
#               value: name b @49:42
#             keyword num_warps @49:46
#               name w @49:56
#           for: name w @49:82
#           in: list @49:87
#             int 4 @49:88
#             int 8 @49:91
#         for: name b @49:63
#         in: tuple @49:68
#           int 64 @49:69
#           int 128 @49:73
#     keyword key @50:9
#       list @50:13
#         string "n" @50:14
#   decorator: call @52:6
#     attribute jit @52:6
#       name triton @52:6
#     keyword noinline @52:17
#       True @52:26
#   param x @53:16
#   param n @53:19
#   param BLOCK @53:22
#     annotation: attribute constexpr @53:29
#       name tl @53:29
#   body:
#     return @54:9
# func kernel @56:9
#   param x @56:16
#   body:
#     raise @56:20
#       name NotImplementedError @56:26
