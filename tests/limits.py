#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# limits.py BIN-FOLDER: tests/limits.tsv, which docs/limits.md is made of, held against the sources and the programs.
#
# A row: what, its number, the constant (FILE:NAME), a piece of the message as the source has it, its code, what to do,
# the test. Of each the number is the constant's, the message is in the sources, and the test is there: `cli:NAME` is
# a function below, which gives the programs an input that is just within the limit and one that is beyond it; another
# is a file, or a test of a suite, that has the message or the constant. A constant whose name says that it is a limit,
# and that no row has, is to be named in tests/limits_inside.txt: those that end in nothing a user sees.
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from checks import Checks  # noqa: E402

bin_folder = os.path.realpath(sys.argv[1])
tree = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
tilec, tilerun = os.path.join(bin_folder, "tilec"), os.path.join(bin_folder, "tilerun")
FOLDERS = "base ir frontend passes codegen compiler runtime ptx python tools include".split()
UNITS = {"": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "s": 1000}
check = Checks("limits", lines=8)


# ---- the table and the sources ----


class Row:
    def __init__(self, line):
        self.what, self.number, self.constant, self.message, self.code, self.settle, self.test = line.split("\t")
        words = re.fullmatch(r"(2\^)?([\d,]+)( - 1)?(?: (KB|MB|GB|s))?", self.number)
        self.plain = int(words[2].replace(",", ""))
        self.plain = (1 << self.plain if words[1] else self.plain) - (words[3] is not None)
        self.unit = words[4] or ""

    def holds(self, name, value):
        """In the unit that the constant's name has, or in that of the number."""
        if name == "TILE_MAX_LOG2":
            return 1 << value == self.plain
        if name == "NAMED_BARRIERS" or name == "CONFIG_TEXT":  # one of them is taken
            return value - 1 == self.plain
        return value == self.plain * (1 if name.endswith(("_MB", "_GB")) else UNITS[self.unit])


def read(path):
    with open(os.path.join(tree, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def sources():
    for folder in FOLDERS:
        for at, _, names in os.walk(os.path.join(tree, folder)):
            for name in names:
                if name.endswith((".c", ".h", ".l", ".y", ".def", ".py")):
                    yield os.path.relpath(os.path.join(at, name), tree)


def constant(path, name):
    """Its value: of an enum, a macro, a Python module, or the most that an option's row allows."""
    text = re.sub(r"/\*.*?\*/", "", read(path), flags=re.S)
    row = re.search(r"KERNEL_OPTION\(\w+, %s, \w+, \d+, (\d+)," % name, text)
    found = row or re.search(r"\b%s\b(?: = |\s+)([-+*<() \w]+)" % name, text)
    if not found:
        return None
    expression = re.sub(r"\((?:u?int\d+_t|size_t)\)", "", found[1])
    for other in re.findall(r"[A-Z_]{3,}", expression):
        expression = expression.replace(other, str(constant(path, other)))
    return eval(expression, {"__builtins__": {}})


def joined(text):
    """C's literals side by side are one."""
    return re.sub(r'"\s*\n?\s*"', "", text)


def pattern(row):
    """The message as a format, or with the number in it."""
    number = "|".join(str(n) for n in {row.plain, row.plain * UNITS[row.unit]})
    text = re.escape(row.message).replace("%d", "(?:%d|%zu|%u|%llu|%lld|{[A-Z_]+}|" + number + ")")
    return re.sub(r"\b(MB|bytes)\b", r"(?:\1|%s)", text)


def check_row(row, all_text, limited):
    path, _, name = row.constant.partition(":")
    if name:
        value = constant(path, name)
        check(f"{row.what}: {row.constant} is {value}, the table has {row.number}", value is not None and row.holds(name, value))
        limited.add((path, name))
    else:
        check(f"{row.what}: a row without a constant has its number in the message", str(row.plain) in row.message)
    if row.message != "-":
        check(f"{row.what}: no source says '{row.message}'", re.search(pattern(row), all_text))
    if re.fullmatch(r"[EWPCRN]\d{4}", row.code):
        letters, digits = row.code[0], row.code[1:]
        check(f"{row.what}: there is no code {row.code}", f"CODE({letters}, {digits}," in read("base/codes.def"))
    kind, _, test = row.test.partition(":")
    if kind == "cli":
        check(f"{row.what}: limits.py has no {test}", test in CASES)
    elif row.test != "-":
        there = os.path.exists(os.path.join(tree, kind))
        text = joined(read(kind)) if there else ""
        check(f"{row.what}: {row.test} is not there", there and (not test or f"START_TEST({test})" in text))
        says = row.message != "-" and re.search(pattern(row), text)
        numbers = (str(row.plain), str(row.plain * UNITS[row.unit]), f"{row.plain:,}", row.number, name, name.rpartition("MAX_")[2])
        check(f"{row.what}: {row.test} does not speak of it", says or any(n and n in text for n in numbers))


def check_all_are_named(limited):
    """Of constants that are called limits, each is a row or named as one that nobody sees."""
    inside = set()
    for line in read("tests/limits_inside.txt").splitlines():
        if line and line[0] != "#":
            inside.add(tuple(line.split()[0].split(":")))
    there = set()
    for path in sources():
        if not path.endswith((".c", ".h", ".l", ".y")):
            continue
        text = re.sub(r"/\*.*?\*/", "", read(path), flags=re.S)
        for found in re.finditer(r"\b(\w*(?:LIMIT|MAX_|_MAX\b|MOST)\w*) = |#define (\w*LIMIT\w*) ", text):
            if re.fullmatch(r"[A-Z][A-Z_0-9]+", found[1] or found[2]):
                there.add((path, found[1] or found[2]))
    for path, name in sorted(there - limited - inside):
        check(f"{path}:{name} has no row in tests/limits.tsv, and is not in tests/limits_inside.txt", False)
    for path, name in sorted(inside - there):
        check(f"{path}:{name} of tests/limits_inside.txt is no more", False)
    for path, name in sorted(inside & limited):
        check(f"{path}:{name} is a row, and in tests/limits_inside.txt", False)


# ---- what the programs say ----

HEAD = "import triton\nimport triton.language as tl\n"
CASES = {}


def case(of):
    CASES[of.__name__] = of
    return of


def put(name, text):
    with open(name, "wb" if isinstance(text, bytes) else "w") as f:
        f.write(text)
    return name


def to_tir(text):
    return [tilec, "--emit=tir", "-Wno-perf", put("k.tl", HEAD + text), "-o", "k.tir"]


def body(lines, params='p: "*fp32", n: "i32"'):
    return to_tir(f"@triton.jit\ndef k({params}):\n    {lines}\n")


def tir(lines, head=""):
    text = f"kernel @k({head}) num_warps=1 num_stages=1 {{\n{lines}\n  return\n}}\n"
    return [tilec, "--emit=tir", put("t.tir", text), "-o", "t2.tir"]


def launch(*words, text='    tl.store(p, n.to(tl.float32))', params='p: "*fp32", n: "i32"', p="zeros:fp32[1]", n="1", grid="1"):
    put("l.tl", HEAD + f"@triton.jit\ndef k({params}):\n{text}\n")
    return [tilerun, "--device=cpu", f"--grid={grid}", "l.tl", f"p={p}", f"n={n}", *words]


def emit_header(*words):
    put("h.tl", HEAD + '@triton.jit\ndef k(p: "*fp32", n: "i32"):\n    tl.store(p, 1.0)\n')
    return [tilec, "--emit=header", "h.tl", "-o", "h.h", *words]


def option(word):
    def of(n):
        return [*body("pass"), f"--{word}={n}"]

    return of


for name in ("num_warps", "num_stages", "swizzle_grid", "maxnreg"):
    CASES[name] = option(name.replace("_", "-"))


@case
def source(n):
    head = HEAD + "@triton.jit\ndef k():\n    pass\n#"
    return [tilec, "--emit=tir", put("big.tl", head + "x" * (n - len(head))), "-o", "k.tir"]


@case
def nesting(n):
    return body("x = " + "(" * n + "1" + ")" * n)


@case
def fstrings(n):
    return body("tl.static_print(" + 'f"{' * n + "1" + '}"' * n + ")")


@case
def chain(n):
    return body("x = " + " + ".join("1" * n))


@case
def function_parameters(n):
    names = [f"a{i}" for i in range(n)]
    return to_tir(f"@triton.jit\ndef f({', '.join(names)}):\n    pass\n@triton.jit\ndef k():\n    f({', '.join('1' * n)})\n")


@case
def module_name(n):
    parts = "/".join(["a" * 99] * 10)
    os.makedirs(parts, exist_ok=True)
    name = "b" * (n - 1000)
    put(f"{parts}/{name}.py", "import triton\nX = 1\n") if n > 1000 else put(parts + ".py", "import triton\nimport triton.language as tl\nX = tl.constexpr(1)\n")
    return to_tir(f"import {parts.replace('/', '.')}{'.' + name if name else ''} as m\n@triton.jit\ndef k(p: '*i32'):\n    tl.store(p, m.X)\n")


@case
def errors(n):
    return body("".join(f"name{i}\n    " for i in range(n - 1)) + "pass")


@case
def parameters(n):
    return body("pass", ", ".join(f'a{i}: "i32"' for i in range(n)))


@case
def elements(n):
    return body(f"tl.zeros([{n}], tl.float32)")


@case
def rank(n):
    return body(f"tl.zeros([{', '.join('1' * n)}], tl.float32)")


@case
def pointers(n):
    return body("pass", f'p: "{"*" * n}fp32"')


@case
def descriptor_rank(n):
    return body("pass", f'd: "tensordesc<fp16[{", ".join("1" * (n - 1))}, 16]>"')


@case
def unroll(n):
    return body(f"for i in tl.static_range({n}): pass")


@case
def calls(n):
    recursive = "@triton.jit\ndef f(n: tl.constexpr):\n    if n > 1:\n        f(n - 1)\n"
    return to_tir(recursive + f"@triton.jit\ndef k():\n    f({n})\n")


@case
def host_calls(n):
    recursive = "@triton.constexpr_function\ndef f(n):\n    return n if n == 1 else f(n - 1)\n"
    return to_tir(recursive + f"@triton.jit\ndef k(p: '*i32'):\n    tl.store(p, f({n}))\n")


@case
def objects(n):
    return body(f"x = (1,) * {n - 1}")


@case
def product(n):
    return to_tir(f"import itertools\n@triton.constexpr_function\ndef f():\n    return len(list(itertools.product({', '.join(['(1,)'] * n)})))\n"
                  "@triton.jit\ndef k(p: '*i32'):\n    tl.store(p, f())\n")


@case
def prints(n):
    return body(f"tl.device_print('x', {', '.join('n' * n)})")


@case
def assembly(n):
    return body(f"tl.inline_asm_elementwise('x', '=r{',r' * n}', [{', '.join('n' * n)}], tl.int32, True, 1)")


@case
def asm_operands(n):
    text = '@triton.jit\ndef k(p: "*i32", n: "i32"):\n    i = tl.arange(0, 128)\n'
    text += f"    tl.store(p + i, tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r{',r' * (n - 1)}', [i{', n' * (n - 2)}], tl.int32, True, 1))\n"
    return [tilec, "-Wno-perf", put("k.tl", HEAD + text), "-o", "k.ptx"]


@case
def passes(n):
    return [*body("pass"), "--passes=" + ",".join(["fold"] * n)]


@case
def tir_operands(n):
    return tir("  %x: i32 = neg " + ", ".join(["%n"] * n), "%n: i32")


@case
def tir_regions(n):
    return tir("  warps " + "{\n yield\n} " * n)


@case
def tir_slices(n):
    return tir(f"  %b: shared<{n} x i32[32]> = buffer_alloc")


@case
def expression_parts(n):
    return launch(text="    pass", grid="1" + "+1" * ((n - 2) // 2))


@case
def expression_depth(n):
    return launch(grid="(" * (n - 1) + "1" + ")" * (n - 1))


@case
def shared(n):
    put("s.tir", f"kernel @k() num_warps=1 num_stages=1 {{\n  %b: shared<i8[1024]> = buffer_alloc offset={n - 1024}\n  return\n}}\n")
    return [tilerun, "--device=cpu", "--grid=1", "s.tir"]


@case
def print_line(n):
    return launch(text=f"    tl.device_print('{'x' * (n - 30)}', n)")


@case
def grid(n):
    return launch(text="    pass", grid=f"1,{n}")


@case
def tuning_file(n):
    head = '{"tuning": 1, "entries": []}'
    put("t.json", head + " " * (n - len(head)))
    return launch("--tuning=t.json")


def tune(space):
    return [*launch(params='p: "*fp32", n: "i32", ' + ", ".join(f"A{i}: tl.constexpr = 1" for i in range(40)), text="    pass"),
            "--tune", f"--space={space}", "--most=1"]


@case
def space_names(n):
    return tune(";".join(f"A{i}=1" for i in range(n)))


@case
def space_configs(n):
    return tune(f"A0={','.join('1' * 64)};A1={','.join('1' * (n // 64 + (n % 64 > 0)))}")


@case
def space_text(n):
    return tune(f"A0={'1' * (n - 3)}")


@case
def targets(n):
    return emit_header("--target=" + ",".join(f"sm_{1000 + i}" for i in range(n)))


@case
def variants(n):
    return emit_header("--variants=" + ";".join(f"n>={i}" for i in range(n)))


@case
def variants_file(n):
    put("list", "n>=4\n" + " " * (n - 5))
    return emit_header("--variants=@list")


@case
def facts(n):
    return [*body("pass"), "--config=auto", "--for=" + ",".join(f"a{i}=1" for i in range(n))]


@case
def tilerun_input(n):
    return [tilerun, "--device=cpu", "--grid=1", sparse("sparse.tir", n, b"", 256 << 20)]


@case
def tilerun_file(n):
    return launch(p="@" + sparse("sparse.npy", n, b"\x93NUMPY", 64 << 30))


def sparse(name, size, begins=b"", most=1 << 40):
    """A file of so many bytes; one within a limit that is too large to be read is small instead."""
    with open(name, "wb") as f:
        f.write(begins)
        f.truncate(size if size > most else 100)
    return name


@case
def expect_file(n):
    return launch("--expect", "p=" + sparse("want.npy", n, b"\x93NUMPY", 64 << 30))


@case
def bundle(n):
    return [tilec, "--reproduce", sparse("b.bundle", n, b"tilec bundle 1\n", 512 << 20)]


@case
def explained_ptx(n):
    return [tilec, "--explain-ptx", sparse("e.ptx", n, b"// x\n", 256 << 20) + ":1"]


@case
def compared_source(n):
    head = HEAD + "@triton.jit\ndef k():\n    pass\n#"
    return [tilec, "--compare", put("a.tl", head + "x" * (n - len(head))), put("b.tl", head)]


@case
def tir_stages(n):
    return tir(f"  for %n, %n, %n {{ (%i: i32)\n %x: i32 = add %n, %n stage={n} cluster=0\n yield\n }}", "%n: i32")


@case
def npy_rank(n):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1, " * n + "), }"
    head += " " * (-(11 + len(head)) % 64) + "\n"
    put("a.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<f", 1))
    return launch(p="@a.npy")


@case
def tuples(n):
    return launch(n="(" * n + "1" + ",)" * n)


# What a limit lets through may be wrong otherwise: that these are done is not asked.
FAIL_WITHIN = {"errors", "targets", "facts", "tilerun_input", "tilerun_file", "assembly", "tuples", "fstrings", "pointers",
               "tir_operands", "tir_regions", "shared", "space_text", "space_configs", "space_names", "tuning_file",
               "expect_file", "bundle", "explained_ptx", "tir_stages"}
BEYOND = {"elements": lambda n: 2 * n, "num_warps": lambda n: 2 * n, "shared": lambda n: n + 4096, "expression_parts": lambda n: n + 2, "print_line": lambda n: 2 * n}
# What is left out is said, and it is done all the same.
GOES_ON = {"print_line"}


def run(command):
    env = {**os.environ, "TILEC_CACHE": "", "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=60, env=env)
    return done.returncode, done.stdout + done.stderr


def check_case(row):
    name = row.test[4:]
    most = row.plain * UNITS[row.unit]
    said = row.message.replace("%d", str(row.plain if row.unit != "GB" else most >> 20))
    rc, out = run(CASES[name](most))
    within = said not in out and (rc == 0 or name in FAIL_WITHIN) and 0 <= rc < 124
    check(f"{row.what}: {row.number} is within the limit", within, f"exit code {rc}\n{out}")
    rc, out = run(CASES[name](BEYOND.get(name, lambda n: n + 1)(most)))
    code = row.code if row.code != "-" else ""
    lines = [line for line in out.splitlines() if said in line]
    ends = rc == 0 if name in GOES_ON else 0 < rc < 124
    check(f"{row.what}: beyond {row.number} it ends with '{said}' {code}", ends and any(code in line for line in lines), f"exit code {rc}\n{out}")


def main():
    rows = [Row(line) for line in read("tests/limits.tsv").splitlines() if line and line[0] != "#"]
    all_text = joined("\n".join(read(path) for path in sources()))
    limited = set()
    for row in rows:
        check_row(row, all_text, limited)
    check_all_are_named(limited)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for row in rows:
            if row.test.startswith("cli:"):
                check_case(row)
        os.chdir(tree)
    used = {row.test[4:] for row in rows}
    for name in sorted(set(CASES) - used):
        check(f"no row has cli:{name}", False)
    return check.end()


sys.exit(main())
