# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""report.py BIN: what `tilec --report` says, against counts of its own: loops of the PTX, read here; sectors and wavefronts
that the PTX machine counts of launches; formulas of the naive matmul and of a better one. Every claim has a change of the
kernel that changes it. Annotated PTX is the plain one byte for byte, once its lines //~ are gone."""
import collections
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from checks import Checks  # noqa: E402
from counters import CASES, PRODUCT  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
COUNTED = {  # a fact of a loop: the instructions that it counts
    "copies": r"cp\.async\.c[ag]\.", "matrix_instructions": r"(mma\.sync|wgmma\.mma_async)", "matrix_loads": r"ldmatrix",
    "barriers": r"(bar|barrier)\.(sync|cta)", "comparisons": r"setp\.", "tma_loads": r"cp\.async\.bulk\.tensor.*mbarrier",
    "tma_stores": r"cp\.async\.bulk\.tensor.*bulk_group", "mbarrier_waits": r"mbarrier\.try_wait",
}
SAME = {"ret"}  # one instruction ends every kernel
SKIPPED = re.compile(r"\s*(//.*|\.(reg|loc|pragma|shared)\b.*|[{}()]?\s*)$")


check = Checks("report")


def run(*command, fails=False):
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    if (p.returncode != 0) != fails:
        raise RuntimeError(f"{' '.join(str(c) for c in command)}: {p.stdout[-400:]}{p.stderr[-800:]}")
    return p.stderr if fails else p.stdout


def report(bin_, file, *options):
    return json.loads(run(bin_ / "tilec", file, "--report=json", *options))


def instructions(ptx):
    """Of each kernel: [(labels before it, text)], without declarations; inline assembly a line each."""
    kernels, body, labels, inside = {}, None, [], 0
    for line in ptx.splitlines():
        entry = re.match(r"(?:\.visible )?\.entry (\S+)\(", line)
        if entry:
            body, labels, inside = kernels.setdefault(entry[1], []), [], False
        elif body is not None and line.startswith("{"):
            inside = True
        elif body is not None and line.startswith("}"):
            body = None
        elif body is not None and inside and not SKIPPED.match(line):
            for piece in filter(None, (p.strip() for p in re.sub(r"//.*", "", line).split(";"))):
                piece = piece.lstrip("{ ").rstrip("} ") if piece.startswith("{") else piece
                label = re.match(r"(\$?[\w%]+):$", piece)
                if label:
                    labels.append(label[1])
                elif piece and not piece.startswith("."):
                    body.append((labels, piece))
                    labels = []
    return kernels


def innermost(body):
    """The innermost loops that are one run of the text and are left at their end alone: the texts between label and jump back."""
    at = {label: i for i, (labels, _) in enumerate(body) for label in labels}
    spans = []
    for i, (_, text) in enumerate(body):
        jump = re.search(r"\bbra(?:\.uni)? \s*(\$?[\w%]+)$", text)
        # A dot's loop over its steps of K is none of tile IR's.
        if jump and not jump[1].startswith("steps_") and at.get(jump[1], i + 1) <= i:
            spans.append((at[jump[1]], i))
    def leaves(a, b):
        jumps = (re.search(r"\bbra(?:\.uni)? \s*(\$?[\w%]+)$", t) for _, t in body[a:b])
        return any(j and not a <= at.get(j[1], -1) <= b for j in jumps)

    return [[t for _, t in body[a:b + 1]] for a, b in spans
            if not leaves(a, b) and not any(a <= c and d <= b and (a, b) != (c, d) for c, d in spans)]


def collect(value, name, found):
    """Of each fact, by its name, the values that it has in some report."""
    if isinstance(value, dict):
        for key, inner in value.items():
            collect(inner, key, found)
    elif isinstance(value, list):
        for inner in value:
            collect(inner, name, found)
    else:
        found[name].add(value)


def counts_of(texts):
    found = {name: sum(bool(re.match(r"(@!?%p\d+ )?\s*" + begin, t)) for t in texts) for name, begin in COUNTED.items()}
    waits = [int(m[1]) for m in (re.match(r"cp\.async\.wait_group (\d+)", t) for t in texts) if m]
    return tuple(sorted(found.items())), min(waits) if waits else None


def claims_of(loop):
    return tuple(sorted((name, loop.get(name, 0)) for name in COUNTED)), loop.get("wait_depth")


def loops_agree(name, said, ptx):
    """Innermost loops that copy or multiply: the same counts, as often."""
    kernels, loops = instructions(ptx), 0
    for kernel in said["kernels"]:
        works = re.compile(r"(mma\.sync|wgmma\.mma|cp\.async\.c|ld\.global|ldmatrix)")
        ours = collections.Counter(counts_of(t) for t in innermost(kernels[kernel["title"].split()[1]])
                                   if any(works.search(x) for x in t))
        theirs = collections.Counter(claims_of(x) for x in kernel["loops"] if "instructions" in x)
        loops += sum(ours.values())
        check(f"{name}: {kernel['title']}: a loop is not as the report says", not ours - theirs, ours - theirs, theirs)
        every = [t for _, t in kernels[kernel["title"].split()[1]]]
        mix = {k: v for group in kernel["instructions"].values() for k, v in group.items()}
        for begin, word in (("wgmma.mma_async", "wgmma"), ("mma.sync", "mma"), ("ldmatrix", None), ("ret", "ret")):
            if word:
                check(f"{name}: {kernel['title']}: {word}", sum(t.startswith(begin) for t in every) == mix.get(word, 0))
    return loops


def annotated_is_plain(bin_, name, file, options, work):
    run(bin_ / "tilec", file, "-Wno-perf", *options, "-o", work / "plain.ptx")
    run(bin_ / "tilec", file, "-Wno-perf", *options, "--annotate", "-o", work / "noted.ptx")
    noted, plain = (work / "noted.ptx").read_text(), (work / "plain.ptx").read_text()
    check(f"{name}: annotated PTX is not the plain one",
          "".join(x for x in noted.splitlines(True) if not x.startswith("//~")) == plain)
    return plain, noted


def ir_lines(noted):
    """Of each line of the PTX: the line of the tile IR that it is of."""
    lines, now = [], 0
    for line in noted.splitlines():
        ir = re.match(r"//~   IR (\d+)", line)
        now = int(ir[1]) if ir else 0 if line.startswith("}") else now
        lines.append(now)
    return lines


def counted_agrees(bin_, name, target, said, noted, arguments, work):
    """Sectors of a request and ways of bank conflicts, against the PTX machine's counts of a launch."""
    (work / "noted.ptx").write_text(noted)
    counts = json.loads(run(bin_ / "tilerun", f"--device=ptx:{target}", work / "noted.ptx", "--counts", "--json", *arguments))["counts"]
    lines, by_op = ir_lines(noted), collections.defaultdict(list)
    for c in counts:
        by_op[lines[c["ptx_line"] - 1]].append(c)
    seen = 0
    for kernel in said["kernels"]:
        for access in kernel["global_memory"]:
            asked = access.get("sectors_per_request")
            made = [c for c in by_op[access["ir_line"]] if c["global_requests"] and c["lanes"] == 32 * c["warps"]]
            if isinstance(asked, (int, float)) and made:
                seen += 1
                sectors = sum(c["sectors"] for c in made) / sum(c["global_requests"] for c in made)
                most = access.get("sectors_at_most", asked)
                check(f"{name}: {access['title']}, {access['at']}: {asked} to {most} sectors, counted {sectors}",
                      sectors <= most + 1e-6 and (sectors > asked - 1e-6 or access.get("masked") == "yes"))
        for access in kernel["shared_memory"]["accesses"]:
            made = [c for c in by_op[access["ir_line"]] if c["shared_requests"]]
            if made:
                seen += 1
                check(f"{name}: {access['title']}, {access['at']}: {access['ways']} ways, counted otherwise",
                      all((c["wavefronts"] > c["least_wavefronts"]) == (access["ways"] > 1) for c in made))
    return seen


CHANGES = [  # options that change a kernel -> facts of its first loop, or of itself, that have to change
    ("BM=128", "stage_bytes slots_bytes accumulator_registers flops bytes_from_memory flops_per_byte copies matrix_instructions"),
    ("BK=64", "stage_bytes flops matrix_instructions"), ("num_stages=5", "stages slots_bytes wait_depth"),
    ("num_warps=8", "warps copies"), ("BN=32", "dots"), ("target=sm_90a", "matrix_instructions"),
]


SECTIONS = [  # options -> what of the kernel has to change with them
    ("num_warps=8", lambda k: (k["threads"], [t["layout"] for t in k["tiles"]], k["occupancy"]["by_threads"])),
    ("num_stages=6", lambda k: (k["shared_memory"]["bytes"], k["occupancy"]["by_shared_memory"])),
    ("BM=128", lambda k: (k["roofline"]["flops_per_byte"], k["registers"]["for_tiles"], k["registers"]["alive_at_most"],
                          k["occupancy"]["programs_per_multiprocessor"])),
    ("signature=K=:,stride_am=:", lambda k: next(a["bytes_per_lane"] for a in k["global_memory"] if "a_ptr" in a["title"])),
    ("signature=stride_bn=:", lambda k: [a["sectors_per_request"] for a in k["global_memory"] if "b_ptr" in a["title"]]),
    ("BK=64", lambda k: ([b["slot_bytes"] for b in k["shared_memory"]["buffers"]], k["instructions"]["matrix"])),
    ("ACC=fp16", lambda k: k["loops"][0]["dots"][0]["operands"]),
]


def options_of(text):
    return [x for o in text.split() for x in ([f"--{o.replace('num_', 'num-')}"] if o[0].islower() else ["-D", o])]


def changes_change(bin_):
    file = ROOT / "examples/matmul.tl"
    base = report(bin_, file, "--single-entry")["kernels"][0]["loops"][0]
    for change, facts in CHANGES:
        loop = report(bin_, file, "--single-entry", *options_of(change))["kernels"][0]["loops"][0]
        for fact in facts.split():
            check(f"{change} does not change {fact}", loop.get(fact) != base.get(fact), base.get(fact))


def sections_change(bin_):
    file = ROOT / "examples/matmul.tl"
    base = report(bin_, file, "--single-entry")
    for change, of in SECTIONS:
        now = report(bin_, file, "--single-entry", *options_of(change))
        for i, (a, b) in enumerate(zip(*(x if isinstance(x, tuple) else (x,) for x in (of(base["kernels"][0]), of(now["kernels"][0]))))):
            check(f"{change} does not change part {i} of what it should", a != b, a)
        if "signature" in change:
            check(f"{change}: no note", len(now["notes"]) > len(base["notes"]), now["notes"])


def by_hand(bin_):
    """The comparison that people make by hand: each row from the code, and from a formula here."""
    naive = "BM=64 BN=64 BK=32 num_warps=4 num_stages=3".split()
    better = "BM=128 BN=32 BK=32 num_warps=4 num_stages=4".split()
    examples = ROOT / "examples"
    rows = {r["fact"].split("/")[-1].replace("bytes", "all_bytes" if "shared_memory/bytes" in r["fact"] else "bytes"): r
            for r in json.loads(run(
        bin_ / "tilec", "--single-entry", examples / "matmul_naive.tl", *options_of(" ".join(naive)), "--compare",
        examples / "matmul.tl", *options_of(" ".join(better)), "--report=json"))}
    for side, words in (("a", naive), ("b", better)):
        v = {k: int(x) for k, x in (w.split("=") for w in words)}
        bytes_ = 2 * (v["BM"] * v["BK"] + v["BK"] * v["BN"])
        wants = {"stages": v["num_stages"], "wait_depth": v["num_stages"] - 2, "stage_bytes": bytes_, "copies": bytes_ / 16 / 128,
                 "slots_bytes": bytes_ * v["num_stages"], "num_stages": v["num_stages"], "BM": v["BM"], "BN": v["BN"],
                 "flops": 2 * v["BM"] * v["BN"] * v["BK"], "all_bytes": bytes_ * v["num_stages"]}
        for fact, value in wants.items():
            check(f"by hand: {fact} of {side} is not {value}", fact not in rows and value == (wants | {"flops": 262144})[fact] or
                  fact in rows and rows[fact].get(side) == value, rows.get(fact))
    for fact in ("grid", "comparisons", "instructions", "stages", "wait_depth", "copies", "slots_bytes", "alive_at_most"):
        check(f"by hand: no row {fact}", fact in rows)
        check(f"by hand: no cause for {fact}", fact == "grid" or rows.get(fact, {}).get("a_why"))


def plants(bin_, work):
    """A buffer without its swizzle: the report says so, and the PTX machine counts it."""
    tir = subprocess.run([bin_ / "tilec", ROOT / "examples/matmul.tl", "--single-entry", "--dump-after=dependent_launch", "-o",
                          work / "x.ptx"], capture_output=True, text=True).stderr
    tir = tir[tir.index("kernel @"):]
    for swizzled in True, False:
        if not swizzled:
            tir = re.sub(r"72,144,(256|288)", lambda m: "64,128,256", tir)
        (work / "k.tir").write_text(tir)
        every = ["--passes=dependent_launch", "--target=sm_80"]
        accesses = report(bin_, work / "k.tir", *every)["kernels"][0]["shared_memory"]
        ways = {a["title"]: a["ways"] for a in accesses["accesses"]}
        check(f"swizzled: {swizzled}: ways", (ways["ldmatrix of a"], ways["ldmatrix of b"]) == ((1, 1) if swizzled else (4, 8)), ways)
        check(f"swizzled: {swizzled}", {b["swizzled"] for b in accesses["buffers"]} == {"yes" if swizzled else "no"}, accesses["buffers"])
        _, noted = annotated_is_plain(bin_, "planted", work / "k.tir", every, work)
        (work / "noted.ptx").write_text(noted)
        said = json.loads(run(bin_ / "tilerun", "--device=ptx:sm_80", work / "noted.ptx", "--counts", "--json", *PRODUCT))["counts"]
        for c in said:
            if c["text"].startswith("ldmatrix"):
                lowest = 1 if swizzled else 4
                check("planted: ldmatrix", c["wavefronts"] >= lowest * c["least_wavefronts"] and (
                    not swizzled or c["wavefronts"] == c["least_wavefronts"]), c)


def measured(bin_):
    """Two launches beside each other, on the PTX machine and, without facts, on the CPU device."""
    file = ROOT / "examples/matmul.tl"
    for device, more in ("ptx:sm_80", ["--num-stages=4"]), ("cpu", [ROOT / "examples/matmul_naive.tl"]):
        said = json.loads(run(bin_ / "tilerun", file, f"--device={device}", "--json", *PRODUCT, "--compare", *more))
        check(f"tilerun --compare on {device}", said["a"]["bench"]["median_us"] > 0 and said["b"]["bench"]["median_us"] > 0)
        rows = {r["fact"].split("/")[-1] for r in said["compare"] or ()}
        check(f"tilerun --compare on {device}: facts", "wait_depth" in rows if device != "cpu" else said["compare"] is None, rows)


def explains(bin_, work):
    matmul = ROOT / "examples/matmul.tl"
    for target in "sm_80", "sm_90a":
        plain, noted = annotated_is_plain(bin_, "matmul", matmul, [f"--target={target}"], work)
        source = matmul.read_text().splitlines()
        dot = next(i for i, x in enumerate(source) if "tl.dot" in x) + 1
        lines = [i for i, x in enumerate(plain.splitlines(), 1) if re.search(r"\b(mma\.sync|wgmma\.mma_async)", x)]
        for file, more, at in (("plain.ptx", [matmul, f"--target={target}"], lines[0]),
                               ("noted.ptx", [], next(i for i, x in enumerate(noted.splitlines(), 1)
                                                      if re.search(r"\b(mma\.sync|wgmma\.mma_async)", x)))):
            said = run(bin_ / "tilec", "--explain-ptx", f"{work / file}:{at}", *more)
            for words in (f"matmul.tl:{dot}", "= dot %", "multipl", "made by"):
                check(f"explain-ptx of {file}: no '{words}'", words in said, said)
    named, drawn = set(re.findall(r"@L\d+", noted)), re.findall(r"^//~   layout (@L\d+) ", noted, re.M)
    check("layouts that annotated PTX names and does not say", named <= set(drawn) and len(drawn) > 5, named - set(drawn))
    wrong = run(bin_ / "tilec", "--explain-ptx", f"{work / 'plain.ptx'}:9", matmul, fails=True)
    check("explain-ptx with other options", "is not what" in wrong, wrong)
    check("explain-ptx without a source", "no lines //~" in run(bin_ / "tilec", "--explain-ptx", f"{work / 'plain.ptx'}:9", fails=True))
    check("explain-ptx of no instruction", "no instruction" in run(bin_ / "tilec", "--explain-ptx", f"{work / 'noted.ptx'}:99999", fails=True))
    every = {re.sub(r"^(@!?%p\d+ )?\s*", "", t).split()[0] for f in (plain, noted) for k in instructions(f).values() for _, t in k}
    check("instructions of matmul that nobody explains", len(every) > 20)


def main():
    bin_, seen = Path(sys.argv[1]), 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        loops, seen_of = 0, []
        for file in sorted((ROOT / "examples").glob("*.tl")):
            for target in "sm_80", "sm_90a":
                plain, _ = annotated_is_plain(bin_, f"{file.name} {target}", file, [f"--target={target}"], work)
                said = report(bin_, file, f"--target={target}")
                loops += loops_agree(f"{file.name} {target}", said, plain)
                for kernel in said["kernels"]:
                    one = collections.defaultdict(set)
                    collect(kernel, "", one)
                    seen_of.append(one)
        for source, kernel, options, arguments in CASES:
            for target in "sm_80", "sm_90a":
                file = ROOT / f"examples/{source}.tl"
                every = [f"--target={target}", "--single-entry", "--kernel", kernel, *options]
                _, noted = annotated_is_plain(bin_, f"{kernel} {target}", file, every, work)
                seen += counted_agrees(bin_, f"{kernel} {' '.join(options)} {target}", target, report(bin_, file, *every), noted,
                                       arguments, work)
        check("few accesses were counted", seen > 250, seen)
        check("few loops were counted", loops > 30, loops)
        for options in "BM=128 BN=256 target=sm_89", "num_warps=8 num_stages=5":  # spills; fewer programs; other options
            seen_of.append(collections.defaultdict(set))
            collect(report(bin_, ROOT / "examples/matmul.tl", *options_of(options))["kernels"][0], "", seen_of[-1])
        names = {n for n in set().union(*seen_of) if not n.endswith("_why")}
        same = {name for name in names if len({frozenset(one.get(name, ())) for one in seen_of}) == 1} - SAME
        check("facts that are the same of every kernel", not same, same)
        check("few facts", len(names) > 100, len(names))
        p = subprocess.run([bin_ / "tilec", ROOT / "examples/matmul.tl", "--stats=json", "-o", work / "x.ptx"], capture_output=True)
        stats = json.loads(p.stderr.decode().split("\n", 1)[0] if not p.stderr.startswith(b"{") else p.stderr)["kernels"][0]
        check("--stats=json", stats["loops"][0]["by_kind"]["matrix"]["mma"] == 16 and stats["loops"][0]["stages"] == 3, stats)
        changes_change(bin_)
        sections_change(bin_)
        by_hand(bin_)
        explains(bin_, work)
        plants(bin_, work)
        measured(bin_)
        check("two that are the same", "Nothing differs." in run(bin_ / "tilec", "--compare", *[ROOT / "examples/copy.tl"] * 2))
        check("--report with --annotate", "instead of PTX" in run(bin_ / "tilec", "--report", "--annotate", ROOT / "examples/copy.tl", fails=True))
        check("a report of a file with mistakes", "error" in run(bin_ / "tilec", "--report", "--emit=tir", ROOT / "examples/copy.tl", fails=True))
    print(f"{loops} loops and {seen} accesses of launches counted")
    return check.end()


if __name__ == "__main__":
    sys.exit(main())
