# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""blocks.py BIN [--device=cuda|ptx] [--bits=FILE] [--same-bits=FILE] [SEED | FROM-TO]…: random kernels whose loads and stores are blocks of tensors, by the numbers of their seeds.

Addresses are sums of bases, heads, rows and columns in many forms, in 32 and in 64 bits, by pointers that walk or by
descriptors; masks bound indices from above, from below or not at all. Each is run on the CPU device as it is written, and as
the passes leave it that make of it blocks of descriptors, programs that stay and roles of warps, with checks of races and
deadlocks: what it stores must be the same, bit for bit. Numbers are whole and small, so that no sum is rounded. On a GPU,
or the PTX machine, the source itself is launched, by whatever entry takes its arguments. --bits writes a hash of what each stores;
--same-bits holds that against such a file (tests/run/bits.h): kernels that it does not have are counted, and on a GPU they are failures.
Prints what is wrong and the command that shows it, whose files stay then, and how many runs passed and failed."""
import hashlib
import os
import random
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from source import AFTER, BEFORE, Source, seeds_of, tell

ROOM, MIDDLE = 1 << 18, 1 << 13  # elements of an input; those in front of where its tensor begins
USUAL = ["1-160"]
REFUSED = "rows that are stored must be a multiple of 16 bytes long"
LEAST_RAISED = .5  # of the usual kernels, that have blocks at all
HEAD = """import triton
import triton.language as tl


# tile: grid = 2, 3, 2
@triton.jit
def k(a: "*{element}:16", b: "*{element}:16", c: "*{element}:16", o: "*fp32:16", M: "i32", N: "i32{n16}", K: "i32{k16}", H: "i32",
      sa: "i32:{aligned}", sb: "{wide}:{aligned}", sh: "i32:8", sz: "i64:8"):
    tile, row, head = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    d = tl.arange(0, {D})
    rb, rk, rd = tl.arange(0, {BM}), tl.arange(0, {BK}), tl.arange(0, {D})
"""


class Kernel(Source):
    def __init__(self, seed):
        super().__init__(seed)
        pick = self.random.choice
        self.warps = pick([1, 4, 4, 4, 8, 8])
        self.bm = pick([16, 32] + [64] * 4 if self.warps < 8 else [64, 128, 128])  # 64 rows for four warps: wgmma
        self.bk, self.d = pick([16, 32]), pick([16, 32, 64])
        # sizes of the tensors: heads, rows, columns; strides are multiples of 8
        self.m, self.n, self.k = pick([5, 40, 64, 96]), pick([24, 33, 36, 64]), pick([1, 24, 64, 70])
        self.wide = pick(["i32", "i64"])
        self.chain = self.maybe(.35)
        self.element, self.aligned = "fp16", 8
        others = random.Random(f"{seed} elements")  # of their own, so that the rest of a seed is what it was
        if others.random() < .4:
            self.other_elements(others)
        self.attend() if self.chain else self.product()

    def other_elements(self, draw):
        """Of 8 and 32 bits, which the instruction takes along K alone, by warps enough for others to transpose."""
        self.element = draw.choice(["fp8e4nv", "fp32"])
        self.warps = draw.choice([4, 8, 8])
        self.bm, self.bk = draw.choice([64, 128]) if self.warps < 8 else 128, draw.choice([32, 64])
        self.d, self.aligned = draw.choice([32, 64]), 16
        self.chain = draw.random() < .7

    def number(self, text):
        """It, maybe in 64 bits."""
        return self.pick(text, text, f"({text}).to(tl.int64)" if text != "0" else text)

    def base(self, name):
        """A pointer to where a head's tensor begins."""
        at = f"{name} + {MIDDLE}"
        if self.maybe(.6):
            at += f" + {self.number('head')} * " + self.pick("sh", "sz", "1024", "(sh * 2)")
        if self.maybe(.2):
            at += f" + {self.number('tile')} * " + self.pick("sz", "512")
        if self.maybe(.15):
            at += " + 16"
        return at

    def along(self, first, numbers, size):
        """An index, and bounds of it."""
        shift = self.pick("", "", "", " - 8", " - 3", " + 4")
        index = self.let(f"{self.number(first)}{shift} + {numbers}" if self.maybe(.7) else f"{first} + ({numbers}{shift})")
        bounds = self.pick([], [f"{index} < {size}"], [f"{size} > {index}"], [f"{index} <= {size} - 1"],
                           [f"{index} >= 0", f"{index} < {size}"], [f"-1 < {index}"], [f"0 <= {index}", f"{size} > {index}"])
        return index, bounds

    def tile(self, base, rows, cols, stride, along_rows=False):
        """A load of a tile: rows and cols are indices with their bounds."""
        (r, more), (c, others) = rows, cols
        at = f"{r}[:, None] * {stride} + {c}[None, :]" if not along_rows else f"{r}[:, None] + {c}[None, :] * {stride}"
        bounds = [f"({x})[:, None]" for x in more] + [f"({x})[None, :]" for x in others]
        mask = f", mask={' & '.join(bounds)}, other=0.0" if bounds else ""
        return self.let(f"tl.load({base} + {at}{mask})")

    def described(self, name, shape, stride, block, index):
        """The same by a descriptor, of two dimensions or of three."""
        begin = f"{name} + {MIDDLE}"
        if self.maybe(.4):
            desc = self.let(f"tl.make_tensor_descriptor({begin}, shape=[H, {shape[0]}, {shape[1]}], strides=[sz, {stride}, 1], "
                            f"block_shape=[1, {block[0]}, {block[1]}])")
            return lambda i: self.let(f"{desc}.load([head, {index(i)}]).reshape({block[0]}, {block[1]})")
        desc = self.let(f"tl.make_tensor_descriptor({begin}, shape=[{shape[0]}, {shape[1]}], strides=[{stride}, 1], "
                        f"block_shape=[{block[0]}, {block[1]}])")
        return lambda i: self.let(f"{desc}.load([{index(i)}])")

    def factor(self, name, stride, first, rows, block, size):
        """A function that loads the factor's tile of iteration i, K along its columns."""
        what = self.pick("index", "index", "walks", "described", "wraps" if name == "a" else "index")
        if what == "described":
            return self.described(name, (size, "K"), stride, (block, self.bk), lambda i: f"{first}, {i}")
        base = self.let(self.base(name))
        if what == "wraps":  # rows beyond the last are no store's
            index = self.let(f"({first} + {rows}) % {size}")
            return lambda i: self.tile(base, (index, []), self.along(i, "rk", "K"), stride)
        if what == "index":
            turned = self.maybe(.25)

            def load(i):
                got = (self.along(first, rows, size), self.along(i, "rk", "K"))
                if not turned:
                    return self.tile(base, *got, stride)
                return self.let(f"{self.tile(base, got[1], got[0], stride, True)}.T")
            return load
        step = self.pick(self.bk, self.bk * 4, "sh", 40000)
        index, bounds = self.along(first, rows, size)
        walks = self.let(f"{base} + {index}[:, None] * {stride} + rk[None, :]")
        self.walking.append(f"{walks} += {step}")

        def by(i):
            mask = [f"({x})[:, None]" for x in bounds] + self.pick([], [f"(rk < K - {i})[None, :]"])
            mask = f", mask={' & '.join(mask)}, other=0.0" if mask else ""
            return self.let(f"tl.load({walks}{mask})")
        return by

    def loop(self, steps):
        i = self.let("0")
        self.emit(f"for {i} in tl.range({self.pick('0', '0', steps)}, {self.pick('K', 'K', str(steps * 3))}, {steps}, "
                  "warp_specialize=True):")
        self.depth += 1
        return i

    def store(self, value, first, column, size):
        """To a place of each program's own."""
        r, c = self.let(f"{first} + rb"), self.let(f"{column} + rd")
        mask = f"mask=({r} < M)[:, None] & ({c} < {size})[None, :]"
        if column != "0" and self.maybe(.5):
            self.emit(f"tl.store(o + {self.number('head')} * 49152 + {r}[:, None] * 128 + {c}[None, :], {value}, {mask})")
        else:
            self.emit(f"tl.store(o + head * 49152 + {self.number('tile')} * 24576 + {r}[:, None] * 64 + rd[None, :], {value}, {mask})")

    def product(self):
        self.walking = []
        first, column = f"row * {self.bm}", f"tile * {self.d}"
        a = self.factor("a", "sa", first, "rb", self.bm, "M")
        b = self.factor("b", "sb", column, "rd", self.d, "N")
        acc = self.let(f"tl.zeros(({self.bm}, {self.d}), dtype=tl.float32)")
        i = self.loop(self.bk)
        x, y = a(i), b(i)
        self.emit(f"{acc} = tl.dot({x}, {y}.T, {acc})")
        for walk in self.walking:
            self.emit(walk)
        self.depth -= 1
        self.store(acc, first, column, "N")

    def attend(self):
        """A dot that goes on with another's result."""
        self.walking = []
        first = f"row * {self.bm}"
        q = self.tile(self.let(self.base("a")), self.along(first, "rb", "M"), ("rd", []), "sa")
        k = self.factor("b", "sb", "0", "rd", self.d, "N") if self.maybe(.3) else None
        acc = self.let(f"tl.zeros(({self.bm}, {self.d}), dtype=tl.float32)")
        top = self.let(f"tl.zeros(({self.bm},), dtype=tl.float32)")
        key, value = self.let(self.base("b")), self.let(self.base("c"))
        i = self.loop(self.bk)
        rows = self.along(i, "rk", "K")
        s = self.let(f"tl.dot({q}, {k(i)})" if k else f"tl.dot({q}, {self.tile(key, rows, ('rd', []), 'sb')}.T)")
        p = self.let(f"tl.minimum(tl.maximum({s}, -2.0), 2.0)")
        self.emit(f"{top} = tl.maximum({top}, tl.max({p}, axis=1))")
        v = self.tile(value, self.along(i, "rk", "K"), ("rd", []), "sa")
        cast = {"fp16": "tl.float16", "fp32": "tl.float32", "fp8e4nv": "tl.float8e4nv"}[self.element]
        scale = self.pick("", f" * tl.where({top} > 1, -1.0, 1.0)[:, None]")
        self.emit(f"{acc} = tl.dot({p}.to({cast}), {v}, {acc}{scale})")
        for walk in self.walking:
            self.emit(walk)
        self.depth -= 1
        self.store(acc, first, "0", str(self.d))

    def text(self):
        head = HEAD.format(n16=":16" if self.n % 16 == 0 else "", k16=":16" if self.k % 16 == 0 else "", wide=self.wide,
                           D=self.d, BM=self.bm, BK=self.bk, element=self.element, aligned=self.aligned)
        return head + "\n".join(self.lines) + "\n"

    def arguments(self):
        inputs = [f"{p}=randint(-3,4):{self.element}[{ROOM}]" for p in "abc"]
        return inputs + [f"o=zeros:fp32[{1 << 17}]", f"M={self.m}", f"N={self.n}", f"K={self.k}", "H=2", "sa=80", f"sb={72 if self.aligned == 8 else 80}",
                         "sh=4096", "sz=8192"]


def digest(data, size):
    return hashlib.blake2b(data, digest_size=size).hexdigest()


class Bits:
    """Hashes of what kernels store, by titles, in which the kernel itself is another hash: one that is written otherwise is another."""

    def __init__(self, same):
        self.known, self.run = {}, {}
        for line in Path(same).read_text().splitlines() if same else ():
            if not line.startswith("#"):
                hash_, _, title = line.split("\t")[:3]
                self.known[title] = hash_

    def case(self, kernel, seed, stored):
        """What is wrong, if something is."""
        title = f"seed {seed} {digest((kernel.text() + ' '.join(kernel.arguments())).encode(), 4)}"
        found = self.run[title] = digest(stored.read_bytes(), 8)
        known = self.known.get(title, "~")
        return "" if known in ("~", found) else f"other bits than in the file: {found}, not {known}"

    def write(self, path):
        Path(path).write_text("".join(f"{hash_}\tsm_90a\t{title}\n" for title, hash_ in sorted(self.run.items())))


def try_seed(bin_, device, work, bits, seed):
    """(passed, failed, raised): texts of what failed."""
    kernel, folder = Kernel(seed), work / str(seed)
    folder.mkdir()
    source, out = folder / "k.tl", folder / "o.npy"
    source.write_text(kernel.text())
    files = {name: folder / f"{name}.tir" for name in ("plain", "blocks")}
    for name, passes in (("plain", BEFORE), ("blocks", f"{BEFORE},{AFTER}")):
        command = [bin_ / "tilec", source, "--emit=tir", "--target=sm_90a", f"--passes={passes}",
                   f"--num-warps={kernel.warps}",
                   "-Wno-perf", "-o", files[name]]
        said = tell(command)
        if said:
            return 0, [(seed, command, said)], False
    text = files["blocks"].read_text()
    run = [bin_ / "tilerun", "--device=cpu"]
    first = [*run, files["plain"], *kernel.arguments(), f"--save=o={out}"]
    said = tell(first)
    if said:  # it reads outside its inputs, say
        shutil.rmtree(folder)
        return 0, [(seed, first, said)], False
    second = [*run, files["blocks"]]
    if device != "cpu":
        second = [bin_ / "tilerun", f"--device={device}", "--target=sm_90a", f"--num-warps={kernel.warps}", source]
    second += [*kernel.arguments(), f"--expect=o={out}:0"]
    got = folder / "got.npy"
    said = tell([*second, f"--save=o={got}"] if bits else second)
    refused = kernel.n * 4 % 16 and REFUSED in said  # a launch takes the entry of the source then
    if said and not (refused and device == "cpu"):
        return 0, [(seed, second, said)], True
    said = bits.case(kernel, seed, got) if bits and not said else ""
    if said:
        return 0, [(seed, second, said)], True
    shutil.rmtree(folder)
    return 1, [], "make_desc" in text


def main():
    bin_, work = Path(sys.argv[1]).resolve(), Path(tempfile.mkdtemp(prefix="blocks-"))
    option = dict(word[2:].split("=", 1) for word in sys.argv[2:] if word.startswith("--"))
    device, same = option.get("device", "cpu"), option.get("same-bits")
    bits = Bits(same) if same or "bits" in option else None
    seeds = seeds_of([word for word in sys.argv[2:] if not word.startswith("--")] or USUAL)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(lambda s: try_seed(bin_, device, work, bits, s), seeds))
    failed = [f for r in results for f in r[1]]
    for seed, command, said in failed:
        print(f"seed {seed}: {' '.join(map(str, command))}\n{said}")
    raised = sum(r[2] for r in results)
    print(f"{raised} of {len(seeds)} kernels have blocks")
    few = len(seeds) > 20 and raised < LEAST_RAISED * len(seeds)
    if few:
        print("these are too few to show anything")
    missing = sum(title not in bits.known for title in bits.run) if same else 0
    if same:
        print(f"bits of {same}: {len(bits.run) - missing} compared; kernels that it does not have: {missing}")
    if "bits" in option:
        bits.write(option["bits"])
    if not failed:
        shutil.rmtree(work)
    wrong = len(failed) + few + missing * device.startswith("cuda")
    print(f"{sum(r[0] for r in results)} passed, {wrong} failed")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
