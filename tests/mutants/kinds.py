# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kinds.py: the syntax tree of a function -> its mutants, and the edits of the text that hold them all: each is chosen when the
program runs (mutant.h).

An edit keeps lines where they are, and evaluates no operand twice. Where both values are at hand, a mutant counts as reached
only where they differ: a test that never saw a difference cannot fail of it."""
import re

SWAPS = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "*", "&": "|", "|": "&", "^": "|", "<<": ">>", ">>": "<<"}
BOUNDARIES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
NEGATIONS = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
SCALARS = {"int", "bool", "float", "pointer"}
# Functions whose arguments are words of messages.
WORDS = {"diag", "diag_again", "gen_error", "snprintf", "buf_puts", "arena_printf"}
# Where constants must be constant, or nothing is computed.
CLOSED = {"UnaryExprOrTypeTraitExpr", "ConstantExpr", "StaticAssertDecl", "EnumDecl", "RecordDecl", "GenericSelectionExpr", "OffsetOfExpr"}
STATEMENTS = {"CompoundStmt", "CaseStmt", "DefaultStmt", "LabelStmt"}
BODIES = {"IfStmt": (1, 2), "ForStmt": (4,), "WhileStmt": (1,), "DoStmt": (0,)}
CONDITIONS = {"IfStmt": 0, "WhileStmt": 0, "DoStmt": 1, "ForStmt": 2, "ConditionalOperator": 0}
KINDS = ("arithmetic", "boundary", "relation", "equality", "logical", "bits", "condition", "constant", "statement", "return", "min-max")
# An operand of && or || that says nothing, and arguments in another order, are asked for: many of them are the same program.
FURTHER = ("operand", "arguments")


class Mutant:
    def __init__(self, kind, function, begin, before, after):
        self.kind, self.function, self.begin, self.before, self.after = kind, function, begin, before, after
        self.number = None


class Edits:
    """Texts to insert and operators to replace. At one place, what belongs to the larger stretch is outside."""

    def __init__(self):
        self.at = []

    def around(self, begin, end, before, after):
        order = len(self.at)
        self.at.append((begin, 1, -end, order, begin, before))
        self.at.append((end, 0, -begin, -order, end, after))

    def replace(self, begin, end, text):
        self.at.append((begin, 2, 0, 0, end, text))

    def apply(self, text):
        out, at = [], 0
        for begin, _, _, _, end, new in sorted(self.at):
            assert begin >= at, "edits overlap"
            out += [text[at:begin], new.encode()]
            at = end
        return b"".join([*out, text[at:]])


def shown(text):
    return " ".join(re.sub(rb"/\*.*?\*/", b" ", text, flags=re.S).decode(errors="replace").split())


class Maker:
    def __init__(self, text, names, first):
        self.text, self.names, self.next = text, names, first
        self.mutants, self.edits, self.seen = [], Edits(), set()
        self.function = None

    def of(self, n):
        return self.text[n.begin:n.end].decode()

    def mutant(self, kind, begin, before, after):
        m = Mutant(kind, self.function, begin, shown(before.encode()), shown(after.encode()))
        m.number, self.next = self.next, self.next + 1
        self.mutants.append(m)
        return m.number

    def once(self, *key):
        if key in self.seen:
            return False
        self.seen.add(key)
        return True

    # ---- expressions of two operands ----

    def operator(self, n):
        """The stretch of a binary node's operator; None where macros hide it."""
        left, right = n.inner
        if None in (n.begin, left.begin, right.begin) or left.end > right.begin or n.macro or n.begin != left.begin:
            return None
        between = self.text[left.end:right.begin]
        at = re.sub(rb"/\*.*?\*/", lambda m: b" " * len(m.group()), between, flags=re.S)
        if at.strip().decode() != n.json["opcode"]:
            return None
        begin = left.end + at.index(at.strip())
        return begin, begin + len(n.json["opcode"])

    def values(self, n, place, choices):
        """Both operands are kept, and each mutant's value compared with the right one."""
        left, right = n.inner
        op, (l, r) = n.json["opcode"], (self.of(left), self.of(right))
        numbers = [self.mutant(kind, place[0], f"{l} {op} {r}", f"{l} {other} {r}") for kind, other in choices]
        i = numbers[0]
        picks = "".join(f"mutant_on({k},o{i}!=(a{i} {other} b{i}))?(a{i} {other} b{i}):" for k, (_, other) in zip(numbers, choices))
        plus = ["" if x.type() == "pointer" else "+" for x in (left, right)]
        self.edits.around(n.begin, n.end, f"(__extension__({{__auto_type a{i}={plus[0]}(",
                          f");__auto_type o{i}=a{i} {op} b{i};{picks}o{i};}}))")
        self.edits.replace(*place, f");__auto_type b{i}={plus[1]}(")

    def binary(self, n):
        op, types = n.json["opcode"], [x.type() for x in n.inner]
        place = self.operator(n)
        if not place or not set(types) <= SCALARS or not self.once("binary", place):
            return
        numbers = "pointer" not in types
        if op in ("&&", "||"):
            self.logical(n, op, place)
        elif any(x.kind == "ImplicitCastExpr" and x.json.get("castKind") == "NullToPointer" and not x.macro for x in n.inner):
            return
        elif op in BOUNDARIES:
            self.values(n, place, [("boundary", BOUNDARIES[op]), ("relation", NEGATIONS[op])])
        elif op in NEGATIONS:
            self.values(n, place, [("equality", NEGATIONS[op])])
        elif op in ("+", "-", "*", "/", "%") and (numbers or types == ["pointer", "int"]):
            self.values(n, place, [("arithmetic", SWAPS[op])])
        elif op in SWAPS and numbers:
            self.values(n, place, [("bits", SWAPS[op])])

    def logical(self, n, op, place):
        left, right = n.inner
        l, r = self.of(left), self.of(right)
        other, kept = ("||", "true") if op == "&&" else ("&&", "false")
        i = self.mutant("logical", place[0], f"{l} {op} {r}", f"{l} {other} {r}")
        j = self.mutant("operand", left.begin, f"{l} {op} {r}", f"{kept} {op} {r}")
        k = self.mutant("operand", right.begin, f"{l} {op} {r}", f"{l} {op} {kept}")
        # l && r is l ? r : 0, with the other operator !l ? r : 1; l || r is !l ? r : 1, with the other l ? r : 0.
        force, where, rest = ("||", "!=", "") if op == "&&" else ("&&!", "==", "!")
        self.edits.around(left.begin, left.end, "(((!!(", f"){force}mutant_on({j},1))")
        self.edits.replace(*place, f"{where}mutant_on({i},1))?(!!(")
        self.edits.around(right.begin, right.end, "", f"){force}mutant_on({k},1)):{rest}mutant_is({i}))")

    def compound(self, n):
        op = n.json["opcode"][:-1]
        left, right = n.inner
        place = self.operator(n)
        if (op not in SWAPS or not place or left.is_bits() or right.type() not in ("int", "bool", "float") or
                not self.once("binary", place)):
            return
        other = SWAPS[op]
        i = self.mutant("bits" if op in ("&", "|", "^", "<<", ">>") else "arithmetic", place[0],
                        self.of(n), f"{self.of(left)} {other}= {self.of(right)}")
        differs = f"b{i}!=0" if op in ("+", "-", "<<", ">>") else "1"
        self.edits.around(n.begin, n.end, f"(__extension__({{__auto_type a{i}=&(",
                          f");mutant_on({i},{differs})?(*a{i} {other}= b{i}):(*a{i} {op}= b{i});}}))")
        self.edits.replace(*place, f");__auto_type b{i}=+(")

    # ---- others ----

    def condition(self, n, c):
        if n.begin is None or n.macro or c.begin is None or c.kind == "" or not self.once("condition", c.begin, c.end):
            return
        bare = c.bare()
        if bare.kind == "BinaryOperator" and bare.json["opcode"] in NEGATIONS and self.operator(bare):
            return  # whose negation is another operator
        if bare.kind in ("IntegerLiteral", "CXXBoolLiteralExpr") or c.type() not in SCALARS:
            return
        i = self.mutant("condition", c.begin, self.of(c), f"!({self.of(c)})")
        self.edits.around(c.begin, c.end, "(!!(", f")!=mutant_on({i},1))")

    def constant(self, n):
        if not n.plain() or not self.text[n.begin:n.begin + 1].isdigit() or not self.once("constant", n.begin):
            return
        text, zero = self.of(n), int(n.json["value"]) == 0
        line = self.line_around(n.begin, n.end)
        i = self.mutant("constant", n.begin, line(text), line(f"({text} + 1)"))
        less = ""
        if not zero:
            less = f"mutant_on({self.mutant('constant', n.begin, line(text), line(f'({text} - 1)'))},1)?({text})-1:"
        self.edits.around(n.begin, n.end, f"(mutant_on({i},1)?({text})+1:{less}", ")")

    def line_around(self, begin, end):
        """A constant alone says little: it is shown in its line."""
        first = self.text.rfind(b"\n", 0, begin) + 1
        last = self.text.find(b"\n", end)
        return lambda new: self.text[first:begin].decode() + new + self.text[end:last].decode()

    def statement(self, n):
        if n.begin is None or not self.once("statement", n.begin):
            return
        what = n.bare()
        effect = (n.macro or what.kind in ("CallExpr", "CompoundAssignOperator") or
                  (what.kind == "BinaryOperator" and what.json["opcode"] == "=") or
                  (what.kind == "UnaryOperator" and what.json["opcode"] in ("++", "--")))
        if not effect or not n.json.get("type") or not self.text[n.end:n.end + 1] == b";":
            return
        i = self.mutant("statement", n.begin, self.of(n) + ";", ";")
        self.edits.around(n.begin, n.end, f"(mutant_on({i},1)?(void)0:(void)(", "))")

    def returned(self, n):
        if not n.plain() or not n.inner or n.inner[0].begin is None or not self.once("return", n.begin):
            return
        value = n.inner[0]
        of, kind = self.of(value), value.type()
        if kind not in SCALARS or (kind == "pointer" and of == "NULL"):
            return
        new = {"int": f"!({of})", "bool": f"!({of})", "float": f"!({of})", "pointer": "NULL"}[kind]
        i = self.mutant("return", n.begin, f"return {of};", f"return {new};")
        differs, other = (f"o{i}!=0", "0") if kind == "pointer" else ("1", f"!o{i}")
        plus = {"pointer": "", "bool": "!!"}.get(kind, "+")
        self.edits.around(value.begin, value.end, f"(__extension__({{__auto_type o{i}={plus}(",
                          f");mutant_on({i},{differs})?({other}):o{i};}}))")

    def call(self, n):
        name = n.called()
        if not name or n.macro or n.begin is None:
            return
        other = re.sub(r"(?<![a-z])(min|max)(?![a-z])", lambda m: {"min": "max", "max": "min"}[m.group()], name)
        callee = n.inner[0]
        if other != name and other in self.names and self.names[other] == self.names[name] and callee.plain() and \
                self.once("min-max", n.begin):
            i = self.mutant("min-max", n.begin, self.of(n), other + self.of(n)[len(name):])
            self.edits.around(callee.begin, callee.end, f"(mutant_on({i},1)?{other}:", ")")
        if name not in WORDS:
            self.arguments(n)

    def arguments(self, n):
        """Two arguments of one type, side by side, in the other order: where evaluating them has no effect."""
        args, k = n.inner[1:], 0
        while k + 1 < len(args):
            a, b = args[k], args[k + 1]
            k += 1
            if len({x.exact_type() for x in (a, b)}) > 1 or len({x.bare().exact_type() for x in (a, b)}) > 1:
                continue  # as written, too, or the choice between them would convert one
            if a.type() not in SCALARS or not (simple(self, a) and simple(self, b)):
                continue
            if self.of(a) == self.of(b) or not self.once("arguments", a.begin):
                continue
            at, bt = self.of(a), self.of(b)
            whole = self.of(n)
            swapped = whole[:a.begin - n.begin] + bt + whole[a.end - n.begin:b.begin - n.begin] + at + whole[b.end - n.begin:]
            i = self.mutant("arguments", a.begin, whole, swapped)
            self.edits.around(a.begin, a.end, f"(mutant_on({i},({at})!=({bt}))?{bt}:(", "))")
            self.edits.around(b.begin, b.end, f"(mutant_is({i})?{at}:(", "))")
            k += 1

    # ---- the walk ----

    def walk(self, n):
        kind = n.kind
        if kind in CLOSED or kind.endswith("Attr") or (kind == "VarDecl" and n.json.get("storageClass") in ("static", "extern")):
            return
        if kind == "InitListExpr" and n.begin is not None and re.fullmatch(rb"\{\s*0\s*\}", self.text[n.begin:n.end]):
            return  # what makes all of it zero
        if kind == "CallExpr" and n.called() in WORDS:
            return
        if kind == "BinaryOperator":
            self.binary(n)
        elif kind == "CompoundAssignOperator":
            self.compound(n)
        elif kind == "IntegerLiteral":
            self.constant(n)
        elif kind == "ReturnStmt":
            self.returned(n)
        elif kind == "CallExpr":
            self.call(n)
        elif kind == "ImplicitCastExpr" and n.json.get("castKind") == "NullToPointer":
            return
        if kind in CONDITIONS and len(n.inner) > CONDITIONS[kind]:
            self.condition(n, n.inner[CONDITIONS[kind]])
        bodies = range(len(n.inner)) if kind in STATEMENTS else BODIES.get(kind, ())
        for i, x in enumerate(n.inner):
            if i in bodies:
                self.statement(x)
            self.walk(x)


def simple(maker, n):
    return n.plain() and n.end - n.begin <= 60 and re.fullmatch(r"[\w\s.>&*\[\]+-]*", maker.of(n)) and \
        not re.search(r"\+\+|--", maker.of(n))


def mutants_of(functions, names, text, first):
    """([Mutant], the text with all of them), numbered from `first` on."""
    maker = Maker(text, names, first)
    for f in functions:
        maker.function = f.json["name"]
        for x in f.inner:
            if x.kind == "CompoundStmt":
                maker.walk(x)
    return maker.mutants, maker.edits.apply(text)
