/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* warp_specialize.h: what warp_specialize.c, warp_groups.c, warp_room.c and warp_stores.c share:
 * the groups of blocks that come, the blocks that go, and the turn of their stages. */
#ifndef TILE_PASSES_WARP_SPECIALIZE_H
#define TILE_PASSES_WARP_SPECIALIZE_H

#include "ir/roles.h"
#include "passes/pass.h"

enum { TRANSPOSERS = 4 }; /* warps that transpose blocks: a warpgroup, with registers of its own */
enum { MOST_GROUPS = 8, MOST_DOTS = 4, MOST_STORES = 4, STORE_PARTS = 4, LEAST_STAGES = 2 };

enum { MOST_VIA = 4 };
typedef struct Loaded { /* a dot's operand, by a load and ops that move whole dimensions */
    Op *load, *via[MOST_VIA];
    int nvia;
    int order[TILE_MAX_RANK]; /* which of the block's dimensions the operand's are */
    bool as_it_is;            /* these are all, in their order */
} Loaded;

typedef struct Group {
    Op *dot[MOST_DOTS]; /* of different loops, which take like blocks */
    int ndots;
    Op *part;   /* of its sum, that others have made, comes the same way; or NULL */
    Op *held;   /* or a load before the dots' loops, of a block that these hold on to; no dots */
    Op *read;   /* or one in such a loop, of a block that threads read; no dots */
    bool waits; /* or nothing comes but that what the program waits for is so; no dots */
    unsigned transposed; /* operands, a bit each, that others transpose in their stage first */
    BranchWays inside;   /* of branches, is all of it */
    int64_t bytes;       /* of a stage */
    int stages;
    Value *buffer[2], *full, *empty;
    Value *raw;  /* barriers: what is to be transposed has come; NULL: nothing is */
    Loaded from; /* of the last of these */
} Group;

typedef struct Turn { /* where a group is: the stage, and the parity of its phase */
    Value *stage, *phase;
} Turn;

typedef struct Store { /* of a block, by a warp of its own */
    Op *op;
    BranchWays inside;     /* of branches, it is */
    int64_t bytes;         /* of its buffer, */
    int stages;            /* which has so many */
    int cut, dim;          /* into so many parts, along that dimension of the block; 1: it is one */
    Op *part[STORE_PARTS]; /* one after the other: those of which something matters */
    int nparts;
    Value *whole; /* what they are parts of */
    Value *desc;  /* of the parts of which all matters */
    Value *buffer, *full, *empty;
    Value *sent[STORE_PARTS]; /* of the storer's: tokens, */
    Turn turn[STORE_PARTS];   /* and the stages that they are from */
    int nsent;
} Store;

/* The way of a store by threads, row by row. */
typedef struct Rows {
    Value *cut; /* it goes this way; NULL: it never does */
    Op *desc;   /* of the whole block */
    Value *index[2];
    uint32_t checked; /* dimensions, a bit each */
} Rows;

/* What a role knows of the programs beside its own in the cluster, in its loop over places. */
typedef struct Neighbours {
    Value *rank, *size;                 /* its own among them; NULL: none of this is known */
    Value *all_there;                   /* each has a place beside this one, and there are some */
    Value *other[CLUSTER_PROGRAMS - 1]; /* their places, where all are there */
    Op *branch; /* where it is worked out whether these take the same; NULL: nowhere yet */
    Value *told[CLUSTER_PROGRAMS]; /* by rank: that, where it has a place, else the program's own */
} Neighbours;

typedef struct Specialize {
    PassCtx *ctx;
    Session *s;
    Func *f;
    Group group[MOST_GROUPS + 1]; /* that of waits is the last */
    Store store[MOST_STORES];
    int n, nstores;
    int consumers;   /* warps */
    bool asked;      /* by a loop, for a warp of its own for its blocks */
    bool refused;    /* maybe with a note that says why */
    VEC(Op *) kept;  /* effects of its own that a role keeps */
    VEC(Op *) waits; /* of a role that is being made: those for parts */
    uint8_t *seen;   /* by value id: of what indices are made of */
    uint32_t nseen;
    int depth;
    Rows rows;
    Neighbours beside; /* of the role that is being made */
} Specialize;

/* Of the numbers of stages, and of phases. */
static inline Type index_type(void) {
    return type_scalar(EL_I32);
}
/* The buffer whose slices parts come in, and in how many chunks one does. */
Value *buffer_of_part(const Group *g, const Op *part, int *chunks);
Turn next_turn(Builder *b, Turn t, int stages);
void wait_stage(Builder *b, Value *barriers, Turn t);
void arrive_at_stage(Builder *b, Value *barriers, Turn t);
Value *shared_buffer(Builder *b, Type t);
Value *stage_slice(Builder *b, Value *of, Value *number);
Value *shared_barriers(Builder *b, int n, int count);

/* ---- warp_groups.c ---- */
/* The groups, in x->group; x->refused: there are to be none. */
void find_groups(Specialize *x);
/* False: no load is the dot's operand i. */
bool loaded(const Op *dot, int i, Loaded *out);
/* The same of a load of the dot's own turn, beside it. */
bool loaded_beside(const Op *dot, int i, Loaded *out);
/* What dots in ops beside the load take of it, as operand *i of each; NULL: it is for others, too,
 * or, if they are to be alike, for other such dots. The first and the last op of the load's block
 * that hold any of them. */
Value *held_operand(const Op *load, bool alike, int *i, Op **first, Op **last);
/* A role's own program can work v out by itself: of scalars that no memory is read for. */
bool is_scalar_work(Specialize *x, const Value *v);
/* The op does more than give a value, be it one of its own. */
bool is_seen(const Op *op);
/* It waits until another program, or who brings data, says so, where a loop asks for roles: a warp
 * of its own does, ahead of those that copy and compute. */
bool is_wait_ahead(Specialize *x, const Op *op);
/* How many warps are to consume: not those whose warpgroups' rows of all sums nobody stores. */
int warps_that_consume(Specialize *x);

/* ---- warp_room.c ---- */
/* Gives them as many stages as were asked for, or as fit; false: these are too few. */
bool has_room(Specialize *x);
/* Bytes of groups: all their stages, or a stage of each, or of each that is not held. A program
 * that goes one way at a branch has room for what it does there, and not for what others do. */
typedef enum Stages { ALL_STAGES, ONE_STAGE, ONE_STAGE_BROUGHT } Stages;
int64_t bytes_of_groups(const Specialize *x, Stages which);
/* Of the stores' buffers that a program may have where it does op; NULL: of those of any program.
 */
int64_t bytes_of_stores(const Specialize *x, const Op *op);
/* The ways that op is in at branches which all roles take alike. */
BranchWays ways_of_roles(const Specialize *x, const Op *op);
/* What these branches depend on from `from` on is made before `front`, in the function's body:
 * which values that is, by id. */
const uint8_t *share_conditions(const Specialize *x, const Op *from, Op *front);

/* ---- warp_specialize.c ---- */
/* The copy of the block to its buffer's stage, maybe the neighbour's, too; how many bytes it
 * brings. */
int64_t start_copy(Specialize *x, Builder *b, const Loaded *from, Value *to, Value *full,
                   bool multicast);

/* ---- warp_multicast.c ---- */
/* The loop in the block over places of the grid; NULL: it has none. */
Op *loop_over_places(const Block *b);
/* Whether launches may run two programs as a cluster, and which: the function says so then, else it
 * has no op of a cluster any more. */
void find_neighbours(Specialize *x);
/* What the role has to know of them, at the begin of its loop over places. */
void meet_neighbours(Specialize *x, Block *role);
/* Arrivals at an empty barrier of such a group's stage in each turn. */
int arrivals_at_stage(const Specialize *x, const Group *g);
/* The stage is free for all that write to it. */
void leave_stage(Specialize *x, Builder *b, const Group *g, Turn t);
/* A dot's block, by one program of the cluster for all if they take it. */
int64_t start_shared_copy(Specialize *x, Builder *b, const Group *g, const Loaded *from, Value *to,
                          Value *full, Turn t);

/* ---- warp_transpose.c ---- */
/* The dot's instruction takes operand i along K alone, and the block has another dimension last. */
bool lies_across(const Specialize *x, const Op *dot, int i, const Loaded *from);
/* Why nobody transposes such a block; NULL: who consumes has registers enough beside those who do.
 */
const char *refuse_transposing(const Specialize *x, const Op *dot, const Loaded *from);
/* The stage's buffer as the copy engine writes or reads it, where that is another layout. */
Value *raw_stage(Builder *b, Value *of, Turn t);
/* In place of the dot: its blocks are transposed, and nothing is added. */
Turn transpose_blocks(Specialize *x, const Group *g, Op *dot, Turn t);
/* The stages that a part of a sum comes in are full without those who transpose blocks there. */
Turn leave_part(Specialize *x, const Group *g, Op *part, Turn t);

/* ---- warp_stores.c ---- */
/* Nothing else touches the store's tensor, or tells others what has been stored. */
bool store_is_alone(const Func *f, const Op *store);
/* The stores that may go on under what comes next, in x->store. */
void find_stores(Specialize *x);
/* These are all: threads need not give each other anything to store it. */
bool stores_all(const Specialize *x);
/* Where such a store's block waits for its copy, without what does not matter of it: in slices, or
 * 0 for one. */
Value *store_buffer(Builder *b, const Op *store, int slices);
/* What the block of a load or store by descriptor takes of shared memory, as a copy begins. */
int64_t block_bytes(const Op *op);
/* Those that are to go in parts are made of these, in x->store. */
void cut_stores(Specialize *x);
void make_store_buffers(Specialize *x, Builder *b);
/* In place of the store: the tile goes to the buffer, or the buffer's copy is started. */
Turn put_store(Specialize *x, Store *st, Op *op, Turn t);
Turn send_store(Specialize *x, Store *st, Op *op, Turn t);

/* The dimension along which v, what is made of a dot's sum, has the sum's columns, many of which
 * each thread holds; -1: none is known to be it. */
int dim_of_sum_columns(const Specialize *x, const Value *v);
/* v in n parts along dimension d, a power of two: what threads hold of it, in halves of halves. */
void take_parts(Builder *b, Value *v, int d, int n, Value **part);

/* ---- store_rows.c ---- */
/* Before what is from `from` on is made roles: whether threads are to store, row by row, and when.
 */
void plan_rows(Specialize *x, Op *from);
/* The consumer's blocks, of which one is done: that way and the other. The storer does nothing in
 * the first. */
int split_rows(Specialize *x, Block *consumer, Block *way[2]);
void leave_rows(Specialize *x, Block *storer);

/* ---- warp_tail.c ---- */
/* In the consumer: the last turns of sums over K leave out what is beyond the tensors. */
void split_tails(Specialize *x, Block *consumer);
/* The loop's first turns, up to `end`, in a loop in front of it, which begins with `begin` then and
 * goes on with what that one carries. That loop. */
Op *split_loop(Specialize *x, Op *loop, Value *end, Value *begin);

/* ---- warp_epilogue.c ---- */
/* In the consumer's block, whose ops are marked: what it stores of a place goes under the next
 * place's dots, if that is a sum's block and registers hold both. */
void defer_epilogue(Specialize *x, Block *consumer);

#endif
