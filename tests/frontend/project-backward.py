# A backward pass with a lock and partial sums, as tutorials have it.
# RUN: tilec --emit=tir %s -o - -D BLOCK=128 -D GROUPS=8 -s 'dx=*fp16:16,dy=*fp16:16,dw=*fp32:16,w=*fp16:16,x=*fp16:16,mean=*fp32,rstd=*fp32,lock=*i32,stride=i32:16,N=i32'
# CHECK: while
# CHECK: atomic_cas
# CHECK: atomic
import torch
import triton
import triton.language as tl


@triton.jit
def dx_kernel(dx, dy, dw, w, x, mean, rstd, lock, stride, N, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x += row * stride
    dy += row * stride
    dx += row * stride
    group = row % GROUPS
    lock += group
    count = lock + GROUPS
    dw = dw + group * N + cols
    xv = tl.load(x + cols, mask=mask, other=0).to(tl.float32)
    dyv = tl.load(dy + cols, mask=mask, other=0).to(tl.float32)
    wv = tl.load(w + cols, mask=mask).to(tl.float32)
    mu, rs = tl.load(mean + row), tl.load(rstd + row)
    xhat = tl.where(mask, (xv - mu) * rs, 0.)
    wdy = tl.where(mask, wv * dyv, 0.)
    c1 = tl.sum(xhat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    tl.store(dx + cols, (wdy - (xhat * c1 + c2)) * rs, mask=mask)
    partial = (dyv * xhat).to(wv.dtype)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    seen = tl.load(count)
    if seen == 0:
        tl.atomic_xchg(count, 1)
    else:
        partial += tl.load(dw, mask=mask)
    tl.store(dw, partial, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


class Norm(torch.autograd.Function):
    @staticmethod
    def backward(ctx, dy):
        x, w, m, v = ctx.saved_tensors
        locks = torch.zeros(2 * 64, dtype=torch.int32, device=w.device)
        dx_kernel[(x.shape[0],)](dy, dy, w, w, x, m, v, locks, x.stride(0), x.shape[1], GROUPS=64, BLOCK=1024)
        return dy, None, w
