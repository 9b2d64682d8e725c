# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shapes.py: kernels of the shapes of computation that other projects' kernels have (kernels/*.tl: one with
div/rem addresses, reductions of three tiles, two passes over a row, recurrences over chunks of time, gathers),
ours beside Triton with the same source. Writes shapes.csv, shapes.svg and shapes.md, a page with both.

Results of both are checked against fp64. `--only=TEXT` takes the cases whose name contains it."""
import functools
import math
from dataclasses import dataclass
from html import escape
from typing import Callable

import contest
from contest import Family, best_of, wrong
from kernels import Job, signature

OURS, TRITON = Family("ours"), Family("Triton", "triton")
TORCH = {"fp16": "float16", "i8": "int8", "bf16": "bfloat16", "fp32": "float32", "i64": "int64"}


@dataclass(frozen=True)
class Tensor:
    """An argument: its element type, its shape, and what is in it: make(torch, shape), as fp32 or integers;
    None: the kernel writes it."""
    element: str
    shape: tuple
    make: Callable = None


@dataclass(frozen=True)
class Case:
    """A launch. expect(torch, *inputs in fp64, by their name) gives {output: fp64}."""
    kernel: str
    what: str
    args: dict        # {parameter: Tensor or number}
    grid: tuple
    expect: Callable
    work: float       # bytes or operations, for rates
    warps: int = 4
    stages: int = 3
    defines: tuple = ()
    bound: float = 1e-2  # of the relative error

    def job(self, opts, flags):
        abstract = [a.element if isinstance(a, Tensor) else a for a in self.args.values()]
        return Job(f"bench/kernels/{self.kernel}.tl", signature(abstract), self.defines, self.warps, self.stages,
                   opts.target, flags)


def normal(scale=1.0):
    return lambda torch, shape: torch.randn(shape, device="cuda") * scale


def uniform(low, high):
    return lambda torch, shape: torch.rand(shape, device="cuda") * (high - low) + low


def below(n):
    return lambda torch, shape: torch.randint(0, n, shape, device="cuda")


def log_probabilities(torch, shape):
    return torch.randn(shape, device="cuda").log_softmax(-1)


def permutations(axis):
    return lambda torch, shape: torch.rand(shape, device="cuda").argsort(axis)


def unit_rows(torch, shape):
    return torch.nn.functional.normalize(torch.randn(shape, device="cuda"), dim=-1)


def decays(torch, shape):
    """Sums of logarithms of gates within chunks of 64: [batch, T, heads]."""
    b, t, h = shape
    return (-0.1 * torch.rand((b, t // 64, 64, h), device="cuda")).cumsum(2).reshape(shape)


def triangles(torch, shape):
    """Unit lower triangular matrices of 64 rows, [batch, T, heads, 64]."""
    b, t, h, n = shape
    a = torch.randn((b, t // n, n, h, n), device="cuda") * 0.05
    rows, cols = torch.arange(n, device="cuda")[:, None], torch.arange(n, device="cuda")[None, :]
    a = a.permute(0, 1, 3, 2, 4)
    a = torch.where(rows > cols, a, (rows == cols).to(a.dtype))
    return a.permute(0, 1, 3, 2, 4).reshape(shape)


# ---- what the kernels should give, in fp64 ----

def conv_of(torch, x, w):
    return dict(y_ptr=torch.nn.functional.conv2d(x, w, padding=1))


def moments_of(torch, x):
    return dict(mean_ptr=x.mean(1), var_ptr=x.var(1, correction=0))


def batch_norm_of(torch, dy, x, mean, rstd, weight):
    mean, rstd, weight = (v[None, :, None] for v in (mean, rstd, weight))
    xhat, n = (x - mean) * rstd, x.shape[0] * x.shape[2]
    dbias, dweight = dy.sum((0, 2)), (dy * xhat).sum((0, 2))
    dx = weight * rstd * (dy - (dbias[None, :, None] + xhat * dweight[None, :, None]) / n)
    return dict(dx_ptr=dx, dweight_ptr=dweight, dbias_ptr=dbias)


def masked_of(torch, x):
    t = x.shape[-1]
    ahead = torch.ones((t, t), dtype=torch.bool, device=x.device).triu(1)
    return dict(y_ptr=x.masked_fill(ahead, -1000.0))


def attention_of(torch, q, k, v, do, lse, delta, scale, causal):
    """Head by head: what is in between is large."""
    dq, dk, dv = (torch.empty_like(x) for x in (q, k, v))
    for h in range(len(q)):
        p = torch.exp2(q[h] @ k[h].t() * (scale * 1.44269504) - lse[h][:, None])
        if causal:
            p = p.tril()
        ds = p * (do[h] @ v[h].t() - delta[h][:, None])
        dq[h], dk[h], dv[h] = ds @ k[h] * scale, ds.t() @ q[h] * scale, p.t() @ do[h]
    return dict(dq_ptr=dq, dk_ptr=dk, dv_ptr=dv)


def layer_w8_of(torch, x, w, scale):
    return dict(y_ptr=x @ (w * scale))


def jsd_of(torch, x, y, beta=0.5):
    q, p = x.exp(), y.exp()
    log_m = ((1 - beta) * q + beta * p).log()
    dx = (1 - beta) * q * (x - log_m)
    return dict(loss_ptr=(beta * p * (y - log_m) + dx) / len(x), dx_ptr=dx / len(x))


def cross_entropy_of(torch, x, label, smoothing=0.1, z_scale=1e-4):
    rows, cols = x.shape
    lse = x.logsumexp(1)
    hit = x.gather(1, label[:, None])[:, 0]
    z = z_scale * lse * lse
    loss = (lse - hit) * (1 - smoothing) - smoothing / cols * x.sum(1) + smoothing * lse
    dx = (x - lse[:, None]).exp() * (1 + 2 * z_scale * lse)[:, None] - smoothing / cols
    dx.scatter_add_(1, label[:, None], torch.full_like(dx[:, :1], smoothing - 1))
    return dict(loss_ptr=(loss + z) / rows, z_ptr=z / rows, dx_ptr=dx / rows)


def grpo_of(torch, dloss, x, old, reference, token, advantage, lse, temperature=0.9, beta=0.04, low=0.2, high=0.2):
    x = x / temperature
    logp = x.gather(2, token[:, :, None])[:, :, 0] - lse
    ratio = (logp - old).exp()
    advantage = advantage[:, None]
    inner = ratio * advantage <= ratio.clamp(1 - low, 1 + high) * advantage
    dlogp = -ratio * advantage * inner + beta * (1 - (reference - logp).exp())
    dlogp = (dlogp * dloss / temperature)[:, :, None]
    dx = -(x - lse[:, :, None]).exp() * dlogp
    return dict(dx_ptr=dx.scatter_add_(2, token[:, :, None], dlogp.clone()))


def gather_of(torch, x, index):
    return dict(out_ptr=x.gather(1, index))


def scatter_of(torch, x, index):
    return dict(out_ptr=torch.empty_like(x).scatter_(1, index, x))


def row_norm_of(torch, x):
    return dict(out_ptr=x.norm(dim=1))


def layer_norm_of(torch, x, weight, bias):
    mean, rstd = x.mean(1), (x.var(1, correction=0) + 1e-5).rsqrt()
    return dict(y_ptr=(x - mean[:, None]) * rstd[:, None] * weight + bias, mean_ptr=mean, rstd_ptr=rstd)


def chunks_of(x, n=64):
    """[batch, T, heads, …] as [batch, heads, T / n, n, …]."""
    b, t, h = x.shape[:3]
    order = (0, 3, 1, 2, *range(4, x.dim() + 1))
    return x.reshape(b, t // n, n, h, *x.shape[3:]).permute(order)


def unchunked(x):
    b, h, c, n = x.shape[:4]
    return x.permute(0, 2, 3, 1, *range(4, x.dim())).reshape(b, c * n, h, *x.shape[4:])


def delta_of(torch, q, k, w, g, do, dv, scale=0.088):
    q, k, w, g, do, dv = (chunks_of(v) for v in (q, k, w, g, do, dv))
    b, h, c = q.shape[:3]
    state = torch.zeros((b, h, q.shape[-1], do.shape[-1]), dtype=q.dtype, device=q.device)
    dh, dv_out = [None] * c, [None] * c
    for i in reversed(range(c)):
        dh[i] = state
        gi = g[:, :, i]
        last = gi[..., -1:]
        d = (k[:, :, i] @ state) * (last - gi).exp()[..., None] + dv[:, :, i]
        gained = q[:, :, i] * (gi.exp() * scale)[..., None]
        state = state * last.exp()[..., None] + gained.mT @ do[:, :, i] - w[:, :, i].mT @ d
        dv_out[i] = d
    return dict(dh_ptr=torch.stack(dh, 1), dv_out_ptr=unchunked(torch.stack(dv_out, 2)))


def wy_of(torch, k, v, beta, g, a, dw, du):
    k, v, beta, g, a, dw, du = (chunks_of(t) for t in (k, v, beta, g, a, dw, du))
    gain, beta1 = g.exp()[..., None], beta[..., None]
    kb, vb = k * beta1, v * beta1
    d_kbg, d_vb = a.mT @ dw, a.mT @ du
    da = (dw @ (kb * gain).mT + du @ vb.mT).tril(-1)
    da = (-(a.mT @ (da @ a.mT)) * (g[..., :, None] - g[..., None, :]).exp()).tril(-1)
    product, d_kb = (kb @ k.mT) * da, da @ k
    dk = d_kbg * beta1 * gain + d_kb * beta1 + da.mT @ kb
    dbeta = (d_kbg * k * gain).sum(-1) + (d_vb * v).sum(-1) + (d_kb * k).sum(-1)
    dg = (d_kbg * kb * gain).sum(-1) + product.sum(-1) - product.sum(-2)
    return {n: unchunked(x) for n, x in dict(dk_ptr=dk, dv_ptr=d_vb * beta1, dbeta_ptr=dbeta, dg_ptr=dg).items()}


# ---- the cases ----

def conv_case():
    n, c, size, co = 32, 64, 56, 128
    plane = size * size
    args = dict(x_ptr=Tensor("fp16", (n, c, size, size), normal()), w_ptr=Tensor("fp16", (co, c, 3, 3), normal(0.05)),
                y_ptr=Tensor("fp16", (n, co, size, size)), N=n, C=c, H=size, W=size, CO=co, OH=size, OW=size,
                x_n=c * plane, x_c=plane, x_h=size, x_w=1, w_o=c * 9, w_c=9, w_h=3, w_w=1,
                y_n=co * plane, y_c=plane, y_h=size, y_w=1)
    return Case("implicit_conv", "convolution as a product, 3x3", args, (-(-n * plane // 128), co // 64), conv_of,
                2.0 * n * plane * co * c * 9)


def row_cases():
    b16, f32 = 2, 4
    rows, cols = 4096, 2048
    yield Case("welford", "Welford, rows of 2048, 16 warps",
               dict(x_ptr=Tensor("bf16", (rows, cols), normal()), mean_ptr=Tensor("fp32", (rows,)),
                    var_ptr=Tensor("fp32", (rows,)), rows=rows, cols=cols), (rows // 8,), moments_of,
               rows * cols * b16, warps=16, bound=1e-4)
    n, c, s = 32, 256, 1024
    yield Case("batch_norm_backward", "batch norm backward, 1 warp",
               dict(dy_ptr=Tensor("fp32", (n, c, s), normal()), x_ptr=Tensor("fp32", (n, c, s), normal()),
                    mean_ptr=Tensor("fp32", (c,), normal(0.1)), rstd_ptr=Tensor("fp32", (c,), uniform(0.5, 2)),
                    weight_ptr=Tensor("fp32", (c,), normal()), dx_ptr=Tensor("fp32", (n, c, s)),
                    dweight_ptr=Tensor("fp32", (c,)), dbias_ptr=Tensor("fp32", (c,)), N=n, C=c, S=s), (c,),
               batch_norm_of, 5 * n * c * s * f32, warps=1, bound=1e-4)
    batch, t = 16, 2048
    yield Case("causal_mask", "causal mask, 256x256",
               dict(x_ptr=Tensor("fp32", (batch, t, t), normal()), y_ptr=Tensor("fp32", (batch, t, t)), batch=batch,
                    T=t, stride_b=t * t, stride_m=t, stride_n=1), (t // 256, t // 256, batch), masked_of,
               2 * batch * t * t * f32, warps=16, bound=1e-6)
    rows, cols = 4096, 8192
    yield Case("jsd", "JSD, 8192 columns",
               dict(x_ptr=Tensor("bf16", (rows, cols), log_probabilities),
                    y_ptr=Tensor("bf16", (rows, cols), log_probabilities), loss_ptr=Tensor("fp32", (rows, cols)),
                    dx_ptr=Tensor("bf16", (rows, cols)), rows=rows, cols=cols, beta=0.5), (rows,), jsd_of,
               rows * cols * (3 * b16 + f32))
    rows, cols = 2048, 32000
    yield Case("cross_entropy_z", "cross entropy with z-loss, 32 warps",
               dict(x_ptr=Tensor("bf16", (rows, cols), normal()), label_ptr=Tensor("i64", (rows,), below(cols)),
                    loss_ptr=Tensor("fp32", (rows,)), z_ptr=Tensor("fp32", (rows,)),
                    dx_ptr=Tensor("bf16", (rows, cols)), rows=rows, cols=cols, smoothing=0.1, z_scale=1e-4), (rows,),
               cross_entropy_of, 3 * rows * cols * b16, warps=32)
    batch, t, cols = 4, 512, 32000
    token = {n: Tensor("fp32", (batch, t), m) for n, m in
             dict(old_ptr=normal(0.1), reference_ptr=normal(0.1)).items()}
    yield Case("grpo_backward", "GRPO backward, 16 warps",
               dict(dloss_ptr=Tensor("fp32", (batch, t), normal()), x_ptr=Tensor("bf16", (batch, t, cols), normal()),
                    **{n: Tensor(a.element, a.shape, lambda torch, shape: torch.randn(shape, device="cuda") * 0.1 - 11)
                       for n, a in token.items()},
                    token_ptr=Tensor("i64", (batch, t), below(cols)),
                    advantage_ptr=Tensor("fp32", (batch,), normal()),
                    lse_ptr=Tensor("fp32", (batch, t), uniform(11, 11.2)), dx_ptr=Tensor("bf16", (batch, t, cols)),
                    batch=batch, length=t, cols=cols, temperature=0.9, beta=0.04, low=0.2, high=0.2), (t, batch),
               grpo_of, 2 * batch * t * cols * b16, warps=16)
    rows, cols = 1024, 16384
    yield Case("row_norm", "norms of rows, 128 programs with a loop",
               dict(x_ptr=Tensor("fp32", (rows, cols), normal()), out_ptr=Tensor("fp32", (rows,)), rows=rows, cols=cols),
               (rows // 8,), row_norm_of, rows * cols * f32, bound=1e-5)
    rows, cols = 8192, 4096
    yield Case("wide_layer_norm", "layer norm, 16 warps",
               dict(x_ptr=Tensor("bf16", (rows, cols), normal()), weight_ptr=Tensor("bf16", (cols,), normal()),
                    bias_ptr=Tensor("bf16", (cols,), normal()), y_ptr=Tensor("bf16", (rows, cols)),
                    mean_ptr=Tensor("fp32", (rows,)), rstd_ptr=Tensor("fp32", (rows,)), rows=rows, cols=cols, eps=1e-5),
               (rows,), layer_norm_of, 2 * rows * cols * b16, warps=16)


def weight_cases():
    n, k = 4096, 4096
    for m, bm, bn, warps, stages in ((4096, 128, 128, 8, 3), (4096, 128, 128, 4, 3), (4096, 128, 256, 8, 3),
                                     (64, 64, 128, 4, 4), (16, 16, 128, 4, 4)):
        yield Case("matmul_w8", f"8-bit weights, {m} rows, {bm}x{bn}, {warps} warps",
                   dict(x_ptr=Tensor("fp16", (m, k), normal()), w_ptr=Tensor("i8", (k, n), below(100)),
                        scale_ptr=Tensor("fp32", (n,), uniform(0.001, 0.01)), y_ptr=Tensor("fp16", (m, n)), M=m, N=n, K=k),
                   (-(-m // bm) * -(-n // bn),), layer_w8_of, 2.0 * m * n * k, warps=warps, stages=stages,
                   defines=(("BM", bm), ("BN", bn), ("BK", 64), ("GROUP_M", 8)))


def index_cases():
    a, b, c = 64, 512, 1024
    numel, moved = a * b * c, a * b * c * (8 + 4 + 4)
    tensors = dict(x_ptr=Tensor("fp32", (a, b, c), normal()), index_ptr=Tensor("i64", (a, b, c), below(b)),
                   out_ptr=Tensor("fp32", (a, b, c)), size1=b, size2=c, x_0=b * c, x_1=c, x_2=1)
    yield Case("gather", "gather, 3 dimensions", dict(tensors, numel=numel), (numel // 1024,), gather_of, moved,
               bound=1e-6)
    tensors["index_ptr"] = Tensor("i64", (a, b, c), permutations(1))
    yield Case("scatter", "scatter, 3 dimensions", dict(tensors, out_0=b * c, out_1=c, out_2=1, numel=numel),
               (numel // 512,), scatter_of, moved, bound=1e-6)


def delta_cases():
    b, t, h, k, v = 2, 4096, 16, 128, 128
    rows, line = (b, t, h, k), (b, t, h)
    yield Case("delta_backward", "gated delta rule, backward between chunks",
               dict(q_ptr=Tensor("bf16", rows, unit_rows), k_ptr=Tensor("bf16", rows, unit_rows),
                    w_ptr=Tensor("bf16", rows, normal(0.02)), g_ptr=Tensor("fp32", line, decays),
                    do_ptr=Tensor("bf16", rows, normal()), dv_ptr=Tensor("bf16", rows, normal()),
                    dh_ptr=Tensor("bf16", (b, t // 64, h, k, v)), dv_out_ptr=Tensor("bf16", rows), batch=b, T=t,
                    heads=h, scale=0.088), (v // 32, b * h), delta_of, 2.0 * b * t * h * k * v * 3, bound=2e-2)
    yield Case("delta_wy_backward", "gated delta rule, WY representation backward",
               dict(k_ptr=Tensor("bf16", rows, unit_rows), v_ptr=Tensor("bf16", rows, normal()),
                    beta_ptr=Tensor("fp32", line, uniform(0, 1)), g_ptr=Tensor("fp32", line, decays),
                    a_ptr=Tensor("bf16", (b, t, h, 64), triangles), dw_ptr=Tensor("bf16", rows, normal()),
                    du_ptr=Tensor("bf16", rows, normal()), dk_ptr=Tensor("bf16", rows), dv_ptr=Tensor("bf16", rows),
                    dbeta_ptr=Tensor("fp32", line), dg_ptr=Tensor("fp32", line), batch=b, T=t, heads=h),
               (t // 64, b * h), wy_of, 2.0 * b * t * h * 64 * (4 * k + 2 * v + 3 * k), bound=3e-2)


def attention_cases(heads=16, n=4096, d=128):
    """Backward, causal and not, of heads of 128 and of 64."""
    scale, shape = d ** -0.5, (heads, n, d)
    half, single = Tensor("fp16", shape, normal()), (heads, n)
    args = dict(q_ptr=half, k_ptr=half, v_ptr=half, do_ptr=half, lse_ptr=Tensor("fp32", single, uniform(10.0, 12.0)),
                delta_ptr=Tensor("fp32", single, uniform(-0.1, 0.1)))
    out = Tensor("fp16", shape)
    for causal in (False, True):
        work = 2.0 * heads * n * n * d * (0.5 if causal else 1)
        what = f"attention backward, head {d}" + (", causal" if causal else "")
        of = functools.partial(attention_of, scale=scale, causal=causal)
        for warps, blocks in ((8, (64, 128)), (4, (32, 64)), (8, (128, 128)), (4, (64, 64)), (8, (32, 128)), (4, (64, 128))):
            defines = (("D", d), ("BM", blocks[0]), ("BN", blocks[1]), ("CAUSAL", causal))
            yield Case("attention_backward_kv", f"{what}: keys, {blocks[0]}x{blocks[1]}",
                       dict(args, dk_ptr=out, dv_ptr=out, heads=heads, N=n, scale=scale),
                       (-(-n // blocks[1]), heads), of, 4 * work, warps, 2, defines)
            defines = (("D", d), ("BM", blocks[1]), ("BN", blocks[0]), ("CAUSAL", causal))
            yield Case("attention_backward_q", f"{what}: queries, {blocks[1]}x{blocks[0]}",
                       dict(args, dq_ptr=out, heads=heads, N=n, scale=scale),
                       (-(-n // blocks[1]), heads), of, 3 * work, warps, 2, defines)


def all_cases(only):
    cases = [conv_case(), *row_cases(), *weight_cases(), *delta_cases(), *index_cases()]
    if only and only in "attention_backward_kv attention_backward_q":  # asked for: they take long
        cases += [*attention_cases(), *attention_cases(d=64)]
    return [c for c in cases if only in c.kernel]


# ---- a case on the GPU ----

class Data:
    def __init__(self, torch, case):
        self.torch, self.case, self.values, named = torch, case, [], {}
        for name, a in case.args.items():
            if isinstance(a, Tensor):
                dtype = getattr(torch, TORCH[a.element])
                made = a.make(torch, a.shape) if a.make else torch.empty(a.shape, device="cuda")
                v = made.to(dtype).contiguous()
                if a.make:
                    named[name.removesuffix("_ptr")] = v.double() if v.is_floating_point() else v
            else:
                v = a
            self.values.append(v)
        self.expected = {n: v for n, v in case.expect(torch, **named).items() if n in case.args}

    def check(self, run):
        places = {n: self.values[i] for i, n in enumerate(self.case.args)}
        for name in self.expected:
            contest.poison(self.torch, places[name])
        run()
        for name, value in self.expected.items():
            said = wrong(self.torch, places[name].reshape(len(value), -1), value.reshape(len(value), -1), self.case.bound)
            if said:
                return f"{name}: {said}"
        return ""


# ---- the page ----

BAR, TOP, LEFT, WIDTH = 22, 34, 300, 460


def draw(path, rows, title):
    """Bars of how many times as fast as Triton ours is, on a logarithmic axis, 1 in the middle."""
    ends = max([2.0] + [max(r["ratio"], 1 / r["ratio"]) for r in rows])
    x_of = lambda ratio: LEFT + WIDTH * (0.5 + math.log(ratio) / (2 * math.log(ends)))
    height, one = TOP + BAR * len(rows) + 30, x_of(1)
    out = ["<!-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception -->",
           f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 70}" height="{height}" '
           'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="10" y="20" font-size="14">{escape(title)}</text>']
    for i, r in enumerate(rows):
        y, x = TOP + BAR * i, x_of(r["ratio"])
        out += [f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(r["what"])}</text>',
                f'<rect x="{min(x, one):.1f}" y="{y + 3}" width="{abs(x - one):.1f}" height="{BAR - 7}" '
                f'fill="{"#3b7a57" if r["ratio"] >= 1 else "#b5482a"}"/>',
                f'<text x="{max(x, one) + 4:.1f}" y="{y + 14}">{r["ratio"]:.2f}</text>']
    below_bars = TOP + BAR * len(rows)
    out += [f'<line x1="{one:.1f}" y1="{TOP}" x2="{one:.1f}" y2="{below_bars}" stroke="black"/>',
            f'<text x="{one:.1f}" y="{below_bars + 18}" text-anchor="middle">Triton = 1</text>', "</svg>", ""]
    path.write_text("\n".join(out))


def write_page(path, rows, title):
    text = [f"# {title}", "", "`bench/shapes.py` writes this page: microseconds of a launch, the same source and launch for",
            "both, and how many times as fast as Triton ours is; registers and bytes spilled of ours.", "",
            "![ours beside Triton](shapes.svg)", "",
            "| kernel | what | Triton, µs | ours, µs | ours / Triton | registers | spilled |",
            "|---|---|---|---|---|---|---|"]
    text += [f"| `{r['kernel']}` | {r['what']} | {r['triton_us']:.1f} | {r['ours_us']:.1f} | {r['ratio']:.2f} | "
             f"{r['registers']} | {r['spilled']} |" for r in rows]
    text += ["", f"Geometric mean: {contest.geomean([r['ratio'] for r in rows]):.3f}.", ""]
    path.write_text("\n".join(text))


def timed(session, case, regime):
    """The row of a case; None: not both can be compared."""
    data, opts = Data(session.torch, case), session.opts
    job = case.job(opts, session.flags)
    entered = session.enter(case.kernel, OURS, "", case.work, lambda: session.tilec_run(job, data.values), data.check)
    if session.triton:
        entered += session.enter(case.kernel, TRITON, "", case.work,
                                 lambda: session.triton_run(job, data.values, case.grid), data.check)
    if not entered:
        return None
    session.clock.quick(entered)
    session.clock.careful(entered, regime, opts.quick)
    us = {name: c.ms * 1e3 for (_, name), c in best_of(entered).items()}
    session.note(f"{case.kernel:<22}" + "".join(f"{name} {t:9.2f} µs  " for name, t in us.items()))
    if len(us) < 2:
        return None
    built = session.compiler.built[job]
    return dict(kernel=case.kernel, what=case.what, regime=regime, ours_us=us["ours"], triton_us=us["Triton"],
                ratio=us["Triton"] / us["ours"], registers=built.registers, spilled=built.spills, target=opts.target)


def print_backward(rows):
    """Attention's two kernels together, each in the best config of its compiler."""
    best = {}
    for r in rows:
        if r["kernel"].startswith("attention_backward"):
            best.setdefault(r["what"].split(":")[0], {}).setdefault(r["kernel"], []).append(r)
    for what, kernels in best.items():
        ours, triton = (sum(min(r[us] for r in k) for k in kernels.values()) for us in ("ours_us", "triton_us"))
        print(f"{what + ', best configs':<50} ours {ours:9.2f} µs  Triton {triton:9.2f} µs  {triton / ours:.3f}")


def main():
    p = contest.options(__doc__, regimes="sustained")
    p.add_argument("--only", default="", metavar="TEXT")
    opts = p.parse_args()
    cases, session = all_cases(opts.only), contest.Session(opts)
    jobs = [c.job(opts, session.flags) for c in cases]
    if opts.dry_run:
        contest.print_built(session, jobs, may_spill=True)
        session.finish()
    session.build(jobs)
    session.warm_triton([(j, [getattr(session.torch, TORCH[a.element]) if isinstance(a, Tensor) else a
                              for a in c.args.values()]) for c, j in zip(cases, jobs)])
    rows = []
    for regime in opts.regimes.split(","):
        for case in cases:
            if session.over():
                session.note(f"the time is over: {case.kernel} and what follows left out")
                break
            row = timed(session, case, regime)
            rows += [row] if row else []
            session.torch.cuda.empty_cache()
    contest.write_csv(opts.out / "shapes.csv", rows)
    page = [r for r in rows if r["regime"] == rows[0]["regime"]] if rows else []
    if page:
        title = f"Kernels beside Triton, {session.torch.cuda.get_device_name()}"
        draw(opts.out / "shapes.svg", page, title)
        write_page(opts.out / "shapes.md", page, title)
        print_backward(page)
        print(f"ours / Triton, geometric mean: {contest.geomean([r['ratio'] for r in page]):.3f}")
    session.finish()


if __name__ == "__main__":
    main()
