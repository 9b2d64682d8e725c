# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""source.py: what the random kernels of pipelines.py, blocks.py and kernels.py are written and run with."""
import random
import re
import shutil
import subprocess

# the passes that make blocks of descriptors of loads, programs that stay and roles of warps
BEFORE = "swizzle_grid,lower_desc,fold,cse,dce,licm,combine,narrow"
AFTER = ("raise_desc,swap_ab,cse,persistent,licm,dce,overlap,cse,dce,warp_specialize,stage_stores,lower_desc,fold,cse,licm,dce")


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
