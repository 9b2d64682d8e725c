#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# explain.py: the pages of `tilec --explain`: each code has one of 5 to 25 lines; what it calls wrong gives just
# that code, and what it calls right does not. The codes are held against tests/codes.list, for a code keeps its
# meaning. Usage: explain.py BIN-FOLDER [CODE…]
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
from checks import Checks  # noqa: E402

bin_folder = os.path.realpath(sys.argv[1])
tree = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
tilec = os.path.join(bin_folder, "tilec")
# A kernel cannot show these: other tests have them, or nothing can while all is well.
WITHOUT_EXAMPLE = set(
    "C0002 C0018 C0021 E0001 E0006 E1002 E1105 E1107 E1206 N0002 N0003 "
    "R0001 R0002 R0003 R0004 R0006 R0007 R0009 R0010 R0011 R0012".split()
)
IMPORTS = "import triton\nimport triton.language as tl\n\n"
check = Checks("explain")


def run(*command, **how):
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, **how)


class Example:
    """A block `wrong:` or `right:`: what it does, and the kernel that it does it with."""

    def __init__(self, word, command):
        self.word, self.command, self.lines = word, command or "tilec k.tl", []

    def done(self):
        """The exit code, and all that was printed."""
        text = "\n".join(line[4:] for line in self.lines) + "\n"
        name = (["k.tl"] + re.findall(r"\bk\.(?:tl|tir|ptx)\b", self.command))[-1]  # outputs are named before it
        if name == "k.tl" and "import triton\n" not in text:
            text = IMPORTS + text
        with tempfile.TemporaryDirectory() as folder:
            if self.lines:
                with open(os.path.join(folder, name), "w") as f:
                    f.write(text)
            env = dict(os.environ, PATH=bin_folder + ":" + os.environ["PATH"], TILEC_CRASH_DIR="")
            p = run("bash", "-c", self.command, cwd=folder, env=env)
            return p.returncode, p.stdout + p.stderr


def examples(page):
    found = []
    for line in page.splitlines():
        head = re.fullmatch(r"(wrong|right):(?: \$ (.*))?", line)
        if head:
            found.append(Example(head.group(1), head.group(2)))
        elif found and line.startswith("    "):
            found[-1].lines.append(line)
        elif found and not line:
            if found[-1].lines:
                found[-1].lines.append(line)
    for e in found:
        while e.lines and not e.lines[-1]:
            e.lines.pop()
    return found


def codes_in(said):
    return set(re.findall(r"\[([EWPCR]\d{4})\]$", said, re.M)) | set(re.findall(r'"code": "([A-Z]\d{4})"', said))


def page_of(code, title):
    p = run(tilec, "--explain", code)
    check(f"{code}: exit code {p.returncode}", p.returncode == 0, p.stderr)
    head, _, page = p.stdout.partition("\n")
    check(f"{code}: its first line is its title", head == f"{code}: {title}", head)
    return page


def try_out(code, page):
    """What does not hold, each with what was printed."""
    wrong = []
    shown = examples(page)
    if code in WITHOUT_EXAMPLE:
        return [(f"{code} has an example, and says it has none", "")] if shown else []
    if [e.word for e in shown] != ["wrong", "right"]:
        return [(f"{code}: something wrong and something right", page)]
    (bad_rc, bad), (rc, good) = shown[0].done(), shown[1].done()
    # A perf note says no mistake, and may come along; of notes and perf notes several may.
    others = {c for c in codes_in(bad) if c[0] not in "PN"} - {code}
    if code not in codes_in(bad) or others and code[0] not in "PN":
        wrong.append((f"{code}: what is wrong gives {sorted(codes_in(bad))}", bad))
    if (bad_rc != 0) != (code[0] in "ECR"):
        wrong.append((f"{code}: what is wrong ends with exit code {bad_rc}", bad))
    if rc or code in codes_in(good) or any(c[0] in "ECRW" for c in codes_in(good)):
        wrong.append((f"{code}: what is right ends with exit code {rc}, and gives {sorted(codes_in(good))}", good))
    return wrong


listed = run(tilec, "--explain=all").stdout.splitlines()
titles = dict(line.split("  ", 1) for line in listed)
check("codes are there once", len(titles) == len(listed) > 200)
if len(sys.argv) > 2:
    titles = {c: titles[c] for c in sys.argv[2:]}
pages = {c: page_of(c, t) for c, t in titles.items()}
for c, page in pages.items():
    lines = page.strip("\n").count("\n") + 1
    check(f"{c}: a page of {lines} lines", 2 <= lines <= 34, page)
    check(f"{c}: lines of {max(map(len, page.splitlines()))} characters", max(map(len, page.splitlines())) <= 140)
with ThreadPoolExecutor(2) as pool:
    for c, problems in zip(pages, pool.map(lambda c: try_out(c, pages[c]), pages)):
        for what, said in problems:
            check(what, False, said)
        if not problems:
            check(c, True)
if len(sys.argv) == 2:
    # Additions are written behind it: `tilec --explain=all` has them.
    with open(os.path.join(tree, "tests", "codes.list")) as f:
        recorded = dict(line.rstrip("\n").split("  ", 1) for line in f)
    for c, name in recorded.items():
        check(f"{c} was '{name}', and is '{titles.get(c)}'", titles.get(c) == name)
    for c in titles:
        check(f"{c} is not in tests/codes.list", c in recorded)
    # A kind that nothing says would be promised and never seen; of statuses the numbers are used.
    with open(os.path.join(tree, "base", "codes.def")) as f:
        rows = re.findall(r"^CODE\((\w), \d+, (\w+),", f.read(), re.M)
    sources = ""
    for folder in "frontend ir passes codegen compiler ptx runtime tools".split():
        for path, _, names in os.walk(os.path.join(tree, folder)):
            for name in names:
                if name.endswith((".c", ".h", ".y", ".l")):
                    with open(os.path.join(path, name)) as f:
                        sources += f.read()
    for letter, name in rows:
        check(f"{letter}_{name} is said nowhere", letter == "R" or re.search(rf"\b{letter}_{name}\b", sources))
    # Pages of what there is not would never be seen.
    folder = os.path.join(tree, "tools", "explain")
    heads = []
    for name in os.listdir(folder):
        with open(os.path.join(folder, name)) as f:
            heads += re.findall(r"^([A-Z]\d{4})$", f.read(), re.M)
    check("a page for each code, and no other", sorted(heads) == sorted(titles))
    words = {"E0299": "E02", "e0201x": "E0201", "[e0201]": "E0201:", "nonsense": "--explain=all", "": "=all", "E" * 9000: "=all"}
    for word, near in words.items():
        p = run(tilec, f"--explain={word}")
        check(f"--explain={word}", near in p.stdout + p.stderr, p.stdout + p.stderr)
        check(f"--explain={word}: exit code", p.returncode == (0 if near == "E0201:" else 2))
sys.exit(check.end())
