# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""source.py: what random kernels, and random launches of examples (products.py, attention.py, planes.py), are made and run with."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# the passes that make blocks of descriptors of loads, programs that stay and roles of warps
BEFORE = "swizzle_grid,lower_desc,fold,cse,dce,licm,combine,narrow"
AFTER = ("raise_desc,swap_ab,cse,persistent,licm,dce,overlap,cse,dce,warp_specialize,stage_stores,lower_desc,fold,cse,licm,dce")

# what tl.arange takes
SIZES = [odd << twos for odd in range(1, 16, 2) for twos in range(3, 9) if 16 <= odd << twos <= 256]


def power_above(size):
    """Elements that there is room for in a tile of so many."""
    return 1 << (size - 1).bit_length()


class Source:
    """A kernel's body, line by line, by a seed's numbers."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.depth, self.names = [], 1, 0

    def maybe(self, share):
        return self.random.random() < share

    def pick(self, *of):
        return self.random.choice(of)

    def emit(self, line):
        self.lines.append("    " * self.depth + line)

    def let(self, value):
        self.names += 1
        self.emit(f"v{self.names} = {value}")
        return f"v{self.names}"


class Launched(Source):
    """A kernel, what it is launched with (write, arguments, constants, stored, and its grid, warps and stages), and the
    loop over blocks that it is made of: begin, turn and go_on write what comes in front of it, in it and at a turn's end."""

    def split(self):
        """What lets a launch share out iterations, if anything."""
        return []

    def blocks(self, way, words, more, first, end, step, *turn):
        """From number `first` to `end`, `step` at a time: `at` is where a turn's block begins."""
        self.begin(first)
        if way == "while":
            self.emit(f"at = {first}")
            self.emit(f"while at < {end}:")
        elif way == "first":
            self.emit(f"for at in {words}{first}, {end}, {step}{more}):")
        else:
            self.emit(f"for i in {words}0, tl.cdiv({end} - {first}, {step}){more}):")
        self.depth += 1
        if way == "turn":
            self.emit(f"at = {first} + i * {step}")
        if way == "back":
            self.emit(f"at = {first} + (tl.cdiv({end} - {first}, {step}) - 1 - i) * {step}")
        self.turn("at", *turn)
        self.go_on()
        if way == "while":
            self.emit(f"at += {step}")
        self.depth -= 1


def seeds_of(words):
    """The numbers of words such as 7 and 10-20."""
    parts = [word.partition("-") for word in words]
    return [s for low, _, high in parts for s in range(int(low), int(high or low) + 1)]


def pipeline(programs):
    """The names of the passes, in the pipeline's order."""
    told = subprocess.run([programs / "tilec", "--help"], capture_output=True, text=True).stdout
    return re.findall(r"^  (\w+) ", told.split("Passes, in")[1], re.M)


def tell(command, limit=None):
    """What it said when it failed, or did not end within so many seconds, else nothing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"no end within {limit} s"
    return done.stdout + done.stderr or f"exit code {done.returncode}" if done.returncode else ""


def conclude(work, passed, wrong):
    """Prints what is wrong, whose files stay in the folder then, and how many passed and failed; the exit code."""
    if wrong:
        print(*wrong, sep="\n")
    else:
        shutil.rmtree(work)
    print(f"{passed} passed, {len(wrong)} failed")
    return 1 if wrong else 0


def first_wrong(seed, command, ways):
    """What is wrong with the command in the first of these ways that fails, or nothing."""
    for way in ways:
        said = tell([*command, *way])
        if said:
            return f"seed {seed}: {said}\n    " + " ".join(map(str, [*command, *way]))
    return ""


def wrong_further(compiler, stem, kernel, words):
    """What is wrong with the further entry of a kernel, if the compiler's command makes one, in a launch by these words
    whether it is for such or not; nothing where no launch can make its descriptors, or alone it is too large."""
    said = (tell([*compiler, "-o", f"{stem}.ptx"]) or
            tell([*compiler, "--emit=tir", f"--passes={BEFORE},entries", "-o", f"{stem}.tir"]))
    entry = said or re.search(rf"\.entry ({kernel}__\w+)\(", Path(f"{stem}.ptx").read_text())
    if said or not entry:
        return said
    further = [compiler[0].parent / "tilerun", f"{stem}.tir", f"--kernel={entry[1]}", *words]
    said = tell(further)
    cannot = "no descriptor of" in said or "bytes of shared memory, of which" in said
    return said + "\n    " + " ".join(map(str, further)) if said and not cannot else ""


def try_launched(name, make, programs, device, work, seed):
    """What is wrong with the Launched of the seed, by the entry that a launch chooses and by the further one, or nothing."""
    kernel, stem = make(seed), f"{work}/{name}-{seed}"
    Path(f"{stem}.tl").write_text(kernel.write())
    grid, split, arguments = "--grid=" + ",".join(map(str, kernel.grid)), kernel.split(), kernel.arguments(stem)
    options = [f"--kernel={name}", f"--num-warps={kernel.warps}", f"--num-stages={kernel.stages}",
               *[f"-D{x}={v}" for x, v in kernel.constants().items()]]
    same = [f"--expect={x}_ptr={stem}-{x}.npy:0" for x in kernel.stored()]
    command = [programs / "tilerun", f"{stem}.tl", f"--seed={seed}", grid, *options, *arguments]
    wrong = first_wrong(seed, command, (["--device=cpu", *[f"--save={x}_ptr={stem}-{x}.npy" for x in kernel.stored()]],
                                        [f"--device={device}", *split, *same]))
    if wrong or device.endswith("sm_80"):  # which has no further entries
        return wrong
    said = wrong_further([programs / "tilec", f"{stem}.tl", *options, "-Wno-perf", "--target=sm_90a", *split], stem, name,
                         [f"--seed={seed}", grid, f"--device={device}", *arguments, *same])
    return f"seed {seed}: {said}" if said else ""


def run_seeds(name, try_seed):
    """BIN [--device=ptx:sm_90a] [SEED | FROM-TO]…: try_seed(programs, device, folder, seed) of each; the exit code."""
    programs, words = Path(sys.argv[1]).resolve(), sys.argv[2:]
    device = ([w.partition("=")[2] for w in words if w.startswith("--device=")] or ["ptx:sm_90a"])[-1]
    seeds = seeds_of([w for w in words if not w.startswith("--")] or ["1-60"])
    work = tempfile.mkdtemp(prefix=f"tilec-{name}-")
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        wrong = [said for said in pool.map(lambda seed: try_seed(programs, device, work, seed), seeds) if said]
    return conclude(work, len(seeds) - len(wrong), wrong)
