# A heuristic that asks for what only a launch can tell.
# RUN: tilec --emit=tir %s -o - -s 'x_ptr=*fp32,K=i32'
import triton
import triton.language as tl


# error@+1: heuristic 'ONE' needs the value of 'K', known at launch only
@triton.heuristics({
    "ONE": lambda args: args["K"] == 1,  # not False: K may be 1
    "GIVEN": lambda args: args["K"] is not None and args["x_ptr"] is not None})
# error@+2: 'kernel' has no parameter 'M'
# error@+1: heuristic 'EVEN_K' needs the value of 'K', known at launch only
@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BLOCK"] == 0, "OTHER": lambda args: args["M"]})
@triton.jit
def kernel(
        x_ptr, K,
        GIVEN: tl.constexpr,
        ONE: tl.constexpr,
        EVEN_K: tl.constexpr,  # note: the value of this constexpr; -D EVEN_K=VALUE gives it one
        OTHER: tl.constexpr,  # note: the value of this constexpr; -D OTHER=VALUE gives it one
        BLOCK: tl.constexpr = 64):
    tl.store(x_ptr, 1.0)
