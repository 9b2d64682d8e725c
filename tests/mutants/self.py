# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""self.py: mutants of one small file: which are made, that the program is as before without one, that each of them is another
program, and which of them a test reaches, kills and does not."""
import collections
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import rewrite  # noqa: E402
import run  # noqa: E402
import units  # noqa: E402

HERE = Path(__file__).resolve().parent
SOURCE = """\
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
enum { LIMIT = 4, WIDE = LIMIT + 1 };
static const int table[] = {1, 2 + 3};
#define TWICE(x) ((x) + (x))
static int min(int a, int b) { return a < b ? a : b; }
static int max(int a, int b) { return a > b ? a : b; }
struct bits { unsigned low : 3; };
static bool within(int x) {
    return x >= 2 && (x < LIMIT || x == 9);
}
static int *first(int *p, int n) {
    if (!n) return NULL;
    return p + n - 1;
}
int main(int argc, char **argv) {
    int x = argc > 1 ? atoi(argv[1]) : 0, kept = 0;
    struct bits b = {0};
    b.low |= 5;
    switch (x) {
    case 7: kept += TWICE(x); break;
    }
    int *p = first(&kept, (x == 3) & 1);
    if (p) *p = 1;
    printf("%d %d %d %d %d %zu\\n", within(x), min(x, 3), max(x, 3), kept, (int)b.low, sizeof table / sizeof(int));
    return 0;
}
"""
# Kind, line, what it becomes.
MADE = """\
relation 7 a >= b
boundary 8 a >= b
return 8 return !(a > b ? a : b);
boundary 11 x > 2
logical 11 x >= 2 || (x < LIMIT || x == 9)
operand 11 true && (x < LIMIT || x == 9)
operand 11 x >= 2 && true
operand 11 x < LIMIT || false
equality 11 x != 9
return 11 return !(x >= 2 && (x < LIMIT || x == 9));
condition 14 !(!n)
arithmetic 15 p + n + 1
return 15 return NULL;
constant 15 return p + n - (1 + 1);
return 14 return NULL;
condition 18 !(argc > 1)
arithmetic 22 kept -= TWICE(x)
statement 22 ;
bits 24 (x == 3) | 1
arguments 24 first((x == 3) & 1, &kept)
condition 25 !(p)
statement 25 ;
constant 25 if (p) *p = (1 - 1);
min-max 26 max(x, 3)
"""
ABSENT = {"return 14", "condition 18", "arguments 24"}  # what is there; of a comparison, whose negation is another operator; of two types
RIGHT = {"": "0 0 3 0 5 2", "3": "1 3 3 1 5 2", "9": "1 3 9 0 5 2", "7": "0 3 7 14 5 2"}
# How a test ends that never sees 2, and cannot see which of two equal numbers is the larger.
ENDS = [("boundary 11 x > 2", "not reached"), ("boundary 8 a >= b", "survived"), ("boundary 7 a <= b", "survived"),
        ("equality 11 x != 9", "killed"), ("arithmetic 22 kept -= TWICE(x)", "killed"), ("condition 25 !(p)", "killed"),
        ("statement 25 ;", "killed"), ("return 15 return NULL;", "killed"), ("bits 20 b.low &= 5", None),
        ("logical 11 x >= 2 || (x < LIMIT || x == 9)", "killed"), ("operand 11 x < LIMIT || false", "killed")]
failures = []


def check(name, ok, *shown):
    if not ok:
        failures.append(name)
        print(name, *shown)
    return ok


def main():
    clang, compiler = shutil.which("clang") or shutil.which("clang-14"), shutil.which("cc")
    if not clang:
        print("there is no clang")
        return units.SKIPPED
    checks = 0
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        (work / "small.c").write_text(SOURCE)
        mutants, text = rewrite.rewrite_file(work / "small.c", ["-std=c11"], 0, clang)
        made = {f"{m.kind} {m.line} {m.after}" if m.kind != "min-max" else f"{m.kind} {m.line} max(x, 3)" for m in mutants}
        for wanted in MADE.splitlines():
            absent = " ".join(wanted.split()[:2]) in ABSENT
            checks += 1
            check(wanted, (wanted in made) != absent)
        places = {m.line for m in mutants}
        checks += 1
        check("nothing where constants are constant, in macros, or in a table", not places & {4, 5, 6, 9}, places)

        (work / "base").mkdir()
        for name in ("mutant.h", "mutant.c"):
            (work / "base" / name).write_text(rewrite.runtime(name, len(mutants)))
        (work / "small.c").write_bytes(text)
        subprocess.run([compiler, "-w", "-fwrapv", "-std=c11", f"-I{work}", "small.c", "base/mutant.c", "-o", "small"], cwd=work, check=True)
        test = f"import subprocess, sys\nfor x, said in {RIGHT!r}.items():\n" \
               "    got = subprocess.run(['./small', *x.split()], capture_output=True, text=True)\n" \
               "    if got.stdout.strip() != said or got.returncode: sys.exit(f'{x}: {got.stdout}')\n"
        unit = units.Unit("small", [sys.executable, "-c", test], {}, str(work), {"passes"})
        runner = units.Runner(work, len(mutants))
        checks += 1
        check("it passes without a mutant", runner.base_line(unit, "1"), unit.said)
        ends, kills = {}, collections.Counter()
        for m in mutants:
            m.folder, m.file, m.beside = "passes", "small.c", (0, len(mutants))
            ends[f"{m.kind} {m.line} {m.after}"] = run.verdict_of(m, [unit], runner, kills, 60)[0]
        for wanted, end in ENDS:
            checks += 1
            check(f"{wanted}: {end}", ends.get(wanted) == end, ends.get(wanted))
        checks += 1
        check("most are killed", sum(x == "killed" for x in ends.values()) > 0.7 * len(ends), ends)
    print(f"{checks - len(failures)} passed, {len(failures)} failed")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
