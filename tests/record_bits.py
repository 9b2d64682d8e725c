# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""record_bits.py BIN OUT [--device=cuda|ptx] [--only=PROGRAM]: what a GPU's launches leave in their buffers, as the files of
tests/bits that scripts/test holds the PTX machine against.

For both targets, tile-kernels, tile-conformance and blocks.py run twice on the GPU and once on the PTX machine. A case
gets its hash where all three agree, else `~`, with the inexact instructions of its code (tests/run/inexact.def); one that
has none, and one that ran on one device alone, is an error. The files OUT/kernels.tsv, OUT/conformance.tsv and
OUT/blocks.tsv are written in any case. --device=ptx takes the machine in place of the GPU, to try this out.
Ends with `N passed, N failed`, which are cases; exit code 77 without a GPU."""
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TARGETS = ["sm_80", "sm_90a"]
SEEDS = "1-100"  # of cmake/tests.cmake's row
SHOWN = 20
HEAD = """# Made by tests/record_bits.py: what {of} left in their buffers on: {where}.
# Hash, targets, case; ~: the PTX machine, or a second run, leaves other bits, for the sake of these instructions.
"""


def programs(bin_):
    """Name, command, targets."""
    return [("kernels", [bin_ / "tile-kernels", "--size=tiny"], TARGETS),
            ("conformance", [bin_ / "tile-conformance"], TARGETS),
            ("blocks", [sys.executable, Path(__file__).parent / "fuzz/blocks.py", bin_, SEEDS], ["sm_90a"])]


class Run:
    """A program's cases on a device, by title: hash, instructions."""

    def __init__(self, name, command, target, device, file):
        on = f"ptx:{target}" if device == "ptx" else device
        command = [*command, f"--device={on}", f"--target={target}", f"--bits={file}"]
        self.done = subprocess.run(command, capture_output=True, text=True)
        self.name, self.target, self.command, self.case = name, target, " ".join(map(str, command)), {}
        self.where = self.done.stdout.split(", code for ")[0]
        if file.exists():
            for line in file.read_text().splitlines():
                hash_, _, title, *inexact = line.split("\t")
                self.case[title] = hash_, inexact[0] if inexact else ""


def judge(runs):
    """(lines, errors) of one program and one target: {title: (hash or ~, instructions)}."""
    lines, errors = {}, []
    for run in runs:
        if run.done.returncode:
            errors.append(f"exit code {run.done.returncode}: {run.command}\n{run.done.stdout[-2000:]}{run.done.stderr[-2000:]}")
    for title in sorted(set().union(*(r.case for r in runs))):
        found = [r.case.get(title) for r in runs]
        if None in found:
            errors.append(f"{runs[0].name}, {runs[0].target}: did not run everywhere: {title}")
            continue
        inexact = found[0][1]
        if len({f[0] for f in found}) == 1:
            lines[title] = found[0][0], ""
        elif inexact:
            lines[title] = "~", inexact
        else:
            what = "two runs on the GPU" if found[0] != found[1] else "the GPU and the PTX machine"
            errors.append(f"{runs[0].name}, {runs[0].target}: {what} differ in exact instructions: {title}")
    return lines, errors


def write(path, of, where, by_target):
    """Targets that agree share a line. How many lines."""
    merged = {}
    for target, lines in by_target.items():
        for title, line in lines.items():
            merged.setdefault((title, line), []).append(target)
    with path.open("w") as f:
        f.write(HEAD.format(of=of, where=where))
        for (title, (hash_, inexact)), targets in sorted(merged.items()):
            f.write("\t".join([hash_, ",".join(targets), title] + [inexact] * bool(inexact)) + "\n")
    return len(merged)


def main():
    bin_, out, device, only = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), "cuda", ""
    for option in sys.argv[3:]:
        if option.startswith("--only="):
            only = option.removeprefix("--only=")
        else:
            device = option.removeprefix("--device=")
    out.mkdir(parents=True, exist_ok=True)
    passed, errors = 0, []
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor() as machines, ThreadPoolExecutor(1) as gpu:
        def begin(name, command, target, which):
            pool, on = (machines, "ptx") if which == 2 else (gpu, device)
            return pool.submit(Run, name, command, target, on, Path(work) / f"{name}-{target}-{which}")
        begun = [(name, {t: [begin(name, command, t, i) for i in range(3)] for t in targets})
                 for name, command, targets in programs(bin_) if only in ("", name)]
        where = ""
        for name, by_target in begun:
            lines = {}
            for target, futures in by_target.items():
                runs = [f.result() for f in futures]
                if runs[0].done.returncode == 77:
                    print(f"no device: {runs[0].done.stderr.strip()}")
                    sys.exit(77)
                where = where or runs[0].where
                lines[target], more = judge(runs)
                errors += more
                passed += len(lines[target])
                open_ = Counter(inexact for _, inexact in lines[target].values() if inexact)
                print(f"{name}, {target}: {len(lines[target])} cases, {sum(open_.values())} open (~)")
                for inexact, n in open_.most_common():
                    print(f"  {n:5} {inexact}")
            print(f"{write(out / f'{name}.tsv', f'launches of {name}', where, lines)} lines in {out / f'{name}.tsv'}")
    print(*errors[:SHOWN], sep="\n")
    if len(errors) > SHOWN:
        print(f"and {len(errors) - SHOWN} more")
    print(f"{passed} passed, {len(errors)} failed")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
