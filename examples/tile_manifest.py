# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tile_manifest.py: the launch facts in a .ptx of tilec, for programs in Python (docs/abi.md).
#
#   python3 tile_manifest.py FILE.ptx [NAME=INTEGER]…   prints how each kernel is launched
import json
import re
import sys


class Kernel:
    """One kernel of a manifest: how many threads, how much memory, which arguments it takes."""

    def __init__(self, facts):
        if facts["hidden"]:
            raise ValueError(f"{facts['name']}: hidden parameters that this file does not know")
        self.facts = facts
        self.name, self.entry, self.shared = facts["name"], facts["entry"], facts["shared"]
        self.params = facts["params"]
        self.block = (32 * facts["num_warps"], 1, 1)

    def grid(self, args):
        """(x, y, z) for arguments by name, by the expressions that the source states."""
        names = {k: v for k, v in self.facts["constexprs"].items() if isinstance(v, int)}
        names.update({k: v for k, v in args.items() if isinstance(v, int)})
        names.update(cdiv=lambda a, b: -(-a // b), min=min, max=max, __builtins__={})
        for text in self.facts["grid"]:
            # Nothing but names, numbers and operators: a manifest is data, not a program.
            if not re.fullmatch(r"[A-Za-z0-9_ ()+\-*/%,]*", text):
                raise ValueError(f"{self.name}: not a grid expression: {text}")
        sizes = [eval(text, names) for text in self.facts["grid"]]
        if not sizes:
            raise ValueError(f"{self.name}: its source states no grid")
        return tuple(sizes + [1] * (3 - len(sizes)))

    def check(self, args):
        """Do the arguments (pointers as addresses) keep the promises it was compiled with?"""
        for p in self.params:
            value = args[p["name"]]
            if p.get("none"):
                continue
            if "equals" in p and value != p["equals"]:
                raise ValueError(f"{self.name}: {p['name']} has to be {p['equals']}, not {value}")
            if "divisible" in p and value % p["divisible"]:
                raise ValueError(f"{self.name}: {p['name']} = {value} is no multiple of {p['divisible']}")


def read_kernels(text):
    """The kernels in the text of a .ptx, by name."""
    lines = text.splitlines()
    begin, end = lines.index("// tilec manifest begin"), lines.index("// tilec manifest end")
    manifest = json.loads("\n".join(line[3:] for line in lines[begin + 1:end]))
    if manifest["manifest"] != 1:
        raise ValueError(f"a manifest of version {manifest['manifest']}")
    return {k["name"]: Kernel(k) for k in manifest["kernels"]}


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: tile_manifest.py FILE.ptx [NAME=INTEGER]…")
    values = {name: int(value) for name, value in (a.split("=") for a in sys.argv[2:])}
    with open(sys.argv[1]) as file:
        for kernel in read_kernels(file.read()).values():
            print(f"{kernel.name}: grid {kernel.grid(values)}, block {kernel.block}, "
                  f"{kernel.shared} bytes of shared memory")
