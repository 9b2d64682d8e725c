#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# newer_test.sh: what the benches make of kernels of a newer Triton, without one and without a GPU: an index
# is read, what is not there has its reason, a launch passes what the index says, and what ptxas wrote into
# a kernel is found. Usage: newer_test.sh
set -u
tree=$(realpath "$(dirname "$0")/..")
. "$tree/tests/lib.sh"
export PYTHONPATH=$tree/bench PYTHONDONTWRITEBYTECODE=1
cd "$work"

cat >index.py <<'INNER'
import ctypes, json
from pathlib import Path
import newer
from kernels import Job

class Tensor:
    def __init__(self, at): self.at = at
    def data_ptr(self): return self.at
class Torch:
    uint8 = "uint8"
    class cuda:
        @staticmethod
        def current_stream(): return type("Stream", (), {"cuda_stream": 77})
    @staticmethod
    def empty(n, dtype, device):
        Torch.asked = n
        return Tensor(1000)
class Lib:
    def cuModuleLoadData(self, out, code): self.code = code
    def cuModuleGetFunction(self, out, module, name): self.name = name
    def cuFuncSetAttribute(self, function, what, n): self.shared = n.value
    def cuFuncSetCacheConfig(self, function, what): self.cache = what
    def cuTensorMapEncodeTiled(self, at, kind, rank, base, sizes, strides, box, steps, *rest):
        self.map = kind, rank, base.value, *sizes, strides[0], *box, *rest
        ctypes.memset(at, 5, 128)
        return 0
    def cuLaunchKernel(self, function, *rest): self.launch = rest
class Driver:
    MAX_DYNAMIC_SHARED, lib = 8, Lib()
    def check(self, code, what): assert not code, what

def job(n): return Job("k.tl", ("*fp16:16", "i32:16"), (("BM", n),), 4, 3)
Path("k.tl").write_text("a kernel")
Path("a.cubin").write_bytes(b"code")
params = [dict(type="map", map=dict(base="p", type="fp16", offset="0", sizes=["M", "64"], strides=["M", "1"],
                                    box=[16, 32], swizzle=64)),
          dict(type="i32", argument=1), dict(type="i64", worth=1), dict(type="ptr", argument=0, divisible=16),
          dict(type="scratch"), dict(type="profile")]
record = dict(cubin="a.cubin", entry="k", shared=50000, threads=384, registers=9, stack=0, scratch=[384, 128],
              profile=[0, 1], arguments=["p", "M"], params=params)
Path("index.json").write_text(json.dumps(dict(
    triton="3.9.0", ptxas="13.4", kernels={newer.key_of(job(1)): record}, failed={newer.key_of(job(2)): "too large"},
    sources={"k.tl": newer.digest("k.tl")})))
index = newer.Index(".", Path("."))
assert index.name == "3.9"
assert [index.missing(job(n)) for n in (1, 2, 3)] == ["", "too large", "not prepared"]
lines = index.report([job(1), job(2), job(3), job(1)], every=True)
assert "1 of 3" in lines[0] and any("384" in s and "BM=1" in s for s in lines), lines
assert sum(s.startswith("left out") for s in lines) == 2, lines

values = Tensor(4096), 256
index.bind(Torch, Driver(), job(1), values, (7, 2))()
lib = Driver.lib
assert (lib.code, lib.name, lib.shared, lib.cache) == (b"code", b"k", 50000, newer.PREFER_SHARED)
assert lib.map == (6, 2, 4096, 64, 256, 512, 32, 16, 0, 2, 2, 0), lib.map
*shape, stream, at, extra = lib.launch
assert shape == [7, 2, 1, 384, 1, 1, 50000] and stream.value == 77 and extra is None, shape
assert at[0] % 64 == 0 and ctypes.string_at(at[0], 128) == b"\5" * 128
read = [t.from_address(a).value for t, a in zip(
    (ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64), at[1:])]
assert read == [256, 1, 4096, 1024, 0] and Torch.asked == 384 * 14 + 128, (read, Torch.asked)
try:
    index.bind(Torch, Driver(), job(1), (Tensor(4104), 256), (1,))
    raise SystemExit("a pointer that breaks its promise was taken")
except ValueError:
    pass
Path("k.tl").write_text("another kernel")
assert "changed" in newer.Index(".", Path(".")).missing(job(1))
INNER
ok 'an index and a launch' python3 index.py

cat >elf.py <<'INNER'
import struct
import newer, newer_triton

def fact(what, data): return struct.pack("<BBH", 4, what, len(data)) + data
def param(n, at, size): return fact(0x17, struct.pack("<IHHI", 0, n, at, size << 18 | 0x1f000))
own = (param(1, 176, 4) + param(0, 48, 128) + struct.pack("<BBH", 3, 0x1b, 255) +
       fact(0x10, struct.pack("<III", 256, 1, 1)) + struct.pack("<BBH", 3, 0x19, 180) + fact(0x0a, struct.pack("<IHH", 14, 0x210, 180)))
common = fact(0x2f, struct.pack("<II", 10, 208)) + fact(0x11, struct.pack("<II", 10, 16))
names = b"\0.nv.info.k\0.nv.info\0.shstrtab\0"
parts = [(1, own), (12, common), (21, names)]
body, heads = b"", [bytes(64)]
for name, data in parts:
    heads.append(struct.pack("<IIQQQQ", name, 1, 0, 0, 64 + len(body), len(data)) + bytes(24))
    body += data
head = bytes(40) + struct.pack("<Q", 64 + len(body)) + bytes(10) + struct.pack("<HHH", 64, 4, 3)
cubin = head + body + b"".join(heads)
seen = newer_triton.inspect(cubin, "k")
assert seen == dict(params=[(48, 128), (176, 4)], bytes=180, base=0x210, threads=(256, 1, 1), registers=208,
                    stack=16), seen
good = [dict(type="map"), dict(type="i32")]
assert newer_triton.differs(good, 256, seen) == ""
assert "threads" in newer_triton.differs(good, 128, seen)
assert "parameters" in newer_triton.differs(good[:1], 256, seen)
assert "parameters" in newer_triton.differs([dict(type="map"), dict(type="i64")], 256, seen)
INNER
ok 'what ptxas wrote' python3 elf.py

finish
