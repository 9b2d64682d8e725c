# Constexprs that decorators compute from the arguments.
# RUN: tilec --emit=tir %s -o - -D EVEN_N=False -s 'x_ptr=*fp32:16,w_ptr=None,seq_ptr=*i32,N=i32,stride=i32:1'
# CHECK: "constexprs": {"HAS_WEIGHT": false, "VARLEN": true, "BLOCK": 128, "EVEN_N": false, "CONTIGUOUS": true, "WIDE": true}
# CHECK: "num_warps": 8
# CHECK-NOT: w_ptr, 
# CHECK: load
import torch
import triton
import triton.language as tl


def _block(args):
    """Half of what is wide."""
    block = 256
    if args["WIDE"]:
        block //= 2
    return block


@triton.heuristics({
    "HAS_WEIGHT": lambda args: args["w_ptr"] is not None,
    "VARLEN": lambda args: args["seq_ptr"] is not None,
    "EVEN_N": lambda args: args["N"] % args["BLOCK"] == 0,
    "CONTIGUOUS": lambda args: args["stride"] == 1,
})
@triton.heuristics(values={"BLOCK": _block, "num_warps": lambda args: 8 if args["BLOCK"] >= 128 else 4})
@triton.jit(do_not_specialize=["N"])
def norm_kernel(x_ptr, w_ptr, seq_ptr, N, stride, HAS_WEIGHT: tl.constexpr, VARLEN: tl.constexpr,
                BLOCK: tl.constexpr, EVEN_N: tl.constexpr, CONTIGUOUS: tl.constexpr,
                WIDE: tl.constexpr = True):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    if VARLEN:
        first = tl.load(seq_ptr + row)
        N = tl.load(seq_ptr + row + 1) - first
    if EVEN_N:
        x = tl.load(x_ptr + row * stride + cols)
    else:
        x = tl.load(x_ptr + row * stride + cols, mask=cols < N, other=0.0)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / N + 1e-6)
    if HAS_WEIGHT:
        y *= tl.load(w_ptr + cols, mask=cols < N)
    tl.store(x_ptr + row * stride + cols, y, mask=cols < N)


def norm(x, w=None):
    norm_kernel[(x.shape[0],)](x, w, None, x.shape[1], x.stride(0))
