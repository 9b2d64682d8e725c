/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* machine.h: what the interpreter's files share: the compiled form of a function and the
 * state of a program (private to ir/interp/).
 *
 * A function becomes a flat list of steps over numbered slots. A slot holds a whole tile, stored
 * compactly by element type in row-major order (int1 as a byte 0 or 1, pointers as 64-bit
 * addresses). A program is a position in the list, its slots, its loops' counters and its shared
 * memory; nothing of it lives on the host's stack between steps.
 * The hard idea is taint: a lane (element of a tile) whose value must not matter carries the number
 * of its origin, and operations pass it on. It is an error when such a lane comes to matter. */
#ifndef TILE_IR_INTERP_MACHINE_H
#define TILE_IR_INTERP_MACHINE_H

#include "ir/interp/interp.h"
#include "ir/number.h"
#include "ir/roles.h"

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
    bool partial;  /* integer division, shifts: some lanes may have no defined result */
} LaneOp;

/* Taint numbers: 0 none; ORIGIN_UNINIT set: nobody wrote or defined the value; else an offset that
 * wrapped. The larger of two wins, so being unwritten hides having wrapped. */
enum { ORIGIN_UNINIT = 0x8000, ORIGINS_MAX = 0x7fff };

typedef enum OriginKind {
    ORIGIN_WRAPPED,
    ORIGIN_MASKED_OFF,
    ORIGIN_UNWRITTEN,
    ORIGIN_UNDEFINED
} OriginKind;
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
    int access;         /* accesses: which of the function's */
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
    uint64_t writes, reads, polls; /* a while: the program's when it last went round */
    uint64_t foreign_reads;
    bool past;         /* a for whose next index is beyond its type */
    uint64_t deadline; /* a poll's (.at: it has begun); UINT64_MAX: none */
} Counter;

typedef struct SharedBuffer { /* a BUFFER_ALLOC */
    const Op *op;
    int64_t at;           /* first byte in the program's shared memory */
    int64_t bytes, lanes; /* of one slice */
    int64_t slices;       /* 1: it is one buffer */
    int64_t stride;       /* bytes from one slice to the next */
    int mbarrier;         /* the number of its first, where it holds barriers */
    uint32_t *offset_of;  /* offset, in elements, of each element; NULL: in row-major order */
    uint8_t *live;        /* of each element: it is there; NULL: all are */
    uint16_t number;      /* from 1 */
    bool of_warps;        /* each has a part of its own */
} SharedBuffer;
static inline bool shared_has(const SharedBuffer *b, int64_t element) {
    return !b->live || b->live[element];
}

typedef enum ProgramState {
    PROGRAM_RUNS,
    PROGRAM_DONE,
    PROGRAM_WAITS,  /* goes round a loop that will do the same until memory changes */
    PROGRAM_YIELDS, /* has gone round one for long, reading: others may go first */
    PROGRAM_BLOCKED /* its strand cannot pass a wait until another has gone on */
} ProgramState;

/* Shared memory, by byte (shared.c). */
typedef struct SharedMemory {
    uint8_t *data;
    uint16_t *owner;   /* the buffer that was written here last; 0: nobody's, or undefined */
    uint16_t *coming;  /* the strand whose copy to it is in flight, from 1; 0: none */
    uint16_t *writer;  /* who wrote last, a component of clocks, … */
    uint32_t *written; /* … and when; 0: nobody did */
    uint32_t **read;   /* by strand: when it last read it; 0: never */
    uint32_t **loaded; /* the same of its threads, not of units that read on their own */
} SharedMemory;

typedef struct AsyncCopy AsyncCopy; /* async.c */
enum { MOST_BUSY = 64 };
typedef struct BusyBytes { /* of shared memory, that an asynchronous dot or store may read */
    int64_t from, to;
    uint64_t group;
    bool store; /* a copy out of it, not a dot, reads it */
} BusyBytes;

/* A role's way through the program, or, number 0, that of all threads outside roles (strand.c).
 *
 * Clocks say what happened before. For each program of a cluster they have a component for each
 * strand and two for each mbarrier, of bulk copies and of others that land there (CLOCK_…); and all
 * these once more: of what fences have made visible to units that read shared memory on their own.
 */
typedef struct Strand {
    int at; /* its next step, while another is going on */
    bool live;
    const Step *blocked;   /* the wait that it cannot pass */
    bool released;         /* from the named barrier that it is blocked at */
    uint32_t *knows, now;  /* a clock: what all its threads know to be done; its own time */
    uint32_t met_in_warps; /* when the threads of each of its warps met last */
    uint32_t settled; /* what threads read of shared memory until then, they have, as a barrier or a
                         fence has it: an arrival alone lets the copy engine come before */
    AsyncCopy *copies; /* in flight, oldest first */
    uint64_t copies_started;
    uint64_t copy_groups, dot_groups, stores; /* committed so far */
    ProgramState state;                       /* why it does not go on */
    BusyBytes busy[MOST_BUSY];
    int nbusy;
} Strand;

typedef struct Mbarrier { /* mbarrier.c */
    const char *name;
    int64_t count, pending; /* arrivals: of a phase, and still to come; count 0: not initialised */
    int64_t bytes;          /* still to come */
    int made_by;            /* who initialised it, a component of clocks, and when */
    uint32_t made, phase;   /* phase: the one that goes on, from 0 */
    uint32_t *arrived, *ended; /* clocks: of who has arrived in it, and of the phases that ended */
    AsyncCopy *copies;         /* that land here, oldest first */
} Mbarrier;

typedef struct NamedBarrier {
    int warps, here;  /* who has to come, and has come */
    uint64_t arrived; /* strands, a bit each */
} NamedBarrier;

/* A vector clock: by program, how much of it happened before; NULL: nothing. Trees that share
 * what they have in common and never change (clock.c). */
typedef struct Clock Clock;

/* What race.c calls the accesses that one operation of one program made at time `clock`. */
typedef struct AccessTag {
    uint32_t tag, clock;
} AccessTag;

struct Program {
    uint32_t id[3];
    uint32_t number; /* in the grid's order */
    int at;          /* next step */
    uint64_t steps;
    ProgramState state;
    uint64_t writes, reads; /* how often it has changed memory, and looked at it */
    uint64_t polls;         /* … by an atomic or a volatile load */
    uint64_t foreign_reads; /* … in memory that other launches write to, too */
    bool foreign;           /* WAITS, YIELDS: it has looked there since it last came by */
    uint64_t seen_changes;  /* WAITS: Run.changes when it began to */
    uint64_t deadline;      /* … when it goes on in any case; UINT64_MAX: never */
    const Step *map;        /* the MAP that is done element by element, at its first step */
    const Op *last_read;    /* the load or atomic it last did */
    Clock *knows;           /* of other programs */
    uint32_t clock;         /* its own time: releases so far, from 1 */
    AccessTag *tag;         /* by access */
    Tile *tile;             /* by slot */
    Counter *counter;
    int64_t width; /* lanes of the steps of a combining region */
    SharedMemory shared;
    Strand *strand;                     /* by role, from 1; 0: all threads */
    int current, idle;                  /* the one that goes on; how many in a row could not */
    Mbarrier *mbarrier;                 /* by number */
    NamedBarrier *named;                /* by id */
    Program *cluster[CLUSTER_PROGRAMS]; /* by rank, itself among them (cluster.c) */
    int rank, first_clock; /* its rank; the first component of clocks that is its own */
    unsigned met;          /* rank 0: which have come to the barrier of all, a bit each */
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
    const Op *roles; /* the function's `warps`; NULL: none */
    int nstrands, nmbarriers;
    int naccesses;        /* operations on memory */
    bool *param_stored;   /* by parameter: a plain STORE goes there */
    bool stores_anywhere; /* some STORE's parameter is not known */
    uint64_t changes;     /* of memory, by anybody */
    int cluster;          /* programs of one */
    uint64_t ended;       /* programs */
    uint64_t now;         /* nanoseconds: time passes only when no program can go on */
    size_t program_bytes;
    AsyncCopy *free_copies;
    struct Races *races; /* NULL: not looked for */
    struct Place *place; /* race.c: where the lanes of one store write */
    int64_t places;
    uint32_t place_round;
};

/* What BROADCAST, TRANS and BUFFER_TRANS read: result element (i0, i1, …) is operand element sum of
 * i * stride. */
typedef struct Strides {
    int rank;
    int64_t dim[TILE_MAX_RANK], stride[TILE_MAX_RANK];
} Strides;
/* Of such an op; and its result, of elements of `size` bytes. */
const Strides *plan_strided(Arena *a, const Op *op);
void strided_copy(const Strides *s, void *dst, const void *src, size_t size);

/* How a product of fp32 is made of products of shorter numbers. */
typedef struct DotSplit {
    int parts;          /* of each operand, largest first; 0: it is not split */
    int dropped;        /* low bits of a float that a part lacks */
    bool nearest;       /* a part is rounded to nearest even, else cut off */
    int products;       /* how many are added */
    uint8_t pair[6][2]; /* which part of a with which of b */
} DotSplit;

typedef struct DotPlan {
    int64_t batch, m, n, k;
    Elem work;             /* what it is computed in: F32, F64 or I32 */
    bool saturates;        /* I32: stops at the ends after each 32 of K */
    const DotSplit *split; /* NULL: not of fp32 */
    void *a, *b;           /* operands as `work`, one part behind the other */
    void *sum;             /* the accumulator, when it is not kept as `work` */
    uint16_t *row, *col;   /* taint of a row of a, of a column of b */
} DotPlan;

typedef struct DescValue { /* what a descriptor's slot holds; strides in bytes */
    uint64_t base;
    int64_t size[TILE_MAX_RANK], stride[TILE_MAX_RANK];
} DescValue;

typedef struct DescTile DescTile; /* desc.c: what a block's access is worked out in */

typedef struct DescPlan { /* of a copy by a descriptor */
    const SharedBuffer *buffer, *barrier;
    DescTile *tile; /* where it is moved at once */
} DescPlan;

typedef struct FragmentPlan FragmentPlan; /* fragment.c */

typedef struct GatherView { /* result and operand seen as [outer, len, inner] */
    int64_t len, from_len, inner;
} GatherView;

typedef struct AtomicPlan { /* what one lane of an ATOMIC does */
    LaneOp lane;
    bool exchange; /* no lane op: the new value is operand 1 */
    bool acquire, release;
} AtomicPlan;

/* One LOAD, STORE or atomic that is going on. */
typedef struct Access {
    Run *r;
    Program *p;
    const Step *st;
    const Tile *address, *mask; /* mask: NULL, all lanes */
    const Tile *value;          /* of an atomic: what memory is combined with */
    Tile *old;                  /* … its old values, if nobody asks; NULL: the step's result */
    Type type;                  /* of the address tile */
    size_t size;                /* of an element */
    int64_t lanes;
} Access;

typedef struct Combine { /* a REDUCE or SCAN: tiles seen as [outer, len, inner] */
    int64_t outer, len;
    int inner_log2;
    bool vector; /* its region takes any number of lanes at once */
    bool reverse;
} Combine;

typedef struct MapPlan { /* a MAP */
    bool vector;         /* its region takes all elements at once */
    int head;            /* the step that takes elements */
    int *results;        /* slots */
} MapPlan;

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

/* compile.c. False after a diagnostic. */
bool interp_compile(Run *r);
enum { INTERP_MAX_DEPTH = 200 }; /* of regions in each other */
/* sched.c. Runs every program of the grid. False after a diagnostic. */
bool interp_schedule(Run *r);
/* clock.c: clocks of `levels` levels, for 16^levels programs. */
enum { CLOCK_MAX_LEVELS = 8 };
uint32_t clock_get(const Clock *c, int levels, uint32_t program);
Clock *clock_set(Arena *a, Clock *c, int levels, uint32_t program, uint32_t value);
Clock *clock_join(Arena *a, Clock *x, Clock *y, int levels); /* by program, the later */
/* Calls fn for each program with a value, in order, until one says false. */
typedef bool ClockFn(void *ctx, uint32_t program, uint32_t value);
bool clock_all(const Clock *c, int levels, ClockFn *fn, void *ctx);

/* race.c: accesses to a buffer of the launch, as bytes from its start. False after the
 * report of a race. RACE_ATOMIC conflicts with plain writes only, as RACE_READ does. */
typedef enum RaceKind { RACE_READ, RACE_ATOMIC, RACE_WRITE } RaceKind;
void races_init(Run *r);
bool races_access(const Access *a, int buffer, uint64_t at, uint64_t bytes, RaceKind kind);
/* Two lanes of one store do not write different values to one address. */
bool races_within(const Access *a, const Tile *value);
void races_acquire(const Access *a, int buffer, uint64_t at); /* an atomic's element, before it */
void races_release(const Access *a, int buffer, uint64_t at); /* … and after it; then once: */
void races_released(const Access *a);

/* plan.c. Sets *detail for op's step where it needs one. NULL, or why it cannot be. */
const char *interp_plan(Run *r, const Op *op, const void **detail);
/* The same of an op that combines elements of memory; its order, where it says none. */
const char *atomic_plan(const Op *op, Elem elem, Sem absent, AtomicPlan *plan);
/* buffers.c. By value id, the buffer that a value names or is a slice of. NULL after a diagnostic.
 */
SharedBuffer **interp_buffers(Run *r);
/* trace.c. By value id, the parameter a pointer comes from. NULL after a diagnostic. */
int *interp_trace(Run *r);
enum { INTERP_NO_PARAM = -1 };

/* interp.c */
Program *program_new(Run *r);
void program_start(Run *r, Program *p, uint32_t x, uint32_t y, uint32_t z); /* at its first step */
uint16_t *slot_taint(Run *r, Program *p, int slot); /* room for its taint; contents undefined */
uint16_t run_origin(Run *r, const Op *op, OriginKind kind); /* the number of an origin */
int64_t first_lane(const Tile *t, Elem e);                  /* lane 0, sign- or zero-extended */

/* memory.c */
Access access_of(Run *r, Program *p, const Step *st, int mask_operand);
/* The next run of good lanes from *i on: its first byte and its length, at most `most`. *b is
 * NULL for a run that is to be skipped, when bounds are not checked. False: an error, or past
 * the end with *n 0. */
bool access_next_run(const Access *a, int64_t *i, int64_t most, int64_t *n, const InterpBuffer **b,
                     uint8_t **at);
/* Marks lanes of the result; the rest of the tile is sound unless it was marked before. */
void access_mark(const Access *a, int64_t from, int64_t n, OriginKind kind);
bool access_load(const Access *a, Tile *d); /* into d, which holds what it gives elsewhere */
bool access_store(const Access *a, const Tile *value);
/* atomic.c */
bool access_atomic(const Access *a, const AtomicPlan *plan);

/* desc.c */
Type desc_pointer_type(const Op *op); /* of the pointers that a block stands for */
const char *desc_plan(Arena *a, const Op *op, DescTile **plan);
/* Writes the block out of shared memory, or combines it with what is there. */
bool desc_store_block(Run *r, Program *p, const Step *st, const DescPlan *plan);
/* Scalar operands from `first` on may be relied on; else false after a report. */
bool desc_scalars_known(Run *r, const Program *p, const Step *st, int first);
/* The copy engine takes such a tensor; else false after a report. */
bool desc_fits_engine(Run *r, const Program *p, const Step *st, const DescValue *d);
/* The addresses of a block, and which of its elements the tensor has along the dimensions checked.
 */
void desc_block(const Program *p, const Step *st, uint32_t checked, int64_t lanes,
                uint64_t *address, uint8_t *active);

/* math.c: functions of one and of two floats. */
typedef double MathFn(double x);
typedef double MathFn2(double x, double y);
MathFn *math_fn(int64_t func);   /* NULL: no such function */
MathFn2 *math_fn2(int64_t func); /* of either */

/* ops.c: elementwise operations. */
bool rounded_lane_op(const Op *op, LaneOp *out);   /* rounded.c: of an OP_ROUNDED */
bool lane_op_find(const Op *op, LaneOp *out);      /* false: op has no such meaning */
bool lane_op_of(OpCode code, Elem e, LaneOp *out); /* likewise, of plain arithmetic on elements e */
void lane_op_run(const LaneOp *op, int noperands, void *dst, const void *const *src, int64_t n);
/* The same of lanes whose result is not defined. */
bool lane_op_undefined(const Op *op, const void *const *src, int64_t n, uint16_t *taint,
                       uint16_t origin);
/* Does any lane of op wrap? Those that do get `origin` unless taint is NULL. */
bool lane_op_wraps(const Op *op, const void *const *src, int64_t n, uint16_t *taint,
                   uint16_t origin);
/* cast.c */
void lane_cast(Elem to, void *dst, Elem from, const void *src, int64_t n, Rounding r);

/* Steps. Slots of an op's step: src its operands in order, dst its results. */
StepFn step_lanes, step_const, step_arange, step_program_id, step_splat, step_strided, step_dot;
StepFn step_reduce_start, step_reduce_take, step_reduce_keep;
StepFn step_map_start, step_map_take, step_map_keep;
StepFn step_scan_start, step_scan_take, step_scan_keep, step_scan_finish;
StepFn step_load, step_store, step_atomic, step_atomic_cas, step_atomic_load, step_atomic_poll;
StepFn step_fragment_store, step_fragment_load, step_fragment_add, step_launch_value;
StepFn step_mbar_fragment_load;
const void *fragment_plan(Arena *a, const Op *op);
const void *fragment_add_plan(Arena *a, const Op *op, const SharedBuffer *buffer);
StepFn step_join, step_split, step_gather, step_histogram, step_hint;
GatherView gather_view(const Op *op);
/* Which element lane i of a gather takes, by its index. False after an error. */
bool gather_from(Run *r, const Program *p, const Step *st, const GatherView *v, int64_t i,
                 int64_t *from);
/* The bin that element i of operand `first` counts in, -1: none; *worst becomes its taint if that
 * is more. False after an error. */
bool histogram_bin(Run *r, const Program *p, const Step *st, int first, int64_t i, int64_t *bin,
                   uint16_t *worst);
StepFn step_print, step_assert, step_inline_asm;
StepFn step_shared_store, step_shared_load, step_shared_gather, step_shared_count;
StepFn step_nothing, step_copy, step_jump, step_branch, step_for_start, step_for_test,
    step_for_next, step_return;
StepFn step_single_cta, step_buffer_slice, step_buffer_view, step_async_copy, step_token_done,
    step_async_commit, step_async_wait, step_async_fence, step_async_arrive;
StepFn step_async_dot, step_dot_wait;
StepFn step_make_desc, step_desc_load, step_desc_store, step_desc_reduce;
StepFn step_async_desc_load, step_mbar_desc_load, step_async_desc_store;
int64_t shared_base(const Program *p, const Step *st, const SharedBuffer *b, int i);
AsyncCopy *async_copy_free(Run *r, AsyncCopy *c); /* its successor */
void async_dot_reads(Program *p, int64_t from, int64_t bytes);
/* The oldest copy, or arrival behind copies, that is in flight to the barrier comes to it. False
 * after a diagnostic. */
bool async_land_at(Run *r, Program *p, const Step *st, int barrier);
void async_drop_copies(Run *r, AsyncCopy **list);
/* The copy engine is done with the program's shared memory; else false after a report. */
bool async_all_awaited(Run *r, const Program *p, const Step *st);

/* shared.c */
SharedMemory shared_new(Arena *a, size_t bytes, int strands);
void shared_clear(const Run *r, Program *p);
/* Nothing may be in the way when the bytes come of an asynchronous copy that p starts, to its own
 * shared memory or another's of its cluster, which may be at once; from now on they are coming. */
bool shared_claim(Run *r, Program *p, const Step *st, Program *to, int64_t from, int64_t bytes);
/* Bytes from `at` on are there: written by a component of clocks at that time. */
void shared_landed(Program *p, const SharedBuffer *b, int64_t at, int64_t bytes, int writer,
                   uint32_t time);
/* So many elements that operand 1, the buffer, holds, in row-major order: those that are marked;
 * NULL: what lies one behind the other from its begin. */
bool shared_take(Run *r, Program *p, const Step *st, const SharedBuffer *b, size_t size,
                 int64_t lanes, const uint8_t *marked, uint8_t *to);
/* A byte for each element of a tile of type t: it is one that matters by the op's LIVE. */
uint8_t *live_elements(Arena *a, const Op *op, Type t);
void shared_read_by(Program *p, int64_t from, int64_t bytes); /* the strand, now */

/* strand.c: who knows what of whom, and who goes on. */
StepFn step_barrier, step_roles, step_role_end;
static inline Strand *strand_of(Program *p) {
    return &p->strand[p->current];
}
/* of: a component of clocks. */
static inline bool strand_knows(const Program *p, int of, uint32_t time) {
    return p->strand[p->current].knows[of] >= time;
}
static inline int clock_of_strand(const Program *p, int strand) {
    return p->first_clock + strand;
}
static inline int clock_of_mbarrier(const Run *r, const Program *p, int barrier, bool bulk) {
    return p->first_clock + r->nstrands + 2 * barrier + bulk;
}
static inline int clock_of_program(const Run *r) { /* how many components it has */
    return r->nstrands + 2 * r->nmbarriers;
}
static inline int clock_components(const Run *r) {
    return r->cluster * clock_of_program(r);
}
void clock_max(uint32_t *into, const uint32_t *from, const Run *r);
/* What a strand's threads pass on when all of them have come here; then its time goes on. */
void strand_release(const Run *r, Program *p, uint32_t *into);
int strand_warps(const Run *r, const Program *p);
void strands_new(Run *r, Program *p);
void strands_start(Run *r, Program *p);
/* The strand cannot go on: it will try this step again when others have. */
void strand_block(Program *p, const Step *st);
/* Another strand goes on. False: none can; the state says whether the program may be set aside, or
 * there is a diagnostic. */
bool strand_switch(Run *r, Program *p);
/* What each of its strands waits for, the first as an error. */
bool strands_report(Run *r, Program *p, bool first);
const char *strand_name(Run *r, int strand); /* its role's; NULL: none */

/* mbarrier.c */
StepFn step_mbar_init, step_mbar_expect, step_mbar_arrive, step_mbar_wait;
StepFn step_order_wait, step_order_arrive;
bool mbarrier_bytes(Run *r, Program *p, const Step *st, int barrier, int64_t bytes);
bool mbarrier_arrive(Run *r, Program *p, const Step *st, int barrier, int64_t n,
                     const uint32_t *clock);
/* The barrier that operand i names, of `of`, p or another of its cluster; -1 after a diagnostic: it
 * is not one that may be used yet. */
int mbarrier_number(Run *r, Program *p, const Step *st, const Program *of, const SharedBuffer *b,
                    int i);
const char *mbarrier_text(Run *r, const Program *p, const Step *st); /* what a wait waits for */
StepFn step_while_next;                                              /* sched.c */

/* cluster.c: programs that reach into each other's shared memory. */
StepFn step_cluster_value, step_cluster_place, step_cluster_barrier;
StepFn step_warp_barrier;
void cluster_join(const Run *r, Program *const *programs);
/* The program of p's cluster that has this rank; NULL after a report: there is none any more. */
Program *cluster_program(Run *r, Program *p, const Step *st, int64_t rank);

/* report.c: each adds one error and returns false. */
typedef enum TaintUse {
    USED_STORED,
    USED_ADDRESS,
    USED_MASK,
    USED_BRANCH,
    USED_BOUND,
    USED_COMPARED,
    USED_ASSERTED
} TaintUse;
/* combine.c: a branch depends on what is not defined. Of a MAP's element nothing is known then,
 * else it is an error. */
bool branch_unknown(Run *r, Program *p, const Step *st, TaintUse use, uint16_t taint, Type tile);
bool report_taint(Run *r, const Program *p, const Step *st, TaintUse use, uint16_t taint, Type tile,
                  int64_t lane);
bool report_bounds(Run *r, const Program *p, const Step *st, uint64_t address, int64_t lane);
bool report_align(Run *r, const Program *p, const Step *st, uint64_t address, int64_t lane);
bool report_bin(Run *r, const Program *p, const Step *st, Type tile, int64_t value, int64_t lane);
bool report_shared(Run *r, const Program *p, const Step *st, const char *what, int64_t byte);
bool report_endless(Run *r, const Program *p, const Step *st); /* a while that changes nothing */
bool report_race(const Access *a, RaceKind kind, const InterpBuffer *b, uint64_t at,
                 const Op *other, uint32_t other_program);
bool report_twice(const Access *a, int64_t lane, int64_t other); /* two lanes write to one place */
/* more: programs of the grid that there is no room to start. */
bool report_deadlock(Run *r, Program *const *waiting, int n, bool more);
const char *report_program(Run *r, const Program *p); /* "program (1, 0, 0)" */
/* "program (1, 0, 0), tile index [6, 0]"; scalars have no index. */
const char *report_place(Run *r, const Program *p, Type tile, int64_t lane);

#endif
