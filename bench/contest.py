# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""contest.py: what the benches share: options, the clock, the check of results, tables, CSV, plots.

A contest times several contestants in one process, in turn, on the same buffers. Before each timed
launch the L2 cache is overwritten and a short sleep kernel is queued, so that the launch is in the
queue before the GPU gets to it. What counts are medians, and ratios between them.

Two regimes: 'sustained' has no pauses, and the card runs at its power limit as in real work; in
'burst' the card rests before each launch."""
import argparse
import csv
import math
import random
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import kernels
import newer

FLUSH_BYTES = 256 << 20
SLEEP_CYCLES = 60_000  # some 35 µs: longer than it takes to queue a launch
RESTED_CYCLES = 2_000_000  # some 1.2 ms: behind a pause the host, too, is slow to queue its first


@dataclass(frozen=True)
class Family:
    """Who: a column of the table."""
    name: str
    engine: str = "tilec"   # or triton, newer (kernels that another Triton made), or a library
    source: str = ""        # for tilec and Triton, where it is not the problem that says
    group: int = 8          # GROUP_M; 0: the source has no such constexpr
    flags: tuple = ()       # more options of tilec
    entry: str = "auto"     # of ours: as bind_tilec takes it
    defines: tuple = ()     # more constexprs, of a source of its own
    rows: bool = False      # only for 16-bit factors, row by row
    warps: int = 99         # at most: Triton specialises the warps of kernels of 4 only, and adds others
    note: str = ""          # behind the config, where families share a name


@dataclass
class Contestant:
    family: str      # who: a column of the table
    config: str
    run: Callable    # launches once
    work: float = 0  # operations or bytes of a launch, for rates
    case: str = ""   # which problem
    ms: float = math.nan

    @property
    def rate(self):
        return self.work / self.ms * 1e-9 if self.ms else math.nan  # 1e12 a second


class Clock:
    def __init__(self, torch, clean=False):
        self.torch, self.clean = torch, clean
        self.scratch = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")

    def _once(self, run, spin):
        event = self.torch.cuda.Event
        start, end = event(enable_timing=True), event(enable_timing=True)
        self.scratch.zero_()
        if self.clean:
            self.scratch.amax()
        self.torch.cuda._sleep(spin)
        start.record()
        run()
        end.record()
        return start, end

    def rounds(self, contestants, rounds, pause=0.0):
        """Times them `rounds` times, each round in another order, and sets the median of each: at the
        power limit a launch is faster behind one that took less power, so nobody may always come
        behind the same one."""
        n, events, order = len(contestants), [[] for _ in contestants], random.Random(1)
        for _ in range(rounds):
            for k in order.sample(range(n), n):
                if pause:
                    self.torch.cuda.synchronize()
                    time.sleep(pause)
                events[k].append(self._once(contestants[k].run, RESTED_CYCLES if pause else SLEEP_CYCLES))
        self.torch.cuda.synchronize()
        for c, pairs in zip(contestants, events):
            c.ms = statistics.median(s.elapsed_time(e) for s, e in pairs)

    def quick(self, contestants, rounds=7):
        """First figures, to choose by: at the power limit single ones are off by some percent."""
        for c in contestants:
            c.run()
        self.rounds(contestants, rounds)

    def careful(self, contestants, regime, quick=False):
        """Medians of many rounds. The figures of a quick pass must be there: they say how many."""
        total = sum(c.ms + 0.3 for c in contestants) * 1e-3  # seconds of a round
        if regime == "burst":
            longest = max(c.ms for c in contestants) * 1e-3
            pause = min(0.05, max(0.005, 6 * longest))
            rounds = min(30, max(5 if quick else 9, int(1.5 / (total + pause * len(contestants)))))
            self.rounds(contestants, rounds, pause)
            return
        started = time.monotonic()
        while time.monotonic() - started < (0.2 if quick else 0.5):  # up to the power limit
            for c in contestants:
                c.run()
            self.torch.cuda.synchronize()
        self.rounds(contestants, min(200, max(7 if quick else 15, int((0.3 if quick else 1.0) / total))))


def graph_time(clock, contestants, launches=200, rounds=15):
    """Sets the time of one launch among many in a CUDA graph: no launch gaps, warm caches."""
    torch, graphs = clock.torch, []
    for c in contestants:
        c.run()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(launches):
                c.run()
        graphs.append(graph)
    clones = [Contestant(c.family, c.config, g.replay) for c, g in zip(contestants, graphs)]
    clock.quick(clones, rounds)
    for c, timed in zip(contestants, clones):
        c.ms = timed.ms / launches


def wrong(torch, result, expected, bound):
    """Says what is wrong with a result, or nothing. Its distance from `expected` (fp64), relative in
    the 2-norm, may be `bound`; an element may be off by 6 times that share of the largest one."""
    rest, norm, worst, largest = 0.0, 0.0, 0.0, 0.0
    rows = max(1, (1 << 26) // max(1, expected[0].numel()))
    for r in range(0, expected.shape[0], rows):
        e = expected[r:r + rows]
        d = result[r:r + rows].double() - e
        if not bool(torch.isfinite(d).all()):
            return "elements not written, or not finite"
        rest += float(d.square().sum())
        norm += float(e.square().sum())
        worst = max(worst, float(d.abs().max()))
        largest = max(largest, float(e.abs().max()))
    if math.sqrt(rest) > bound * math.sqrt(norm):
        return f"relative error {math.sqrt(rest / max(norm, 1e-300)):.2e} > {bound:.1e}"
    if worst > 6 * bound * largest:
        return f"an element is off by {worst:.3g}, largest value {largest:.3g}"
    return ""


def poison(torch, t):
    """NaN in floats; a number that no product here gives in integers."""
    t.fill_(float("nan") if t.is_floating_point() else torch.iinfo(t.dtype).min)


def options(description, **defaults):
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--tilec", metavar="PATH", help="the compiler; default: beside this folder")
    p.add_argument("--target", default="sm_90a", help="what tilec compiles for (sm_90a, sm_80)")
    p.add_argument("--out", type=Path, default=Path("."), metavar="FOLDER", help="where CSV and PNG go")
    p.add_argument("--regimes", default=defaults.get("regimes", "sustained,burst"))
    p.add_argument("--budget-seconds", type=float, default=defaults.get("budget", 150.0),
                   help="begin no further problem after this long")
    p.add_argument("--quick", action="store_true", help="fewer rounds")
    p.add_argument("--jobs", type=int, default=0, help="compilers at a time; default: one a core")
    p.add_argument("--clean", action="store_true",
                   help="before a launch caches hold what was read, not what memory must still be given")
    p.add_argument("--flags", default="", help="more options for tilec, separated by spaces")
    p.add_argument("--no-triton", action="store_true")
    p.add_argument("--dry-run", action="store_true",
                   help="no GPU: compile all of ours, print registers, spills and shared memory")
    return p


class Session:
    """A run of a bench: the compiler, the GPU, what went wrong, how much time is left."""

    def __init__(self, opts):
        self.opts, self.started, self.failures = opts, time.monotonic(), []
        self.torch = self.driver = self.clock = self.triton = None
        self.triton_failed, self.quick = {}, []
        opts.out.mkdir(parents=True, exist_ok=True)
        self.flags = tuple(opts.flags.split())
        arch = "sm_90"
        if not opts.dry_run:
            import torch
            if not torch.cuda.is_available():
                raise SystemExit("there is no GPU: only --dry-run works")
            self.torch = torch
            torch.manual_seed(20261120)
            arch = "sm_%d%d" % torch.cuda.get_device_capability()
            self.clock = Clock(torch, opts.clean)
            self.driver = kernels.Driver()
        self.compiler = kernels.Compiler(kernels.find_tilec(opts.tilec), arch, opts.jobs)
        folder = getattr(opts, "newer", None)
        self.newer = newer.Index(folder, kernels.ROOT) if folder else None
        if self.torch and not opts.no_triton:
            try:
                import triton
                self.triton = kernels.TritonKernels(self.compiler.folder)
                print(f"Triton {triton.__version__}, ", end="")
            except ImportError:
                print("Triton is not there, ", end="")
        if self.torch:
            print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}, code for {opts.target}")

    def fail(self, what):
        self.failures.append(what)
        print("WRONG:", what, flush=True)

    def note(self, text):
        print(f"[{time.monotonic() - self.started:5.1f} s] {text}", flush=True)

    def enter(self, case, family, config, work, make, check):
        """In a list, the contestant whose `make()` gives a function that launches once and whose
        result check(run) finds nothing wrong with; else an empty one. A wrong result or a failed
        launch of ours is a failure of the bench; of others it is only said."""
        ours, run = family.engine == "tilec", None
        try:
            run = make()
            said = check(run) if run else ""
        except (MemoryError, self.torch.OutOfMemoryError):
            raise
        except Exception as e:  # of whatever kind: the bench goes on without this contestant
            said = (str(e).strip().splitlines() or [type(e).__name__])[-1][:200]
            if any(word in said for word in ("illegal", "misaligned", "unspecified launch failure")):
                self.fail(f"{case} {family.name} {config}: {said}")
                raise  # nothing works on this context any more
        if said and ours:
            self.fail(f"{case} {family.name} {config}: {said}")
        elif said:
            print(f"{case} {family.name} {config}: {said}")
        return [Contestant(family.name, config, run, work, case)] if run and not said else []

    def tilec_run(self, job, values, which="auto"):
        """Launches our kernel; None when it was not compiled, or has no such entry."""
        built = self.compiler.built[job]
        return None if built.error else kernels.bind_tilec(self.torch, self.driver, built, values, which)

    def triton_run(self, job, values, grid):
        return None if job in self.triton_failed else self.triton.bind(job, values, grid)

    def warm_triton(self, work):
        """Compiles Triton's kernels: pairs of a job and its arguments, or their dtypes."""
        if not self.triton or not work:
            return
        self.triton_failed.update(self.triton.warm(self.torch, work, self.compiler.threads))
        for job, error in list(self.triton_failed.items())[:5]:
            print(f"Triton: {describe(job)}: {error}")
        self.note(f"Triton: {len(dict(work))} kernels compiled")

    def newer_run(self, job, values, grid):
        return None if self.newer.missing(job) else self.newer.bind(self.torch, self.driver, job, values, grid)

    def show_newer(self, jobs):
        """Who of them is there; who is not, and why. Without a GPU: what each takes, too."""
        if self.newer:
            print(*self.newer.report(jobs, self.opts.dry_run), sep="\n", flush=True)

    def over(self):
        return time.monotonic() - self.started > self.opts.budget_seconds

    def build(self, jobs):
        started = time.monotonic()
        new = self.compiler.build(jobs)
        errors = {}
        for b in new:
            if b.error:
                errors.setdefault(b.error, []).append(describe(b.job))
            elif b.spills or b.serial:
                print(f"{describe(b.job)}: {b.spills} bytes spilled" + (", wgmma serialised" if b.serial else ""))
        for error, names in errors.items():
            print(f"not compiled: {names[0]}" + (f" and {len(names) - 1} more" if names[1:] else "") + f": {error}")
        if new:
            self.note(f"tilec and ptxas: {len(new)} kernels in {time.monotonic() - started:.1f} s")

    def finish(self):
        self.compiler.close()
        if self.failures:
            print(f"{len(self.failures)} wrong:", *self.failures[:10], sep="\n  ")
        sys.exit(5 if self.failures else 0)


def describe(job):
    text = ",".join(f"{n}={v}" for n, v in job.defines)
    return f"{Path(job.source).stem} {job.signature[0]} {text} {job.warps}w {job.stages}s {' '.join(job.flags)}".strip()


def print_built(session, jobs, may_spill=False):
    """What --dry-run shows of each kernel."""
    session.build(jobs)
    print(f"{'registers':>9} {'spilled':>7} {'shared':>7} {'tilec s':>7}  kernel")
    for job in dict.fromkeys(jobs):
        b = session.compiler.built[job]
        if b.error:
            session.fail(f"{describe(job)}: {b.error}")
            continue
        print(f"{b.registers:9d} {b.spills:7d} {b.manifest['shared']:7d} {b.seconds:7.3f}  {describe(job)}  "
              f"({', '.join(job.signature)})")
        if (b.spills and not may_spill) or b.serial:
            session.fail(f"{describe(job)}: spills or serialised wgmma")


def finalists(session, contestants, keep):
    """The fastest of each family and case after a quick pass, whose figures session.quick keeps."""
    session.clock.quick(contestants)
    session.quick += [dict(case=c.case, family=c.family, config=c.config, ms=f"{c.ms:.5f}") for c in contestants]
    groups = {}
    for c in contestants:
        groups.setdefault((c.case, c.family), []).append(c)
    return [c for g in groups.values() for c in sorted(g, key=lambda c: c.ms)[:keep]]


def best_of(contestants):
    """{(case, family): the fastest}"""
    best = {}
    for c in contestants:
        key = (c.case, c.family)
        if key not in best or c.ms < best[key].ms:
            best[key] = Contestant(**vars(c))
    return best


def geomean(values):
    values = [v for v in values if v > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def write_csv(path, rows):
    if not rows:
        return
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, fieldnames=list(dict.fromkeys(k for r in rows for k in r)))
        writer.writeheader()
        writer.writerows(rows)


def plot(path, lines, xlabel, ylabel, title):
    """One line for each name in `lines`: {name: [(x, y), …]}."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("no plot: matplotlib is not there")
        return
    figure, axes = pyplot.subplots(figsize=(10, 6))
    for name, points in lines.items():
        if points:
            axes.plot(*zip(*points), marker=".", label=name)
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title, ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
