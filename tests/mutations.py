# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mutations.py BIN: mistakes planted in the PTX of a matrix product, that the PTX machine has to find, each by what
it checks or by a wrong result: what code generation may get wrong is found without a GPU. Prints what was not
found, and how many were."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from checks import Checks  # noqa: E402

M, N, K = 164, 160, 208
TYPES = ("a_ptr=*fp16:16,b_ptr=*fp16:16,c_ptr=*fp16:16,M=i32,N=i32:16,K=i32:16,stride_am=i32:16,stride_ak=i32:1,"
         "stride_bk=i32:16,stride_bn=i32:1,stride_cm=i32:16,stride_cn=i32:1")
STRIDES = [f"M={M}", f"N={N}", f"K={K}", f"stride_am={K}", "stride_ak=1", f"stride_bk={N}", "stride_bn=1", f"stride_cm={N}",
           "stride_cn=1"]
TILES = ["-D", "BM=64", "-D", "BN=64", "-D", "BK=64"]
OWN, FURTHER = 0, 1  # of the file's entries: the kernel's own; by roles of warps
WRONG = "beyond the tolerance"
# What is wrong, the code, which entry, what is looked for, what stands there instead, at which of its places (None: all),
# and what is said. An empty replacement leaves the statement out.
MUTATIONS = [
    ("a wait for copies", "sm_80", OWN, r"cp\.async\.wait_group 1;", "", 0, "not known|race"),
    ("a wait for one group less", "sm_80", OWN, r"cp\.async\.wait_group 1;", "cp.async.wait_group 2;", 0, "not known|race"),
    ("the barrier before a stage is read", "sm_80", OWN, r"bar\.sync\s+0;", "", 0, "race"),
    ("the barrier before the sum takes the stages' place", "sm_80", OWN, r"bar\.sync\s+0;", "", 1, "race"),
    ("the barrier before the sum is read", "sm_80", OWN, r"bar\.sync\s+0;", "", 2, "race|not known"),
    ("a bit of a swizzle", "sm_80", OWN, r"(mul\.lo\.s32\s+%r\d+, %r\d+), 144;", r"\1, 16;", 0, WRONG + "|not known|race|out of"),
    ("two registers of a factor", "sm_80", OWN, r"(ldmatrix\S+x4\.shared\.b16 )\{(%r\d+), (%r\d+),", r"\1{\3, \2,", 0, WRONG),
    ("a factor that is not transposed", "sm_80", OWN, r"ldmatrix(\S+x4)\.trans", r"ldmatrix\1", 0, WRONG),
    ("the mask of a store", "sm_80", OWN, r"@%p\d+ st\.global", "st.global", None, "out of bounds"),
    ("the rows that a thread stores", "sm_80", OWN, r"(st\.shared\.b32\s+\[%rd\d+)\+\d+\]", r"\1]", 0,
     WRONG + "|race|not known"),
    ("the commit of a group", "sm_80", OWN, r"cp\.async\.commit_group;", "", 1, "not known|race"),
    ("a wait for matrix instructions", "sm_90a", OWN, r"wgmma\.wait_group\.sync\.aligned 0;", "", None,
     "not known|waited|race"),
    ("a fence before matrix instructions read", "sm_90a", OWN, r"fence\.proxy\.async\.shared::cta;", "", None, "fence"),
    ("a fence before registers are added to", "sm_90a", FURTHER, r"wgmma\.fence\.sync\.aligned;", "", None, "wgmma.fence"),
    ("the phase that is waited for", "sm_90a", FURTHER, r"(mbarrier\.try_wait\S+ p, \[%r\d+\]), (%r\d+);", r"\1, 1;", 0,
     "deadlock|race|not known"),
    ("an arrival at an empty stage", "sm_90a", FURTHER, r"@%p\d+ mbarrier\.arrive\.shared::cluster[^;]*;", "", None, "deadlock"),
    ("an arrival too many", "sm_90a", FURTHER, r"(@%p\d+ mbarrier\.arrive\.shared::cluster[^;]*;)", r"\1 \1", 0, "more arrive|race"),
    ("bytes that do not come", "sm_90a", FURTHER, r"(mbarrier\.arrive\.expect_tx[^;]*), 16384;", r"\1, 16400;", None, "deadlock"),
    ("how many arrive", "sm_90a", FURTHER, r"(mbarrier\.init\.shared\.b64 \[%r\d+\]), 8;", r"\1, 9;", None, "deadlock"),
    ("a fence before a block is stored", "sm_90a", FURTHER, r"fence\.proxy\.async\.shared::cta;", "", 0, "fence"),
    ("the barrier before a block is stored", "sm_90a", FURTHER, r"bar\.sync\s+1, 128;", "", 1, "race|not known"),
    ("a wait for stored blocks at the end", "sm_90a", FURTHER, r"cp\.async\.bulk\.wait_group\.read 0;", "", None, "waited|race"),
    ("the coordinates of a block", "sm_90a", FURTHER,
     r"(cp\.async\.bulk\.tensor\.2d\.shared\S+ \[%r\d+\], \[%rd\d+), \{(%r\d+), (%r\d+)\}", r"\1, {\3, \2}", None, WRONG),
    ("how far rows of a factor are apart", "sm_90a", FURTHER, r"(mov\.b32\s+%r\d+), 1073741888;", r"\1, 1073741856;", None, WRONG),
    ("how a factor's rows are swizzled", "sm_90a", FURTHER, r"(mov\.b32\s+%r\d+), 1073741888;", r"\1, -2147483584;", None,
     WRONG + "|race"),
    ("a barrier that is none", "sm_90a", FURTHER, r"mbarrier\.init[^;]*;", "", 0, "no barrier"),
]


def run(*command):
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120)
    return p.returncode, p.stdout + p.stderr


def mutate(text, entry, pattern, put, which):
    """The text with the change; None: there is nothing to change."""
    starts = [m.start() for m in re.finditer(r"\.visible \.entry", text)] + [len(text)]
    head, body, rest = text[:starts[entry]], text[starts[entry]:starts[entry + 1]], text[starts[entry + 1]:]
    places = [m for m in re.finditer(pattern, body)]
    if not places or (which is not None and which >= len(places)):
        return None
    for m in reversed(places if which is None else [places[which]]):
        body = body[:m.start()] + (put(m) if callable(put) else m.expand(put)) + body[m.end():]
    return head + body + rest


def main():
    bin_, check = Path(sys.argv[1]), Checks("mutations")
    root = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        inputs = [f"a_ptr=@{work}/a.npy", f"b_ptr=@{work}/b.npy", f"c_ptr=zeros:fp16[{M},{N}]", *STRIDES]
        expect = f"--expect=c_ptr={work}/c.npy:0"
        code, said = run(bin_ / "tilerun", "--device=cpu", root / "examples/matmul.tl", f"a_ptr=randint(-4,5):fp16[{M},{K}]",
                         f"b_ptr=randint(-4,5):fp16[{K},{N}]", *inputs[2:], *[f"--save={p}_ptr={work}/{p}.npy" for p in "abc"])
        assert code == 0, said
        texts = {}
        for target in "sm_80", "sm_90a":
            for single in (True, False) if target == "sm_90a" else (True,):
                file = work / f"{target}-{single}.ptx"
                code, said = run(bin_ / "tilec", "-Wno-perf", f"--target={target}", *TILES, *["--single-entry"] * single, "-s", TYPES,
                                 root / "examples/matmul.tl", "-o", file)
                assert code == 0, said
                texts[target, OWN if single else FURTHER] = file.read_text()
                code, said = run(bin_ / "tilerun", "--device=ptx", file, *inputs, expect)
                check(f"{file.name} as it is", code == 0, said)
        for name, target, entry, pattern, put, which, says in MUTATIONS:
            text = mutate(texts[target, entry], entry, pattern, put, which)
            if text is None:
                check(f"{name}: the PTX has something like that", False)
                continue
            (work / "mutant.ptx").write_text(text)
            code, said = run(bin_ / "tilerun", "--device=ptx", work / "mutant.ptx", *inputs, expect)
            found = code != 0 and re.search(says, said) is not None
            check(name, found, said.strip() or "not found")
    return check.end()


if __name__ == "__main__":
    sys.exit(main())
