# What is not known of the machine is an error that says how to give it, where a kernel needs it.
# RUN: tilec --emit=tir -o %t/out.tir %s
import os

import torch
import triton
import triton.language as tl

A = tl.constexpr(os.environ["TILE_UNSET"])
B = tl.constexpr(1 if "H100" in torch.cuda.get_device_name() else 0)
C = tl.constexpr(torch.cuda.get_device_properties(0).multi_processor_count)
D = tl.constexpr(torch.finfo(torch.int32).max)
E = tl.constexpr(1 if hasattr(torch, "npu") else 0)


@triton.jit
def kernel(p: "*i32"):
    tl.store(p, A)
    tl.store(p, B)
    tl.store(p, C)
    tl.store(p, D)
    tl.store(p, E)


# EXIT: 1
# EXPECT:
# %s:18:17: error: the value of global 'A' is not known while compiling [E0207]
#         tl.store(p, A)
#                     ^
# %s:9:1: note: it is assigned here; -D A=VALUE gives it one
#     A = tl.constexpr(os.environ["TILE_UNSET"])
#     ^
# %s:9:18: note: environment variable 'TILE_UNSET' has no default here; -D TILE_UNSET=VALUE gives it one
#     A = tl.constexpr(os.environ["TILE_UNSET"])
#                      ^~~~~~~~~~~~~~~~~~~~~~~~
# %s:19:17: error: the value of global 'B' is not known while compiling [E0207]
#         tl.store(p, B)
#                     ^
# %s:10:1: note: it is assigned here; -D B=VALUE gives it one
#     B = tl.constexpr(1 if "H100" in torch.cuda.get_device_name() else 0)
#     ^
# %s:10:44: note: 'torch.cuda.get_device_name' comes from a module that is not read
#     B = tl.constexpr(1 if "H100" in torch.cuda.get_device_name() else 0)
#                                                ^~~~~~~~~~~~~~~
# %s:20:17: error: the value of global 'C' is not known while compiling [E0207]
#         tl.store(p, C)
#                     ^
# %s:11:1: note: it is assigned here; -D C=VALUE gives it one
#     C = tl.constexpr(torch.cuda.get_device_properties(0).multi_processor_count)
#     ^
# %s:11:18: note: 'torch.cuda.properties.multi_processor_count' comes from a module that is not read
#     C = tl.constexpr(torch.cuda.get_device_properties(0).multi_processor_count)
#                      ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# %s:21:17: error: the value of global 'D' is not known while compiling [E0207]
#         tl.store(p, D)
#                     ^
# %s:12:1: note: it is assigned here; -D D=VALUE gives it one
#     D = tl.constexpr(torch.finfo(torch.int32).max)
#     ^
# %s:12:30: note: finfo: 'type' must be one of PyTorch's floating-point dtypes, not module torch.int32
#     D = tl.constexpr(torch.finfo(torch.int32).max)
#                                  ^~~~~~~~~~~
# %s:22:17: error: the value of global 'E' is not known while compiling [E0207]
#         tl.store(p, E)
#                     ^
# %s:13:1: note: it is assigned here; -D E=VALUE gives it one
#     E = tl.constexpr(1 if hasattr(torch, "npu") else 0)
#     ^
# %s:13:23: note: 'torch.npu' comes from a module that is not read
#     E = tl.constexpr(1 if hasattr(torch, "npu") else 0)
#                           ^~~~~~~~~~~~~~~~~~~~~
