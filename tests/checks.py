# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""checks.py: what a test of several checks counts, and the line that count.py reads."""


class Checks:
    """check("what", holds, more…): what does not hold is told, with the end of what more there is to say."""

    def __init__(self, name, lines=25):
        self.name, self.lines = name, lines
        self.passed = self.failed = 0

    def __call__(self, what, holds, *more):
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        if not holds:
            said = "\n".join(str(m) for m in more).splitlines()[-self.lines:]
            print(f"{self.name}: {what}", *("    | " + line[:600] for line in said), sep="\n")
        return bool(holds)

    def end(self):
        """Says the counts; the exit code."""
        print(f"{self.passed} passed, {self.failed} failed")
        return int(self.failed > 0)
