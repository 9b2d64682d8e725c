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


def tensor_map(lib, names, h, two_lines=True):
    """The 128 bytes of a map, kept alive by what is returned; None: this tensor has none. two_lines: L2 fetches
    two lines for a request where rows begin with lines, as libtile has it; Triton has one."""
    size = BYTES.get(h["type"], 1)
    base = names[h["base"]].data_ptr() + worth(h["offset"], names) * size
    sizes = [worth(e, names) for e in h["sizes"]][::-1]
    strides = [worth(e, names) * size for e in h["strides"]][::-1]
    n = len(sizes)
    if base % 16 or strides[0] != size or any(s % 16 or s <= 0 for s in strides[1:]) or not all(
            1 <= s < 2**31 for s in sizes) or (h.get("stored") and sizes[0] * size % 16):
        return None
    room = ctypes.create_string_buffer(192)
    at = ctypes.addressof(room) + -ctypes.addressof(room) % 64
    wide, narrow = ctypes.c_uint64 * n, ctypes.c_uint32 * n
    code = lib.cuTensorMapEncodeTiled(
        ctypes.c_void_p(at), TYPES.get(h["type"], 0), n, ctypes.c_void_p(base), wide(*sizes), wide(*strides[1:], 0),
        narrow(*h["box"][::-1]), narrow(*[1] * n), 0, SWIZZLE[h["swizzle"]],
        3 if two_lines and not any(x % 128 for x in [base, *strides[1:]]) else 2, 0)
    return None if code else (at, room)


def hidden_of(torch, lib, kernel, entry, values, grid, shares):
    """Addresses of the entry's hidden parameters, and what keeps them alive; None: it is not for
    these arguments. The workspace is for launches one after the other."""
    names, out, keep = names_of(kernel, values), [], []
    for c in entry.get("conditions", []):
        if not eval(c, {"__builtins__": {}}, names):
            return None
    for h in entry["hidden"]:
        if h["kind"] == "grid":
            keep.append(ctypes.c_uint32(grid[h["axis"]]))
            out.append(ctypes.addressof(keep[-1]))
            continue
        if h["kind"] == "number":
            number = worth(h["value"], names)
            if h["type"] == "i32" and not -2**31 <= number < 2**31:
                return None
            keep.append((ctypes.c_int64 if h["type"] == "i64" else ctypes.c_int32)(number))
            out.append(ctypes.addressof(keep[-1]))
            continue
        if h["kind"] == "workspace":
            keep.append(torch.zeros(h["bytes"] * shares.programs[0] if shares.places else 1,
                                    dtype=torch.uint8, device="cuda"))
            numbers = [ctypes.c_uint64(keep[-1].data_ptr())]
        elif h["kind"] == "mark":
            numbers = [ctypes.c_uint64(1)]
        elif h["kind"] == "stream_k":
            numbers = [ctypes.c_uint32(n) for n in (shares.places, shares.first, shares.share)]
        else:
            numbers = []
        keep += numbers
        out += [ctypes.addressof(n) for n in numbers]
        if numbers:
            continue
        made = tensor_map(lib, names, h)
        if not made:
            return None
        keep.append(made)
        out.append(made[0])
    return out, keep


class Shares:
    """What is launched for what was asked for: a grid; of how many places the iterations behind the
    first are cut off, and how many of these a helper has; how many programs are a cluster."""
    def __init__(self, programs, places=0, first=0, share=0, cluster=1):
        self.programs, self.places, self.first, self.share = programs, places, first, share
        self.cluster = cluster


def iteration_of(problem, programs):
    each, least = problem["split"]["iteration_clocks"], problem["split"]["least_clocks"]
    return max(-(-programs // problem["multiprocessors"]) * each, least)


def way_of(problem, helpers_each, places_each, cut_off):
    """Cycles, places' first iterations, a helper's, and the helpers."""
    cut, split = problem["cut"], problem["split"]
    part, first, share = split["part_clocks"], problem["iterations"] - cut_off, cut_off * places_each // helpers_each
    helpers = (cut * helpers_each + places_each - 1) // places_each
    each = iteration_of(problem, cut + helpers)
    written, own = share * each + part * places_each, first * each + part * helpers_each
    met = own if problem["rounds"] else written + split["meet_clocks"] + part * helpers_each
    return max(own, met, written), first, share, helpers


def best_way(problem):
    cut, spare, iterations = problem["cut"], problem["spare"], problem["iterations"]
    best = (iterations * iteration_of(problem, cut) - 2000, 0, 0, 0)
    tries = [(k, 1) for k in range(1, min(16, spare // cut) + 1)] + [(1, k) for k in range(2, 5)]
    for helpers_each, places_each in tries:
        low, high = 1, iterations // helpers_each
        if (cut * helpers_each + places_each - 1) // places_each > spare or high < low:
            continue
        while low < high:
            mid = (low + high) // 2
            if (way_of(problem, helpers_each, places_each, mid * helpers_each)[0] <=
                    way_of(problem, helpers_each, places_each, (mid + 1) * helpers_each)[0]):
                high = mid
            else:
                low = mid + 1
        way = way_of(problem, helpers_each, places_each, low * helpers_each)
        if way[0] < best[0]:
            best = way
    return best


def shares_of(kernel, entry, values, grid, multiprocessors, resident, clusters="auto"):
    """As runtime/share.c has it; clusters: 'never', or 'always' where there may be some. None: the
    entry is not for this grid."""
    axes = entry.get("persistent", 0)
    if not axes:
        return Shares(grid)
    places = grid[0] * grid[1] * grid[2]
    if any(n > 1 for n in grid[axes:]) or places > 1 << 30:
        return None
    wanted = clusters == "always" or (clusters == "auto" and worth(entry.get("cluster_when", "0"), names_of(
        kernel, values)))
    cluster = entry.get("max_cluster", 1) if wanted and places > 1 else 1
    at_once, all_ = multiprocessors * max(resident, 1) // cluster, -(-places // cluster)
    split = [h for h in entry["hidden"] if h["kind"] == "stream_k"]
    cut, rounds = all_ % at_once, all_ // at_once
    if split and cut:
        iterations = worth(split[0]["iterations"], names_of(kernel, values))
        if iterations > 1:
            _, first, share, helpers = best_way({
                "split": split[0], "multiprocessors": -(-multiprocessors // cluster), "cut": cut,
                "spare": at_once - cut, "rounds": rounds, "iterations": iterations})
            if share:
                programs = (at_once if rounds else cut + helpers) * cluster
                return Shares((programs, 1, 1), cut, first, share, cluster)
    return Shares((min(all_, at_once) * cluster, 1, 1), cluster=cluster)
