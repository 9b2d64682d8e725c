# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lsp.py BIN [--length=N]: `tilec --lsp` as an editor sees it. A client opens every example, types mistakes and takes them back,
hovers, jumps, completes, renames and closes buffers; what it sends wrongly is answered with the protocol's codes. Then texts that
are half typed: N prefixes and N mutations of each file, default 25, with every kind of request in between. With a build without
sanitizers the times and the memory of a long session are held against limits, too."""
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from checks import Checks  # noqa: E402
from lsp_client import Client, ROOT, place, position, uri_of, word_at  # noqa: E402

FLASH = ROOT / "examples/flash_attention.tl"
FORMS = ROOT / "tests/modules/forms"
LIMIT_MS, LIMIT_GROWTH_KB = 100, 8 << 10
ERROR, WARNING, INFORMATION, HINT = 1, 2, 3, 4
check = Checks("lsp")


# ---- the protocol ----

def test_protocol(binary):
    c = Client(binary, start=False)
    check("a request before initialize", c.code("textDocument/hover") == -32002)
    c.tell("textDocument/didOpen", textDocument={"uri": "file:///x.tl", "text": "", "version": 1})
    c.ask("initialize", capabilities={})
    check("initialize again", c.code("initialize") == -32600)
    check("an unknown method", c.code("textDocument/nothing") == -32601)
    check("an unknown request of $/", c.code("$/nothing") == -32601)
    c.tell("workspace/nothing")
    c.tell("$/setTrace", value="off")
    check("no params", c.code("textDocument/hover") == -32602)
    check("a document that was opened too soon", c.code("textDocument/hover", **place("file:///x.tl", "x", "x")) == -32602)
    for body in (b"{", b"\xff\xfe", b"", b"[" * (2048 + 1), b'{"a": 1} x'):
        c.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        check(f"no JSON: {body[:10]}", c.answer(None)["error"]["code"] == -32700)
    for message in ([], [{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}], 7, "x", None, {"id": 1, "method": "shutdown"},
                    {"jsonrpc": "1.0", "id": 1, "method": "shutdown"}, {"jsonrpc": "2.0"},
                    {"jsonrpc": "2.0", "id": [1], "method": "shutdown"}, {"jsonrpc": "2.0", "id": 1, "method": 7}):
        c.send(message)
        number = message.get("id") if isinstance(message, dict) and isinstance(message.get("id"), int) else None
        check(f"no message: {message}", c.answer(number)["error"]["code"] == -32600)
    c.send({"jsonrpc": "2.0", "id": 77, "result": None})  # an answer to nothing
    c.send({"jsonrpc": "2.0", "id": "a word", "method": "textDocument/nothing"})
    check("an id that is a word", c.answer("a word")["error"]["code"] == -32601)
    c.raw(b"content-type: application/vscode-jsonrpc; charset=utf-8\r\nCONTENT-LENGTH:  46 \r\n\r\n"
          b'{"jsonrpc":"2.0","id":9,"method":"nothing" }  ')
    check("other headers", c.answer(9)["error"]["code"] == -32601)
    size = 65 << 20
    c.raw(b"Content-Length: %d\r\n\r\n" % size)
    for _ in range(65):
        c.raw(b"x" * (1 << 20))
    check("too large a message", "64 MB" in c.answer(None)["error"]["message"])
    check("and the next is answered", c.code("nothing") == -32601)
    for params in ({"textDocument": 1}, {"textDocument": {"uri": "file:///y.tl"}}, [], {"textDocument": {"uri": 1, "text": "x"}}):
        c.send({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": params})
        c.send({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params})
        c.send({"jsonrpc": "2.0", "method": "textDocument/didClose", "params": params})
    c.open("file:///z.tl", "x = 1\n")
    for at in ({}, {"line": -1, "character": 0}, {"line": "1", "character": 0}, {"line": 1.5, "character": 0}):
        check(f"no position: {at}", c.code("textDocument/hover", textDocument={"uri": "file:///z.tl"}, position=at) == -32602)
    far = {"line": 2**53, "character": 2**53}
    check("a position far away", c.ask("textDocument/hover", textDocument={"uri": "file:///z.tl"}, position=far) is None)
    check("a change that is none", c.change("file:///z.tl", {"range": {"start": {"line": 2}}, "text": ""}) == [])
    # What waits can be cancelled: all of it is read before the first is answered.
    text = FLASH.read_text()
    body = [{"jsonrpc": "2.0", "method": "textDocument/didOpen",
             "params": {"textDocument": {"uri": uri_of(FLASH), "text": text, "version": 1}}}]
    body += [{"jsonrpc": "2.0", "id": n, "method": "textDocument/documentSymbol", "params": {"textDocument": {"uri": uri_of(FLASH)}}}
             for n in range(1000, 1020)]
    body += [{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1019}}]
    c.raw(b"".join(b"Content-Length: %d\r\n\r\n" % len(b) + b for b in (json.dumps(m).encode() for m in body)))
    check("what came before is answered", len(c.answer(1000)["result"]) == 2)
    check("a request that is cancelled", c.answer(1019)["error"]["code"] == -32800)
    c.ask("shutdown")
    check("after shutdown", c.code("textDocument/hover") == -32600)
    c.tell("exit")
    check("exit after shutdown", c.process.wait(60) == 0)

    c = Client(binary)
    c.tell("exit")
    check("exit without shutdown", c.process.wait(60) == 1)
    c = Client(binary)
    c.process.stdin.close()
    check("the editor is gone", c.process.wait(60) == 1)
    for head in (b"\r\n\r\n", b"nonsense\r\n\r\n", b"Content-Length: -1\r\n\r\n", b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
                 b"Content-Length: 99999999999999999999\r\n\r\n", b"x: " + b"y" * (8192 - 2), b"X: 1\r\n\r\n"):
        c = Client(binary)
        c.raw(head)
        check(f"no headers: {head[:30]}", c.answer(None)["error"]["code"] == -32700)
        check(f"and the end: {head[:30]}", c.process.wait(60) == 3)
    wrong = subprocess.run([binary / "tilec", "--lsp", "--target=sm_1"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    check("a wrong option", wrong.returncode == 2 and "sm_1" in wrong.stderr and not wrong.stdout, wrong)
    for option in "-oout.ptx", "--emit=ptx", "--report", "--kernel=k":
        wrong = subprocess.run([binary / "tilec", "--lsp", option], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        check(f"--lsp with {option}", wrong.returncode == 2 and "--lsp takes no -o" in wrong.stderr, wrong)
    wrong = subprocess.run([binary / "tilec", "--lsp", "x.tl"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    check("a file on the command line", wrong.returncode == 2 and "--lsp takes no file" in wrong.stderr, wrong)


# ---- diagnostics ----

def test_diagnostics(c):
    for path in sorted([*ROOT.glob("examples/*.tl"), *ROOT.glob("examples/*.tir")]):
        found = [d for d in c.open(uri_of(path), path.read_text()) if d["severity"] <= WARNING]
        check(f"{path.name} has no mistakes", found == [], found)
        names = {s["name"] for s in c.ask("textDocument/documentSymbol", textDocument={"uri": uri_of(path)})}
        check(f"{path.name} has symbols", names, names)
        check(f"{path.name} is closed", c.close(uri_of(path)) == [])

    uri, text = "untitled:k.tl", (
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        'def k(p: "*fp32", n: "i32"):\n    i = tl.arange(0, 64)\n'
        "    tl.static_print('\U0001f600 é'); tl.store(p + i, nothing, mask=i < n)\n")
    found = c.open(uri, text)
    check("one mistake", len(found) == 1 and found[0]["severity"] == ERROR and found[0]["source"] == "tilec", found)
    check("its range counts UTF-16", word_at(text, found[0]["range"]) == "nothing", found)
    check("its words", found[0]["message"].startswith("name 'nothing' is not defined"), found)
    start = position(text, text.index("nothing"))
    end = dict(start, character=start["character"] + len("nothing"))
    crlf = c.open("untitled:crlf.tl", text.replace("\n", "\r\n"))
    check("lines that end in \\r\\n", [(d["range"], d["message"]) for d in crlf] == [(d["range"], d["message"]) for d in found], crlf)
    c.close("untitled:crlf.tl")
    check("it is mended", c.change(uri, {"range": {"start": start, "end": end}, "text": "1.0"}) == [])
    mended = text.replace("nothing", "1.0")
    at = {"start": position(mended, mended.index("1.0")), "end": position(mended, mended.index("1.0") + 3)}
    found = c.change(uri, {"range": at, "text": "1.0 +"})
    check("a syntax error", len(found) == 1 and found[0]["severity"] == ERROR and found[0]["range"]["start"]["line"] == 7, found)
    # Two edits in one message, the second of what the first made.
    found = c.change(uri, {"text": mended}, {"range": at, "text": "x"}, {"range": dict(at, end=dict(at["start"], character=at["start"]["character"] + 1)), "text": "y"})
    check("edits in turn", len(found) == 1 and "name 'y'" in found[0]["message"], found)
    c.close(uri)

    two = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef a(x):\n    return x +\n\n\n@triton.jit\ndef b(p: \"*fp32\"):\n    tl.store(p, q)\n"
    found = c.open(uri, two)
    check("a function that does not parse does not hide another", {d["range"]["start"]["line"] for d in found} == {6, 11}, found)
    c.close(uri)

    helpers = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef f(x, n: tl.constexpr):\n" \
              "    if n > 4:\n        tl.static_assert(False)\n    return tl.expp(x) + tl.arange(0, n)\n"
    found = c.open(uri, helpers)
    check("a function that nobody calls", len(found) == 1 and found[0]["message"].startswith("tl has no 'expp'"), found)
    c.close(uri)

    left_out = "import torch\nimport triton\nimport triton.language as tl\n\nif torch.cuda.get_device_capability()[0] >= 10:\n\n" \
               "    @triton.jit\n    def f(x):\n        return x\n\n    @triton.jit\n    def g(x):\n        return f(x)\n"
    found = c.open(uri, left_out)
    check("functions for other targets", found == [], found)
    c.close(uri)

    note = 'import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef f(x, y):\n    return x\n\n\n@triton.jit\ndef k(p: "*fp32"):\n    f(p)\n'
    found = c.open(uri, note)
    related = found[0]["relatedInformation"]
    check("notes are related", len(found) == 1 and related[0]["location"]["range"]["start"]["line"] == 5, found)
    c.close(uri)

    tir = "kernel @k(%x: ptr<f32>) num_warps=4 num_stages=3 {\n  %y: f32 = load %z\n  return\n}\n"
    found = c.open("file:///k.tir", tir)
    check("tile IR", len(found) == 1 and found[0]["range"]["start"]["line"] == 1, found)
    c.close("file:///k.tir")
    check("a NUL", c.open(uri, "x = 1\n\0")[0]["severity"] == ERROR)
    c.close(uri)


UNTYPED = """import triton
import triton.language as tl


@triton.jit
def helper(q, n, KIND: tl.constexpr):
    if KIND == "twice":
        return tl.load(q + n) * 2
    return tl.load(q + n)


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr, KIND: tl.constexpr, TYPE: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = helper(x, i, KIND).to(TYPE)
    tl.static_assert(BLOCK == 512)
    tl.store(y + i, v, mask=i < m)
"""


def test_assumptions(binary, c):
    uri = "untitled:u.tl"
    found = c.open(uri, UNTYPED)
    by = {d["severity"]: d for d in found}
    check("what is wrong anyway is an error", by.get(ERROR, {}).get("message", "").startswith("name 'm' is not defined"), found)
    wrong = c.open("untitled:w.tl", UNTYPED.replace("mask=i < m", "msk=i < n").replace("KIND).to", "KIN=KIND).to"))
    wrong = [d["message"].split("\n")[0] for d in wrong if d["severity"] == ERROR]
    check("so are keywords of calls with what is assumed", wrong == ["helper() has no parameter 'KIN'", "tl.store has no parameter 'msk'"], wrong)
    c.close("untitled:w.tl")
    check("what may be right is a warning", "static assertion failed" in by.get(WARNING, {}).get("message", ""), found)
    check("the warning says what was assumed", "BLOCK=64" in by[WARNING]["message"], found)
    hint = by.get(HINT, {}).get("message", "")
    check("types are assumed", "x=*fp32, y=*fp32, n=i32" in hint and "-s" in hint, hint)
    check("values are assumed", "BLOCK=64" in hint and "KIND='twice'" in hint and "TYPE=fp32" in hint and "-D" in hint, hint)
    hover = c.ask("textDocument/hover", **place(uri, UNTYPED, "BLOCK"))["contents"]["value"]
    check("hover says so", "Assumed" in hover and "64" in hover, hover)
    hover = c.ask("textDocument/hover", **place(uri, UNTYPED, "v = "))["contents"]["value"]
    check("types follow", "fp32[64]" in hover, hover)
    c.close(uri)
    told = Client(binary, "-s", "x=*fp16,y=*fp16,n=i32", "-D", "BLOCK=512", "-D", "KIND='once'", "-D", "TYPE=tl.float16", "-D", "UNUSED=1")
    found = told.open(uri, UNTYPED)
    check("options settle it", [d["message"].split("\n")[0] for d in found] == ["name 'm' is not defined"], found)
    hover = told.ask("textDocument/hover", **place(uri, UNTYPED, "v = "))["contents"]["value"]
    check("and give types", "fp16[512]" in hover, hover)
    check("it ends well", told.end() == 0)


# ---- questions ----

def hover(c, *where, **more):
    got = c.ask("textDocument/hover", **place(*where, **more))
    return got and got["contents"]["value"]


def test_hover(c):
    uri, text = uri_of(FLASH), FLASH.read_text()
    c.open(uri, text)
    for word, nth, wanted in [
            ("scores = ", 1, ["(variable) scores: fp32[64, 64]", "Layout: `f32[64,64] reg=[", "4096 elements in 32 registers"]),
            ("offs_m = ", 0, ["(variable) offs_m: int32[64]"]),
            ("q_ptr", 0, ["(parameter) q_ptr: *fp16"]),
            ("BM: tl", 0, ["(parameter) BM: 64"]),
            ("attend(acc", 1, ["def attend(acc, total, top", "MASKED: tl.constexpr)", "The keys from `first` to `end`.",
                               "Result: `the tuple (fp32[64, 64], fp32[64], fp32[64])`"]),
            ("dot(", 0, ["tl.dot(input, other, acc=None", "Result: `fp32[64, 64]`"]),
            ("tl.float32", 0, ["module triton.language"]),
            ("float32", 0, ["the dtype fp32"]),
            ("mask=", 0, ["(parameter) mask", "tl.load(pointer, mask=None"]),
            ("to(v.dtype)", 0, [".to(self, dtype", "Result: `fp16[64, 64]`"]),
            ("* scale", 1, ["fp32[64, 64]"])]:
        got = hover(c, uri, text, word, nth)
        check(f"hover over {word}", got and all(w in got for w in wanted), got)
    check("hover over nothing", hover(c, uri, text, "# Attention") is None)
    twice = "import triton\nimport triton.language as tl\n@triton.jit\ndef f(x):\n    return x + 1\n@triton.jit\ndef k(p: \"*fp32\", n: \"i32\"):\n    tl.store(p, f(n) + f(tl.load(p)))\n"
    c.open("untitled:twice.tl", twice)
    got = hover(c, "untitled:twice.tl", twice, "x + 1")
    check("a function inlined with two types", "int32 or fp32" in got, got)
    c.close("untitled:twice.tl")
    c.close(uri)


def definition(c, uri, text, word, nth=0, into=0):
    got = c.ask("textDocument/definition", **place(uri, text, word, nth, into))
    return got and (got["uri"], got["range"]["start"]["line"] + 1)


def line_of(text, word, nth=0):
    return place("", text, word, nth)["position"]["line"] + 1


def test_navigation(c):
    uri, text = uri_of(FLASH), FLASH.read_text()
    c.open(uri, text)
    for word, nth, target in [
            ("attend(acc", 1, "def attend"), ("offs_n[None", 0, "offs_n = start"), ("scores - new_top", 0, "scores = tl.where"),
            ("acc / total", 0, "whole, end, D, BN"), ("D, BN, CAUSAL, False", 0, "D: tl.constexpr = 64"), ("scale *=", 0, 'scale: "fp32"'),
            ("q_ptr + head", 0, "def flash_attention"), ("start + tl", 0, "for start in")]:
        got = definition(c, uri, text, word, nth)
        want = line_of(text, target) - (1 if target == "whole, end, D, BN" else 0)
        check(f"definition of {word}", got == (uri, want), (got, want))
    check("of a builtin there is none", definition(c, uri, text, "tl.dot", into=3) is None)
    found = c.ask("textDocument/references", context={"includeDeclaration": True}, **place(uri, text, "attend(acc"))
    check("references of a function", [f["range"]["start"]["line"] for f in found] == [15, 74, 76], found)
    found = c.ask("textDocument/references", context={"includeDeclaration": False}, **place(uri, text, "attend(acc"))
    check("without the declaration", len(found) == 2, found)
    found = c.ask("textDocument/references", context={"includeDeclaration": True}, **place(uri, text, "offs_d"))
    check("a variable is its function's", len(found) == 3 and all(f["range"]["start"]["line"] < 41 for f in found), found)
    found = c.ask("textDocument/documentHighlight", **place(uri, text, "offs_d"))
    check("highlights tell writes", [f["kind"] for f in found] == [3, 2, 2], found)
    outline = c.ask("textDocument/documentSymbol", textDocument={"uri": uri})
    check("outline", [(s["name"], s["range"]["start"]["line"], s["range"]["end"]["line"], len(s["children"])) for s in outline] ==
          [("attend", 15, 40, 17), ("flash_attention", 46, 82, 21)], outline)
    c.close(uri)

    path = FORMS / "kernels.py"
    uri, text = uri_of(path), path.read_text()
    c.open(uri, text)
    scale, quad = FORMS / "scale.py", FORMS / "deep/quad.py"
    for word, into, file, target in [
            ("d(one)", 0, scale, "def double"), ("sc.double", 3, scale, "def double"), ("forms.deep.quad.quadruple", 16, quad, "def quadruple"),
            ("quadruple(one) + 6", 0, quad, "def quadruple"), ("FACTOR, WIDE", 0, scale, "FACTOR ="), ("sc.double", 0, scale, "# SPDX"),
            ("shrink.double", 7, None, "def double"), ("four(one)", 0, quad, "def quadruple")]:
        got = definition(c, uri, text, word, 0, into)
        good = got and (file is None or got == (uri_of(file), line_of(file.read_text(), target)))
        check(f"definition of {word} in another file", good, got)
    got = definition(c, uri, text, "TIMES\n")
    check("definition of a constexpr at top level", got == (uri, line_of(text, "TIMES = ")), got)
    got = hover(c, uri, text, "sc.double", into=3)
    check("hover over another file's function", "def double(x, by=FACTOR)" in got, got)
    # The open buffer of a module counts, not its file; and whoever imports it is looked at again.
    changed = scale.read_text().replace("def double(x, by=FACTOR)", "\n\ndef double(x, by=FACTOR)")
    changed = changed.replace("@triton.jit\n\n\ndef double", "@triton.jit\ndef double")
    c.open(uri_of(scale), "\n\n" + changed)
    c.published(uri)
    want = line_of("\n\n" + changed, "def double")
    check("the buffer of a module counts", definition(c, uri, text, "d(one)") == (uri_of(scale), want), want)
    found = c.ask("textDocument/references", context={"includeDeclaration": True}, **place(uri_of(scale), "\n\n" + changed, "double(x"))
    files = {f["uri"] for f in found}
    check("references from other buffers", files == {uri, uri_of(scale)} and len(found) >= 5, found)
    c.close(uri_of(scale))
    c.published(uri)
    check("and its file again", definition(c, uri, text, "d(one)")[1] == line_of(scale.read_text(), "def double"))
    c.close(uri)
    # A buffer is renamed: closed and opened under its new name.
    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder) / "a b é.tl", Path(folder) / "c.tl"
        source = "import triton\nfrom lib import f\n@triton.jit\ndef k(p: \"*fp32\"):\n    f(p)\n"
        (Path(folder) / "lib.py").write_text("import triton\nimport triton.language as tl\n@triton.jit\ndef f(p):\n    tl.store(p, 1.0 + nothing)\n")
        found = c.open(uri_of(one), source)
        check("a mistake in a module stands at its import", len(found) == 1 and found[0]["message"].startswith("lib.py:5: name 'nothing'"), found)
        where = found[0]["relatedInformation"][0]["location"]
        check("and points there", where["uri"] == uri_of(Path(folder) / "lib.py") and where["range"]["start"]["line"] == 4, where)
        check("a URI with other letters", definition(c, uri_of(one), source, "f(p)", 0)[0] == uri_of(Path(folder) / "lib.py"))
        c.close(uri_of(one))
        check("the new name", len(c.open(uri_of(two), source)) == 1)
        check("the old one is not open", c.code("textDocument/hover", **place(uri_of(one), source, "k(p")) == -32602)
        (Path(folder) / "lib.py").write_text("import triton\nimport triton.language as tl\n@triton.jit\ndef f(p):\n    tl.store(p, 1.0)\n")
        c.tell("workspace/didChangeWatchedFiles", changes=[])
        check("files that change on disk", c.published(uri_of(two)) == [])
        c.close(uri_of(two))


def labels(c, *where, **more):
    return [i["label"] for i in c.ask("textDocument/completion", **place(*where, **more))]


def test_completion(c):
    uri, text = "untitled:c.tl", FLASH.read_text()
    c.open(uri, text)
    typed = text.replace("scores = tl.dot(q, k) * scale", "scores = tl.lo\n        other = sco\n        third = q.rav", 1)
    c.change(uri, {"text": typed})
    got = labels(c, uri, typed, "tl.lo\n", into=5)
    check("members of tl", {"load", "log", "log2"} <= set(got) and all(g.startswith("lo") for g in got), got)
    every = labels(c, uri, typed, "tl.lo\n", into=3)
    check("all of them", {"float32", "bfloat16", "dot", "math", "int32"} <= set(every) and len(set(every)) == len(every), every)
    check("local names, while the line does not parse", "scores" in labels(c, uri, typed, "= sco", into=5))
    check("methods", labels(c, uri, typed, "q.rav", into=5) == ["ravel"], labels(c, uri, typed, "q.rav", into=5))
    typed = text.replace("scores = tl.dot(q, k) * scale", "scores = tl.dot(q, att", 1)
    c.change(uri, {"text": typed})
    check("functions, behind a bracket that is open", "attend" in labels(c, uri, typed, "dot(q, att", into=10))
    got = c.ask("textDocument/signatureHelp", **place(uri, typed, "dot(q, att", into=10))
    check("signature of a builtin", got["signatures"][0]["label"].startswith("tl.dot(input, other") and got["activeParameter"] == 1, got)
    check("its parameters", [p["label"] for p in got["signatures"][0]["parameters"]][:3] == ["input", "other", "acc=None"], got)
    typed = text.replace("acc, total, top = attend(acc, total,", "acc, total, top = attend(acc, (1, 2), ", 1)
    c.change(uri, {"text": typed})
    got = c.ask("textDocument/signatureHelp", **place(uri, typed, "(1, 2), ", into=8))
    check("signature of a function", got["signatures"][0]["label"].startswith("def attend(") and got["activeParameter"] == 2, got)
    c.close(uri)
    text = "import triton.language as tl\nfrom triton.language.extra import libdevice\nimport math\nx = tl.math.e\ny = libdevice.er\n"
    c.open(uri, text)
    check("members of tl.math", "exp2" in labels(c, uri, text, "tl.math.e", into=9))
    check("members of libdevice", "erf" in labels(c, uri, text, "libdevice.er\n", into=12))
    check("of a file that is empty", c.change(uri, {"text": ""}) == [] and "tl" not in labels(c, uri, " ", " "))
    c.close(uri)


# ---- limits of docs/editor.md ----

def test_limits(binary):
    c = Client(binary)
    head = "import triton\nimport triton.language as tl\n"
    found = c.open("untitled:big.tl", "# " + "x" * (8 << 20) + "\n")
    check("a document beyond 8 MB", len(found) == 1 and "the limit is 8 MB" in found[0]["message"], found)
    check("it is mended", c.change("untitled:big.tl", {"text": "x = 1\n"}) == [])
    found = c.open("untitled:many.tl", head + "".join(f"@triton.jit\ndef k{i}(x):\n    tl.store(x, 1)\n" for i in range(250)))
    check("200 diagnostics", len(found) == 200 and all(d["severity"] == HINT for d in found), len(found))
    found = c.open("untitled:errors.tl", head + '@triton.jit\ndef k():\n' + "".join(f"    name{i}\n" for i in range(80)))
    check("50 errors", len(found) == 50, len(found))
    calls = "".join(f"    f(tl.load(p).to(tl.{t}))\n" for t in ("int8", "int16", "int32", "int64", "float16"))
    text = head + '@triton.jit\ndef f(x):\n    return x\n\n\n@triton.jit\ndef k(p: "*fp32"):\n' + calls
    c.open("untitled:types.tl", text)
    got = hover(c, "untitled:types.tl", text, "return x", into=7)
    check("3 types of one name", "int8 or int16 or int32 or …" in got, got)
    uses = "".join("    f(n)\n" for _ in range(5100))
    text = head + '@triton.jit\ndef f(x):\n    return x\n\n\n@triton.jit\ndef k(n: "i32"):\n' + uses
    c.open("untitled:uses.tl", text)
    found = c.ask("textDocument/references", context={"includeDeclaration": True}, **place("untitled:uses.tl", text, "f(x"))
    check("5000 places of an answer", len(found) == 5000, len(found))
    c.close("untitled:uses.tl")
    for i in range(996):
        c.tell("textDocument/didOpen", textDocument={"uri": f"untitled:{i}", "version": 1, "text": ""})
    c.tell("textDocument/didOpen", textDocument={"uri": "untitled:beyond", "version": 1, "text": ""})
    while (message := c.receive()).get("method") != "window/showMessage":
        pass
    check("1000 documents", "more than 1000 documents" in message["params"]["message"] and "untitled:beyond" in message["params"]["message"], message)
    check("and no more", c.code("textDocument/hover", **place("untitled:beyond", "x", "x")) == -32602)
    check("the others are there", c.code("textDocument/hover", **place("untitled:995", "x", "x")) is None)
    c.close("untitled:0")
    check("room for another", c.open("untitled:beyond", "x = 1\n") == [])
    check("limits end well", c.end() == 0)


# ---- texts that are half typed ----

REQUESTS = ["hover", "definition", "references", "documentHighlight", "completion", "signatureHelp", "documentSymbol"]


def ask_everything(c, uri, text, offset):
    for method in REQUESTS:
        message = c.request("textDocument/" + method, textDocument={"uri": uri}, position=position(text, offset))
        check(f"{method} in {uri}", "result" in message or message["error"]["code"] == -32803, message)


def mutate(dice, text):
    text = list(text) or [" "]
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(text))
        kind = dice.randrange(4)
        if kind == 0:
            text[at] = dice.choice("()[]{}:,.\n \t\"'#@=*é\U0001f600\r\0x0\\")
        elif kind == 1:
            del text[at:at + dice.randint(1, 30)]
        elif kind == 2:
            text[at:at] = text[at:at + dice.randint(1, 60)]
        else:
            text.insert(at, dice.choice(["tl.", "(", "lambda x: ", "for i in ", "def ", "import ", "if x:\n", "@triton.jit\n", "*", ":="]))
        text = text or [" "]
    return "".join(text)


def test_half_typed(c, length):
    dice = random.Random(length)
    files = [*ROOT.glob("examples/*.tl"), *ROOT.glob("examples/*.tir"), *FORMS.glob("*.py"), *(ROOT / "tests/frontend").glob("project-*.py"),
             *(ROOT / "tests/frontend").glob("class*.tl")]
    for path in sorted(files):
        uri, text = uri_of(path), path.read_text()
        want = c.open(uri, text)
        for i in range(length):
            short = text[:dice.randrange(len(text) + 1)]
            c.change(uri, {"text": short})
            ask_everything(c, uri, short, len(short))
            other = mutate(dice, text)
            c.change(uri, {"text": other})
            ask_everything(c, uri, other, dice.randrange(len(other) + 1))
        # Many small edits of ranges come to the same as the text they make.
        edited = text
        c.change(uri, {"text": text})
        for i in range(length):
            a, b = sorted(dice.randrange(len(edited) + 1) for _ in range(2))
            b = min(b, a + 9)
            new = dice.choice(["", "x", "é", "\U0001f600", "\n", "tl."])
            span = {"start": position(edited, a), "end": position(edited, b)}
            edited = edited[:a] + new + edited[b:]
            found = c.change(uri, {"range": span, "text": new})
        c.close(uri)
        check(f"edits of {path.name}", c.open(uri, edited) == found)
        check(f"{path.name} again", c.change(uri, {"text": text}) == want)
        c.close(uri)


# ---- times and memory ----

def test_times(c):
    uri, text = uri_of(FLASH), FLASH.read_text()
    diagnostics, hovers = [], []
    c.open(uri, text)
    for i in range(20):
        start = time.monotonic()
        c.change(uri, {"text": text + "\n" * i})
        diagnostics.append(time.monotonic() - start)
        start = time.monotonic()
        hover(c, uri, text, "scores - new_top")
        hovers.append(time.monotonic() - start)
    c.close(uri)
    for what, times in ("diagnostics", diagnostics), ("hover", hovers):
        ms = 1000 * statistics.median(times)
        print(f"{what} on {FLASH.name}: {ms:.1f} ms")
        check(f"{what} in {LIMIT_MS} ms", ms < LIMIT_MS, ms)


def test_long_text(c):
    """What takes a line's number of steps for each line shows here: half a minute, where it should be half a second."""
    uri = "untitled:long.py"
    text = "import triton.language as tl\n" + "".join(f"def f{i}(a, b=tl.x):\n    c = a + tl.y\n    return c\n" for i in range(20000))
    start = time.monotonic()
    check("a long text is fine", c.open(uri, text) == [])
    opened = time.monotonic()
    found = c.ask("textDocument/documentSymbol", textDocument={"uri": uri})
    check("its outline has a limit", len(found) == 5000, len(found))
    found = c.ask("textDocument/references", context={}, **place(uri, text, "tl.x"))
    check("its references have a limit", len(found) == 5000, len(found))
    asked = time.monotonic()
    print(f"{len(text) >> 10} KB: opened in {opened - start:.1f} s, asked in {asked - opened:.1f} s")
    check("a long text takes some seconds", asked - start < 10, asked - start)
    c.close(uri)


def resident_kb(c):
    status = Path(f"/proc/{c.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def test_memory(c):
    uri, text = uri_of(FLASH), FLASH.read_text()
    c.open(uri, text)

    def session(n):
        for i in range(n):
            c.change(uri, {"text": text + "\n" * (i % 7)})
            hover(c, uri, text, "scores - new_top")
            labels(c, uri, text, "tl.dot", into=3)

    session(300)
    before = resident_kb(c)
    session(1500)
    growth = resident_kb(c) - before
    print(f"1500 changes, hovers and completions: {growth} KB more")
    check("memory of a long session", growth < LIMIT_GROWTH_KB, growth)
    # Questions without a change: what they take is given back, too.
    for i in range(3000):
        labels(c, uri, text, "tl.dot", into=3)
    growth = resident_kb(c) - before
    print(f"3000 more completions: {growth} KB more")
    check("memory of many questions", growth < 10 * LIMIT_GROWTH_KB, growth)
    c.close(uri)


def main():
    binary = Path(sys.argv[1]).resolve()
    length = next((int(a.split("=")[1]) for a in sys.argv[2:] if a.startswith("--length=")), 25)
    sanitized = b"libasan.so" in (binary / "tilec").read_bytes()
    test_protocol(binary)
    c = Client(binary)
    test_diagnostics(c)
    test_assumptions(binary, c)
    test_hover(c)
    test_navigation(c)
    test_completion(c)
    test_limits(binary)
    test_half_typed(c, length)
    if not sanitized:
        test_times(c)
        test_long_text(c)
        test_memory(c)
    check("the session ends well", c.end() == 0, c.process.stderr.read().decode()[-3000:])
    return check.end()


if __name__ == "__main__":
    sys.exit(main())
