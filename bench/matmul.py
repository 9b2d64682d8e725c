# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""matmul.py: matrix products by our code, by Triton's of the same source and config list, and by
cuBLAS: python3 bench/matmul.py [--types=fp16,…]
[--mode=squares|awkward|long|eights|skinny|spread|tails|majors|grid-order].

Each problem gets a quick pass over all configs, then a careful contest of the best few. Prints a
table for each type and regime with the ratios that count, and writes matmul-MODE.csv and .png; and
matmul-MODE-quick.csv, the quick figures of every config."""
import math
import random
import sys

import contest
import newer
from contest import Family, best_of, finalists
from products import (COPY, CUBLAS, OURS, TRITON, TYPES, Data, Problem, compile_all, contestants_of, jobs_of,
                      newer_jobs, pick_configs)

SQUARES = {"fp16": [256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384],
           "tf32": [512, 1024, 2048, 4096, 8192], "fp32": [512, 1024, 2048, 4096],
           "fp8": [1024, 2048, 4096, 8192], "int8": [1024, 2048, 4096, 8192]}
SQUARES["bf16"] = SQUARES["fp16"]
NAMED = [(1536, 1792, 32000), (1536, 1792, 6016)]
# A decoder's: few rows, or few of both behind a long sum.
SKINNY = [(16, 8192, 8192), (64, 8192, 8192), (128, 8192, 8192), (512, 512, 16384)]
# One dimension short, or a layer's of a language model; then tiles that no row or column is a multiple of.
LONG = [(8192, 8192, 512), (4096, 4096, 512), (5120, 13824, 5120), (128, 28672, 8192)]
EIGHTS = [(1000, 1000, 1000), (1048, 1048, 1048), (2008, 2008, 2008), (4104, 4104, 4104), (3000, 5000, 1000),
          (8200, 1032, 4104), (1032, 8200, 4104), (4096, 4096, 1000), (4096, 1000, 4096), (1000, 4096, 4096),
          (5000, 5000, 5000), (720, 9000, 2600)]
NAIVE = "examples/matmul_naive.tl"


def squares(opts, kind):
    """Factors of bytes and of TF32 with K innermost, as tensor cores want them; then b row by row."""
    sizes = [int(s) for s in opts.sizes.split(",")] if opts.sizes else SQUARES[kind]
    forms = ["n"] if kind in ("fp16", "bf16", "fp32") else ["t", "n"]
    return [[Problem(f"{s}" + (" b row-major" if len(forms) > 1 and b == "n" else ""), kind, s, s, s, b=b)]
            for b in forms for s in sizes]


def awkward(opts, kind):
    numbers = random.Random(20261120)
    shapes = [tuple(256 * numbers.randint(1, 32) for _ in range(3)) for _ in range(24)]
    return [[Problem("%dx%dx%d" % s, kind, *s)] for s in NAMED + shapes]


def long(opts, kind):
    return [[Problem("%dx%dx%d" % s, kind, *s)] for s in LONG]


def skinny(opts, kind):
    return [[Problem("%dx%dx%d" % s, kind, *s)] for s in SKINNY]


def eights(opts, kind):
    return [[Problem("%dx%dx%d" % s, kind, *s)] for s in EIGHTS]


def spread(opts, kind):
    """Shapes of all sizes up to 140 GFLOP, as users have them: few are round."""
    numbers, shapes = random.Random(20261125), []
    while len(shapes) < 120:
        units = [numbers.choice((8, 64, 64, 128, 256)) for _ in range(3)]
        shape = tuple(max(u, round(2 ** numbers.uniform(6, 13.3) / u) * u) for u in units)
        if 2**18 <= math.prod(shape) <= 2**36 and shape not in shapes:
            shapes.append(shape)
    return [[Problem("%dx%dx%d" % s, kind, *s)] for s in shapes]


def tails(opts, kind):
    """The exact shape first: the others are compared with it in one contest."""
    groups = []
    for s in [int(s) for s in opts.sizes.split(",")] if opts.sizes else [4096, 8192]:
        def case(label, m=s, n=s, k=s, pad=0):
            return Problem(f"{s} {label}", kind, m, n, k, pad=pad)
        groups.append([case("exact"), case("K-8", k=s - 8), case("K-56", k=s - 56), case("M-8", m=s - 8),
                       case("N-8", n=s - 8), case("all -8", s - 8, s - 8, s - 8), case("stride+8", pad=8),
                       case("stride+16", pad=16)])
    return groups


def majors(opts, kind):
    sizes = [int(s) for s in opts.sizes.split(",")] if opts.sizes else [4096, 8192]
    text = {"nn": "A B", "nt": "A BT", "tn": "AT B", "tt": "AT BT"}
    return [[Problem(f"{s} {text[x]}", kind, s, s, s, a=x[0], b=x[1]) for x in text] for s in sizes]


def grid_order(opts, kind):
    sizes = [int(s) for s in opts.sizes.split(",")] if opts.sizes else [4096, 8192, 16384]
    return [[Problem(f"{s}", kind, s, s, s)] for s in sizes]


ORDERS = [Family("grouped"), Family("naive", source=NAIVE, group=0)] + [
    Family(f"naive G={g}", source=NAIVE, group=0, flags=(f"--swizzle-grid={g}",)) for g in (4, 8, 16)] + [CUBLAS]
PEERS = [CUBLAS, TRITON, OURS]
TMA, MAPS = "bench/matmul_tma.tl", "bench/matmul_maps.py"  # of 132 multiprocessors
DESCRIPTORS = [Family("Triton TMA", "triton", TMA, defines=(("STAY", 132), ("SPECIAL", False)), rows=True),
               Family("Triton WS", "triton", TMA, defines=(("STAY", 132), ("SPECIAL", True)), rows=True),
               Family("ours TMA", source=TMA, defines=(("STAY", 0), ("SPECIAL", False)), rows=True)]
SPLIT = Family("stream-k", flags=("--stream-k=auto",))
EACH = [CUBLAS, TRITON, Family("own", entry="own"), Family("ours", entry="further")]
TOGETHER = [CUBLAS, Family("alone", entry="alone"), Family("clusters", entry="clusters"), OURS]


def newer_families(name):
    """What newer_triton.py compiles: the pointers' source; descriptors made in the kernel and by the
    host; and warps of their own for the copies."""
    stay, plain, special = ("STAY", 132), ("SPECIAL", False), ("SPECIAL", True)
    return [Family("Triton " + name, "newer"),
            Family(name + " TMA", "newer", TMA, defines=(stay, plain), rows=True),
            Family(name + " TMA", "newer", MAPS, defines=(stay, ("FLAT", True)), rows=True, note=" maps"),
            Family(name + " WS", "newer", TMA, defines=(stay, special), rows=True, warps=4)]


# mode: problems in groups, who takes part, the column the last ratio is to
MODES = {"squares": (squares, PEERS, "ours"), "awkward": (awkward, PEERS, "ours"),
         "long": (long, PEERS, "ours"), "eights": (eights, PEERS, "ours"),
         "skinny": (skinny, PEERS + [COPY], "ours"), "spread": (spread, [OURS], "ours"),
         "tails": (tails, PEERS, "ours"), "majors": (majors, PEERS, "ours"),
         "grid-order": (grid_order, ORDERS, "grouped")}


def table(title, rows, families, base, against_first):
    """rows: [(group, case, {family: contestant})]. Ratios of `base` to each other family, and to the
    first case of its group where the cases belong together."""
    names = list(dict.fromkeys(f.name for f in families))
    others = [n for n in names if n != base]
    print(f"\n{title}")
    head = [f"{n:>12}" for n in names] + [f"{'/' + n:>12}" for n in others]
    print(f"{'TFLOPS':<22}" + "".join(head) + ("  /first" if against_first else "") + f"  best of {base}")
    ratios, first = {n: [] for n in others}, {}
    for group, case, found in rows:
        cells = [f"{found[n].rate:12.1f}" if n in found else f"{'-':>12}" for n in names]
        for n in others:
            r = found[base].rate / found[n].rate if base in found and n in found else 0
            ratios[n].append(r)
            cells.append(f"{r:12.3f}" if r else f"{'-':>12}")
        ours = found.get(base)
        first.setdefault(group, ours)
        if against_first:
            cells.append(f"{ours.rate / first[group].rate:8.3f}" if ours and first[group] else f"{'-':>8}")
        print(f"{case:<22}" + "".join(cells) + (f"  {ours.config}" if ours else ""))
    print(f"{'geometric mean':<22}" + " " * 12 * len(names) +
          "".join(f"{contest.geomean(ratios[n]):12.3f}" for n in others))


def run_group(session, group, families, configs, regimes):
    """Contests of the problems that belong together; {regime: [(case, {family: contestant})]}."""
    opts, entered = session.opts, []
    kept = []  # the matrices live as long as who multiplies them
    for problem in group:
        data = Data(session.torch, problem)
        all_ = contestants_of(session, data, families, configs)
        data.expected = None
        kept.append(data)
        # in a pool of many cases one config each is enough
        entered += finalists(session, all_, opts.keep if len(group) == 1 else 1)
    out = {}
    for regime in regimes if entered else []:
        session.clock.careful(entered, regime, opts.quick)
        best = best_of(entered)
        out[regime] = [(p.label, {f.name: best[p.label, f.name] for f in families
                                  if (p.label, f.name) in best}) for p in group]
        for label, found in out[regime]:
            session.note(f"{regime:9} {label:<22} " + "  ".join(
                f"{n} {c.rate:.1f} ({c.config})" if c.config else f"{n} {c.rate:.1f}" for n, c in found.items()))
    return out


def main():
    p = contest.options(__doc__)
    p.add_argument("--mode", default="squares", choices=MODES)
    p.add_argument("--types", default="fp16", help="of " + ",".join(TYPES))
    p.add_argument("--sizes", default="", help="instead of the mode's own: 1024,4096")
    p.add_argument("--only", default="", metavar="TEXT,…", help="problems whose name contains one of these")
    p.add_argument("--configs", default="all", help="their numbers in matmul_configs.txt, from 0: 0,1,4; more: "
                   "those of matmul_more.txt, too")
    p.add_argument("--stream-k", action="store_true", help="ours with --stream-k=auto beside ours")
    p.add_argument("--tma", action="store_true", help="beside these what descriptors (TMA) are written for: Triton's "
                   "persistent code, with and without warp_specialize, and ours of the same source")
    newer.option(p)
    p.add_argument("--keep", type=int, default=2, help="how many configs of each go into the contest")
    p.add_argument("--entries", action="store_true", help="the source's entry beside the further one, not the chosen")
    p.add_argument("--clusters", action="store_true", help="the further entry in clusters beside not, and as chosen")
    for mode in MODES:
        p.add_argument("--" + mode, dest="mode", action="store_const", const=mode, help=f"--mode={mode}")
    opts = p.parse_args()
    make, families, base = MODES[opts.mode]
    if opts.no_triton:
        families = [f for f in families if f.engine != "triton"]
    configs, kinds = pick_configs(opts.configs), opts.types.split(",")
    if opts.entries:
        families = EACH
    if opts.clusters:
        families = TOGETHER
    if opts.tma:
        families = families + [f for f in DESCRIPTORS if not (opts.no_triton and f.engine == "triton")]
    if opts.stream_k:
        families = families + [SPLIT]
    session = contest.Session(opts)
    if session.newer:
        families = families + newer_families(session.newer.name)
    only = opts.only.split(",")
    groups = {kind: [g for g in make(opts, kind) if any(text in g[0].label for text in only)] for kind in kinds}
    flat = [p for kind in kinds for g in groups[kind] for p in g]
    if opts.dry_run:
        contest.print_built(session, jobs_of(flat, families, configs, opts))
        session.show_newer(newer_jobs(flat, families, configs, opts))
        for kind in kinds:
            table(f"{kind}, {opts.mode}, {opts.target}, nothing timed",
                  [(g[0], p.label, {}) for g in groups[kind] for p in g], families, base, opts.mode in ("tails", "majors"))
        session.finish()
    compile_all(session, flat, families, configs)
    regimes, results, lines = opts.regimes.split(","), {}, []
    for kind in kinds:
        for number, group in enumerate(groups[kind]):
            if session.over():
                session.note(f"the time is over: {kind} {group[0].label} and what follows left out")
                break
            for regime, cases in run_group(session, group, families, configs, regimes).items():
                results.setdefault((kind, regime), []).extend((number, *case) for case in cases)
    rows = [dict(mode=opts.mode, type=kind, regime=regime, target=opts.target, case=case, family=c.family,
                 config=c.config, ms=f"{c.ms:.5f}", tflops=f"{c.rate:.2f}")
            for (kind, regime), cases in results.items() for _, case, found in cases for c in found.values()]
    contest.write_csv(opts.out / f"matmul-{opts.mode}.csv", rows)
    contest.write_csv(opts.out / f"matmul-{opts.mode}-quick.csv", session.quick)
    for (kind, regime), cases in results.items():
        if opts.mode in ("squares", "grid-order"):
            for name in dict.fromkeys(f.name for f in families):
                points = [(float(case.split()[0]), found[name].rate) for _, case, found in cases
                          if name in found and " " not in case]
                lines.append((f"{name}, {kind}, {regime}", points))
        table(f"{kind}, {opts.mode}, {opts.target}, {regime}", cases, families, base,
              opts.mode in ("tails", "majors"))
    if lines:
        contest.plot(opts.out / f"matmul-{opts.mode}.png", dict(lines), "M = N = K", "TFLOPS", f"matmul, {opts.target}")
    session.finish()


if __name__ == "__main__":
    sys.exit(main())
