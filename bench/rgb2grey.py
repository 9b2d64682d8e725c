# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rgb2grey.py: what square blocks cost a memory-bound kernel, and what walking the grid in groups
(--swizzle-grid) gives back: examples/rgb2grey.tl with 32x32 blocks, plain and swizzled, beside the
best of a list of blocks, Triton's best, and the device copy. Writes rgb2grey.csv."""
import contest
from contest import Family, best_of, finalists
from kernels import Job, signature

SOURCE = "examples/rgb2grey.tl"
SQUARE = [(32, 32, 2), (32, 32, 4), (32, 32, 8)]  # rows, columns, warps
BLOCKS = [(1, 512, 4), (1, 1024, 4), (1, 1024, 8), (1, 2048, 8), (1, 4096, 8), (2, 512, 4), (4, 256, 4),
          (8, 128, 4), (16, 64, 4)] + SQUARE
GROUPS = (2, 4, 8, 16, 32)
SIZES = "16384x16384,4320x7680"
TYPES = {"fp32": ("fp32", "float32", 4), "uint8": ("u8", "uint8", 1)}
COPY, BEST, TRITON = Family("copy", "copy"), Family("ours"), Family("Triton", "triton")
PLAIN = Family("32x32")


def job_of(kind, h, w, block, opts, flags=()):
    element = TYPES[kind][0]
    return Job(SOURCE, signature((element, element, h, w)), (("BH", block[0]), ("BW", block[1])), block[2], 3,
               opts.target, flags)


def families_of(opts):
    swizzled = [Family(f"32x32 G={g}", flags=(f"--swizzle-grid={g}",)) for g in GROUPS]
    return [COPY] + ([] if opts.no_triton else [TRITON]) + [BEST, PLAIN] + swizzled


def blocks_of(family):
    return [None] if family is COPY else SQUARE if family.name.startswith("32x32") else BLOCKS


def contestants_of(session, kind, h, w, families):
    torch = session.torch
    _, name, size = TYPES[kind]
    dtype = getattr(torch, name)
    if kind == "uint8":
        rgb = torch.randint(0, 256, (3, h, w), dtype=dtype, device="cuda")
    else:
        rgb = torch.randn((3, h, w), dtype=dtype, device="cuda")
    grey = torch.empty((h, w), dtype=dtype, device="cuda")
    source, target = (torch.empty(2 * h * w, dtype=dtype, device="cuda") for _ in range(2))
    weights, step = (0.2989, 0.5870, 0.1140), 1024

    def check(run):
        """fp32 within a few units in the last place; bytes may be one off where the sum lies just
        beside a whole number, which is rare."""
        grey.fill_(float("nan") if kind == "fp32" else 255)
        run()
        worst, off = 0.0, 0
        for r in range(0, h, step):
            planes = rgb[:, r:r + step].double()
            value = sum(x * planes[i] for i, x in enumerate(weights))
            distance = (grey[r:r + step].double() - (value if kind == "fp32" else value.floor())).abs()
            if not bool(torch.isfinite(distance).all()):
                return "elements not written, or not finite"
            worst = max(worst, float(distance.max()))
            off += int((distance > 0).sum()) if kind == "uint8" else 0
        if worst > (1e-5 if kind == "fp32" else 1):
            return f"a value is off by {worst:.3g}"
        return f"{off} values are off by one" if off > h * w // 1000 else ""

    def maker(family, block):
        if family.engine == "copy":
            return lambda: target.copy_(source)
        if family.engine == "tilec":
            return session.tilec_run(job_of(kind, h, w, block, session.opts, session.flags + family.flags), (rgb, grey, h, w))
        grid = (-(-w // block[1]), -(-h // block[0]))
        return session.triton_run(job_of(kind, h, w, block, session.opts), (rgb, grey, h, w), grid)
    case, entered = f"{kind} {h}x{w}", []
    for f in families:
        if f.engine == "triton" and not session.triton:
            continue
        for b in blocks_of(f):
            entered += session.enter(case, f, "%dx%d %dw" % b if b else "", 4 * size * h * w, lambda: maker(f, b),
                                     check if b else lambda run: "")
    return case, entered


def main():
    p = contest.options(__doc__, regimes="sustained")
    p.add_argument("--sizes", default=SIZES, help="rows x columns")
    opts = p.parse_args()
    families, session = families_of(opts), contest.Session(opts)
    cases = [(kind, *map(int, size.split("x"))) for kind in TYPES for size in opts.sizes.split(",")]
    ours = [job_of(*case, b, opts, session.flags + f.flags) for case in cases for f in families
            if f.engine == "tilec" for b in blocks_of(f)]
    if opts.dry_run:
        contest.print_built(session, ours)
        session.finish()
    session.build(ours)
    work = []
    for kind, h, w in cases:
        dtype = getattr(session.torch, TYPES[kind][1])
        work += [(job_of(kind, h, w, b, opts), (dtype, dtype, h, w)) for b in BLOCKS]
    session.warm_triton(work)
    rows, text = [], []
    for kind, h, w in cases:
        if session.over():
            session.note(f"the time is over: {kind} {h}x{w} and what follows left out")
            break
        case, entered = contestants_of(session, kind, h, w, families)
        last = finalists(session, entered, 2)
        for regime in opts.regimes.split(",") if last else []:
            session.clock.careful(last, regime, opts.quick)
            best = {name: c for (_, name), c in best_of(last).items()}
            for name, c in best.items():
                ratio = best["ours"].ms / c.ms if "ours" in best else float("nan")
                text.append(f"{case:<18}{name:<14}{c.rate * 1e3:8.0f} GB/s{ratio:8.3f}  {c.config}")
                session.note(text[-1])
                rows.append(dict(regime=regime, type=kind, h=h, w=w, family=name, config=c.config,
                                 ms=f"{c.ms:.5f}", gbps=f"{c.rate * 1e3:.1f}", target=opts.target))
    contest.write_csv(opts.out / "rgb2grey.csv", rows)
    print(f"\n{'picture':<18}{'who':<14}{'':>13}{'to ours':>8}  best block of it")
    print(*text, sep="\n")
    session.finish()


if __name__ == "__main__":
    main()
