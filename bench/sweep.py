# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sweep.py: the rate of square fp16 products over all sizes in even steps, as three lines of a plot:
the naive 2-D order, the order grouped by hand, cuBLAS. Writes sweep.csv and sweep.png."""
import contest
from contest import Family, best_of, finalists
from products import CUBLAS, Data, Problem, compile_all, contestants_of, jobs_of, pick_configs

FAMILIES = [Family("naive", source="examples/matmul_naive.tl", group=0), Family("grouped"), CUBLAS]


def main():
    p = contest.options(__doc__, regimes="sustained", budget=240.0)
    p.add_argument("--type", default="fp16")
    p.add_argument("--first", type=int, default=256)
    p.add_argument("--last", type=int, default=18944)
    p.add_argument("--step", type=int, default=256)
    p.add_argument("--configs", default="0,1,3,4,9", help="their numbers in matmul_configs.txt, from 0; or all")
    p.add_argument("--swizzle", type=int, default=0, metavar="G", help="a fourth line: naive with --swizzle-grid=G")
    opts = p.parse_args()
    families = list(FAMILIES)
    if opts.swizzle:
        families.insert(1, Family("naive, swizzled", source=FAMILIES[0].source, group=0,
                                  flags=(f"--swizzle-grid={opts.swizzle}",)))
    configs, session = pick_configs(opts.configs), contest.Session(opts)
    problems = [Problem(str(s), opts.type, s, s, s) for s in range(opts.first, opts.last + 1, opts.step)]
    if opts.dry_run:
        contest.print_built(session, jobs_of(problems, families, configs, opts))
        session.finish()
    compile_all(session, problems, families, configs)
    rows, lines = [], {f.name: [] for f in families}
    # Every eighth size first, then those between: a run cut short still shows the whole range.
    order = sorted(range(len(problems)), key=lambda i: (i % 8 != 7, i % 4 != 3, i % 2 != 1, i))
    for i in order:
        problem = problems[i]
        if session.over():
            session.note(f"the time is over: {problem.label} and others left out")
            break
        entered = contestants_of(session, Data(session.torch, problem), families, configs)
        last = finalists(session, entered, 1)
        session.clock.rounds(last, 5 if opts.quick else 9)
        for (_, name), c in best_of(last).items():
            lines[name].append((problem.m, c.rate))
            rows.append(dict(type=opts.type, size=problem.m, family=name, config=c.config, ms=f"{c.ms:.5f}",
                             tflops=f"{c.rate:.2f}", target=opts.target))
        del entered, last  # the matrices go
    rows.sort(key=lambda r: (r["size"], r["family"]))
    contest.write_csv(opts.out / "sweep.csv", rows)
    lines = {name: sorted(points) for name, points in lines.items()}
    contest.plot(opts.out / "sweep.png", lines, "M = N = K", "TFLOPS", f"{opts.type} matmul, {opts.target}")
    print(f"\n{opts.type}, TFLOPS" + "".join(f"{n:>16}" for n in lines) + "     grouped/naive  grouped/cuBLAS")
    rate = {name: dict(points) for name, points in lines.items()}
    sizes = sorted(set().union(*rate.values()))
    for size in sizes[:: max(1, len(sizes) // 16)]:
        found = [rate[n].get(size, float("nan")) for n in lines]
        g, n, c = (rate[x].get(size, float("nan")) for x in ("grouped", "naive", "cuBLAS"))
        print(f"{size:>12}" + "".join(f"{x:16.1f}" for x in found) + f"{g / n:18.3f}{g / c:16.3f}")
    for other in [n for n in lines if n != "grouped"]:
        ratios = [rate["grouped"][s] / rate[other][s] for s in sizes if s in rate["grouped"] and s in rate[other]]
        print(f"grouped / {other}, geometric mean of {len(ratios)} sizes: {contest.geomean(ratios):.3f}")
    session.finish()


if __name__ == "__main__":
    main()
