# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""products.py: what the matmul benches share: types, configs, problems with their data and their
fp64 reference, and who multiplies: ours, Triton, cuBLAS."""
from dataclasses import dataclass
from pathlib import Path

from contest import Family, poison, wrong
from kernels import Job, signature



def read_configs(name):
    """BLOCK M, N, K, warps, stages of each."""
    return [tuple(map(int, line.split())) for line in Path(__file__).with_name(name).read_text().splitlines()
            if not line.startswith("#")]


CONFIGS, MORE = read_configs("matmul_configs.txt"), read_configs("matmul_more.txt")


@dataclass(frozen=True)
class Type:
    name: str
    element: str      # in a signature
    torch_in: str
    torch_out: str
    out: str          # in a signature
    bytes: int
    bound: float      # of the relative error, in the 2-norm, against fp64
    acc: str = "tl.float32"
    precision: str = "tf32"


# The bounds: half a unit of the output type for 16-bit results and of the factors for TF32 (they may
# be truncated), times about 3; fp32 grows with the length of the sum; wgmma adds up fp8 products in
# 13 bits only.
TYPES = {t.name: t for t in [
    Type("fp16", "fp16", "float16", "float16", "fp16", 2, 1e-3),
    Type("bf16", "bf16", "bfloat16", "bfloat16", "bf16", 2, 6e-3),
    Type("tf32", "fp32", "float32", "float32", "fp32", 4, 3e-3),
    Type("fp32", "fp32", "float32", "float32", "fp32", 4, 1e-5, precision="ieee"),
    Type("fp8", "fp8e4nv", "float8_e4m3fn", "bfloat16", "bf16", 1, 4e-2),
    Type("int8", "i8", "int8", "int32", "i32", 1, 0.0, acc="tl.int32"),
]}


@dataclass(frozen=True)
class Problem:
    """a is M x K, b is K x N; 't' means stored the other way round; ld: what is added to the rows'
    lengths in memory."""
    label: str
    type: str
    m: int
    n: int
    k: int
    a: str = "n"
    b: str = "n"
    pad: int = 0

    @property
    def flops(self):
        return 2.0 * self.m * self.n * self.k

    def strides(self, which):
        rows, cols = {"a": (self.m, self.k), "b": (self.k, self.n), "c": (self.m, self.n)}[which]
        turned = getattr(self, which, "n") == "t"
        return (1, rows + self.pad) if turned else (cols + self.pad, 1)

    def sizes(self):
        """The integer arguments, in the order of the kernels' parameters."""
        return (self.m, self.n, self.k, *self.strides("a"), *self.strides("b"), *self.strides("c"))

    def abstract(self):
        t = TYPES[self.type]
        return (t.element, t.element, t.out, *self.sizes())


def job_of(family, problem, config, opts):
    t = TYPES[problem.type]
    aligned = 1 if all(x == 1 or x % 16 == 0 for x in problem.sizes()) else 8
    source = family.source or ("examples/matmul.tl" if t.bytes == 2 and aligned == 1
                               else "bench/matmul_types.tl")
    bm, bn, bk, warps, stages = config
    defines = [("BM", bm), ("BN", bn), ("BK", bk * 2 // t.bytes)]
    if family.group:
        defines.append(("GROUP_M", family.group))
    defines += family.defines
    if source == "bench/matmul_types.tl":
        defines += [("ACC", t.acc), ("PRECISION", t.precision), ("ALIGN", aligned)]
    flags = family.flags + tuple(opts.flags.split()) if family.engine == "tilec" else ()
    return Job(source, signature(problem.abstract()), tuple(defines), warps, stages, opts.target, flags)


OURS, TRITON, CUBLAS = Family("ours"), Family("Triton", "triton"), Family("cuBLAS", "cublas")
COPY = Family("copy", "copy")  # the device's, of as many bytes


def config_text(config):
    return "%dx%dx%d %dw %ds" % config


def pick_configs(text):
    """--configs: all, their numbers from 0: 0,1,4, or more: all and those of matmul_more.txt."""
    every = CONFIGS + MORE
    return every if text == "more" else CONFIGS if text == "all" else [every[int(i)] for i in text.split(",")]


def taken_by(family, configs):
    """Those of the configs that a family takes, with no more warps than it takes."""
    fewer = [(bm, bn, bk, min(warps, family.warps), stages) for bm, bn, bk, warps, stages in configs
             if family.engine == "tilec" or not any(x & (x - 1) for x in (bm, bn, bk))]
    return list(dict.fromkeys(fewer))


def takes(family, problem):
    return not family.rows or (TYPES[problem.type].bytes == 2 and problem.a == problem.b == "n")


def make_matrix(torch, t, rows, cols, strides):
    """Random normal (bytes: uniform) data with these strides."""
    turned = strides[0] == 1 and strides[1] != 1
    height, width = (cols, strides[1]) if turned else (rows, strides[0])
    if t.element == "i8":
        data = torch.randint(-128, 128, (height, width), dtype=torch.int8, device="cuda")
    else:
        kind = getattr(torch, t.torch_in)
        data = torch.randn((height, width), device="cuda", dtype=torch.float32 if t.bytes != 2 else kind).to(kind)
    return data.as_strided((rows, cols), strides)


class Data:
    """The matrices of a problem on the GPU."""

    def __init__(self, torch, problem):
        self.torch, self.problem, t = torch, problem, TYPES[problem.type]
        p = problem
        self.a = make_matrix(torch, t, p.m, p.k, p.strides("a"))
        self.b = make_matrix(torch, t, p.k, p.n, p.strides("b"))
        stride = p.strides("c")
        self.c = torch.empty((p.m, stride[0]), dtype=getattr(torch, t.torch_out),
                             device="cuda").as_strided((p.m, p.n), stride)
        wide = [x.float().double() if t.bytes == 1 and t.element != "i8" else x.double() for x in (self.a, self.b)]
        self.expected = wide[0] @ wide[1]

    def values(self):
        return (self.a, self.b, self.c, *self.problem.sizes())

    def cublas(self):
        """A function that multiplies once through PyTorch, and returns the result."""
        torch, t, a, b, c = self.torch, TYPES[self.problem.type], self.a, self.b, self.c
        torch.backends.cuda.matmul.allow_tf32 = t.name == "tf32"
        if t.bytes > 1:
            return lambda: torch.matmul(a, b, out=c) if self.problem.pad == 0 else torch.matmul(a, b)
        b = b.t().contiguous().t()  # bytes only with the columns of b in one piece
        if t.name == "int8":
            return lambda: torch._int_mm(a, b)
        one = torch.ones((), device="cuda")
        kind = getattr(torch, t.torch_out)
        return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=kind, use_fast_accum=True)

    def copy(self):
        """A function that reads and writes as many bytes as the product has to."""
        size = sum(x.numel() * x.element_size() for x in (self.a, self.b, self.c)) // 2
        source, target = (self.torch.zeros(size, dtype=self.torch.uint8, device="cuda") for _ in range(2))
        return lambda: target.copy_(source)

    def check(self, run):
        """Runs once into a poisoned result; what is wrong, or nothing."""
        poison(self.torch, self.c)
        result = run()
        self.torch.cuda.synchronize()
        if getattr(result, "shape", None) != self.c.shape:  # Triton's launches return something else
            result = self.c
        return wrong(self.torch, result, self.expected,
                     TYPES[self.problem.type].bound)


def triton_grid(problem, job):
    size = dict(job.defines)
    tiles = -(-problem.m // size["BM"]), -(-problem.n // size["BN"])
    if size.get("STAY"):
        return (min(size["STAY"], tiles[0] * tiles[1]),)
    return (tiles[0] * tiles[1],) if "GROUP_M" in size else tiles


def jobs_of(problems, families, configs, opts):
    return [job_of(f, p, c, opts) for p in problems for f in families if f.engine == "tilec" and takes(f, p)
            for c in configs]


def newer_jobs(problems, families, configs, opts):
    return [job_of(f, p, c, opts) for p in problems for f in families if f.engine == "newer" and takes(f, p)
            for c in taken_by(f, configs)]


def compile_all(session, problems, families, configs):
    session.build(jobs_of(problems, families, configs, session.opts))
    session.show_newer(newer_jobs(problems, families, configs, session.opts))
    work = []
    for p in problems if session.triton else []:
        t = TYPES[p.type]
        kinds = [getattr(session.torch, k) for k in (t.torch_in, t.torch_in, t.torch_out)]
        work += [(job_of(f, p, c, session.opts), (*kinds, *p.sizes()))
                 for f in families if f.engine == "triton" and takes(f, p) for c in taken_by(f, configs)]
    session.warm_triton(work)


def contestants_of(session, data, families, configs):
    """Everyone who multiplies this problem rightly."""
    out, p = [], data.problem

    def maker(family, config):
        if family.engine == "cublas":
            return data.cublas()
        if family.engine == "copy":
            return data.copy()
        job = job_of(family, p, config, session.opts)
        if family.engine == "tilec":
            return session.tilec_run(job, data.values(), family.entry)
        if family.engine == "newer":
            return session.newer_run(job, data.values(), triton_grid(p, job))
        return session.triton_run(job, data.values(), triton_grid(p, job))
    for f in families:
        if (f.engine == "triton" and not session.triton) or not takes(f, p):
            continue
        for c in [None] if f.engine in ("cublas", "copy") else taken_by(f, configs):
            out += session.enter(p.label, f, (config_text(c) if c else "") + f.note, p.flops, lambda: maker(f, c),
                                 (lambda run: "") if f.engine == "copy" else data.check)
    return out
