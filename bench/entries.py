# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""entries.py: the entries of a compiled kernel, as its manifest lists them, and what a launch of each
takes: docs/abi.md in Python."""
import ctypes

TYPES = {"fp16": 6, "fp32": 7, "fp64": 8, "bf16": 9, "i16": 1, "u16": 1, "u32": 2, "i32": 3, "u64": 4, "i64": 5}
SWIZZLE = {0: 0, 32: 1, 64: 2, 128: 3}
BYTES = {"fp64": 8, "i64": 8, "u64": 8, "fp32": 4, "i32": 4, "u32": 4, "fp16": 2, "bf16": 2, "i16": 2, "u16": 2}


def names_of(kernel, values):
    """What expressions of the manifest may name."""
    names = {p["name"]: v for p, v in zip(kernel["params"], values)}
    names.update(kernel["constexprs"], cdiv=lambda x, y: -(-x // y), min=min, max=max)
    return names


def worth(expression, names):
    return int(eval(expression, {"__builtins__": {}}, names))


def grid_of(kernel, values):
    sizes = [worth(e, names_of(kernel, values)) for e in kernel["grid"]]
    return tuple(sizes + [1] * (3 - len(sizes)))


def tensor_map(lib, names, h):
    """The 128 bytes of a map, kept alive by what is returned; None: this tensor has none."""
    size = BYTES.get(h["type"], 1)
    base = names[h["base"]].data_ptr() + worth(h["offset"], names) * size
    sizes = [worth(e, names) for e in h["sizes"]][::-1]
    strides = [worth(e, names) * size for e in h["strides"]][::-1]
    n = len(sizes)
    if base % 16 or strides[0] != size or any(s % 16 or s <= 0 for s in strides[1:]) or not all(
            1 <= s < 2**31 for s in sizes):
        return None
    room = ctypes.create_string_buffer(192)
    at = ctypes.addressof(room) + -ctypes.addressof(room) % 64
    wide, narrow = ctypes.c_uint64 * n, ctypes.c_uint32 * n
    code = lib.cuTensorMapEncodeTiled(
        ctypes.c_void_p(at), TYPES.get(h["type"], 0), n, ctypes.c_void_p(base), wide(*sizes), wide(*strides[1:], 0),
        narrow(*h["box"][::-1]), narrow(*[1] * n), 0, SWIZZLE[h["swizzle"]], 2, 0)
    return None if code else (at, room)


def hidden_of(lib, kernel, entry, values, grid):
    """Addresses of the entry's hidden parameters, and what keeps them alive; None: it is not for
    these arguments."""
    names, out, keep = names_of(kernel, values), [], []
    for c in entry.get("conditions", []):
        if not eval(c, {"__builtins__": {}}, names):
            return None
    for h in entry["hidden"]:
        if h["kind"] == "grid":
            keep.append(ctypes.c_uint32(grid[h["axis"]]))
            out.append(ctypes.addressof(keep[-1]))
            continue
        made = tensor_map(lib, names, h)
        if not made:
            return None
        keep.append(made)
        out.append(made[0])
    return out, keep


def programs_of(entry, grid, multiprocessors, resident):
    """The grid that is launched for what was asked for; None: it is not for this one."""
    axes = entry.get("persistent", 0)
    if not axes:
        return grid
    places = grid[0] * grid[1] * grid[2]
    if any(n > 1 for n in grid[axes:]) or places > 1 << 30:
        return None
    return min(places, multiprocessors * max(resident, 1)), 1, 1
