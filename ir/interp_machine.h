/* interp_machine.h: what the interpreter's files share: the compiled form of a function and the
 * state of a program (private to ir/interp*.c).
 *
 * A function becomes a flat list of steps over numbered slots. A slot holds a whole tile, stored
 * compactly by element type in row-major order (int1 as a byte 0 or 1, pointers as 64-bit
 * addresses). A program is a position in the list, its slots, its loops' counters and its shared
 * memory; nothing of it lives on the host's stack between steps.
 * The hard idea is taint: a lane (element of a tile) whose value must not matter carries the number
 * of its origin, and operations pass it on. It is an error when such a lane comes to matter. */
#ifndef TILE_IR_INTERP_MACHINE_H
#define TILE_IR_INTERP_MACHINE_H

#include "ir/interp.h"
#include "ir/number.h"

typedef struct Run Run;
typedef struct Program Program;
typedef struct Step Step;

/* False: the run ends, with a diagnostic. A step may change the program's position. */
typedef bool StepFn(Run *r, Program *p, const Step *st);

/* One operation over n lanes of a plain element type; mode is the operation's own. */
typedef void LaneFn(void *dst, const void *const *src, int64_t n, int mode);

typedef enum LaneKind {
    LANES_PLAIN,         /* fn works on the elements as they are stored */
    LANES_THROUGH_FLOAT, /* small floats: fn works on floats */
    LANES_CAST,          /* no fn: converted by value, rounding by mode */
    LANES_COPY           /* no fn: the same bits */
} LaneKind;

typedef struct LaneOp {
    LaneKind kind;
    LaneFn *fn;
    int mode;
    Elem elem;     /* of operand 0, as stored; of all operands where kind is THROUGH_FLOAT */
    Elem result;   /* as stored */
    bool may_wrap; /* int32 or narrower arithmetic: look for wrapped lanes */
} LaneOp;

/* Taint numbers: 0 none; ORIGIN_UNINIT set: nobody wrote the value; else an offset that wrapped.
 * The larger of two wins, so being unwritten hides having wrapped. */
enum { ORIGIN_UNINIT = 0x8000, ORIGINS_MAX = 0x7fff };

typedef enum OriginKind { ORIGIN_WRAPPED, ORIGIN_MASKED_OFF, ORIGIN_UNWRITTEN } OriginKind;
typedef struct Origin {
    const Op *op;
    OriginKind kind;
} Origin;

struct Step {
    StepFn *run;
    const Op *op;
    int64_t lanes; /* 0: as many as the combining region is being run on (Program.width) */
    int *src, *dst;
    int nsrc, ndst;
    LaneOp lane;
    int target;         /* jumps: the step to go on with */
    int loop;           /* which counter of the program */
    int param;          /* accesses: the parameter the address comes from; -1: not known */
    const void *detail; /* per kind */
};

typedef struct Tile {
    uint8_t *data;
    uint16_t *taint; /* by lane; room is made when first needed */
    bool tainted;    /* false: what `taint` holds is of no account */
} Tile;

typedef struct SlotInfo {
    size_t bytes;
    int64_t lanes; /* the most that any value in it has */
} SlotInfo;

typedef struct Counter { /* of a for, reduce or scan that is going on */
    int64_t at, len, chunk;
    bool past; /* a for whose next index is beyond its type */
} Counter;

typedef struct SharedBuffer { /* a SHARED_ALLOC */
    const Op *op;
    int64_t at; /* first byte in the program's shared memory */
    int64_t lanes;
    uint32_t *offset_of; /* offset, in elements, of each element; NULL: in row-major order */
    uint16_t number;     /* from 1 */
} SharedBuffer;

/* Per byte of shared memory, since the last barrier; and who wrote it last (0: nobody). */
enum { SHARED_WRITTEN = 1, SHARED_READ = 2 };

struct Program {
    uint32_t id[3];
    int at; /* next step */
    uint64_t steps;
    Tile *tile; /* by slot */
    Counter *counter;
    int64_t width; /* lanes of the steps of a combining region */
    uint8_t *shared, *shared_state;
    uint16_t *shared_owner;
    bool done;
};

struct Run {
    Session *s;
    const InterpLaunch *launch;
    VEC(Step) steps;
    VEC(SlotInfo) slots;
    int ncounters;
    VEC(Origin)
    origins;           /* of both kinds of taint; number n is entry n - 1, without ORIGIN_UNINIT */
    int *param_slot;   /* by parameter; -1: it has no value */
    int *param_buffer; /* by parameter; the buffer its address lies in, -1: none */
    int last_buffer;   /* where the last access was: tried first */
    int64_t shared_bytes;
    int nshared;
};

/* What BROADCAST and TRANS read: result element (i0, i1, …) is operand element sum of i * stride.
 */
typedef struct Strides {
    int rank;
    int64_t dim[TILE_MAX_RANK], stride[TILE_MAX_RANK];
} Strides;

typedef struct DotPlan {
    int64_t batch, m, n, k;
    Elem work; /* what it is computed in: F32, F64 or I32 */
    Precision precision;
    void *a, *b, *part;  /* operands as `work`, and a third of that size for tf32x3 */
    void *sum;           /* the accumulator, when it is not kept as `work` */
    uint16_t *row, *col; /* taint of a row of a, of a column of b */
} DotPlan;

typedef struct Combine { /* a REDUCE or SCAN: tiles seen as [outer, len, inner] */
    int64_t outer, len;
    int inner_log2;
    bool vector; /* its region takes any number of lanes at once */
    bool reverse;
} Combine;

/* How a type is kept: pointers as 64-bit integers. */
static inline Elem stored_elem(Type t) {
    return t.depth ? EL_U64 : (Elem)t.elem;
}
static inline size_t stored_bytes(Type t) {
    return (size_t)elem_info[stored_elem(t)].bytes;
}
static inline int64_t step_width(const Program *p, const Step *st) {
    return st->lanes ? st->lanes : p->width;
}
static inline bool run_checks(const Run *r, unsigned check) {
    return (r->launch->checks & check) != 0;
}

/* interp_compile.c. False after a diagnostic. */
bool interp_compile(Run *r);
enum { INTERP_MAX_DEPTH = 200 }; /* of regions in each other */
/* interp_trace.c. By value id, the parameter a pointer comes from. NULL after a diagnostic. */
int *interp_trace(Run *r);
enum { INTERP_NO_PARAM = -1 };

/* interp.c */
uint16_t *tile_taint(Run *r, Program *p, int slot); /* room for its taint; contents undefined */
uint16_t run_origin(Run *r, const Op *op, OriginKind kind); /* the number of an origin */
int64_t tile_int(const Tile *t, Elem e);                    /* lane 0, sign- or zero-extended */

/* interp_ops.c: elementwise operations. */
bool lane_op_find(const Op *op, LaneOp *out); /* false: op has no such meaning */
void lane_op_run(const LaneOp *op, int noperands, void *dst, const void *const *src, int64_t n);
/* Does any lane of op wrap? Those that do get `origin` unless taint is NULL. */
bool lane_op_wraps(const Op *op, const void *const *src, int64_t n, uint16_t *taint,
                   uint16_t origin);
/* interp_cast.c */
void lane_cast(Elem to, void *dst, Elem from, const void *src, int64_t n, Rounding r);

/* Steps of interp_tile.c, interp_combine.c, interp_memory.c, interp_shared.c and interp.c. Slots
 * of an op's step: src its operands in order, dst its results. */
StepFn step_lanes, step_const, step_arange, step_program_id, step_splat, step_strided, step_dot;
StepFn step_reduce_start, step_reduce_take, step_reduce_keep;
StepFn step_scan_start, step_scan_take, step_scan_keep;
StepFn step_load, step_store;
StepFn step_shared_store, step_shared_load, step_barrier;
StepFn step_copy, step_jump, step_branch, step_for_start, step_for_test, step_for_next, step_return;

/* interp_report.c: each adds one error and returns false. */
typedef enum TaintUse { USED_STORED, USED_ADDRESS, USED_MASK, USED_BRANCH, USED_BOUND } TaintUse;
bool report_taint(Run *r, const Program *p, const Step *st, TaintUse use, uint16_t taint, Type tile,
                  int64_t lane);
bool report_bounds(Run *r, const Program *p, const Step *st, uint64_t address, int64_t lane);
bool report_align(Run *r, const Program *p, const Step *st, uint64_t address, int64_t lane);
bool report_shared(Run *r, const Program *p, const Step *st, const char *what, int64_t byte);
const char *report_program(Run *r, const Program *p); /* "program (1, 0, 0)" */

#endif
