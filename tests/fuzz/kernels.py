# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kernels.py BIN [SEED | FROM-TO]… [--device=cuda [--sanitize=TOOL]] [--minutes=N] [--reduce] [--planted]: random typed
kernels, by the numbers of their seeds.

generate.py makes each kernel and its twin, another text that must store the same. What the interpreter stores of a kernel as
it is lowered is held, bit for bit, against what it stores of the twin, of either after all passes, after some of them and
without some of them, for sm_80 and for sm_90a and by roles of warps, and against the code of these on the PTX machine, or
on a GPU. MODULE kernels with neighbouring seeds are a file, compiled once in each way; its options go by its number. Launches
share a process (launches.py); one that is wrong there is made again alone, by tilerun, which shows it.

--sanitize has launches on the GPU under a tool of compute-sanitizer, what it reports is a failure.
--minutes goes on for so long with the seeds behind those named.
--reduce makes the first failing kernel smaller while it fails in the same way, and prints it with the commands that show it.
--planted plants mistakes in tile IR and PTX, each of which some kernel has to find, and reduces one of the kernels that do.
Prints what is wrong and the command that shows it, whose files stay then, and how many runs passed and kernels failed."""
import hashlib
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from generate import Kernel
from launches import Launcher, elements
from source import AFTER, BEFORE, pipeline, seeds_of, tell
from tiles import FLOATS, HELPERS, TYPES, input_of

MODULE, LIMIT, SHORT = 20, 300, 20  # kernels of a file; seconds, and where a mistake is planted, which a loop may not end by
USUAL = ["0-199"]
NO_BARRIERS = "--check=bounds,align,overflow,uninit,undefined"  # as long as there are none
ALL_CHECKS, NO_RACES = 63, 47  # the same, as tile.h has them
# where roles are asked for and the tensor is none that the copy engine takes: the pipeline leaves such entries out, or a launch does
REFUSED = re.compile(r"the copy engine takes no descriptor of this tensor|\[E0612\]|\[R0008\]")
OTHER = "another result than as written"
# What is wrong, in which way's file, what is looked for and what stands there instead.
PLANTED = [
    ("a sum is a difference", "sm_90a", r"= add ", "= sub "),
    ("a maximum is a minimum", "sm_80", r"= max([su]?) ", r"= min\1 "),
    ("a comparison takes equals", "without", r"pred=lt", "pred=le"),
    ("a choice takes the other value", "sm_80", r"= select (%\S+), (%\S+), (%[^ ]+) ", r"= select \1, \3, \2 "),
    ("bits of both are bits of either", "sm_80 code", r"\band\.b32\b", "or.b32"),
    ("another lane's value", "sm_80 code", r"(shfl\.sync\.bfly\.b32[^,]*, %r\d+), 1,", r"\1, 2,"),
    ("a barrier", "sm_80 code", r"bar\.sync\s+0;", ""),
    ("halves of a register", "sm_80 code", r"(prmt\.b32[^;]*), 0x5410U;", r"\1, 0x1054U;"),
    ("registers of a matrix factor", "sm_80 code", r"(mma\.sync\S+\s+\{[^}]*\},\s+)\{(%r\d+), (%r\d+)", r"\1{\3, \2"),
]


class Way:
    """How a module is compiled and run: a name, the words for tilec, the suffix, the device, more words for tilerun."""

    def __init__(self, name, words, suffix=".tir", device="cpu", checks=()):
        self.name, self.words, self.suffix, self.device, self.checks = name, words, suffix, device, checks


def ways(number, passes, device):
    """Those of a module, by its number; the first is what the others are held against."""
    draw = random.Random(f"module {number}")

    def options():
        return [f"--num-warps={draw.choice([1, 2, 4, 4, 4, 8])}", f"--num-stages={draw.choice([1, 2, 3, 3, 4])}",
                *draw.choice([[], [f"--swizzle-grid={draw.choice([2, 3])}"]]), *([] if fused(number) else ["--no-fp-fusion"])]

    def chosen(target, names):
        return ["--emit=tir", f"--target={target}", f"--passes={','.join(names)}", "--verify=each", *options()]
    either = ["sm_80", "sm_90a"]
    found = [Way("plain", ["--emit=tir"])]
    found += [Way(target, chosen(target, passes)) for target in either]
    for name in ("part", "another part"):
        first = passes[:draw.randrange(1, len(passes))]
        found.append(Way(name, chosen(draw.choice(either), first), checks=[] if "barrier" in first else [NO_BARRIERS]))
    left = draw.sample(["fold", "cse", "dce", "licm", "combine", "narrow", "forecast", "entries", "schedule", "remainder"], 3)
    found.append(Way("without", chosen(draw.choice(either), [p for p in passes if p not in left])))
    roles = chosen("sm_90a", f"{BEFORE},{AFTER}".split(","))
    found += [Way("roles", roles), Way("roles code", roles, device=device if device != "ptx" else "ptx:sm_90a", checks=["--target=sm_90a"])]
    for target in either:
        on = device if device != "ptx" else f"ptx:{target}"
        found.append(Way(f"{target} code", [f"--target={target}", *options()], ".ptx", on))
    target = draw.choice(either)
    found.append(Way("least code", ["-O0", f"--target={target}", *options()], ".ptx", device if device != "ptx" else f"ptx:{target}"))
    return found


def fused(number):
    return number % 3 != 2


class Module:
    """Kernels of one file, and what became of them."""

    def __init__(self, bin_, folder, kernels, found, launcher=None):
        self.bin, self.folder, self.kernels, self.ways, self.launcher = bin_, folder, kernels, found, launcher
        self.source = folder / "kernels.tl"
        folder.mkdir(parents=True, exist_ok=True)
        self.source.write_text(HELPERS + "".join(k.text(t) for k in kernels for t in (False, True)))
        self.passed, self.failed = 0, []  # (seed, way, twin, what was said, command)

    def compile(self, way, kernel=None):
        """(what tilec said, its command)"""
        only = [f"--kernel={kernel}"] if kernel else []
        name = f"{kernel or 'kernels'}.{way.name.replace(' ', '-')}{way.suffix}"
        command = [self.bin / "tilec", self.source, *only, *way.words, "-Wno-perf", "-o", self.folder / name]
        return tell(command, LIMIT), command

    def launch(self, way, kernel, twin, limit=LIMIT):
        """A hash of what the run left in each of its buffers, or nothing; what was said; the command."""
        name, file = kernel.name + "t" * twin, self.folder / f"kernels.{way.name.replace(' ', '-')}{way.suffix}"
        saved = [self.folder / f"{name}.{way.name.replace(' ', '-')}.{r}.npy" for r in kernel.results()]
        command = [self.bin / "tilerun", file, f"--kernel={name}", f"--device={way.device}", *way.checks, *kernel.arguments(),
                   *[f"--save={r}={path}" for r, path in zip(kernel.results(), saved)]]
        if self.launcher and way.name != "roles code":  # which is compiled when it is launched
            stored, said = self.launcher.launch(limit, file=str(file), kernel=name, device=way.device, n=kernel.times,
                                                checks=NO_RACES if NO_BARRIERS in way.checks else ALL_CHECKS, buffers=kernel.buffers())
            if not said:
                return stored, said, command
        under = self.launcher.under if self.launcher and way.name == "roles code" else []
        alone = tell([*under, *command], limit)
        if self.launcher and way.name != "roles code" and not alone:
            alone = f"{said}; alone it passes"
        return None if alone else [hashlib.sha1(elements(path)).hexdigest() for path in saved], alone, command

    def has_roles(self, way, name):
        text = (self.folder / f"kernels.{way.name.replace(' ', '-')}{way.suffix}").read_text()
        begin = text.index(f"kernel @{name}(")
        return " roles=" in text[begin:text.find("\nkernel @", begin)]

    def run(self, plant=None):
        """All kernels in all ways; `plant` changes a way's file."""
        compiled = []
        for way in self.ways:
            said, command = self.compile(way)
            if said:  # of which kernels?
                tried = [(k, t, *self.compile(way, k.name + "t" * t)) for k in self.kernels for t in (False, True)]
                self.failed += [(k.seed, way, t, *rest) for k, t, *rest in tried if rest[0]] or [(self.kernels[0].seed, way, False, said, command)]
                continue
            compiled.append(way)
            if plant:
                path = Path(command[-1])
                plant(way, path)
        if not compiled or compiled[0] is not self.ways[0]:
            return self
        for kernel in self.kernels:
            expected, said, command = self.launch(compiled[0], kernel, False)
            if said:
                self.failed.append((kernel.seed, compiled[0], False, said, command))
                continue
            draw = random.Random(f"twins {kernel.seed}")
            twins = [compiled[0], *draw.sample(compiled[1:], min(2, len(compiled) - 1))]
            for way, twin in [(way, False) for way in compiled[1:]] + [(way, True) for way in twins]:
                if way.name == "roles code" and not self.has_roles(way, kernel.name + "t" * twin):
                    continue  # the other code shows as much
                stored, said, command = self.launch(way, kernel, twin, SHORT if plant else LIMIT)
                if way.name.startswith("roles") and REFUSED.search(said):
                    continue
                said = said or ("" if stored == expected else OTHER)
                if said:
                    self.failed.append((kernel.seed, way, twin, said, command))
                self.passed += not said
        return self


def form(said):
    """The way in which it fails: the first line, without places, names and numbers."""
    return re.sub(r"\S*/\S+|[vrk]?\d+\w*|'[^']*'", "", said.split("\n")[0])


class Reducer:
    """A kernel that fails in a way, made smaller."""

    def __init__(self, bin_, folder, kernel, way, first, failed, plant=None):
        self.bin, self.folder, self.kernel, self.plant = bin_, folder, kernel, plant
        self.ways = [first] + [way] * (way is not first)
        _, _, self.twin, said, _ = failed
        self.form, self.tries = form(said), 0

    def fails(self):
        """Whether it still does so."""
        self.tries += 1
        module = Module(self.bin, self.folder, [self.kernel], self.ways).run(self.plant)
        return any(way is self.ways[-1] and twin == self.twin and form(said) == self.form for _, way, twin, said, _ in module.failed)

    def attempt(self, nodes, instead):
        """Takes these nodes for those, if it still fails."""
        before = list(nodes)
        nodes[:] = instead
        if self.fails():
            return True
        nodes[:] = before
        return False

    def shorten(self, nodes):
        """Leaves statements out, many at once and then single ones; blocks give way to what is in them."""
        size = max(1, len(nodes) // 2)
        while size:
            at = len(nodes) - size
            while at >= -size + 1:
                low = max(at, 0)
                if nodes[low:low + size]:
                    self.attempt(nodes, nodes[:low] + nodes[low + size:])
                at -= size
            size //= 2
        for i in reversed(range(len(nodes))):
            for inner in [part for part in nodes[i] if isinstance(part, list)]:
                if not self.attempt(nodes, nodes[:i] + inner + nodes[i + 1:]):
                    self.shorten(inner)
                    continue
                break

    def simplify(self, nodes):
        """Values are constants where it does not matter which."""
        for i, node in enumerate(nodes):
            for inner in [part for part in node if isinstance(part, list)]:
                self.simplify(inner)
            name = len(node) == 2 and re.match(r"(\w+) = (?!tl.full)", node[0])
            if name and name[1] in self.kernel.heads:
                type_, shape = self.kernel.heads[name[1]]
                shape = "(" + "".join(f"{s}, " for s in shape) + ")"
                line = f"{name[1]} = tl.full({shape}, 1, tl.{TYPES[type_][0]})"
                self.attempt(nodes, nodes[:i] + [(line, line)] + nodes[i + 1:])

    def smaller(self):
        """Halves sizes, everywhere at once."""
        def halved(nodes, size):
            return [tuple(halved(part, size) if isinstance(part, list) else
                          re.sub(rf"\b(r?){size}\b", rf"\g<1>{size // 2}", part) for part in node) for node in nodes]
        for size in (256, 128, 64, 32, 16, 8, 4):
            self.attempt(self.kernel.body, halved(self.kernel.body, size))

    def reduce(self):
        """The kernel's lines, before and after."""
        count = self.kernel.text().count("\n")
        if not self.fails():
            return count, None
        while True:
            before = repr(self.kernel.body)
            self.shorten(self.kernel.body)
            self.simplify(self.kernel.body)
            self.smaller()
            if repr(self.kernel.body) == before:
                return count, self.kernel.text().count("\n")


def show_reduced(bin_, work, number, passes, device, failed, plant=None):
    """Prints the smallest kernel that still fails so; whether there is one that is smaller."""
    seed, way, twin = failed[:3]
    found = ways(number, passes, device)
    same = next(w for w in found if w.name == way.name)
    kernel = Kernel(seed, fused(number))
    reducer = Reducer(bin_, work / f"reduced-{seed}", kernel, same, found[0], failed, plant)
    before, after = reducer.reduce()
    if after is None:
        print(f"seed {seed}: alone it does not fail")
        return False
    module = Module(bin_, reducer.folder, [kernel], reducer.ways).run(plant)
    print(f"seed {seed}, {way.name}: {before} lines made {after} in {reducer.tries} tries, in {module.source}")
    print(kernel.text(False) + (kernel.text(True) if twin else ""))
    for w in reducer.ways:
        print(*module.compile(w)[1])
        print(*module.launch(w, kernel, twin and w is reducer.ways[-1])[2])
    print(next(f[3] for f in module.failed if f[1] is same))
    return after < before


class Launchers:
    """One for each thread, with the inputs that tilerun makes."""

    def __init__(self, bin_, work, tool):
        self.library, self.inputs, self.tool = bin_.parent / "lib/libtile_runtime.so.1", work / "inputs", tool
        self.mine, self.all = threading.local(), []
        names = [f"{letter}_{type_}" for type_ in TYPES for letter in ("xy" if type_ in FLOATS else "x")]
        self.inputs.mkdir()
        source = self.inputs / "inputs.tl"
        source.write_text(f"import triton\n@triton.jit\n# tile: grid = 1\ndef inputs({', '.join(names)}):\n    pass\n")
        said = tell([bin_ / "tilerun", source, "--device=cpu", *[f"{n}={input_of(n[0], n[2:])}" for n in names],
                     *[f"--save={n}={self.inputs / n}.npy" for n in names]], LIMIT)
        if said:
            raise RuntimeError(said)

    def here(self):
        if not hasattr(self.mine, "launcher"):
            self.mine.launcher = Launcher(self.library, self.inputs, self.tool)
            self.all.append(self.mine.launcher)
        return self.mine.launcher

    def end(self):
        """What a tool found."""
        for launcher in self.all:
            launcher.end()
        return [report for launcher in self.all for report in launcher.found]


def planted(bin_, work, passes, device, launchers):
    """Plants each mistake in one way's file of two modules: (how many are found, how many not)."""
    found, missed = 0, 0
    for i, (what, name, pattern, instead) in enumerate(PLANTED):
        changed, hits = 0, []

        def plant(way, path):
            nonlocal changed
            if way.name == name:
                text, n = re.subn(pattern, instead, path.read_text())
                path.write_text(text)
                changed += n
        for number in (0, 1, 3, 4):
            kernels = [Kernel(s, fused(number)) for s in range(number * MODULE, number * MODULE + 6)]
            some = [w for w in ways(number, passes, device) if w.name in ("plain", name)]
            module = Module(bin_, work / f"planted-{i}-{number}", kernels, some, launchers.here()).run(plant)
            hits += [(number, f) for f in module.failed if f[1].name == name]
            if hits:
                break
        print(f"{what}, {name}: changed at {changed} places, {len(hits)} runs tell", flush=True)
        if i == 0 and hits:
            missed += not show_reduced(bin_, work, hits[0][0], passes, device, hits[0][1], plant)
        found, missed = found + bool(hits), missed + (not hits)
    return found, missed


def main():
    if not sys.argv[1:] or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    bin_, work, began = Path(sys.argv[1]).resolve(), Path(tempfile.mkdtemp(prefix="kernels-")), time.monotonic()
    option = {word.partition("=")[0]: word.partition("=")[2] for word in sys.argv[2:] if word.startswith("--")}
    unknown = set(option) - {"--device", "--minutes", "--reduce", "--planted", "--sanitize"}
    if unknown:
        sys.exit(f"kernels.py: {', '.join(sorted(unknown))} is not known; there are --device=DEVICE, --sanitize=TOOL, --minutes=N, --reduce and --planted")
    os.environ["TILEC_CRASH_DIR"] = str(work)  # what a bug in tilec leaves is beside its kernel
    device, passes, launchers = option.get("--device", "ptx"), pipeline(bin_), Launchers(bin_, work, option.get("--sanitize"))
    if "--planted" in option:
        found, missed = planted(bin_, work, passes, device, launchers)
        launchers.end()
        shutil.rmtree(work)
        print(f"{found} passed, {missed} failed")
        return missed > 0
    seeds = seeds_of([word for word in sys.argv[2:] if not word.startswith("--")] or USUAL)
    done, count, until = [], 0, began + 60 * float(option.get("--minutes", 0))

    def try_module(number, seeds):
        kernels = [Kernel(seed, fused(number)) for seed in seeds]
        module = Module(bin_, work / str(number), kernels, ways(number, passes, device), launchers.here()).run()
        if not module.failed:
            shutil.rmtree(module.folder)
        return module
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        while seeds:
            modules = {}
            for seed in seeds:
                modules.setdefault(seed // MODULE, []).append(seed)
            done += pool.map(try_module, modules, modules.values())
            count, last = count + len(seeds), seeds[-1] + 1
            seeds = range(last, last + 8 * MODULE) if time.monotonic() < until else []
    reports = launchers.end()
    for report in reports:
        print(report)
    failed = [f for module in done for f in module.failed]
    for seed, way, twin, said, command in failed:
        print(f"seed {seed}{', twin' * twin}, {way.name}: {said}\n    {' '.join(map(str, command))}")
    if failed and "--reduce" in option:
        show_reduced(bin_, work, failed[0][0] // MODULE, passes, device, failed[0])
    elif not failed and not reports:
        shutil.rmtree(work)
    seconds = time.monotonic() - began
    print(f"{count} kernels in {seconds:.0f} s, {count / seconds:.1f} a second")
    print(f"{sum(m.passed for m in done)} passed, {len({f[0] for f in failed}) + len(reports)} failed")
    return bool(failed or reports)


if __name__ == "__main__":
    sys.exit(main())
