# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""units.py: the rows of cmake/tests.cmake that have a label, by ctest's JSON -> the smallest parts of them that can be run alone,
and what each of those does: how long it takes, which mutants it reaches, and whether it fails with one."""
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

LONGEST = 30  # seconds of a processor: what takes more is not run for every mutant
SKIPPED = 77
DATA = {".tl", ".tir", ".py", ".test"}  # files that tile-test runs of a folder
MEMORY, FILE = 4 << 30, 1 << 30  # bytes that a mutant may take


class Unit:
    """A command, and the labels of its row."""

    def __init__(self, name, command, environment, folder, labels, paths=()):
        self.name, self.command, self.environment, self.folder, self.labels = name, command, environment, folder, labels
        self.paths = paths  # files that it is about, besides the programs
        self.seconds = self.processor = None
        self.reached, self.said, self.code = b"", "", None
        self.since = 0  # when what it reaches was found out


def rows(build, labels):
    """The tests with one of the labels."""
    shown = subprocess.run(["ctest", "--show-only=json-v1", "--test-dir", build], check=True, capture_output=True).stdout
    for row in json.loads(shown)["tests"]:
        has = {p["name"]: p["value"] for p in row["properties"]}
        mine = set(has.get("LABELS", ())) & set(labels)
        if mine:
            environment = dict(e.split("=", 1) for e in has.get("ENVIRONMENT", ()))
            yield Unit(row["name"].split(": ", 1)[1], row["command"], environment, has.get("WORKING_DIRECTORY", str(build)), mine)


# ---- parts ----

def data_files(unit):
    """Of tile-test: each file."""
    options = [x for x in unit.command[1:] if x.startswith("-")]
    for path in (Path(unit.folder, x) for x in unit.command[1:] if not x.startswith("-")):
        files = sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else [path]
        for f in files:
            if f.suffix in DATA and b"RUN:" in f.read_bytes():
                name = str(f.relative_to(unit.folder))
                yield name, [unit.command[0], *options, "--jobs=1", name], (f,)


def kernels(unit, said):
    """Of tile-kernels: each group or feature, by the names that it prints."""
    if not any(x.startswith("--kernel") for x in unit.command):
        for name in dict.fromkeys(re.findall(r"^(\S+) +\d+ passed +\d+ failed$", said, re.M)):
            yield f"{unit.name}: {name}", [*unit.command, f"--kernel={name}"], ()


def parts(unit, said):
    """A row's parts; itself where it has none. said: what it prints, of a unit."""
    program, found = Path(unit.command[0]).name, []
    if program == "tile-test":
        found = list(data_files(unit))
    elif program == "tile-kernels":
        found = list(kernels(unit, said(Unit("names", [unit.command[0], "--device=cpu", "--size=tiny"], {}, unit.folder, unit.labels))))
    whole = [Unit(name, command, unit.environment, unit.folder, unit.labels, paths) for name, command, paths in found]
    if not whole and program.startswith("test_"):
        unit.paths = (Path(unit.command[0]),)
    return whole if len(whole) > 1 else [unit]


# ---- running ----

def descendants(pid):
    """Of a process: all, the deepest last."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as f:
                for child in map(int, f.read().split()):
                    found += [child, *descendants(child)]
    except OSError:
        pass
    return found


def processor_time():
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Runner:
    """Runs units in a folder of its own; keeps what they reach beside it."""

    def __init__(self, folder, mutants):
        self.folder, self.mutants = folder, mutants
        self.home = folder / "home"

    def environment(self, unit, more):
        # No cache of an earlier mutant's kernels, no file that one left behind.
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        own = {x: str(self.home) for x in ("HOME", "TMPDIR", "XDG_CACHE_HOME")}
        return {**os.environ, **unit.environment, **own, **more}

    def run(self, unit, more, seconds):
        """(exit code, (seconds, those of a processor), what it printed); the code is None when its time was up."""
        start, spent = time.monotonic(), processor_time()
        with open(self.folder / "said", "w+b") as out:
            p = subprocess.Popen(unit.command, cwd=unit.folder, env=self.environment(unit, more), stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=out, preexec_fn=limit)
            try:
                code = p.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
                for child in [p.pid, *descendants(p.pid)]:
                    try:
                        os.kill(child, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                p.wait()
            taken = time.monotonic() - start, processor_time() - spent
            out.seek(0)
            return code, taken, out.read(1 << 20).decode(errors="replace")

    def base_line(self, unit, stamp):
        """Without a mutant: sets the unit's time and what it reaches. False where it fails, or is skipped."""
        key = hashlib.sha256(json.dumps([unit.name, unit.command, stamp, self.mutants, [f.stat().st_mtime_ns for f in unit.paths]]).encode())
        kept = self.folder / "reached" / key.hexdigest()[:32]
        if not kept.with_suffix(".json").exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(bytes(self.mutants))
            code, taken, said = self.run(unit, {"TILE_MUTANT_REACHED": str(kept)}, LONGEST * 10)
            kept.with_suffix(".json").write_text(json.dumps({"code": code, "seconds": taken, "said": said}))
        row = json.loads(kept.with_suffix(".json").read_text())
        (unit.seconds, unit.processor), unit.said, unit.code = row["seconds"], row["said"], row["code"]
        unit.reached, unit.since = kept.read_bytes(), kept.with_suffix(".json").stat().st_mtime
        return unit.code == 0

    def kills(self, unit, number):
        """How the unit ends with the mutant: None where it passes, else what happened."""
        code, _, _ = self.run(unit, {"TILE_MUTANT": str(number)}, 2 + 10 * unit.seconds)
        if code in (0, SKIPPED):
            return None
        return "time" if code is None else f"exit {code}"
