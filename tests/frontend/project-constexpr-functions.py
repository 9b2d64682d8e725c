# Compile-time helpers, assertions, f-strings and tuples of everything.
# RUN: tilec --emit=tir %s -o - -D WIDTHS=8
# CHECK: note: sizes: 8 16 of fp32
# CHECK: arange start=0 end=16
# CHECK: store
import triton
import triton.language as tl


@triton.constexpr_function
def widths(n):
    out = [n]
    while out[-1] < 16:
        out.append(out[-1] * 2)
    return tuple(out)


@triton.jit
def total(parts):
    result = parts[0]
    for i in tl.static_range(1, len(parts)):
        result += parts[i]
    return result


@triton.jit
def kernel(p: "*fp32", WIDTHS: tl.constexpr):
    sizes: tl.constexpr = widths(WIDTHS)
    tl.static_assert(len(sizes) == 2, f"{sizes} has not two entries")
    tl.static_print("sizes:", sizes[0], sizes[1], "of", p.dtype.element_ty)
    assert sizes[-1] == 16
    o = tl.arange(0, sizes[1])
    x, (y, _) = tl.load(p + o), (o, None)
    parts = (x, y) + (x,) * 2
    tl.store(p + o, total(parts) + total([v * 2 for v in parts[1:3]]))
