/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ir.h: tile IR, what a kernel is between the front end and LLVM.
 *
 * SSA with structured regions. A Module holds kernels (Func); a Func holds one Block; a Block holds
 * Ops in order; an Op has operands (uses of Values), results (Values), attributes and regions (each
 * one Block with arguments, ended by a terminator). Every value is typed; tiles may carry a Layout
 * once layouts are assigned. What an op means is ops.def's last column and, exactly, interp.c.
 * Nothing here is freed: all nodes live in the session's arena. */
#ifndef TILE_IR_IR_H
#define TILE_IR_IR_H

#include "base/session.h"
#include "ir/layout.h"
#include "ir/options.h"
#include "ir/type.h"

typedef enum OpCode {
#define OP(id, text, operands, attrs, result, traits, effects, doc) OP_##id,
#include "ir/ops.def"
#undef OP
    OPS
} OpCode;

enum OpTraits { /* letters of ops.def */
                TRAIT_C = 1,
                TRAIT_E = 2,
                TRAIT_S = 4,
                TRAIT_K = 8,
                TRAIT_T = 16
};
typedef enum ResultRule {
    RESULT_NONE,
    RESULT_ARG0,
    RESULT_ARG1,
    RESULT_ARG2,
    RESULT_BOOL0,
    RESULT_POINTEE0,
    RESULT_GIVEN,
    RESULT_MANY
} ResultRule;

typedef enum AttrId {
#define ATTR(id, text, kind, doc) AT_##id,
#include "ir/attrs.def"
#undef ATTR
    ATTRS
} AttrId;
typedef enum AttrKind { ATTR_INT, ATTR_BITS, ATTR_WORD, ATTR_DIMS, ATTR_TEXT } AttrKind;

typedef struct OpInfo {
    const char *text, *operands, *attrs;
    ResultRule result;
    unsigned traits, effects; /* effects: see effects.h */
    const char *doc;
} OpInfo;
extern const OpInfo op_info[OPS];
typedef struct AttrInfo {
    const char *text;
    AttrKind kind;
} AttrInfo;
extern const AttrInfo attr_info[ATTRS];
/* A loop's schedule is in attributes of the ops of its body, whatever these are. */
static inline bool attr_is_of_schedule(AttrId id) {
    return id == AT_STAGE || id == AT_CLUSTER || id == AT_ROLE;
}
const char *const *attr_words(AttrId id); /* for ATTR_WORD: the names, NULL at the end */

typedef enum Pred { PRED_EQ, PRED_NE, PRED_LT, PRED_LE, PRED_GT, PRED_GE } Pred;
typedef enum MathFunc {
#define MATH(id, text, doc) MATH_##id,
#include "ir/math.def"
    MATHS
} MathFunc;
typedef enum MathFunc2 {
#define MATH2(id, text, doc) MATH2_##id,
#include "ir/math.def"
    MATH2S
} MathFunc2;
/* What an OP_ROUNDED computes, and which way it rounds. */
typedef enum Arith { ARITH_ADD, ARITH_MUL, ARITH_DIV, ARITH_FMA, ARITH_SQRT, ARITH_CVT } Arith;
typedef enum Direction { TOWARD_ZERO, DOWNWARD, UPWARD } Direction;
static inline int arith_operands(int64_t a) {
    return a == ARITH_FMA ? 3 : a == ARITH_SQRT || a == ARITH_CVT ? 1 : 2;
}
typedef enum Rmw {
    RMW_ADD, /* floats too */
    RMW_MAX,
    RMW_MIN,
    RMW_AND,
    RMW_OR,
    RMW_XOR,
    RMW_XCHG
} Rmw;
typedef enum Sem { SEM_ACQ_REL, SEM_RELAXED, SEM_ACQUIRE, SEM_RELEASE } Sem;
typedef enum MemScope { SCOPE_GPU, SCOPE_CTA, SCOPE_SYS } MemScope;
typedef enum Precision {
    PRECISION_TF32,
    PRECISION_TF32X3,
    PRECISION_IEEE,
    PRECISION_BF16X3,
    PRECISION_BF16X6
} Precision;
typedef enum CacheMod {
    CACHE_NONE,
    CACHE_CA,
    CACHE_CG,
    CACHE_CS,
    CACHE_CV,
    CACHE_WB,
    CACHE_WT
} CacheMod;
typedef enum Evict { EVICT_NONE, EVICT_FIRST, EVICT_LAST } Evict;
typedef enum Padding { PADDING_ZERO, PADDING_NAN } Padding;
typedef enum StreamKShare {
    STREAM_K_PLACES,
    STREAM_K_FIRST,
    STREAM_K_SHARE,
    STREAM_K_SHARES
} StreamKShare;
enum { MOST_CLOCKS = 1 << 30 }; /* that a STREAM_K says of an iteration, or a part */

typedef struct Op Op;
typedef struct Block Block;
typedef struct Value Value;

typedef struct Use { /* one operand of one op, linked into its value's list of uses */
    Value *value;
    Op *op;
    struct Use *next, *prev;
} Use;

struct Value {
    Type type;
    const Layout *layout; /* NULL until assigned; always NULL for scalars */
    const char *name;     /* hint for printing, or NULL */
    Op *def;              /* NULL for block arguments and parameters */
    Block *block;         /* for block arguments and parameters: whose */
    int index;            /* which result or argument */
    uint32_t id;          /* unique in its function: for side tables */
    Use *uses;            /* in no particular order */
};

typedef struct Attr {
    AttrId id;
    int64_t i;                   /* INT, WORD, BITS */
    uint8_t dims[TILE_MAX_RANK]; /* DIMS */
    uint8_t ndims;
    const char *text; /* TEXT; NUL-terminated */
} Attr;

struct Block {
    Op *first, *last;
    Op *parent; /* NULL for the body of a function */
    Value **args;
    int nargs;
};

struct Op {
    OpCode code;
    Span span;
    uint32_t listed; /* its line in what ir_print_listing printed last; 0: in nothing */
    int made_in;     /* the session's step then: 0 lowering or parsing, else a pass, from 1 */
    Op *prev, *next;
    Block *block; /* NULL once erased */
    Use *operand; /* noperands of them, each with .op == this */
    int noperands;
    Value **result;
    int nresults;
    Attr *attr;
    int nattrs;
    Block **region;
    int nregions;
};

/* How large an integer argument is at the launch that is compiled for: whether neighbours that it
 * is the distance of may lie near each other. A guide to the order of elements: it may come to be
 * wrong. */
typedef enum ParamSize { SIZE_UNKNOWN, SIZE_SMALL, SIZE_LARGE } ParamSize;
enum { SIZE_LARGE_LEAST = 16 };

static inline ParamSize param_size(int64_t v) {
    return v > -SIZE_LARGE_LEAST && v < SIZE_LARGE_LEAST ? SIZE_SMALL : SIZE_LARGE;
}

typedef struct Param {
    Value *value; /* NULL when specialised away (`const_value` or None) */
    const char *name;
    Type type;
    int divisible; /* promised multiple: bytes for a pointer's address, value for an integer; 1:
                      nothing */
    bool is_one;   /* `:1`: the argument is promised to be 1 (value is a CONST op then) */
    bool is_none;  /* a pointer given as None: stays in the list, ignored */
    ParamSize size;
    bool size_asked; /* the order of some tile went by `size` */
    Span span;
} Param;

typedef struct ConstexprInfo { /* for the manifest */
    const char *name;
    const char *json; /* its value as JSON text */
} ConstexprInfo;

/* Func.occupancy; 0: not chosen yet, which code generation takes for OCCUPANCY_LOADS. */
typedef enum Occupancy { OCCUPANCY_LOADS = 1, OCCUPANCY_PROGRAMS = 2 } Occupancy;

typedef struct Func {
    struct Func *next;
    const char *name;
    Span span;
    Param *param; /* source order, all non-constexpr parameters */
    int nparams;
#define FUNC_NUMBER(type, field, ...) type field;
#define FUNC_TEXT(field, ...) const char *field; /* or NULL */
#define FUNC_TEXTS(field, text, most, is, doc) const char *field[most];
#define FUNC_NAMED_JSON(field, count, ...)                                                         \
    ConstexprInfo *field;                                                                          \
    int count;
#include "ir/func_attrs.def"
    Block *body;
    uint32_t listed;  /* as Op.listed */
    Op *roles;        /* the last WARPS that was made; see roles_of */
    uint32_t nvalues; /* ids below this are in use */
} Func;

typedef struct Module {
    Session *session;
    Func *funcs;
    Source source;   /* for spans; text may be NULL */
    bool own_source; /* spans are places in the tile IR that was parsed: they are not printed */
} Module;

/* ---- building ---- */
typedef struct Builder {
    Session *s;
    Func *f;
    Block *block; /* where new ops go */
    Op *before;   /* new ops go before this one; NULL: at the end of block */
    Span span;    /* given to new ops */
} Builder;

Module *ir_module(Session *s);
Func *ir_func(Module *m, const char *name);           /* appended, with an empty body */
Value *ir_param(Session *s, Func *f, const Param *p); /* appends a parameter; its value is new */
Block *ir_block(Session *s, Op *parent);
Value *ir_block_arg(Session *s, Func *f, Block *b, Type t, const char *name);
/* The general constructor: results' types are given; the op is inserted and returned. */
Op *ir_op(Builder *b, OpCode code, Value *const *operands, int noperands, const Type *results,
          int nresults, int nregions);
/* What op is, with its attributes, of other operands and types: results has op->nresults entries,
 * NULL: op's own; regions are empty. */
Op *ir_op_like(Builder *b, const Op *op, Value *const *operands, int noperands,
               const Type *results);
/* for i from lo while below hi by step, with n values carried. Its body, which is empty, has the
 * arguments (i, carried…); these and the results have types, layouts and names of init. */
Op *ir_for(Builder *b, Value *lo, Value *hi, Value *step, Value *const *init, int n);
/* The same loop, before it, that carries n values more: it has its attributes and its body, whose
 * end is to be extended. The old one is left empty, its results used as they were. */
Op *ir_for_more(Session *s, Func *f, Op *loop, Value *const *more, int n);
/* The same, in its place: what used the old one's results uses the new one's. */
Op *ir_for_widen(Session *s, Func *f, Op *loop, Value *const *more, int n);
/* The same branch, in its place, with n results more, of these types: its regions' ends are to be
 * extended. What used the old one's results uses the new one's. */
Op *ir_if_widen(Session *s, Func *f, Op *branch, const Type *more, int n);
/* The end of a region hands these on, too. */
void ir_yield_more(Session *s, Func *f, Op *yield, Value *const *more, int n);
/* One result; its type by the op's result rule (not for GIVEN and MANY). */
Value *ir_op1(Builder *b, OpCode code, Value *const *operands, int noperands);
Value *ir_unary(Builder *b, OpCode code, Value *x);
Value *ir_binary(Builder *b, OpCode code, Value *x, Value *y);
Value *ir_given(Builder *b, OpCode code, Value *x, Type result); /* SPLAT BROADCAST RESHAPE CAST… */
Value *ir_const_bits(Builder *b, Type t, int64_t bits);          /* see ATTR kind BITS */
Value *ir_const_int(Builder *b, Type t,
                    int64_t v); /* t integer, pointer (v = 0) or float (exact) */
Value *ir_const_float(Builder *b, Type t, double v); /* t float; rounded to nearest even */
Value *ir_cmp(Builder *b, Pred p, Value *x, Value *y);
void ir_set_attr(Session *s, Op *op, AttrId id, int64_t v);
void ir_set_text(Session *s, Op *op, AttrId id, const char *text); /* kept by pointer */
void ir_set_dims(Session *s, Op *op, AttrId id, const int *dims, int n);
void ir_copy_attr(Session *s, const Op *from, Op *to, AttrId id); /* if from has it */
const Attr *ir_attr(const Op *op, AttrId id);                     /* NULL when absent */
int64_t ir_attr_int(const Op *op, AttrId id, int64_t absent);
void ir_drop_attr(Op *op, AttrId id); /* if it is there */

/* ---- changing ---- */
void ir_set_operand(Op *op, int i, Value *v);
void ir_replace_uses(Value *old, Value *with); /* every use of old becomes a use of with */
void ir_erase(Op *op); /* unlinks op and its regions; results must be unused */
void ir_move_before(Op *op, Op *where);
void ir_swap_regions(Op *a, Op *b); /* of two ops with as many; neither copies anything */
void ir_append(Block *b, Op *op);   /* op must be unlinked or is moved */
bool ir_has_uses(const Value *v);
bool ir_inside(const Op *op, const Op *ancestor); /* op lies in a region of ancestor */
/* v is there before the op is done, or after it: it is neither made in a region of op nor an
 * argument of one. Of a loop: v is invariant. */
bool ir_defined_outside(const Value *v, const Op *op);
/* Calls fn for every op, outer before inner, in order. fn may erase the op it is given. */
void ir_walk(Block *b, void (*fn)(Op *op, void *ctx), void *ctx);
/* Calls fn for each pair of values the first of which goes on as the second through op, a loop, a
 * branch or a choice: into its regions, round, and out. */
typedef void FlowFn(Value *from, Value *to, void *ctx);
void ir_each_flow(const Op *op, FlowFn *fn, void *ctx);
/* Which ways of branches an op is in, the outermost first, of those whose conditions no loop
 * changes: a program never comes to ops in another way of a branch on one of these values, each of
 * which is there once. */
enum { MOST_WAYS = 4 };
typedef struct BranchWays {
    int n;
    const Value *on[MOST_WAYS];
    int way[MOST_WAYS];
} BranchWays;
BranchWays ir_ways_of(const Op *op);
bool ways_exclude(const BranchWays *a, const BranchWays *b);
bool ways_equal(const BranchWays *a, const BranchWays *b);
/* Those that are in both. */
BranchWays ways_of_both(const BranchWays *a, const BranchWays *b);
/* A copy of op (regions included) at the builder's place; map[id of value] gives replacements for
 * operands and is extended with the copies' results. map has map_size entries, NULL: itself. */
Op *ir_clone(Builder *b, const Op *op, Value **map, uint32_t map_size);
/* A copy of the kernel, behind it in the module. */
Func *ir_clone_func(Module *m, Func *f, const char *name);
/* The same of a region's arguments and ops, into one that is empty. */
/* if cond: a copy of the loop, which it gives; else: the loop. map: of all values, as ir_clone has
 * it, or NULL. */
Op *ir_version(Session *s, Func *f, Op *loop, Value *cond, Value **map);
void ir_clone_region(Builder *b, const Block *from, Block *to);
static inline Value *ir_operand(const Op *op, int i) {
    return i < op->noperands ? op->operand[i].value : NULL;
}
static inline bool op_is(const Value *v, OpCode c) {
    return v->def && v->def->code == c;
}
static inline unsigned op_traits(const Op *op) {
    return op_info[op->code].traits;
}
/* Starts a copy into a buffer, of which it gives a token. */
static inline bool op_is_async_copy(const Op *op) {
    return op->code == OP_ASYNC_COPY || op->code == OP_ASYNC_DESC_LOAD;
}
/* Starts one out of a buffer, of which it gives a token. */
static inline bool op_is_async_store(const Op *op) {
    return op->code == OP_ASYNC_DESC_STORE || op->code == OP_ASYNC_DESC_REDUCE;
}
/* Decides whether, or how often, what its regions hold is done. */
static inline bool op_is_control_flow(const Op *op) {
    return op->code == OP_FOR || op->code == OP_IF || op->code == OP_WHILE || op->code == OP_WARPS;
}
/* What v only repeats or holds otherwise: a scalar, a constant, or a tile that is made of more. */
Value *ir_repeated(const Value *v);
/* A constant of 0 bits, in every element. */
bool ir_is_zero(const Value *v);
/* Value of a CONST of integer type, through splat and broadcast. */
bool ir_int_constant(const Value *v, int64_t *out);
/* A tile of two dimensions with these exchanged, called as it is. */
Value *ir_trans(Builder *b, Value *v);
/* The dimension of a trans's result that its operand's dim is. */
int ir_trans_dim(const Op *trans, int dim);

/* ---- text ---- */
void ir_print(const Module *m, Buf *out); /* the whole module; ir_parse reads it back */
/* The module without places, for people, into a buffer that is empty: each op is told its line. */
void ir_print_listing(Module *m, Buf *out);
/* Reads tile IR. NULL after diagnostics. Keeps `source` lines if the text carries them. */
Module *ir_parse(Session *s, const char *text, size_t len);
/* NULL when sound; else one sentence, in the session's arena, with the op's span in *where. */
const char *ir_verify(Session *s, const Func *f, Span *where);
/* The first op in b, or in a region of it, that works on more than scalars or does more than
 * compute (it may not end); NULL: there is none. */
const Op *ir_not_scalar_code(const Block *b);
/* verify_shape.c: why the result, or the buffer of SHARED_COUNT, cannot have its type; NULL: it
 * can. */
const char *ir_shape_error(Session *s, const Op *op);
/* verify_access.c: what is wrong with how op says that it accesses memory; NULL: nothing. */
const char *ir_access_error(Session *s, const Op *op);
/* The same of a load's or store's cache modifier. */
const char *ir_cache_error(Session *s, const Op *op, bool load);
/* Whether a value of this type can be an operand that ops.def has this letter for. */
bool ir_letter_fits(char letter, Type t);

/* ---- numbers ---- */
/* Element bits <-> double, for every float element type. Rounds to nearest even, as the GPU's
 * conversions do; the fp8 types saturate (satfinite), as their hardware conversions do. */
double elem_to_double(Elem e, uint64_t bits);
uint64_t elem_from_double(Elem e, double v);
/* Wraps v to the element type: sign- or zero-extended to 64 bits. */
int64_t elem_wrap(Elem e, int64_t v);

#endif
