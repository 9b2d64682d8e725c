# Every type that a signature can name, pointers to pointers, and questions to a dtype.
# RUN: tilec --emit=tir %s -o - -D WIDE=tl.float32 -s 'list_ptr=**fp16:16,i8p=*i8,u8p=*u8,f8=*fp8e5,n=i64,m=u16,flag=i1,alpha=fp64,half=fp16,const_ptr=*kfp32'
# CHECK: ptr<ptr<f16>>
# CHECK: store
import triton
import triton.language as tl


@triton.jit
def widen(x, TO: tl.constexpr):
    if x.dtype.is_floating():
        if x.dtype.primitive_bitwidth < TO.primitive_bitwidth:
            return x.to(TO)
        return x
    elif x.dtype == tl.int1 or x.dtype.is_int():
        return x.to(tl.int32).to(TO)
    else:
        tl.static_assert(False, "no number")


@triton.jit
def kernel(list_ptr, i8p, u8p, f8, n, m, flag, alpha, half, const_ptr, WIDE: tl.constexpr):
    o = tl.arange(0, 32)
    ptr = tl.load(list_ptr + n).to(tl.pointer_type(tl.float16))
    x = widen(tl.load(ptr + o), WIDE)
    x += widen(tl.load(i8p + o), WIDE) + widen(tl.load(u8p + o), TO=WIDE)
    x += widen(tl.load(f8 + o), WIDE) * widen(half, WIDE)
    if flag:
        x += tl.load(const_ptr + o)
    y = (x.to(tl.float64) * alpha).to(ptr.dtype.element_ty)
    z = y.to(tl.int16, bitcast=True) if m > 3 else tl.zeros_like(o).to(tl.int16)
    tl.store(ptr + o, z.to(tl.float16, bitcast=True), mask=o < m)
