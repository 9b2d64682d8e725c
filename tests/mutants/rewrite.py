# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rewrite.py: the source tree -> a copy of it whose programs hold every mutant of the folders below, and the list of them.

What has not changed since the last time is left as it is, so that little is built anew."""
import hashlib
import json
import shlex
import subprocess
from pathlib import Path

import kinds
import tree

HERE = Path(__file__).resolve().parent
# A label of cmake/tests.cmake, and the code that its tests are about. A file belongs to the first that has it.
FOLDERS = {"layout": ("ir/layout*.c", "passes/layout*.c"), "passes": ("passes/*.c",), "codegen": ("codegen/*.c",), "interp": ("ir/interp/*.c",)}


def put(path, data):
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def copy(source, to):
    """The files that git knows or would add."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=source, check=True,
                           capture_output=True).stdout.decode().split("\0")
    mutated = {str(f.relative_to(source)) for f in files(source)}
    kept = set()
    for name in filter(None, names):
        if (source / name).is_file():
            kept.add(name)
            if name not in mutated:
                put(to / name, (source / name).read_bytes())
                (to / name).chmod((source / name).stat().st_mode)
    for old in to.rglob("*"):  # what was there last time
        name = str(old.relative_to(to))
        if old.is_file() and name not in kept and not name.startswith(("build/", "base/mutant.")) and "__pycache__" not in name:
            old.unlink()


def files(source):
    seen = {}
    for folder, patterns in FOLDERS.items():
        for pattern in patterns:
            for f in sorted(source.glob(pattern)):
                seen.setdefault(f, folder)
    return seen


def flags_of(build):
    """What the preprocessor is told about each file, by the release build."""
    found = {}
    for row in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(row["command"])
        found[row["file"]] = [x for i, x in enumerate(words) if x[:2] in ("-D", "-I") or x.startswith("-std=") or
                              x == "-isystem" or words[i - 1] == "-isystem"]
    return found


def rewrite_file(path, flags, first, clang):
    """([Mutant], new text): the file's own lines keep their numbers."""
    text = path.read_bytes()
    functions, names = tree.functions(str(path), text, flags, clang)
    mutants, new = kinds.mutants_of(functions, names, text, first)
    for m in mutants:
        m.line = text.count(b"\n", 0, m.begin) + 1
    return mutants, b'#include "base/mutant.h"\n#line 1\n' + new


def rewrite(source, build, to, clang):
    """Makes the tree and returns its mutants, each with file, folder, line and key."""
    found, flags = [], flags_of(build)
    copy(source, to)
    for path, folder in files(source).items():
        name = str(path.relative_to(source))
        mutants, new = rewrite_file(path, flags[str(path)], len(found), clang)
        put(to / name, new)
        for m in mutants:
            m.file, m.folder, m.beside = name, folder, (len(found), len(found) + len(mutants))
        found += mutants
    number_keys(found)
    for name in ("mutant.h", "mutant.c"):
        put(to / "base" / name, runtime(name, len(found)).encode())
    return found


def runtime(name, number):
    """What every program of the tree has besides, for so many mutants."""
    text = (HERE / name).read_text()
    return f"#define MUTANTS {number}\n#line 1\n{text}" if name.endswith(".c") else text


def number_keys(mutants):
    """What a mutant is called from one version to the next: its file, its function, the text and what it becomes; of several of
    one name, how many are before it. The line is not in it."""
    seen = {}
    for m in mutants:
        name = (m.file, m.function, m.kind, m.before, m.after)
        seen[name] = seen.get(name, 0) + 1
        m.key = name + (seen[name],)


def stamp(to):
    """Of the sources that all programs are made of: what is known of tests holds while it stays."""
    digest = hashlib.sha256()
    for f in sorted(to.rglob("*.[chly]")) + sorted(to.rglob("*.def")):
        if f.relative_to(to).parts[0] not in ("build", "tests"):
            digest.update(f.read_bytes())
    return digest.hexdigest()


def make(to, log):
    """The copy's release build, without warnings, with integers that wrap: the programs that tests with the folders' labels run."""
    build = to / "build"
    with open(log, "w") as out:
        def call(*command):
            if subprocess.run(command, stdout=out, stderr=out).returncode != 0:
                raise SystemExit(f"the rewritten tree does not build: {log}")
        call("cmake", "-S", to, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTILE_LLVM=static", "-DCMAKE_C_FLAGS=-w -fwrapv")
        call("cmake", "--build", build)  # all: ctest says which programs its rows run where they are there
    return build
