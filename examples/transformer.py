# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transformer.py: trains a small transformer, which learns to continue its own source, twice from the same start: with
kernels of tilec and with PyTorch's operators; prints both losses and fails where they part.

    python3 examples/transformer.py [--device=cpu] [--precision=ieee|tf32|bf16] [--steps=N] [--compile]

Linear layers, attention, layer norm, GELU and cross entropy are kernels here, forward and backward, each pair an
operator of PyTorch (tilec.torch.operator). Needs PyTorch; on the CPU device the defaults are small."""
import argparse
import sys
import time

import torch
import torch.nn.functional as F

import tilec
import tilec.language as tl
from tilec.torch import operator


@tilec.jit
def matmul_kernel(a, b, bias, c, M, N, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                  PRECISION: tl.constexpr):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    sum = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        inside = first + k < K
        x = tl.load(a + m[:, None] * sam + (first + k)[None, :] * sak, (m < M)[:, None] & inside[None, :], other=0.0)
        y = tl.load(b + (first + k)[:, None] * sbk + n[None, :] * sbn, inside[:, None] & (n < N)[None, :], other=0.0)
        sum = tl.dot(x, y, sum, input_precision=PRECISION)
    if bias is not None:
        sum += tl.load(bias + n, n < N, other=0.0).to(tl.float32)[None, :]
    tl.store(c + m[:, None] * N + n[None, :], sum, (m < M)[:, None] & (n < N)[None, :])


@tilec.jit
def attention_kernel(q, k, v, o, lse, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, PRECISION: tl.constexpr):
    """Causal; q, k, v and o are (batch * heads, T, D), lse is (batch * heads, T)."""
    first = tl.program_id(0) * BM
    base = tl.program_id(1).to(tl.int64) * T
    m, d = first + tl.arange(0, BM), tl.arange(0, D)
    at = (base + m)[:, None] * D + d[None, :]
    qs = tl.load(q + at, (m < T)[:, None], other=0.0)
    sum = tl.zeros((BM, D), tl.float32)
    top = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for start in range(0, first + BM, BN):
        n = start + tl.arange(0, BN)
        ks = tl.load(k + (base + n)[None, :] * D + d[:, None], (n < T)[None, :], other=0.0)
        vs = tl.load(v + (base + n)[:, None] * D + d[None, :], (n < T)[:, None], other=0.0)
        s = tl.where(n[None, :] <= m[:, None], tl.dot(qs, ks, input_precision=PRECISION) * scale, -1e30)
        higher = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - higher[:, None])
        shrink = tl.exp(top - higher)
        total = total * shrink + tl.sum(p, 1)
        sum = tl.dot(p.to(vs.dtype), vs, sum * shrink[:, None], input_precision=PRECISION)
        top = higher
    tl.store(o + at, sum / total[:, None], (m < T)[:, None])
    tl.store(lse + base + m, top + tl.log(total), m < T)


@tilec.jit
def attention_delta_kernel(do, o, delta, rows, D: tl.constexpr, BM: tl.constexpr):
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    at, inside = m[:, None] * D + d[None, :], (m < rows)[:, None]
    x, y = tl.load(do + at, inside, other=0.0), tl.load(o + at, inside, other=0.0)
    tl.store(delta + m, tl.sum(x.to(tl.float32) * y.to(tl.float32), 1), m < rows)


@tilec.jit
def attention_scores(qs, ks, dos, vs, lse, delta, causal, scale, PRECISION: tl.constexpr):
    """The weights, and the gradient of the scores, of one block."""
    s = tl.dot(qs, tl.trans(ks), input_precision=PRECISION) * scale
    p = tl.where(causal, tl.exp(s - lse[:, None]), 0.0)
    ds = p * (tl.dot(dos, tl.trans(vs), input_precision=PRECISION) - delta[:, None]) * scale
    return p.to(qs.dtype), ds.to(qs.dtype)


@tilec.jit
def attention_kv_kernel(q, k, v, do, lse, delta, dk, dv, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                        PRECISION: tl.constexpr):  # fmt: skip
    first = tl.program_id(0) * BN
    base = tl.program_id(1).to(tl.int64) * T
    n, d = first + tl.arange(0, BN), tl.arange(0, D)
    at = (base + n)[:, None] * D + d[None, :]
    ks, vs = tl.load(k + at, (n < T)[:, None], other=0.0), tl.load(v + at, (n < T)[:, None], other=0.0)
    gk, gv = tl.zeros((BN, D), tl.float32), tl.zeros((BN, D), tl.float32)
    for start in range(first // BM * BM, T, BM):
        m = start + tl.arange(0, BM)
        rows, inside = (base + m)[:, None] * D + d[None, :], m < T
        qs, dos = tl.load(q + rows, inside[:, None], other=0.0), tl.load(do + rows, inside[:, None], other=0.0)
        l, e = tl.load(lse + base + m, inside, other=0.0), tl.load(delta + base + m, inside, other=0.0)
        causal = (n[None, :] <= m[:, None]) & inside[:, None]
        p, ds = attention_scores(qs, ks, dos, vs, l, e, causal, scale, PRECISION)
        gv = tl.dot(tl.trans(p), dos, gv, input_precision=PRECISION)
        gk = tl.dot(tl.trans(ds), qs, gk, input_precision=PRECISION)
    tl.store(dk + at, gk, (n < T)[:, None])
    tl.store(dv + at, gv, (n < T)[:, None])


@tilec.jit
def attention_q_kernel(q, k, v, do, lse, delta, dq, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                       PRECISION: tl.constexpr):  # fmt: skip
    first = tl.program_id(0) * BM
    base = tl.program_id(1).to(tl.int64) * T
    m, d = first + tl.arange(0, BM), tl.arange(0, D)
    rows, inside = (base + m)[:, None] * D + d[None, :], m < T
    qs, dos = tl.load(q + rows, inside[:, None], other=0.0), tl.load(do + rows, inside[:, None], other=0.0)
    l, e = tl.load(lse + base + m, inside, other=0.0), tl.load(delta + base + m, inside, other=0.0)
    gq = tl.zeros((BM, D), tl.float32)
    for start in range(0, tl.minimum(first + BM, T), BN):
        n = start + tl.arange(0, BN)
        at = (base + n)[:, None] * D + d[None, :]
        ks, vs = tl.load(k + at, (n < T)[:, None], other=0.0), tl.load(v + at, (n < T)[:, None], other=0.0)
        causal = (n[None, :] <= m[:, None]) & inside[:, None]
        p, ds = attention_scores(qs, ks, dos, vs, l, e, causal, scale, PRECISION)
        gq = tl.dot(ds, ks, gq, input_precision=PRECISION)
    tl.store(dq + rows, gq, inside[:, None])


@tilec.jit
def norm_kernel(x, w, b, y, mean, rstd, N, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * N + i, i < N, other=0.0).to(tl.float32)
    middle = tl.sum(v) / N
    v = tl.where(i < N, v - middle, 0.0)
    r = tl.rsqrt(tl.sum(v * v) / N + 1e-5)
    tl.store(y + row * N + i, v * r * tl.load(w + i, i < N) + tl.load(b + i, i < N), i < N)
    tl.store(mean + row, middle)
    tl.store(rstd + row, r)


@tilec.jit
def norm_backward_kernel(dy, x, w, mean, rstd, dx, dw, db, rows, N, B: tl.constexpr):
    """A program takes each num_programs-th row, and writes a row of dw and db."""
    i = tl.arange(0, B)
    scale = tl.load(w + i, i < N, other=0.0)
    gw, gb = tl.zeros((B,), tl.float32), tl.zeros((B,), tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        g = tl.load(dy + row * N + i, i < N, other=0.0).to(tl.float32)
        r = tl.load(rstd + row)
        v = tl.where(i < N, (tl.load(x + row * N + i, i < N, other=0.0).to(tl.float32) - tl.load(mean + row)) * r, 0.0)
        gw += g * v
        gb += g
        g *= scale
        tl.store(dx + row * N + i, r * (g - tl.sum(g) / N - v * (tl.sum(g * v) / N)), i < N)
    tl.store(dw + tl.program_id(0) * N + i, gw, i < N)
    tl.store(db + tl.program_id(0) * N + i, gb, i < N)


@tilec.jit
def gelu_kernel(x, dy, y, n, B: tl.constexpr):
    """y = gelu(x), or without dy = None its gradient."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n).to(tl.float32)
    cdf = 0.5 * (1 + tl.erf(v * 0.7071067811865476))
    if dy is None:
        tl.store(y + i, v * cdf, i < n)
    else:
        g = tl.load(dy + i, i < n).to(tl.float32)
        tl.store(y + i, g * (cdf + v * 0.3989422804014327 * tl.exp(-0.5 * v * v)), i < n)


@tilec.jit
def cross_entropy_kernel(logits, targets, losses, grads, C, scale, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(logits + row * C + i, i < C, other=-1e30).to(tl.float32)
    target = tl.load(targets + row)
    v -= tl.max(v)
    e = tl.exp(v)
    total = tl.sum(e)
    tl.store(losses + row, tl.log(total) - tl.sum(tl.where(i == target, v, 0.0)))
    tl.store(grads + row * C + i, (e / total - (i == target)) * scale, i < C)


# ---- operators ----

PRECISION = "ieee"
BLOCK = 32


def product(a, b, bias, like):
    """a @ b + bias, of whatever strides."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=like.dtype, device=like.device)
    grid = lambda meta: (tilec.cdiv(m, meta["BM"]), tilec.cdiv(n, meta["BN"]))  # noqa: E731
    matmul_kernel[grid](a, b, bias, c, m, n, k, *a.stride(), *b.stride(), BM=2 * BLOCK, BN=2 * BLOCK, BK=BLOCK,
                        PRECISION=PRECISION)  # fmt: skip
    return c


@operator("tilec_example::linear")
def linear(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return product(x.flatten(0, -2), w.T, b, x).view(*x.shape[:-1], w.shape[0])


@linear.backward
def _(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor,
      y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    g = dy.flatten(0, -2)
    return product(g, w, None, x).view(x.shape), product(g.T, x.flatten(0, -2), None, w), g.sum(0)


@operator("tilec_example::attention")
def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    (_, _, t, d), o = q.shape, torch.empty_like(q)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    grid = (tilec.cdiv(t, BLOCK), q.shape[0] * q.shape[1])
    attention_kernel[grid](q, k, v, o, lse, t, d**-0.5, D=d, BM=BLOCK, BN=BLOCK, PRECISION=PRECISION)
    return o, lse


@attention.backward
def _(do: torch.Tensor, dlse: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor,
      lse: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    (_, _, t, d), delta = q.shape, torch.empty_like(lse)
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    grid, how = (tilec.cdiv(t, BLOCK), q.shape[0] * q.shape[1]), dict(D=d, BM=BLOCK, BN=BLOCK, PRECISION=PRECISION)
    attention_delta_kernel[tilec.cdiv(lse.numel(), BLOCK)](do, o, delta, lse.numel(), D=d, BM=BLOCK)
    attention_kv_kernel[grid](q, k, v, do, lse, delta, dk, dv, t, d**-0.5, **how)
    attention_q_kernel[grid](q, k, v, do, lse, delta, dq, t, d**-0.5, **how)
    return dq, dk, dv


@operator("tilec_example::norm")
def norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    n, y = x.shape[-1], torch.empty_like(x)
    mean, rstd = (torch.empty(x.shape[:-1], dtype=torch.float32, device=x.device) for _ in range(2))
    norm_kernel[mean.numel()](x, w, b, y, mean, rstd, n, B=tilec.next_power_of_2(n))
    return y, mean, rstd


@norm.backward
def _(dy: torch.Tensor, dmean: torch.Tensor, drstd: torch.Tensor, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, y: torch.Tensor,
      mean: torch.Tensor, rstd: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    n, dx, programs = x.shape[-1], torch.empty_like(x), 128
    dw, db = (torch.empty((programs, n), dtype=torch.float32, device=x.device) for _ in range(2))
    norm_backward_kernel[programs](dy, x, w, mean, rstd, dx, dw, db, mean.numel(), n, B=tilec.next_power_of_2(n))
    return dx, dw.sum(0), db.sum(0)


@operator("tilec_example::gelu")
def gelu(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    gelu_kernel[tilec.cdiv(x.numel(), 1024)](x, None, y, x.numel(), B=1024)
    return y


@gelu.backward
def _(dy: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    dx = torch.empty_like(x)
    gelu_kernel[tilec.cdiv(x.numel(), 1024)](x, dy, dx, x.numel(), B=1024)
    return dx


@operator("tilec_example::cross_entropy")
def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows, classes = logits.shape
    losses = torch.empty(rows, dtype=torch.float32, device=logits.device)
    grads = torch.empty_like(logits)
    cross_entropy_kernel[rows](logits, targets, losses, grads, classes, 1 / rows, B=tilec.next_power_of_2(classes))
    return losses.mean(), grads


@cross_entropy.backward(of=("logits",))
def _(dloss: torch.Tensor, dgrads: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor, loss: torch.Tensor,
      grads: torch.Tensor) -> torch.Tensor:  # fmt: skip
    return grads * dloss


class Tilec:
    linear, gelu = staticmethod(linear), staticmethod(gelu)
    attention = staticmethod(lambda q, k, v: attention(q, k, v)[0])
    norm = staticmethod(lambda x, w, b: norm(x, w, b)[0])
    cross_entropy = staticmethod(lambda logits, targets: cross_entropy(logits, targets)[0])


class PyTorch:
    linear, gelu = staticmethod(lambda x, w, b: F.linear(x, w, b.to(x.dtype))), staticmethod(F.gelu)
    attention = staticmethod(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))
    norm = staticmethod(lambda x, w, b: F.layer_norm(x.float(), w.shape, w, b).to(x.dtype))
    cross_entropy = staticmethod(lambda logits, targets: F.cross_entropy(logits.float(), targets))


# ---- the model ----


class Model(torch.nn.Module):
    def __init__(self, classes, width, heads, layers, context, dtype):
        super().__init__()
        self.heads, self.dtype = heads, dtype

        def matrix(rows, columns):
            return torch.nn.Parameter(torch.randn(rows, columns) * 0.5 * columns**-0.5)

        def vector(n, value=0.0):
            return torch.nn.Parameter(torch.full((n,), value))

        self.embed, self.place = matrix(classes, width), matrix(context, width)
        self.blocks = torch.nn.ModuleList()
        for _ in range(layers):
            block = torch.nn.Module()
            block.w1, block.b1, block.w2, block.b2 = vector(width, 1.0), vector(width), vector(width, 1.0), vector(width)
            block.qkv, block.bqkv = matrix(3 * width, width), vector(3 * width)
            block.out, block.bout = matrix(width, width), vector(width)
            block.up, block.bup = matrix(4 * width, width), vector(4 * width)
            block.down, block.bdown = matrix(width, 4 * width), vector(width)
            self.blocks.append(block)
        self.w, self.b, self.head, self.bhead = vector(width, 1.0), vector(width), matrix(classes, width), vector(classes)

    def forward(self, ids, targets, ops):
        batch, t = ids.shape
        cast = lambda w: w.to(self.dtype)  # noqa: E731
        x = cast(self.embed[ids] + self.place[:t])
        for k in self.blocks:
            qkv = ops.linear(ops.norm(x, k.w1, k.b1), cast(k.qkv), k.bqkv)
            q, key, v = (p.contiguous() for p in qkv.view(batch, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4))
            mixed = ops.attention(q, key, v).transpose(1, 2).reshape(batch, t, -1)
            x = x + ops.linear(mixed, cast(k.out), k.bout)
            x = x + ops.linear(ops.gelu(ops.linear(ops.norm(x, k.w2, k.b2), cast(k.up), k.bup)), cast(k.down), k.bdown)
        logits = ops.linear(ops.norm(x, self.w, self.b), cast(self.head), self.bhead)
        return ops.cross_entropy(logits.flatten(0, 1), targets.flatten())


def train(ops, ids, o, device):
    """The loss of each step, and milliseconds of a step."""
    torch.manual_seed(1)
    dtype = torch.bfloat16 if o.precision == "bf16" else torch.float32
    model = Model(256, o.width, o.heads, o.layers, o.context, dtype).to(device)
    step_of = torch.compile(model, backend=o.backend, fullgraph=True) if o.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=o.rate)
    losses = []
    for step in range(o.steps):
        if step == min(5, o.steps - 1):
            wait(device)
            begin, counted = time.perf_counter(), o.steps - step
        places = torch.randint(len(ids) - o.context - 1, (o.batch,))
        rows = torch.stack([ids[p : p + o.context + 1] for p in places.tolist()])
        loss = step_of(rows[:, :-1].contiguous(), rows[:, 1:].contiguous(), ops)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    wait(device)
    return [v.item() for v in losses], 1e3 * (time.perf_counter() - begin) / counted


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def main():
    global PRECISION
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    on_gpu = p.parse_known_args()[0].device.startswith("cuda")
    p.add_argument("--precision", choices=("ieee", "tf32", "bf16"), default="ieee")
    for name, gpu, cpu in (("steps", 100, 4), ("layers", 4, 1), ("width", 256, 32), ("heads", 4, 2), ("context", 256, 24),
                           ("batch", 16, 2)):  # fmt: skip
        p.add_argument(f"--{name}", type=int, default=gpu if on_gpu else cpu)
    p.add_argument("--rate", type=float, default=1e-3)
    p.add_argument("--compile", action="store_true", help="through torch.compile")
    p.add_argument("--backend", default="inductor", help="of torch.compile")
    o = p.parse_args()
    device = torch.device(o.device)
    PRECISION = "tf32" if o.precision == "tf32" else "ieee"
    torch.backends.cuda.matmul.allow_tf32 = o.precision == "tf32"
    with open(__file__, "rb") as f:
        ids = torch.tensor(list(f.read()), device=device)
    ours, ours_ms = train(Tilec, ids, o, device)
    theirs, theirs_ms = train(PyTorch, ids, o, device)
    bound = {"ieee": 2e-3, "tf32": 2e-2, "bf16": 5e-2}[o.precision]
    worst = max(abs(a - b) / b for a, b in zip(ours, theirs))
    for step in sorted({0, 1, 2, o.steps // 4, o.steps // 2, o.steps - 1} & set(range(o.steps))):
        print(f"step {step:4}  loss {ours[step]:.5f}  PyTorch's {theirs[step]:.5f}")
    print(f"largest difference {worst:.1e} of the loss (at most {bound:g}); a step {ours_ms:.2f} ms, PyTorch's {theirs_ms:.2f} ms")
    if not worst <= bound or not ours[-1] < ours[0]:
        sys.exit("the losses part")


if __name__ == "__main__":
    main()
