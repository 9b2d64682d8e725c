/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen.h: what the files of codegen/ share: the state of one function's translation.
 *
 * A tile becomes one LLVM value per register of its layout; a scalar one LLVM value. The one
 * convention: register r of a lane holds element layout_apply(layout, {r, lane, warp, 0}). */
#ifndef TILE_CODEGEN_GEN_H
#define TILE_CODEGEN_GEN_H

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/TargetMachine.h>

#include "codegen/codegen.h"
#include "ir/buffer.h"
#include "ir/mma.h"

typedef struct Tile { /* the registers of a value */
    LLVMValueRef *at;
    int n;
} Tile;

typedef struct LanePart { /* the share of lane and warp in a layout's index, made once at entry */
    struct LanePart *next;
    Layout layout; /* registers cleared: equal ones share */
    LLVMValueRef value;
    uint32_t mask; /* bits that may be set */
} LanePart;

typedef enum Intrinsic {
#define INTRINSIC(id, ...) INTRINSIC_##id,
#include "codegen/intrinsics.def"
#undef INTRINSIC
    NINTRINSICS
} Intrinsic;

typedef struct GenHidden { /* how many parameters a launch makes itself, in this order */
    int axes, numbers, policies, maps;
    bool split; /* workspace, mark, the shares of STREAM_K */
} GenHidden;

typedef struct Gen {
    Session *s;
    const Module *m;
    const Func *f;
    const CodegenOptions *o;
    LLVMContextRef c;
    LLVMModuleRef mod;
    LLVMBuilderRef b;     /* where code goes */
    LLVMBuilderRef entry; /* end of the entry block's prologue: lane parts, constants */
    LLVMValueRef func;
    LLVMValueRef shared; /* base of dynamic shared memory */
    LLVMValueRef tid, lane, warp;
    LanePart *parts;
    Tile *tile;                     /* by value id */
    int *run;                       /* by value id: its number in a run of ops (gen_run.c), or 0 */
    int nmaps, nnumbers, npolicies; /* translated so far */
    GenHidden hidden;               /* parameters behind the source's */
    struct {
        const Op *op;
        LLVMValueRef q;
    } divided;                       /* the last op that divided by a branch, and its quotient */
    LLVMBasicBlockRef alone;         /* what the first thread does for all at a program's begin */
    unsigned intrinsic[NINTRINSICS]; /* LLVM's numbers */
    LLVMTypeRef i1, i8, i16, i32, i64, f16, bf16, f32, f64, ptr, ptr_shared;
    int64_t instructions, most; /* made so far; and for one op, */
    const Op *largest;          /* this */
    LLVMDIBuilderRef di;
    LLVMMetadataRef di_file, di_func, di_scope;
    const Source *di_source; /* that di_scope is of */
} Gen;

/* ---- types and values ---- */
LLVMTypeRef gen_elem_type(Gen *g, Type t); /* of one element: i1 i8 … half bfloat float ptr */
LLVMValueRef gen_i32(Gen *g, uint32_t v);
int gen_registers(const Value *v);         /* how many LLVM values hold it in a lane */
Tile gen_new_tile(Gen *g, const Value *v); /* room for them */
Tile gen_tile(Gen *g, const Value *v);     /* those of a value already translated */
LLVMValueRef gen_scalar(Gen *g, const Value *v);
/* LLVM's names of the GPU whose code a target has, and of its PTX version. */
const char *gen_processor(const Target *t);
const char *gen_ptx_feature(const Target *t);
/* Every instruction of the module, in order; visit may replace the one that it is given. */
void gen_each_instruction(Gen *g, void (*visit)(Gen *g, LLVMValueRef v));
void gen_replace(LLVMValueRef v, LLVMValueRef with); /* v is gone then */
/* Makes g->func a kernel of so many threads. For loads in flight ptxas is told that an SM has room
 * for one program, and uses all registers that this one may have; for many programs it is told
 * nothing, but the threads of one that cannot have all of them: told of fewer, it may spill to fit
 * more programs. */
void gen_make_kernel(Gen *g, uint32_t threads);
/* Programs of so many threads that a multiprocessor is to have registers for: one with roles had
 * its stages chosen for so many. */
uint32_t gen_programs(const Gen *g, uint32_t threads);
/* Parameter number i is 128 bytes that the kernel reads where they are: a tensor map. */
void gen_map_param(Gen *g, unsigned i);
/* Once, before anything is compiled: LLVM's back end leaves out what costs more than it gives. */
void gen_leave_passes_out(void);
LLVMCodeGenOptLevel gen_level(void); /* of a back end that optimises */
/* Looks all intrinsics up; an error where LLVM has not all of them. */
bool gen_find_intrinsics(Gen *g);
/* The one that v calls; NINTRINSICS: none of these. */
Intrinsic gen_intrinsic_of(const Gen *g, LLVMValueRef v);
LLVMValueRef gen_intrinsic(Gen *g, Intrinsic which, LLVMTypeRef *overload, int noverload,
                           LLVMValueRef *args, int nargs);
/* Inline PTX with one result of type `ret` (a struct for several, void for none). */
enum GenAsm {
    ASM_ORDERED = 0,   /* may touch memory: keeps its place */
    ASM_PURE = 1,      /* a function of its operands: may be merged and dropped */
    ASM_CONVERGENT = 2 /* all threads of a warp must execute it together */
};
/* All threads of a warp must execute the call together. */
void gen_convergent(Gen *g, LLVMValueRef call);
/* x as it is, behind an optimisation barrier, if it is an integer or float of 16, 32 or 64 bits. */
LLVMValueRef gen_opaque(Gen *g, LLVMValueRef x);
LLVMValueRef gen_asm(Gen *g, const char *text, const char *constraints, LLVMTypeRef ret,
                     LLVMValueRef *args, int nargs, unsigned flags);
void gen_error(Gen *g, Code code, const Op *op, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void gen_op(Gen *g, const Op *op);      /* one op, by the table in gen.c */
void gen_block(Gen *g, const Block *b); /* all ops but the terminator */
void gen_from(Gen *g, const Op *first); /* the same, from this one on */
bool gen_may_be_alone(const Op *op);    /* what one thread does may still be done in front of it */
bool gen_leaves_to_roles(const Gen *g,
                         const Op *op); /* each role of the warps behind it does it (gen_roles.c) */
/* What works register by register, and for some of them: those of its result, or of what it stores,
 * from `from` on. The result has its tile. NULL: op does not. */
typedef void (*GenRange)(Gen *g, const Op *op, int from, int n);
GenRange gen_range_of(const Op *op);
/* The register before i, with one bit less, that has the same operands, as where a row is repeated:
 * what is pure need not be made again for LLVM to merge. -1: none of those. */
int gen_twin(const Tile *in, int operands, int i);

/* ---- layouts (gen_layout.c) ---- */
/* The element index that lane and warp add to a register's: one i32, and the bits it may have. */
LLVMValueRef gen_lane_part(Gen *g, const Layout *l, uint32_t *mask);
/* The flat element index of register r under l, as i32. */
LLVMValueRef gen_index(Gen *g, const Layout *l, int r);
/* True where this lane and warp hold the first replica of what they hold: they own it. NULL when
 * always. */
LLVMValueRef gen_owner_predicate(Gen *g, const Layout *l);
/* True in the thread that accesses memory for all who hold an element of v: it is the first of
 * them, for a scalar thread 0; NULL when always. */
LLVMValueRef gen_owner(Gen *g, const Value *v);
/* A tile in another layout of the same elements: `at` describes, in the element space of `from`,
 * what each hardware index of the result holds. Registers and shuffles only. */
bool gen_move(Gen *g, const Layout *at, const Layout *from, Tile x, Tile *out);

/* x as the lane whose number differs in the bits of `by` has it. */
LLVMValueRef gen_shuffle_xor(Gen *g, LLVMValueRef x, uint32_t by);
/* x as lane number `lane` has it. */
LLVMValueRef gen_shuffle_from(Gen *g, LLVMValueRef x, LLVMValueRef lane);
/* gen_roles.c. Of MAKE_DESC's in order: the parameters behind those of the source. */
/* The hidden parameters' places among all. */
static inline int gen_first_number(const Gen *g) {
    return g->f->nparams + g->hidden.axes;
}
static inline int gen_first_map(const Gen *g) {
    return gen_first_number(g) + g->hidden.numbers + g->hidden.policies;
}
void gen_count_hidden(const Func *f, GenHidden *h); /* maps, policies and numbers */
enum {
    GEN_SPLIT = 2 + STREAM_K_SHARES
}; /* so many parameters has a kernel whose programs share out iterations */

/* ---- groups of ops ---- */
/* Behind an error: op's results are there, and mean nothing. */
void gen_poison(Gen *g, const Op *op);
/* An error: there is no code for op. Its results are there, too. */
void gen_not_yet(Gen *g, const Op *op);
void gen_elementwise(Gen *g, const Op *op, int from, int n);
void gen_cast(Gen *g, const Op *op, int from, int n);
void gen_math(Gen *g, const Op *op, int from, int n);
void gen_load(Gen *g, const Op *op, int from, int n);
void gen_store(Gen *g, const Op *op, int from, int n);
void gen_fragment_store(Gen *g, const Op *op, int from, int n);
void gen_fragment_load(Gen *g, const Op *op, int from, int n);
void gen_fragment_add(Gen *g, const Op *op);
void gen_mbar_fragment_load(Gen *g, const Op *op);
void gen_shared_store(Gen *g, const Op *op);
void gen_shared_load(Gen *g, const Op *op);
void gen_dot(Gen *g, const Op *op);
void gen_atomic(Gen *g, const Op *op);
void gen_map(Gen *g, const Op *op);
void gen_grid(Gen *g, const Op *op);
void gen_atomic_access(Gen *g, const Op *op);
void gen_inline_asm(Gen *g, const Op *op);
void gen_reduce(Gen *g, const Op *op);
void gen_scan(Gen *g, const Op *op);
void gen_shared_gather(Gen *g, const Op *op);
void gen_shared_count(Gen *g, const Op *op);
void gen_join(Gen *g, const Op *op);
void gen_split(Gen *g, const Op *op);
void gen_print(Gen *g, const Op *op);
void gen_assert(Gen *g, const Op *op);
void gen_buffer_slice(Gen *g, const Op *op);
void gen_async_copy(Gen *g, const Op *op);
void gen_async_commit(Gen *g, const Op *op);
void gen_async_wait(Gen *g, const Op *op);
void gen_async_fence(Gen *g, const Op *op);
bool gen_dot_wgmma(Gen *g, const Op *op);
void gen_dot_wait(Gen *g, const Op *op);
void gen_hold_wgmma_constants(Gen *g); /* behind the passes */
void gen_warps(Gen *g, const Op *op);
void gen_barrier(Gen *g, const Op *op);
void gen_cluster(Gen *g, const Op *op);
void gen_cluster_place(Gen *g, const Op *op);
void gen_warp_barrier(Gen *g, const Op *op);
void gen_cluster_barrier(Gen *g, const Op *op);
void gen_order(Gen *g, const Op *op);
LLVMValueRef gen_places(Gen *g, int axis); /* of the grid, of a kernel whose programs stay */
void gen_mbar_init(Gen *g, const Op *op);
void gen_mbar_expect(Gen *g, const Op *op);
void gen_mbar_arrive(Gen *g, const Op *op);
void gen_mbar_wait(Gen *g, const Op *op);
void gen_async_arrive(Gen *g, const Op *op);
void gen_make_desc(Gen *g, const Op *op);
void gen_mbar_desc_load(Gen *g, const Op *op);
void gen_async_desc_store(Gen *g, const Op *op);
void gen_for(Gen *g, const Op *op);
void gen_if(Gen *g, const Op *op);
void gen_while(Gen *g, const Op *op);

/* ---- numbers (gen_number.c, gen_cast.c, gen_fp8.c) ---- */
LLVMValueRef gen_const(Gen *g, Type t, int64_t bits);
LLVMValueRef gen_convert(Gen *g, LLVMValueRef x, Type from, Type to, bool rtz);
/* f16, bf16 and fp8 are widened to f32 where the hardware has no operation of their own. */
LLVMValueRef gen_widen(Gen *g, LLVMValueRef x, Type t);
LLVMValueRef gen_narrow(Gen *g, LLVMValueRef x, Type t);
bool gen_is_fp8(Type t);
/* n elements of fp8 to f16, which holds them all, and from f32; best two at a time. */
void gen_fp8_widen(Gen *g, const LLVMValueRef *x, int n, Elem e, LLVMValueRef *out);
void gen_fp8_narrow(Gen *g, const LLVMValueRef *x, int n, Elem e, bool rtz, LLVMValueRef *out);

/* ---- words (gen_memory.c) ---- */
/* n elements of type t as words of `bits` bits each (8, 16, 32, 64), and back. */
void gen_pack(Gen *g, Type t, const LLVMValueRef *elem, int n, int bits, LLVMValueRef *word);
void gen_unpack(Gen *g, Type t, const LLVMValueRef *word, int bits, LLVMValueRef *elem, int n);

/* ---- shared memory (gen_shared.c) ---- */
/* Where a buffer begins: a pointer of address space 3. */
LLVMValueRef gen_buffer_pointer(Gen *g, const Value *buffer);
typedef struct SharedView { /* a buffer as seen through a layout of registers */
    LLVMValueRef lane;      /* i32 byte offset of lane and warp */
    uint32_t mask;          /* bits the lane's share may have */
    ConversionMap map;
    int elem_log2;
    Packing packing;     /* in bytes */
    LLVMValueRef buffer; /* i32 byte address of the buffer */
    bool moves;          /* a slice of several: addresses are made where they are used */
    struct {
        uint32_t flip;
        LLVMValueRef address;
    } cache[64];
    int ncache;
} SharedView;
bool gen_shared_view(Gen *g, const Value *buffer, const Layout *at, SharedView *view);
/* Pointer (address space 3) to the element that the hardware index's register part `offset` (a
 * shared offset in elements, constant) and this lane have. */
LLVMValueRef gen_shared_pointer(Gen *g, SharedView *view, uint32_t offset);
/* ldmatrix.x4: four matrices of 8 rows of 16 bytes, a lane's row at its offset; a register of each.
 */
void gen_load_matrices(Gen *g, SharedView *view, uint32_t offset, bool trans, LLVMValueRef reg[4]);
/* The elements that the registers of `at` hold, from the buffer of the view, all offsets XOR flip:
 * 2^vec in an access. */
void gen_shared_read(Gen *g, Type t, SharedView *view, const Layout *at, int vec, uint32_t flip,
                     LLVMValueRef *elem);

/* ---- what LLVM's back end does not end with (llvm_bugs.c) ---- */
/* Writes it otherwise, behind LLVM's passes. */
void gen_avoid_llvm_bugs(Gen *g);

/* ---- what ptxas gets wrong (ptxas_bugs.c) ---- */
/* Writes otherwise what ptxas would translate wrongly: behind LLVM's passes, and in the PTX. */
void gen_avoid_ptxas_bugs(Gen *g);
void ptx_avoid_ptxas_bugs(const char *text, size_t len, Buf *out);

/* ---- how much it is (size.c) ---- */
typedef struct SizeMark { /* where the code of an op begins */
    LLVMBasicBlockRef block, end;
    LLVMValueRef op;
    int64_t instructions;
} SizeMark;
/* Around the translation of each op. What is too large is an error, and the session bails out. */
void gen_size_begin(Gen *g, const Op *op, SizeMark *mark);
void gen_size_end(Gen *g, const Op *op, const SizeMark *mark);
/* The same in steps: where code begins that may be of one op or of several, how much was made
 * since, and that all of an op's code is so much. */
void gen_size_mark(Gen *g, SizeMark *mark);
int64_t gen_size_made(Gen *g, const SizeMark *mark);
void gen_size_is(Gen *g, const Op *op, int64_t n);

/* ---- line info (gen_debug.c) ---- */
void gen_debug_begin(Gen *g);
void gen_debug_func(Gen *g);
void gen_debug_at(Gen *g, const Op *op);
void gen_debug_end(Gen *g);

#endif
