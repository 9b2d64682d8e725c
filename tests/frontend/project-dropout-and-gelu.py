# Elementwise kernels with constexpr strings that choose a function.
# RUN: tilec --emit=tir %s -o - -D ACT='silu' -s 'x_ptr=*bf16:16,y_ptr=*bf16:16,n=i32,p=fp32,seed=i32'
# RUN: tilec --emit=tir %s -o - -D ACT='none' -s 'x_ptr=*bf16:16,y_ptr=*bf16:16,n=i32,p=fp32,seed=i32'
# CHECK: func=exp
# CHECK: "ACT": "none"
# CHECK-NOT: func=exp
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

_SQRT_2_OVER_PI = tl.constexpr(0.7978845608028654)


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + libdevice.tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)))


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def activate(x, ACT: tl.constexpr):
    if ACT == "gelu":
        return gelu(x)
    elif ACT in ("silu", "swish"):
        return silu(x)
    elif ACT == "relu":
        return tl.maximum(x, 0.0)
    else:
        tl.static_assert(ACT == "none", "unknown activation " + ACT)
        return x


@triton.jit
def act_dropout(x_ptr, y_ptr, n, p, seed, ACT: tl.constexpr, BLOCK: tl.constexpr = 1024):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = o < n
    x = tl.load(x_ptr + o, mask=mask).to(tl.float32)
    y = activate(x, ACT)
    keep = (o * 747796405) % 1000 > p * 1000
    y = tl.where(keep, y / (1 - p), 0.0)
    tl.store(y_ptr + o, y, mask=mask)


def run(x: torch.Tensor, p: float = 0.1, act: str = "gelu") -> torch.Tensor:
    y = torch.empty_like(x)
    act_dropout[lambda m: (triton.cdiv(x.numel(), m["BLOCK"]),)](x, y, x.numel(), p, 7, ACT=act)
    return y
