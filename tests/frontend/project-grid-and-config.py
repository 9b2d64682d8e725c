# A grid in a comment, options of a jit function, and a kernel chosen among several.
# RUN: tilec --emit=manifest %s -o - --kernel=second -D BLOCK=128
# RUN: tilec --emit=manifest %s -o -
# CHECK: "name": "second"
# CHECK: "grid": ["cdiv(n, BLOCK)", "2"]
# CHECK: "name": "first"
# CHECK: "name": "second"
import triton
import triton.language as tl


@triton.jit(debug=True, noinline=False, repr=lambda _: "first_kernel")
def first(p: "*fp32", n: "i32"):
    tl.store(p, n)


# Some words about the kernel.
# tile: grid = cdiv(n, BLOCK), 2
@triton.jit
def second(p: "*fp32", n: "i32", BLOCK: "tl.constexpr" = 64):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(p + o, o, mask=o < n)
