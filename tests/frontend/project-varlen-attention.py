# Sequences of different lengths, walked with early returns, causal masks and optional tensors.
# RUN: tilec --emit=tir %s -o - -D HEAD=64 -D BLOCK=64 -D CAUSAL=True -s 'q=*bf16:16,k=*bf16:16,v=*bf16:16,out=*bf16:16,cu_seqlens=*i32:16,bias=None,scale=fp32,stride_t=i32:16'
# RUN: tilec --emit=tir %s -o - -D HEAD=32 -D BLOCK=128 -D CAUSAL=False --num-warps=8 -s 'q=*fp16:16,k=*fp16:16,v=*fp16:16,out=*fp16:16,cu_seqlens=*i32:16,bias=*fp32:16,scale=fp32,stride_t=i32:16'
# CHECK: "CAUSAL": true
# CHECK: bf16[64,64]
# CHECK: "CAUSAL": false
# CHECK: f16[128,32]
from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass
class Batch:
    tokens: torch.Tensor
    cu_seqlens: torch.Tensor

    @property
    def longest(self) -> int:
        return int((self.cu_seqlens[1:] - self.cu_seqlens[:-1]).max())


@triton.jit
def _bounds(cu_seqlens, batch):
    begin = tl.load(cu_seqlens + batch).to(tl.int64)
    end = tl.load(cu_seqlens + batch + 1).to(tl.int64)
    return begin, end, (end - begin).to(tl.int32)


@triton.jit
def _inner(acc, l_i, m_i, qt, k, v, bias, begin, length, row, scale, stride_t, lo, hi,
           HEAD: tl.constexpr, BLOCK: tl.constexpr, MASK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    dims = tl.arange(0, HEAD)
    for start in range(lo, hi, BLOCK):
        start = tl.multiple_of(start, BLOCK)
        n = start + cols
        kt = tl.load(k + (begin + n)[None, :] * stride_t + dims[:, None], mask=n[None, :] < length, other=0.0)
        s = tl.dot(qt, kt) * scale
        if bias is not None:
            s += tl.load(bias + n, mask=n < length, other=0.0)[None, :]
        s = tl.where(n[None, :] < length, s, float("-inf"))
        if MASK:
            s = tl.where(row[:, None] >= n[None, :], s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        vt = tl.load(v + (begin + n)[:, None] * stride_t + dims[None, :], mask=n[:, None] < length, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(vt.dtype), vt)
        m_i = m_new
    return acc, l_i, m_i


@triton.jit
def attention(q, k, v, out, cu_seqlens, bias, scale, stride_t, HEAD: tl.constexpr, BLOCK: tl.constexpr,
              CAUSAL: tl.constexpr):
    block = tl.program_id(0)
    batch = tl.program_id(1)
    begin, end, length = _bounds(cu_seqlens, batch)
    if block * BLOCK >= length:
        return
    row = block * BLOCK + tl.arange(0, BLOCK)
    dims = tl.arange(0, HEAD)
    at = (begin + row)[:, None] * stride_t + dims[None, :]
    qt = tl.load(q + at, mask=row[:, None] < length, other=0.0)
    m_i = tl.full([BLOCK], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK], tl.float32)
    acc = tl.zeros([BLOCK, HEAD], tl.float32)
    if CAUSAL:
        acc, l_i, m_i = _inner(acc, l_i, m_i, qt, k, v, bias, begin, length, row, scale, stride_t,
                               0, block * BLOCK, HEAD, BLOCK, False)
        acc, l_i, m_i = _inner(acc, l_i, m_i, qt, k, v, bias, begin, length, row, scale, stride_t,
                               block * BLOCK, (block + 1) * BLOCK, HEAD, BLOCK, MASK=True)
    else:
        acc, l_i, m_i = _inner(acc, l_i, m_i, qt, k, v, bias, begin, length, row, scale, stride_t,
                               0, length, HEAD, BLOCK, False)
    acc /= l_i[:, None]
    tl.store(out + at, acc.to(out.dtype.element_ty), mask=row[:, None] < length)


def forward(batch: Batch, qkv):
    q, k, v = qkv.unbind(1)
    out = torch.empty_like(q)
    attention[(triton.cdiv(batch.longest, 64), len(batch.cu_seqlens) - 1)](
        q, k, v, out, batch.cu_seqlens, None, 1.0, q.stride(0), HEAD=64, BLOCK=64, CAUSAL=True, num_warps=4)
    return out
