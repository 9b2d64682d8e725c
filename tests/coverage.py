#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""coverage.py BUILD-FOLDER: what gcc's counters say after tests -> a row for each folder of the sources: lines, those
that ran, branches, those taken; in uncovered.txt of the build folder every line and every branch that is not.

A folder's row has those in it, too. Fails where base, frontend, ir or passes have less than LEAST of their lines.
Counted are the libraries and programs as they are built here: a source that no test runs counts as well, and a line
of a header or a table once, whatever it is expanded for. What flex and bison add to lexer.l and grammar.y lies in the
build folder, and is not counted; the actions that are written in these are."""
import collections
import glob
import json
import os
import subprocess
import sys

LEAST = 95
STRICT = "base frontend ir passes".split()
OBJECTS = "base ir ptx frontend passes codegen compiler runtime".split()


class Line:
    def __init__(self):
        self.count, self.branches = 0, {}

    def add(self, count, branches, where):
        """A line has other branches in each object: those of a header are of the one where most were taken."""
        self.count += count
        old = self.branches.get(where)
        self.branches[where] = [a + b for a, b in zip(old, branches)] if old else branches

    def taken(self):
        """(branches, those taken)"""
        return max(((len(b), sum(map(bool, b))) for b in self.branches.values()), key=lambda p: (p[1], p[0]),
                   default=(0, 0))


def read(build, tree):
    """{file: {number: Line}} of the tree's files"""
    notes = [n for o in OBJECTS for n in glob.glob(f"{build}/CMakeFiles/{o}_objects.dir/**/*.gcno", recursive=True)]
    notes += [n for p in ("tilec", "tilerun") for n in glob.glob(f"{build}/CMakeFiles/{p}.dir/**/*.gcno", recursive=True)]
    files = collections.defaultdict(lambda: collections.defaultdict(Line))
    if not notes:
        sys.exit(f"{build} has no counters: cmake --preset coverage makes one that has")
    said = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *sorted(notes)],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for text in said.splitlines():
        unit = json.loads(text) if text.startswith("{") else {"files": []}
        for file in unit["files"]:
            path = os.path.relpath(os.path.realpath(os.path.join(unit["current_working_directory"], file["file"])), tree)
            if path.startswith(("..", "build")) or not os.path.exists(os.path.join(tree, path)):
                continue  # generated, or gone since that object was made
            for line in file["lines"]:
                files[path][line["line_number"]].add(line["count"], [b["count"] for b in line["branches"]],
                                                     (unit["data_file"], line.get("function_name")))
    return files


def rows(files):
    """{folder: [lines, that ran, branches, taken]}, a folder's with those below it"""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for path, lines in files.items():
        parts = os.path.dirname(path).split("/")
        for folder in ("/".join(parts[:n + 1]) for n in range(len(parts))):
            for line in lines.values():
                n, taken = line.taken()
                sums[folder] = [a + b for a, b in zip(sums[folder], (1, line.count > 0, n, taken))]
    return sums


def write_uncovered(path, files, tree):
    with open(path, "w", encoding="utf-8") as out:
        for name in sorted(files):
            with open(os.path.join(tree, name), encoding="utf-8") as source:
                text = source.read().splitlines()
            for number, line in sorted(files[name].items()):
                n, taken = line.taken()
                what = "not run" if not line.count else f"{taken} of {n} branches" if taken < n else None
                if what:
                    print(f"{name}:{number}: {what}: {text[number - 1].strip()}", file=out)


def percent(part, whole):
    return 100 * part / whole if whole else 100


def main():
    build, tree = os.path.realpath(sys.argv[1]), os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    files = read(build, tree)
    sums, bad = rows(files), 0
    write_uncovered(os.path.join(build, "uncovered.txt"), files, tree)
    print(f"{'folder':<20} {'lines':>7} {'run':>7} {'%':>7} {'branches':>9} {'taken':>7} {'%':>7}")
    for folder, (lines, run, branches, taken) in sorted(sums.items()):
        print(f"{folder:<20} {lines:7} {run:7} {percent(run, lines):7.2f} {branches:9} {taken:7} "
              f"{percent(taken, branches):7.2f}")
    for folder in STRICT:
        lines, run, *_ = sums[folder]
        if not lines or percent(run, lines) < LEAST:
            bad += 1
            print(f"coverage: {folder}: less than {LEAST} % of its lines run: {os.path.basename(build)}/uncovered.txt "
                  f"has the others")
    print(f"{len(STRICT) - bad} passed, {bad} failed")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
