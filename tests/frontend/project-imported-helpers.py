# What comes from files that are not here: one error for each name, whatever else is wrong or right.
# RUN: tilec --emit=tir %s -o -
import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from einops import rearrange

from ..utils import input_guard, is_gather_supported
from .common.index import prepare_chunk_indices as chunks
from .common import softplus, helpers


@triton.jit
def kernel(p: "*fp32", q: "*fp32", n: "i32"):
    o = tl.arange(0, 64)
    x = tl.load(p + o, mask=o < n)
    x = softplus(x)  # error: 'softplus' comes from module '.common', which is not found
    x = softplus(x) + softplus(2 * x)
    i = chunks(o, n)  # error: 'chunks' comes from module '.common.index', which is not found
    y = helpers.scale(x)  # error: 'helpers' comes from module '.common', which is not found
    z = F.softmax(y)  # error: 'torch.nn.functional.softmax' cannot be used in a kernel
    tl.store(q + chunks(o, n), z)


@input_guard
def run(x):
    kernel[(1,)](x, torch.empty_like(x), x.numel())
    return rearrange(x, "a b -> b a")
