#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py BUILD [--sample=500] [--seed=1] [--folder=NAME] [--further] [--again] [--least=85] [--budget=60] [--keep=FOLDER]:
how many small mistakes in layouts, passes, code generation and the interpreter the tests find that have the folder's label.

Makes a tree that holds all mutants (rewrite.py), runs each test once without one, and for each of the sample those tests that
reach it until one fails, or they have taken --budget seconds. The sample has as many of each folder, and of other seeds others; a change of one
function leaves that of the others. Prints a table by folder and kind, and the mutants that survive.
tests/mutants/judged.tsv says of those that no test can tell, and why. --further: of all kinds that kinds.py has. --again goes on
with those that survived the last time, and tests that are new.
Exit code 1 when fewer than --least of 100 are killed, those left out that are judged to do the same, when a test fails without
a mutant, or a verdict is of none any more."""
import argparse
import collections
import hashlib
import itertools
import json
import shutil
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import kinds  # noqa: E402
import rewrite  # noqa: E402
import units  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
JUDGED = Path(__file__).resolve().parent / "judged.tsv"


def sample(mutants, size, seed):
    """Of each folder as many, in turn; by a hash of what they are, so that the rest stays when one goes."""
    folders = collections.defaultdict(list)
    for m in mutants:
        folders[m.folder].append(m)
    each = size // len(folders)
    drawn = [sorted(of, key=lambda m: hashlib.sha256(repr((seed, m.key)).encode()).digest())[:each] for of in folders.values()]
    return [m for turn in itertools.zip_longest(*drawn) for m in turn if m]


def tests_of(build, runner, folders, stamp):
    """The units of the folders' rows, quickest first. Ends where one fails without a mutant."""
    found, failed = {}, []

    def said(unit):
        runner.base_line(unit, stamp)
        return unit.said
    for row in units.rows(build, folders):
        if not Path(row.command[0]).exists() and not shutil.which(row.command[0]):
            failed.append(f"{row.name}: {row.command[0]} is not there")
            continue
        for unit in units.parts(row, said):
            found[unit.name] = unit
    for unit in found.values():
        if not runner.base_line(unit, stamp) and unit.code != units.SKIPPED:
            failed.append(f"{unit.name}: {unit.code} without a mutant\n{unit.said[-2000:]}")
    if failed:
        raise SystemExit("\n".join(failed))
    return sorted((u for u in found.values() if u.code == 0 and u.processor <= units.LONGEST), key=lambda u: u.processor)


def judged():
    """{what a mutant is called: verdict}; the line of a mutant is not in it."""
    found = {}
    if JUDGED.exists():
        for line in JUDGED.read_text().splitlines():
            if line and not line.startswith("#"):
                file, function, kind, before, after, which, verdict = line.split("\t")
                found[file, function, kind, before, after, int(which)] = verdict
    return found


def verdict_of(m, tests, runner, kills, budget, passed=(), asked=0):
    """(killed, survived or not reached; by what or why; how long it took; what it passes). passed: tests that did with it when it
    was asked. kills: of each test, for each file: behind tests that are new since those that have found most there come first,
    then the quickest for how much of the file's mutants they reach. budget: a processor's seconds for a mutant."""
    start, spent, left, did = time.monotonic(), 0, 0, []
    mine = [u for u in tests if m.folder in u.labels and u.reached[m.number]]
    for unit in sorted(mine, key=lambda u: (u.since <= asked, -kills[m.file, u.name], u.processor / u.reached.count(1, *m.beside))):
        if unit.name in passed and unit.since <= asked:
            continue
        if spent + unit.processor > budget:
            left += 1
            continue
        spent += unit.processor
        how = runner.kills(unit, m.number)
        if how:
            kills[m.file, unit.name] += 1
            return "killed", f"{unit.name}: {how}", time.monotonic() - start, []
        did.append(unit.name)
    return ("survived" if mine else "not reached"), f"{left} tests left" if left else "", time.monotonic() - start, [*passed, *did]


def table(results):
    """Lines: by folder, then by kind."""
    def line(name, of):
        n = collections.Counter(v for _, v in of)
        return f"{name:<14}{len(of):>8}{n['killed']:>8}{n['survived']:>10}{n['not reached']:>13}{100 * n['killed'] / len(of):>7.1f} %"
    yield f"{'':<14}{'sampled':>8}{'killed':>8}{'survived':>10}{'not reached':>13}{'':>7}"
    for names, of in ((rewrite.FOLDERS, lambda m: m.folder), (kinds.KINDS + kinds.FURTHER, lambda m: m.kind)):
        for name in names:
            some = [(m, v) for m, v in results if of(m) == name]
            if some:
                yield line(name, some)
        yield ""
    yield line("all", results)


def main():
    p = argparse.ArgumentParser(description="how many mutants the tests kill", allow_abbrev=False)
    p.add_argument("build", type=Path)
    p.add_argument("--sample", type=int, default=500)
    p.add_argument("--seed", default="1")
    p.add_argument("--folder", choices=rewrite.FOLDERS)
    p.add_argument("--again", action="store_true")
    p.add_argument("--further", action="store_true")
    p.add_argument("--least", type=float, default=85)
    p.add_argument("--budget", type=float, default=60)
    p.add_argument("--keep", type=Path)
    o = p.parse_args()
    clang = shutil.which("clang") or shutil.which("clang-14")
    if not clang:
        print("there is no clang: scripts/setup full")
        return units.SKIPPED
    work = (o.keep or o.build / "mutants").resolve()
    work.mkdir(parents=True, exist_ok=True)
    to = work / "tree"
    mutants = rewrite.rewrite(ROOT, o.build.resolve(), to, clang)
    build = rewrite.make(to, work / "log")
    wanted = kinds.KINDS + kinds.FURTHER * o.further
    chosen = [m for m in sample([m for m in mutants if m.kind in wanted], o.sample, o.seed) if o.folder in (None, m.folder)]
    runner = units.Runner(work, len(mutants))
    stamp = rewrite.stamp(to)
    print(f"{len(mutants)} mutants, {len(chosen)} of them sampled", flush=True)
    start = time.monotonic()
    tests = tests_of(build, runner, [o.folder] if o.folder else list(rewrite.FOLDERS), stamp)
    print(f"{len(tests)} tests, {sum(u.processor for u in tests):.0f} s without a mutant, made in {time.monotonic() - start:.0f} s", flush=True)
    last = work / "last.json"
    before = {tuple(k): row for k, *row in json.loads(last.read_text())} if o.again and last.exists() else {}
    chosen.sort(key=lambda m: m.key in before)  # what was not asked, first
    results, kills, start = [], collections.Counter(), time.monotonic()
    with open(work / "each", "w") as each:
        for m in chosen:
            was, passed, asked = before.get(m.key, ("", [], 0))
            results.append((m, "killed"))
            if was == "killed":
                continue
            verdict, why, seconds, passed = verdict_of(m, tests, runner, kills, o.budget, passed, asked)
            results[-1] = m, verdict
            before[m.key] = verdict, passed, time.time()
            last.write_text(json.dumps([(k, *v) for k, v in before.items()]))
            print(f"{verdict}\t{seconds:.1f}\t{m.file}:{m.line}\t{m.kind}\t{m.before}\t{m.after}\t{why}", file=each, flush=True)
    gone = [k for k in judged() if k not in {m.key for m in mutants}]
    for file, function, kind, text, new, which in gone:
        print(f"judged.tsv: {file}: {function}: {kind}: {text} -> {new} ({which}): there is no such mutant any more")
    return report(results, time.monotonic() - start, o.least) or bool(gone)


def report(results, seconds, least):
    known = judged()
    left = sorted(((m, v) for m, v in results if v != "killed"), key=lambda x: (x[0].file, x[0].line))
    for m, verdict in left:
        print(f"{m.file}:{m.line}: {verdict}, {m.kind}: {m.before}\n    -> {m.after}\n    {known.get(m.key, 'not judged')}")
    print(*table(results), sep="\n")
    killed = len(results) - len(left)
    same = sum(known.get(m.key, "").startswith(("equivalent", "speed")) for m, _ in left)
    share = 100 * killed / max(1, len(results) - same)
    print(f"{killed} of {len(results)} killed, {100 * killed / len(results):.1f} %; {share:.1f} % without {same} that are judged to do "
          f"the same; {seconds:.0f} s")
    ok = share >= least
    print(f"{killed} passed, {0 if ok else len(left)} failed")
    return not ok


if __name__ == "__main__":
    sys.exit(main())
