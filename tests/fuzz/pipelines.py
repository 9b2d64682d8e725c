# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pipelines.py BIN [SEED | FROM-TO]…: random kernels with pipelined loops, by the numbers of their seeds.

Each is compiled with all passes, for sm_80 and for sm_90a, and run as tile IR on the CPU device, where copies land
as late as they may and a missing barrier or wait is an error; what it stores must be what the kernel stores
as it is written, bit for bit. Numbers are whole and small, so that no sum is rounded. So must what it stores with
another schedule: with copies further ahead, and with some rows changed at random, unless that is refused; and what
its PTX stores on the PTX machine.
Prints what is wrong and the command that shows it, whose files stay then, and how many runs passed and kernels failed."""
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from source import Source, conclude, pipeline, seeds_of, tell

# of Triton's name: its own here, bytes, the type that products are added up in
TYPES = {"float16": ("fp16", 2, "float32"), "bfloat16": ("bf16", 2, "float32"), "float8e5": ("fp8e5", 1, "float32"),
         "int8": ("i8", 1, "int32"), "float32": ("fp32", 4, "float32")}
INPUTS, ROOM = "abc", 1 << 18  # elements of each input
USUAL = ["1-32", "42", "132", "152", "171", "267", "1183", "2069"]  # the single ones found mistakes, since mended
HEAD = """import triton
import triton.language as tl


# tile: grid = g
@triton.jit
def k({params}, sums_ptr: "*fp32:16", rows_ptr: "*i32:16", out_ptr: "*fp32:16", n: "i32", m: "i32", g: "i32"):
    pid = tl.program_id(0)
"""


class Kernel(Source):
    """One kernel: its text, and how many elements a program stores."""

    def __init__(self, seed):
        super().__init__(seed)
        # Of what came later: else seeds would have other kernels.
        self.later, self.told = random.Random(f"later {seed}"), random.Random(f"told {seed}")
        pick = self.random.choice
        self.type = pick(["float16"] * 5 + ["bfloat16", "float8e5", "int8", "float32"])
        self.name, self.bytes, self.sum = TYPES[self.type]
        self.warps, self.stages = pick([4, 8, 8]), pick([2, 3, 3, 4, 4, 5, 6])
        # Large sums leave room for one program on a multiprocessor, and pipelines take another form.
        self.m, self.n = pick([(64, 64), (128, 64), (64, 128)] + [(128, 256), (256, 128)] * (self.warps == 8))
        self.k = pick([32, 64]) * (2 if self.bytes == 1 else 1)
        self.stored = 0
        self.kernel()

    def load(self, rows, cols, at=None, along_rows=False):
        """A tile of an input, of iteration `at` where that is given."""
        pick = self.random.choice
        row, col = f"r{rows}[:, None]", f"r{cols}[None, :]"
        longer = pick([0, 0, 0, 16, 8 if self.bytes > 1 else 64])
        place = f"{col} * {rows + longer} + {row}" if along_rows else f"{row} * {cols + longer} + {col}"
        mask = ""
        if at and not along_rows and self.maybe(.15):  # rows that the loop itself reads
            place = f"{self.let(f'tl.load(rows_ptr + {at} + r{rows})')}[:, None] * {cols} + {col}"
        elif at:
            place += f" + {at} * {pick([64, 512, 4096])}"
            if self.maybe(.3):
                edge = pick([f"{row} < {rows} - {at} * 4", f"{col} < {cols} - {at} * 8"])
                mask = f", mask={edge}, other={pick([0, 0, 1])}"
        return f"tl.load({pick(INPUTS)}_ptr + {pick([0, 64, 1024])} + {place}{mask})"

    def load_a(self, at=None):
        return self.let(self.load(self.m, self.k, at, self.bytes == 2 and self.maybe(.2)))

    def load_b(self, at=None):
        return self.let(self.load(self.k, self.n, at, self.bytes != 2 or self.maybe(.4)))

    def dot(self, a, b, c=None):
        out = ", out_dtype=tl.int32" if self.sum == "int32" else ""
        return f"tl.dot({a}, {b}{', ' + c if c else ''}{out})"

    def loop(self):
        """Begins one, and returns the number of the iteration."""
        i = self.let("0")
        first, last, step, number = self.random.choice([
            ("0", "n", 1, i), ("0", "n", 1, i), ("n - 1", "-1", -1, i), ("0", "n * 3", 3, f"({i} // 3)"),
            ("2", "n + 2", 1, f"({i} - 2)")])
        if self.later.random() < .25:  # a step that only a launch knows
            first, last, step, number = self.later.choice([
                ("0", "n * m", "m", f"({i} // m)"), ("n * m - m", "-1", "-m", f"({i} // m)"),
                ("0", "n * tl.num_programs(0)", "tl.num_programs(0)", f"({i} // tl.num_programs(0))")])
        self.emit(f"for {i} in tl.range({first}, {last}, {step}, num_stages={self.stages}):")
        self.depth += 1
        if self.told.random() < .2:  # what only tells others, or counts, which no load waits for
            self.emit(f"tl.atomic_add(out_ptr + pid * STORED + {self.stored}, 1.0, sem=\"{self.told.choice(['release', 'relaxed'])}\")")
            self.stored += 64
        return number

    def add_up(self, at, total, tile):
        """Something else for the loop to do, maybe across warps."""
        what = self.random.choice([
            f"tl.sum(tl.load(sums_ptr + {at} * 64 + r256), axis=0)",
            f"tl.sum(tl.sum({tile}.to(tl.float32), axis=0), axis=0)",
            f"tl.max(tl.max({tile}.to(tl.float32), axis=1), axis=0)"])
        self.emit(f"{total} += {what}")

    def product(self):
        """Sums of products; some share factors, some of which do not change."""
        zeros = f"tl.zeros(({self.m}, {self.n}), dtype=tl.{self.sum})"
        large = self.m * self.n > 1 << 14
        sums = [self.let(zeros) for _ in range(1 if large else self.random.choice([1, 1, 2]))]
        total, still = self.let("0.0"), self.load_a() if self.maybe(.25) else None
        at = self.loop()
        a, b = self.load_a(at), self.load_b(at)
        for s in sums:
            self.emit(f"{s} = {self.dot(still if still and self.maybe(.7) else a, b, s)}")
            if self.maybe(.3):
                b = self.load_b(at)
        if self.maybe(.25):  # a dot whose result the body goes on with
            small = self.let(self.load(self.k, 64, at, True))
            self.emit(f"{total} += tl.max(tl.max({self.dot(a, small)}.to(tl.float32), axis=1), axis=0)")
        elif self.maybe(.4):
            self.add_up(at, total, self.random.choice([a, b]))
        if self.maybe(.1):
            self.emit("tl.debug_barrier()")
        self.depth -= 1
        return [(s, (self.m, self.n)) for s in sums] + [(total, None)]

    def attention(self):
        """A dot of what became of another's result."""
        rows, d, t = 64 * self.warps // 4, self.random.choice([32, 64]), self.random.choice([32, 64])
        turned = self.bytes != 2
        q = self.let(self.load(rows, d))
        acc = self.let(f"tl.zeros(({rows}, {d}), dtype=tl.float32)")
        total, top = self.let("0.0"), self.let(f"tl.full(({rows},), -100.0, dtype=tl.float32)")
        at = self.loop()
        key = self.let(self.load(d, t, at, True))
        scores = self.let(self.dot(q, key) + ".to(tl.float32)")
        new = self.let(f"tl.maximum({top}, tl.max({scores}, axis=1))")
        p = self.let(f"tl.minimum(tl.maximum({scores} - {new}[:, None] + 2, -2.0), 2.0)")
        if self.maybe(.5):
            self.add_up(at, total, key)
        value = self.let(self.load(t, d, at, turned))
        keep = f"tl.where({top} < {new}, -1.0, 1.0)[:, None]"
        self.emit(f"{acc} = tl.dot({p}.to(tl.{self.type}), {value}, {acc}{' * ' + keep if self.maybe(.6) else ''})")
        self.emit(f"{top} = {new}")
        self.depth -= 1
        return [(acc, (rows, d)), (total, None)]

    def store(self, value, shape):
        """A tile, or a number: shape None."""
        place, size = "", 64
        if shape:
            rows, cols = shape
            place, size = f" + r{rows}[:, None] * {cols} + r{cols}[None, :]", rows * cols
        self.emit(f"tl.store(out_ptr + pid * STORED + {self.stored}{place}, {value})")
        self.stored += size

    def kernel(self):
        if self.maybe(.35):  # in a loop of its own
            self.emit(f"for {self.let('0')} in range(m):")
            self.depth += 1
        for _ in range(self.random.choice([1, 1, 2])):
            which = self.product if self.sum == "int32" or self.maybe(.6) else self.attention
            for value, shape in which():
                self.store(value, shape)

    def text(self):
        params = ", ".join(f'{p}_ptr: "*{self.name}:16"' for p in INPUTS)
        body = "\n".join(self.lines).replace("STORED", str(self.stored))
        sizes = sorted({int(s) for s in re.findall(r"\br(\d+)\b", body)})
        return HEAD.format(params=params) + "".join(f"    r{s} = tl.arange(0, {s})\n" for s in sizes) + body + "\n"

    def arguments(self, n, programs):
        return [f"{p}_ptr=randint(-4,4):{self.name}[{ROOM}]" for p in INPUTS] + [
            f"sums_ptr=randint(-4,4):fp32[{ROOM}]", "rows_ptr=randint(0,60):i32[4096]",
            f"out_ptr=zeros:fp32[{self.stored * programs}]", f"n={n}", "m=2", f"g={programs}"]


def reschedule(text, rng):
    """The tile IR, with another schedule of its loops."""
    further, more = rng.choice([0, 0, 1, 2]), rng.choice([0, 0, 1])
    lines = re.sub(r" slices=(\d+)", lambda m: f" slices={int(m[1]) + further + more}", text).split("\n")
    rows = [i for i, line in enumerate(lines) if " cluster=" in line]
    changed = set(rng.choices(rows, k=rng.choice([0, 1, 1, 2]))) if rows else []
    # Neighbours are easily put apart so that nothing breaks; those that wait or read, rarely.
    for i in rows:
        stage, cluster = map(int, re.search(r" stage=(\d+) cluster=(\d+)", lines[i]).groups())
        stage += further * (stage > 0)
        if i in changed:
            stage, cluster = max(0, stage + rng.choice([-1, 0, 0, 1])), max(0, cluster + rng.choice([-2, -1, 0, 1, 2]))
        lines[i] = re.sub(r" stage=\d+ cluster=\d+", f" stage={stage} cluster={cluster}", lines[i])
    return "\n".join(lines)


def try_seed(programs, passes, work, seed):
    """How many runs passed, and what is wrong."""
    kernel, stem = Kernel(seed), f"{work}/pipeline-{seed}"
    Path(stem + ".tl").write_text(kernel.text())
    options = [f"--num-warps={kernel.warps}", f"--num-stages={kernel.stages}"]
    sources, passed = [stem + ".tl"], 0
    for target in ("sm_80", "sm_90a"):
        sources.append(f"{stem}.{target}.tir")
        said = tell([programs / "tilec", f"--target={target}", *options, "-Wno-perf", "--emit=tir",
                     f"--passes={passes}", "--verify=each", stem + ".tl", "-o", sources[-1]])
        if said:
            return passed, f"seed {seed}, {target}: {said}"
    for n, target in enumerate(("sm_80", "sm_90a", "sm_80", "sm_90a")):
        given, path = f"{stem}.{target}.schedule", f"{stem}.{target}.{n}.tir"
        dumped = subprocess.run([programs / "tilec", f"--target={target}", *options, "-Wno-perf", "--dump-after=schedule",
                                 stem + ".tl", "-o", stem + ".ptx"], capture_output=True, text=True).stderr
        Path(given + ".tir").write_text(reschedule(dumped, random.Random(seed * 4 + n)))
        said = tell([programs / "tilec", f"--target={target}", "-Wno-perf", "--emit=tir", f"--passes={passes}",
                     "--verify=each", given + ".tir", "-o", path])
        if not said:
            sources.append(path)
        elif "error: schedule: " not in said:
            return passed, f"seed {seed}, {given}.tir: {said}"
    counts = random.Random(seed)
    for n, grid in ((0, 1), (1, 1), (counts.choice([2, 3]), 1), (counts.choice([4, 5, 6]), counts.choice([1, 2]))):
        stored = []
        for source, device in [(source, "cpu") for source in sources] + [(sources[0], f"ptx:{t}") for t in ("sm_80", "sm_90a")]:
            command = [programs / "tilerun", source, f"--device={device}", f"--seed={seed}", *kernel.arguments(n, grid),
                       f"--save=out_ptr={stem}.npy", *(options if source.endswith(".tl") else [])]
            said = tell(command)
            if not said:
                stored.append(Path(stem + ".npy").read_bytes())
                said = "" if stored[-1] == stored[0] else "another result than as written"
            if said:
                return passed, f"{said}\n    " + " ".join(map(str, command))
        passed += len(stored) - 1
    return passed, ""


def main():
    programs = Path(sys.argv[1]).resolve()
    seeds, passes = seeds_of(sys.argv[2:] or USUAL), ",".join(pipeline(programs))
    work = tempfile.mkdtemp(prefix="tilec-pipelines-")
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(lambda seed: try_seed(programs, passes, work, seed), seeds))
    wrong = [said for _, said in results if said]
    return conclude(work, sum(n for n, _ in results), wrong)


if __name__ == "__main__":
    sys.exit(main())
