# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tree.py: a C file -> the syntax tree of its functions, by clang's JSON, each node with the stretch of the file's own text.

A node that the preprocessor made has no text of its own, and none here, unless it is the whole use of a macro, or what was
written as a macro's argument."""
import bisect
import json
import re
import subprocess

INTEGERS = re.compile(r"((un)?signed )?(char|short|int|long|long long)$|unsigned$|enum ")
KINDS = {"_Bool": "bool", "bool": "bool", "float": "float", "double": "float", "void": "void"}


class Names:
    """What the text is not needed for: typedefs of enumerations, the declarations of bit-fields by clang's numbers."""

    def __init__(self):
        self.enums, self.bits = set(), set()


class Node:
    """kind, inner: clang's; json: all that it says; begin, end: of the text, None where it has none; macro: it is a use of one."""

    def __init__(self, data, begin, end, macro, names):
        self.names, self.json, self.kind, self.begin, self.end, self.macro = names, data, data.get("kind", ""), begin, end, macro
        self.inner = []

    def plain(self):
        return self.begin is not None and not self.macro

    def type(self):
        """int, bool, float, pointer, void, or other."""
        name = re.sub(r"\b(const|volatile) ", "", self.exact_type())
        if name.endswith(("*", "*const", "]")):
            return "pointer"
        return "int" if INTEGERS.match(name) or name in self.names.enums else KINDS.get(name, "other")

    def exact_type(self):
        t = self.json.get("type", {})
        return t.get("desugaredQualType", t.get("qualType", ""))

    def bare(self):
        """Itself without parentheses and implicit casts around it."""
        n = self
        while n.kind in ("ParenExpr", "ImplicitCastExpr") and n.inner:
            n = n.inner[0]
        return n

    def is_bits(self):
        return self.bare().json.get("referencedMemberDecl") in self.names.bits

    def called(self):
        """The name of the function that a call calls; None of a pointer's."""
        if self.kind != "CallExpr" or not self.inner:
            return None
        callee = self.inner[0].bare()
        return callee.json.get("referencedDecl", {}).get("name") if callee.kind == "DeclRefExpr" else None


class Reader:
    def __init__(self, path, text):
        self.path, self.text = path, text
        self.names = Names()
        self.file = None  # clang names a file only where it is not that of the place before
        self.directives = [m.span() for m in re.finditer(rb"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", text, re.M | re.S)]
        self.starts = [b for b, _ in self.directives]

    def bare_place(self, loc):
        """(offset, length) in the file itself; None elsewhere."""
        if "file" in loc:
            self.file = loc["file"]
        if "offset" not in loc or self.file != self.path:
            return None
        return loc["offset"], loc.get("tokLen", 0)

    def place(self, loc):
        """(begin of the token, its end, whether it is a macro's use)."""
        if "spellingLoc" not in loc and "expansionLoc" not in loc:
            at = self.bare_place(loc)
            return at and (at[0], at[0] + at[1], False)
        spelled = self.bare_place(loc["spellingLoc"]) if "spellingLoc" in loc else None
        used = self.bare_place(loc["expansionLoc"]) if "expansionLoc" in loc else None
        if loc.get("expansionLoc", {}).get("isMacroArgExpansion"):
            return spelled and (spelled[0], spelled[0] + spelled[1], False)
        if not used:
            return None
        return used[0], self.past_arguments(used[0] + used[1]), True

    def past_arguments(self, at):
        """Behind a macro's arguments, where it has some."""
        rest = re.match(rb"\s*\(", self.text[at:at + 100])
        if not rest:
            return at
        depth, i = 0, at + rest.end() - 1
        while i < len(self.text):
            c = self.text[i:i + 1]
            depth += (c == b"(") - (c == b")")
            i += 1
            if depth == 0:
                return i
        return at

    def node(self, data):
        self.place(data.get("loc", {}))
        span = data.get("range", {})
        first, last = self.place(span.get("begin", {})), self.place(span.get("end", {}))
        begin = end = None
        macro = False
        if first and last and first[0] < last[1] and not self.in_directive(first[0]) and not self.in_directive(last[0]):
            begin, end = first[0], last[1]
            macro = first[2] and last[2] and first[:2] == last[:2]
            if not balanced(self.text[begin:end]):
                begin = end = None
        node = Node(data, begin, end, macro, self.names)
        if data.get("isBitfield"):
            self.names.bits.add(data["id"])
        node.inner = [self.node(x) for x in data.pop("inner", ())]
        return node

    def in_directive(self, at):
        i = bisect.bisect_right(self.starts, at)
        return i > 0 and at < self.directives[i - 1][1]


def balanced(text):
    depth = 0
    for c in re.findall(rb"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|/\*.*?\*/|//[^\n]*|[()\[\]{}]", text, re.S):
        depth += (c in b"([{") - (c in b")]}") if len(c) == 1 else 0
        if depth < 0:
            return False
    return depth == 0


def functions(path, text, flags, clang="clang"):
    """[Node] of the functions that the file defines, and the names of all that it may call."""
    done = subprocess.run([clang, "-fsyntax-only", "-w", *flags, "-Xclang", "-ast-dump=json", path], capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"{path}: clang: {done.stderr.decode(errors='replace')[:2000]}")
    reader = Reader(path, text)
    found, names = [], {}
    for data in json.loads(done.stdout)["inner"]:
        if data["kind"] == "FunctionDecl":
            names[data.get("name")] = data["type"]["qualType"]
        elif data["kind"] == "TypedefDecl" and data["type"]["qualType"].startswith("enum "):
            reader.names.enums.add(data["name"])
        node = reader.node(data)
        if node.kind == "FunctionDecl" and node.plain() and any(x.kind == "CompoundStmt" and x.plain() for x in node.inner):
            found.append(node)
    return found, names
