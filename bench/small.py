# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""small.py: small square products under CUDA graphs, in microseconds per launch: ours, Triton with
the same source and config list, cuBLAS. Writes small.csv and small.png.

A graph holds many launches, so that the host's part does not count and the caches are warm."""
import contest
from contest import best_of
from products import (CUBLAS, OURS, TRITON, Data, Problem, compile_all, contestants_of, jobs_of,
                      pick_configs)

SIZES = "128,256,512,768,1024,1280,1536,2048"


def main():
    p = contest.options(__doc__)
    p.add_argument("--types", default="fp16")
    p.add_argument("--sizes", default=SIZES)
    p.add_argument("--configs", default="all", help="their numbers in matmul_configs.txt, from 0: 0,1,4; more: "
                   "those of matmul_more.txt, too")
    p.add_argument("--keep", type=int, default=3, help="how many configs of each go into the contest")
    opts = p.parse_args()
    families = [CUBLAS, OURS] if opts.no_triton else [CUBLAS, TRITON, OURS]
    configs, session = pick_configs(opts.configs), contest.Session(opts)
    problems = [Problem(s, kind, *[int(s)] * 3) for kind in opts.types.split(",") for s in opts.sizes.split(",")]
    if opts.dry_run:
        contest.print_built(session, jobs_of(problems, families, configs, opts))
        session.finish()
    compile_all(session, problems, families, configs)
    rows, table, lines = [], [], {}
    for problem in problems:
        if session.over():
            session.note(f"the time is over: {problem.type} {problem.label} and what follows left out")
            break
        data = Data(session.torch, problem)
        entered = contestants_of(session, data, families, configs)
        contest.graph_time(session.clock, entered, launches=40, rounds=3)
        last = [c for f in families for c in sorted((c for c in entered if c.family == f.name),
                                                    key=lambda c: c.ms)[:opts.keep]]
        contest.graph_time(session.clock, last, launches=200, rounds=7 if opts.quick else 15)
        best = {family: c for (_, family), c in best_of(last).items()}
        cells = [f"{best[f.name].ms * 1e3:9.2f}" if f.name in best else f"{'-':>9}" for f in families]
        for other in [f.name for f in families if f.name != "ours"]:
            both = other in best and "ours" in best
            cells.append(f"{best[other].ms / best['ours'].ms:9.3f}" if both else f"{'-':>9}")
        table.append(f"{problem.type:<5}{problem.label:>6}" + "".join(cells) + "  " +
                     "  ".join(f"{n}: {c.config}" for n, c in best.items() if c.config))
        session.note(table[-1])
        for name, c in best.items():
            rows.append(dict(type=problem.type, size=problem.m, family=name, config=c.config,
                             us=f"{c.ms * 1e3:.3f}", target=opts.target))
            lines.setdefault(f"{name}, {problem.type}", []).append((problem.m, c.ms * 1e3))
    contest.write_csv(opts.out / "small.csv", rows)
    contest.plot(opts.out / "small.png", lines, "M = N = K", "microseconds per launch", "small products in CUDA graphs")
    print("\nmicroseconds per launch in a CUDA graph; ratios: how many times as fast ours is")
    print(f"{'':<11}" + "".join(f"{f.name:>9}" for f in families) +
          "".join(f"{'/' + f.name:>9}" for f in families if f.name != "ours"))
    print(*table, sep="\n")
    session.finish()


if __name__ == "__main__":
    main()
