# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""source.py: what the random kernels of pipelines.py and blocks.py are written and run with."""
import random
import subprocess


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


def tell(command):
    """What it said when it failed, else nothing."""
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout + done.stderr or f"exit code {done.returncode}" if done.returncode else ""
