# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page.py BIN [--browser]: `tilec --report=html`. Every page is whole: its texts, links and data are those of the other outputs,
it asks for nothing outside itself, and nothing in a source becomes a tag. Drawings of layouts, of slots and of the order of
programs are held against the facts, and a formula of matmul. --browser: chromium opens some of them, 380 and 1600 px wide,
light and dark, and presses keys; 77 where there is none."""
import collections
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

sys.dont_write_bytecode = True
from report import check, ir_lines, run  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
VOID = {"meta"}
MOST_BYTES = 2 << 20


class Page(HTMLParser):
    """What a browser makes of it: tags that are closed in order, ids, links, the texts of panes."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.tags, self.links, self.wrong = [], [], collections.Counter(), [], []
        self.text, self.lines, self.raw, self.now = collections.defaultdict(str), {}, {}, None
        self.feed(text)
        self.close()
        if self.open:
            self.wrong.append(f"not closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.tags[tag] += 1
        if "id" in a:
            self.ids.append(a["id"])
        self.links += [(name, a[name]) for name in ("href", "src", "xlink:href", "action", "data", "srcset", "poster") if name in a]
        self.wrong += [f"{tag} has {name}" for name in a if name.startswith("on")]
        if tag == "div" and re.fullmatch(r"[sip]\d+", a.get("id", "")):
            self.now = a["id"]
            self.lines[self.now] = {**a, "text": ""}
        if tag == "script":
            self.raw[a.get("id", "script")] = ""
        if tag not in VOID:
            self.open.append((tag, a.get("id")))

    def handle_startendtag(self, tag, attributes):
        self.tags[tag] += 1

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.wrong.append(f"</{tag}> after {self.open[-1:]}")
        else:
            self.open.pop()
        if tag == "div":
            self.now = None

    def handle_data(self, data):
        if self.now:
            self.text[self.now[0]] += data
            self.lines[self.now]["text"] += data
        elif self.open and self.open[-1][0] == "script":
            self.raw[self.open[-1][1] or "script"] += data
        elif self.open and self.open[-1][0] == "style":
            self.raw["style"] = self.raw.get("style", "") + data


def page_of(bin_, file, *options):
    text = run(bin_ / "tilec", file, "-Wno-perf", "--report=html", "-o", "-", *options)
    return text, Page(text)


def has_all(bin_, name, file, options, work):
    """Texts, links and data are those of the other outputs."""
    text, page = page_of(bin_, file, *options)
    said = run(bin_ / "tilec", file, "-Wno-perf", "--report=json", *options)
    run(bin_ / "tilec", file, "-Wno-perf", *options, "-o", work / "plain.ptx")
    run(bin_ / "tilec", file, "-Wno-perf", "--annotate", *options, "-o", work / "noted.ptx")
    plain, noted = (work / "plain.ptx").read_text(), (work / "noted.ptx").read_text()
    check(f"{name}: tags", not page.wrong, page.wrong[:3])
    check(f"{name}: {len(text)} bytes", len(text.encode()) < MOST_BYTES)
    check(f"{name}: an id is there twice", len(page.ids) == len(set(page.ids)))
    ids = set(page.ids)
    for kind, link in page.links:
        check(f"{name}: {kind}={link}", kind == "href" and link[:1] == "#" and link[1:] in ids)
    code = page.raw["script"] + page.raw["style"]
    check(f"{name}: asks for something outside", not re.search(r"https?:|url\(|@import|fetch|XMLHttp|import\(|innerHTML", code))
    check(f"{name}: data are not --report=json", page.raw["report"] == said)
    check(f"{name}: PTX is not the plain one", page.text["p"] == plain)
    check(f"{name}: the source", page.text["s"] == Path(file).read_text())
    of = [int(page.lines[f"p{i + 1}"].get("data-i", 0)) for i in range(plain.count("\n"))]
    noted_of = [x for x, line in zip(ir_lines(noted), noted.splitlines()) if not line.startswith("//~")]
    check(f"{name}: lines of PTX are of others than --annotate says", all(not a or a == b for a, b in zip(of, noted_of)))
    check(f"{name}: no line of PTX is of one of the tile IR", sum(map(bool, of)) > 5)
    for line in page.lines.values():
        for key, kind in (("data-i", "i"), ("data-s", "s")):
            if key in line:
                check(f"{name}: {line['id']} is of {kind}{line[key]}", kind + line[key] in ids)
    tiles = draws_tiles(name, text)
    draws_slots(name, text, json.loads(said))
    return len(text), tiles


def cells(path, size):
    """The elements, as (row, column), that a drawing's path covers."""
    for x, y, w in re.findall(r"M(\d+) (\d+)h(\d+)v\d+h-\d+z", path):
        for i in range(int(w) // size):
            yield int(y) // size, int(x) // size + i


def draws_tiles(name, text):
    """Each drawing of a layout, against the bases beside it: of the lanes that hold an element the first is shown."""
    drawings = 0
    for article in re.findall(r"<article>(?:(?!<article>).)*?<figure id=L.*?</article>", text, re.S):
        shape = [int(x) for x in re.search(r"\[([\d,]+)\]</h4>", article)[1].split(",")]
        bases = {part: [int(x) for x in numbers.split(",")] for part, numbers in
                 re.findall(r"(\w+)=\[([\d,]+)\]", re.search(r"<th>layout</th><td>(.*?)</td>", article)[1])}
        columns = min(shape[-1], 32)
        rows = min((shape[0] // columns) if len(shape) == 1 else shape[-2], 32)
        space = [(0, 0, 0, 0)]  # warp, lane, register, element
        for index, part in enumerate(("warp", "lane", "reg")):
            for bit, basis in enumerate(bases.get(part, [])):
                space += [(*(h | (i == index) << bit for i, h in enumerate(at[:3])), at[3] ^ basis) for at in space]
        owner = {}
        for _, lane, _, e in sorted(space):
            at = (e // columns, e % columns) if len(shape) == 1 else (e // shape[-1], e % shape[-1])
            if at[0] < rows and at[1] < columns:
                owner.setdefault(at, lane)
        shown = {at: int(lane) for lane, path in re.findall(r'class=lane style="--lane:(\d+)" d="(.*?)"', article)
                 for at in cells(path, 10)}
        check(f"{name}: a drawing of {shape} is not its layout", shown == owner)
        drawings += 1
    return drawings


def draws_slots(name, text, said):
    """A rectangle for each slot of each buffer."""
    maps = re.findall(r'<svg class="chart map".*?</svg>', text, re.S)
    buffers = [k["shared_memory"]["buffers"] for k in said["kernels"] if k["shared_memory"]["buffers"]]
    check(f"{name}: {len(maps)} maps of shared memory", len(maps) == len(buffers), len(buffers))
    for drawing, of in zip(maps, buffers):
        check(f"{name}: slots", drawing.count("<rect") == sum(b.get("slots", 1) for b in of if b["first_ir_line"]))


def draws_order(bin_):
    """matmul's programs, by its own formula; the wave by its rows and columns."""
    for target, group in (("sm_80", 8), ("sm_90a", 8), ("sm_80", 3)):
        text, _ = page_of(bin_, ROOT / "examples/matmul.tl", f"--target={target}", "--single-entry", "-D", f"GROUP_M={group}")
        m, n = map(int, re.search(r"for M = (\d+), N = (\d+)", text).groups())
        rows, columns = m // 64, n // 64

        def block(pid):
            first = pid // (group * columns) * group
            size = min(rows - first, group)
            return first + pid % (group * columns) % size, pid % (group * columns) // size

        drawing = re.search(r'<svg class="chart order".*?</figure>', text, re.S)[0]
        paths = re.findall(r'class=block style="--part:\d+" d="(.*?)"><title>programs (\d+) to (\d+)<', drawing)
        size = int(re.search(r"h(\d+)v", paths[0][0])[1])
        for path, a, b in paths:
            check(f"order of programs {a} to {b}", list(cells(path, size)) == [block(i) for i in range(int(a), int(b) + 1)])
        check("programs that are not drawn", int(paths[-1][2]) + 1 == rows * columns)
        wave, across, down = (int(re.search(p, drawing)[1]) for p in (r"the (\d+) programs", r"and (\d+) columns", r"in (\d+) rows"))
        check("rows and columns of a wave", (down, across) == tuple(len({block(i)[k] for i in range(wave)}) for k in (0, 1)))


def draws_pipelines(bin_):
    for stages in 2, 3, 5:
        text, _ = page_of(bin_, ROOT / "examples/matmul.tl", "--single-entry", "--target=sm_80", f"--num-stages={stages}")
        drawing = re.search(r'<svg class="chart pipeline".*?</figure>', text, re.S)[0]
        check(f"a pipeline of {stages} stages", f"the {stages} slots" in drawing and f"iteration i + {stages - 1}." in drawing)
        numbers = [int(x) for x in re.findall(r">(\d+)</text>", drawing)]
        check(f"its copies of {stages} stages", all(numbers.count(i) >= 4 - (i < stages - 1) for i in range(4)), numbers)
    text, _ = page_of(bin_, ROOT / "examples/matmul.tl", "--target=sm_90a")
    check("roles are rows", ">producer</text>" in text and ">consumer</text>" in text)


HOSTILE = '''# </script><script>alert(1)</script> <!-- ]]> & "quoted" 'é' \u202e \u2028 </style></div></title> https://example.org/
import triton
import triton.language as tl


@triton.jit
def k_é(x: "*fp32", n: "i32", É_1: tl.constexpr = 1, TEXT: tl.constexpr = "</script><b onclick='x()'>&amp;"):
    é = tl.program_id(0) * 64 + tl.arange(0, 64)  # <img src=x onerror=alert(2)>
    tl.store(x + é, tl.load(x + é) + 1.0)
'''


def escapes(bin_, work):
    plain = re.sub(r"#.*", "#", HOSTILE).replace("é", "e").replace("É", "E")
    plain = re.sub(r'= "</script>.*"', '= "text"', plain)
    (work / "plain.tl").write_text(plain)
    _, benign = page_of(bin_, work / "plain.tl")
    for name in ("<img src=x onerror=alert(1)>\"'&é.tl", "<script>alert(3).tl", "a\x01\x1b[31m\u202e.tl"):
        file = work / name
        file.write_text(HOSTILE)
        text, page = page_of(bin_, file)
        check(f"hostile: {name!r}: tags", not page.wrong and page.tags == benign.tags, page.wrong, page.tags - benign.tags)
        check(f"hostile: {name!r}: a link", all(link.startswith("#") for _, link in page.links))
        said = json.loads(page.raw["report"])
        check(f"hostile: {name!r}: its name", said["file"] == name and html.escape(re.sub(r"[\x01\x1b\u202e]", "", name.split("[")[0]))
              .replace("&#x27;", "&#39;") in text.replace("\\x01", "").replace("\\x1b", ""))
        check(f"hostile: {name!r}: the source", page.text["s"] == HOSTILE.replace("\u202e", "\\u202e").replace("\u2028", "\\u2028"))
        check(f"hostile: {name!r}: a name of the source", "<th>É_1</th>" in text)
        check(f"hostile: {name!r}: a control character", not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e\u2028]", text.replace(page.raw["report"], "")))


def command_line(bin_, work):
    file = ROOT / "examples/copy.tl"
    p = subprocess.run([bin_.resolve() / "tilec", file, "--report=html"], cwd=work, capture_output=True, text=True, timeout=60)
    check("--report=html", p.returncode == 0 and p.stdout == "" and (work / "copy.html").read_text().startswith("<!DOCTYPE html>"))
    check("--report=xml", "text, json or html" in run(bin_ / "tilec", file, "--report=xml", fails=True))
    check("--compare --report=html", "not html" in run(bin_ / "tilec", "--compare", file, file, "--report=html", fails=True))
    text, page = page_of(bin_, ROOT / "examples/matmul_roles_cp.tir", "--target=sm_80")
    check("a page of tile IR", not page.wrong and "kernel" in text)
    (work / "helper.py").write_text("import triton, triton.language as tl\n\n\n@triton.jit\ndef twice(x):\n    return x * 3.0 + 1.0\n")
    (work / "uses.py").write_text("import triton, triton.language as tl\nfrom helper import twice\n\n\n@triton.jit\n"
                                  "def k(x: '*fp32'):\n    i = tl.arange(0, 64)\n    tl.store(x + i, twice(tl.load(x + i)))\n")
    text, page = page_of(bin_, work / "uses.py")
    both = (work / "uses.py").read_text() + (work / "helper.py").read_text()
    line = next(x["id"][1:] for x in page.lines.values() if "* 3.0" in x["text"])
    check("a page of two files", not page.wrong and page.text["s"] == both and "helper.py</h3>" in text)
    check("a line of the second file", any(x.get("data-s") == line for x in page.lines.values()))
    piped = subprocess.run([bin_ / "tilec", "-", "--report=html"], input=file.read_text(), capture_output=True, text=True, timeout=60)
    check("a page of standard input", piped.stdout.startswith("<!DOCTYPE html>"))


def main():
    bin_ = Path(sys.argv[1])
    if "--browser" in sys.argv:
        import browser
        return browser.main(bin_)
    largest, drawings = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for file in sorted((ROOT / "examples").glob("*.tl")):
            for target in "sm_80", "sm_90a":
                size, tiles = has_all(bin_, f"{file.name} {target}", file, [f"--target={target}"], work)
                largest, drawings = max(largest, size), drawings + tiles
        check("few layouts are drawn", drawings > 60, drawings)
        draws_order(bin_)
        draws_pipelines(bin_)
        escapes(bin_, work)
        command_line(bin_, work)
    print(f"pages of up to {largest} bytes, {drawings} layouts")
    return check.end()


if __name__ == "__main__":
    sys.exit(main())
