# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attention.py: flash attention forward, 16 heads of 128 or --head, fp16: examples/flash_attention.tl by
tilec and by Triton, PyTorch's FlashAttention-2 and cuDNN's. Writes attention.csv and .png;
and attention-quick.csv, the quick figures of every config."""
import math

import contest
import newer
from contest import Family, best_of, finalists, poison, wrong
from kernels import Job, signature

HEADS = 16
# BLOCK M, N, warps, stages
CONFIGS = [(128, 128, 8, 3), (128, 128, 8, 2), (128, 64, 8, 3), (128, 64, 8, 4), (128, 64, 4, 3), (128, 32, 4, 4),
           (64, 128, 4, 3), (64, 64, 4, 3), (64, 64, 4, 4)]
SOURCE = "examples/flash_attention.tl"
OURS, TRITON = Family("ours"), Family("Triton", "triton")
EACH = [Family("own", entry="own"), Family("ours", entry="further")]
FA2, CUDNN = Family("FA-2", "FLASH_ATTENTION"), Family("cuDNN", "CUDNN_ATTENTION")
# Half a unit of fp16 in the probabilities and in the result, and what they add up to.
BOUND = 4e-3


def numbers(s, d):
    """The arguments behind the pointers."""
    return (HEADS, s, s, 1 / math.sqrt(d)) + (s * d, d) * 4


def job_of(s, causal, config, opts, flags=()):
    bm, bn, warps, stages = config
    types = signature(("fp16", "fp16", "fp16", "fp16", "fp32") + numbers(s, opts.head))
    defines = (("D", opts.head), ("CAUSAL", causal), ("BM", bm), ("BN", bn))
    return Job(SOURCE, types, defines, warps, stages, opts.target, flags)


def config_text(config):
    return "%dx%d %dw %ds" % config


def expected_of(torch, q, k, v, causal):
    """In fp64, head by head, rows in pieces."""
    out = torch.empty(q.shape, dtype=torch.float64, device="cuda")
    s, step = q.shape[1], 4096
    for h in range(q.shape[0]):
        keys, values = k[h].double().t(), v[h].double()
        for r in range(0, s, step):
            scores = q[h, r:r + step].double() @ keys / math.sqrt(q.shape[2])
            if causal:
                rows = torch.arange(r, min(r + step, s), device="cuda")[:, None]
                scores.masked_fill_(torch.arange(s, device="cuda")[None, :] > rows, -math.inf)
            out[h, r:r + step] = torch.softmax(scores, dim=1) @ values
    return out


def library(torch, backend, q, k, v, causal):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    q, k, v = (x.unsqueeze(0) for x in (q, k, v))

    def run():
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)[0]
    return run


def contestants_of(session, s, causal, families, configs):
    torch, d = session.torch, session.opts.head
    q, k, v = (torch.randn((HEADS, s, d), dtype=torch.float16, device="cuda") for _ in range(3))
    out = torch.empty((HEADS, s, d), dtype=torch.float16, device="cuda")
    lse = torch.empty((HEADS, s), dtype=torch.float32, device="cuda")
    values, expected = (q, k, v, out, lse) + numbers(s, d), expected_of(torch, q, k, v, causal)
    work = 4.0 * HEADS * s * s * d * (0.5 if causal else 1)

    def maker(family, config):
        if family.engine == "tilec":
            return session.tilec_run(job_of(s, causal, config, session.opts, session.flags), values, family.entry)
        if family.engine in ("triton", "newer"):
            run = session.triton_run if family.engine == "triton" else session.newer_run
            return run(job_of(s, causal, config, session.opts), values, (-(-s // config[0]), HEADS))
        return library(torch, family.engine, q, k, v, causal)

    def check(run):
        poison(torch, out)
        result = run()
        torch.cuda.synchronize()
        return wrong(torch, result if getattr(result, "shape", None) == out.shape else out, expected, BOUND)
    entered, case = [], f"{s}" + (" causal" if causal else "")
    for f in families:
        if f.engine == "triton" and not session.triton:
            continue
        for c in configs if f.engine in ("tilec", "triton", "newer") else [None]:
            entered += session.enter(case, f, config_text(c) if c else "", work, lambda: maker(f, c), check)
    return case, entered


def main():
    p = contest.options(__doc__)
    p.add_argument("--sizes", default="1024,4096,16384", help="lengths of the sequence")
    p.add_argument("--head", type=int, default=128, help="its dimension: 64, 128")
    p.add_argument("--entries", action="store_true", help="the source's entry beside the further one, not the chosen")
    newer.option(p)
    p.add_argument("--keep", type=int, default=2, help="how many configs of each go into the contest")
    opts = p.parse_args()
    families = [f for f in [FA2, CUDNN, TRITON] + (EACH if opts.entries else [OURS]) if not (opts.no_triton and f.engine == "triton")]
    session = contest.Session(opts)
    if session.newer:
        families.insert(2, Family("Triton " + session.newer.name, "newer"))
    cases = [(int(s), causal) for causal in (False, True) for s in opts.sizes.split(",")]
    ours = [job_of(s, causal, c, opts, session.flags) for s, causal in cases for c in CONFIGS]
    session.show_newer([job_of(s, causal, c, opts) for s, causal in cases for c in CONFIGS])
    if opts.dry_run:
        contest.print_built(session, ours)
        session.finish()
    session.build(ours)
    half, single = session.torch.float16, session.torch.float32
    session.warm_triton([(job_of(s, causal, c, opts), (half,) * 4 + (single,) + numbers(s, opts.head))
                         for s, causal in cases for c in CONFIGS])
    rows, tables, lines = [], {}, {}
    for s, causal in cases:
        if session.over():
            session.note(f"the time is over: {s} and what follows left out")
            break
        case, entered = contestants_of(session, s, causal, families, CONFIGS)
        last = finalists(session, entered, opts.keep)
        for regime in opts.regimes.split(",") if last else []:
            session.clock.careful(last, regime, opts.quick)
            best = {name: c for (_, name), c in best_of(last).items()}
            cells = [f"{best[f.name].rate:11.1f}" if f.name in best else f"{'-':>11}" for f in families]
            for other in [f.name for f in families if f.name != "ours"]:
                both = other in best and "ours" in best
                cells.append(f"{best['ours'].rate / best[other].rate:12.3f}" if both else f"{'-':>12}")
            tables.setdefault(regime, []).append(
                f"{case:<14}" + "".join(cells) + "  " + "  ".join(f"{n}: {c.config}" for n, c in best.items() if c.config))
            session.note(f"{regime} {tables[regime][-1]}")
            for name, c in best.items():
                rows.append(dict(regime=regime, s=s, causal=int(causal), family=name, config=c.config,
                                 ms=f"{c.ms:.5f}", tflops=f"{c.rate:.2f}", target=opts.target))
                lines.setdefault(f"{name}{', causal' if causal else ''}, {regime}", []).append((s, c.rate))
    contest.write_csv(opts.out / "attention.csv", rows)
    contest.write_csv(opts.out / "attention-quick.csv", session.quick)
    contest.plot(opts.out / "attention.png", lines, "sequence", "TFLOPS", f"attention forward, head {opts.head}, fp16")
    for regime, text in tables.items():
        print(f"\nTFLOPS, {opts.target}, {regime}; ratios: ours to theirs")
        print(f"{'':<14}" + "".join(f"{f.name:>11}" for f in families) +
              "".join(f"{'/' + f.name:>12}" for f in families if f.name != "ours"))
        print(*text, sep="\n")
    session.finish()


if __name__ == "__main__":
    main()
