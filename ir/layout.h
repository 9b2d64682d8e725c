/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* layout.h: where the elements of a tile live, as a linear map over F2.
 *
 * A layout maps a hardware index to a tile element. A hardware index is (register, lane, warp,
 * block) for a tile held by threads, or an offset for one in shared memory; an element is its flat
 * row-major index. The map is linear over XOR, so it is given by the images of the bits of the
 * hardware index, its basis vectors.
 * Fragments of matrix instructions, blocked tiles and swizzled shared memory are all this one
 * struct; there are builders, not classes. The index is flat, so a reshape changes nothing here.
 * A zero basis vector is a broadcast bit: hardware indices that differ in it hold replicas of the
 * same element.
 * After Triton's LinearLayout (arXiv 2505.23819). */
#ifndef TILE_IR_LAYOUT_H
#define TILE_IR_LAYOUT_H

#include "base/session.h"
#include "ir/type.h"

typedef enum LayoutIn { IN_REG, IN_LANE, IN_WARP, IN_BLOCK, IN_DIMS, IN_OFFSET = IN_REG } LayoutIn;
enum { LAYOUT_MAX_BITS = 20, LANE_BITS = 5 };

typedef struct Layout {
    uint8_t bits[IN_DIMS];                    /* log2 size of each part of the hardware index */
    uint8_t out;                              /* log2 number of elements of the tile */
    uint32_t basis[IN_DIMS][LAYOUT_MAX_BITS]; /* image of each bit of it */
} Layout;

/* l as the one that the session has of its kind: interned layouts are equal when their addresses
 * are. The layout of a value is always interned. */
const Layout *intern_layout(Session *s, Layout l);

/* ---- building ---- */
Layout layout_new(Type t);                                /* no bits yet */
void layout_push(Layout *l, LayoutIn in, uint32_t basis); /* one more bit; ignored when full */
/* Bits [from, from + n) of dimension `dim` of a tile of type t become the next bits of `in`; bits
 * beyond the dimension's size become broadcast bits. */
void layout_push_dim(Layout *l, LayoutIn in, Type t, int dim, int from, int n);
int type_dim_shift(Type t, int dim); /* position of the dimension's bit 0 in a flat index */
/* Threads in blocks: 2^vec registers along order[0], then lanes, then warps along order[0],
 * order[1], …; what is left goes to registers, and lanes and warps left over hold replicas. */
Layout layout_blocked(Type t, const int *order, int vec, int log2_warps);
/* Accumulator and operands of mma.sync m16n8kK: A [M,K], B [K,N], C [M,N] (the last two dims of t;
 * earlier dims go to registers). Warps form a 2^wm x 2^wn grid of contiguous sub-tiles; `pack` is
 * log2 of the elements in a 32-bit register of the operand. */
Layout layout_mma_c(Type t, int wm, int wn);
Layout layout_mma_a(Type t, int wm, int wn, int pack);
Layout layout_mma_b(Type t, int wm, int wn, int pack);
/* Accumulator of wgmma m64nN: a warpgroup is four warps with 16 rows each; 2^gm x 2^gn warpgroups.
 */
Layout layout_wgmma_c(Type t, int gm, int gn);
/* The same where the instruction's rows r and r + 8 are rows 2r and 2r + 1 of each 16, which two
 * registers that follow each other hold. */
Layout layout_wgmma_pairs(Type t, int gm, int gn);
/* Where lanes find the matrices of a byte operand A of such rows, for 16 of them and 32 of K: for
 * each lane a row of K, 16 rows of A long. Lanes of one matrix find theirs in all banks. */
Layout layout_wgmma_pairs_a(Type t, int gm, int gn);
/* Its operand A of 16-bit elements held in registers: the accumulator of an [M,K] tile, the same
 * for all warpgroups along N. */
Layout layout_wgmma_a(Type t, int gm, int gn);
/* An operand in shared memory as wgmma reads it: dimension `fast` contiguous, in blocks of up to
 * 128 bytes of it side by side, each swizzled as the hardware does (128, 64 or 32 bytes). */
/* A buffer for a tile of t whose elements follow each other as their flat indices do. */
Layout layout_row_major(Type t);
Layout layout_wgmma_shared(Type t, int fast, int elem_log2);
/* A tile in shared memory, dimensions in `order` (order[0] contiguous), XOR-swizzled: chunks of
 * 2^vec elements along order[0] are permuted by the index along order[1], divided by 2^per_phase,
 * in 2^phases ways. */
Layout layout_shared(Type t, const int *order, int vec, int per_phase, int phases);
/* The same tile seen after a transposition of its dimensions / without one dimension. */
Layout layout_transposed(const Layout *l, Type t, const uint8_t *order); /* t: type before */
Layout layout_without_dim(const Layout *l, Type t,
                          int dim); /* t: with the dim; its bits: broadcast */
/* Layout of x when `broadcast x` (a dimension of size 1 repeated) is to be held as l. */
Layout layout_before_broadcast(const Layout *l, Type result, Type operand);
/* Drops register bits that are broadcast: replicas cost work and hold nothing new. */
void layout_drop_replicas(Layout *l);
/* Of `join x y` when x and y are held as l: the new last dimension is the first register bit. */
Layout layout_joined(const Layout *l);
/* Of what `join x y` takes, when its result is to be held as l. */
Layout layout_before_join(const Layout *l);
/* l with the lowest bit of the last dimension, which `split` takes apart, held by a register. */
Layout layout_splittable(const Layout *l);
/* Of the halves that `split` makes of a tile held as l, which is splittable. */
Layout layout_half(const Layout *l);

/* ---- asking ---- */
uint32_t layout_apply(const Layout *l, const uint32_t hw[IN_DIMS]);
bool layout_equal(const Layout *a, const Layout *b); /* of any two, interned or not */
bool layout_covers(const Layout *l);                 /* every element is held somewhere */
/* Every bit of a hardware index selects one bit of the element's, or is broadcast: what ops that
 * walk an axis need. */
bool layout_is_plain(const Layout *l);
/* Each warp holds the same elements by both, and no other warp holds them. */
bool layout_same_warps(const Layout *a, const Layout *b);
/* The bit of a hardware index that holds bit `bit` of dimension dim under a plain layout; false:
 * none. */
bool layout_find_bit(const Layout *l, Type t, int dim, int bit, LayoutIn *in, int *k);
/* Bits of `in` that only select replicas: an element is held already with that bit clear. */
uint32_t layout_broadcast_bits(const Layout *l, LayoutIn in);
/* The largest v so that registers come in groups of 2^v elements that are adjacent along dim, in
 * order, from a multiple of 2^v on. */
int layout_vector_bits(const Layout *l, Type t, int dim);

/* ---- moving between two layouts of one tile ---- */
/* For each bit of a hardware index in `at`, that (packed) of the same element in `from`. */
typedef struct ConversionMap {
    uint8_t bits[IN_DIMS]; /* of at */
    uint64_t col[IN_DIMS][LAYOUT_MAX_BITS];
} ConversionMap;
enum {
    HW_INDEX_LANE = 20,
    HW_INDEX_WARP = 25,
    HW_INDEX_BLOCK = 30
}; /* positions in a packed one */
uint64_t hw_index_pack(const uint32_t hw[IN_DIMS]);
uint32_t hw_index_part(uint64_t packed, LayoutIn in);
/* False when `from` does not hold some element that `at` wants. */
bool layout_conversion_map(const Layout *at, const Layout *from, ConversionMap *r);
/* The way from an element's number to its offset in a buffer held as `shared`. */
bool layout_offset_map(Type t, const Layout *shared, ConversionMap *r);
uint32_t layout_element_offset(const ConversionMap *r, uint32_t element);
uint64_t conversion_map_apply(const ConversionMap *r, const uint32_t hw[IN_DIMS]);

typedef enum MoveKind {
    MOVE_NONE,
    MOVE_REGISTERS,
    MOVE_PICK, /* each warp its own of several registers */
    MOVE_SHUFFLE,
    MOVE_SHARED,
    MOVE_IMPOSSIBLE
} MoveKind;
MoveKind layout_move_kind(const Layout *at, const Layout *from);
/* log2 of the number of registers of one lane that the lanes of a shuffle, or the warps of a pick,
 * ask for at once. */
int conversion_map_rank(const ConversionMap *r, LayoutIn by);

/* log2 of the bank conflict degree of a warp's access of 2^vec elements of elem_bytes a lane: lanes
 * hold `reg`, the tile lies in `shared`. 0: conflict-free. */
int layout_bank_conflict(const Layout *reg, const Layout *shared, int elem_bytes, int vec);
/* The largest v so that registers come in groups of 2^v adjacent, aligned offsets in `shared`. */
int layout_shared_vector_bits(const Layout *reg, const Layout *shared);
/* log2 of the elements of type t that one access of up to 16 bytes moves between them. */
int layout_shared_access_bits(const Layout *reg, const Layout *shared, Type t);
/* What matrix instructions move to and from shared memory: 8x8 matrices of 16 bits, of which
 * elements 2j and 2j + 1 of row i are in lane 4i + j. */
enum {
    MATRIX_PAIR = 1, /* log2 elements in a register of 32 bits */
    MATRIX_QUAD = 2, /* log2 lanes that hold a row's pieces */
    MATRIX_FOUR = 2  /* log2 matrices in one instruction */
};
typedef enum MatrixForm { MATRIX_NONE, MATRIX_ROWS, MATRIX_COLUMNS } MatrixForm;
/* Registers and lanes hold a tile of type t as four such matrices and more, whose rows, or columns,
 * lie whole in the buffer. */
MatrixForm layout_matrix_form(const Layout *reg, const Layout *shared, Type t);
/* The tile as the lanes of a matrix instruction name it: where row, or column, l % 8 of matrix l /
 * 8 begins. */
Layout layout_matrix_rows(const Layout *reg, MatrixForm form);

/* ---- showing ---- */
/* Comment lines with the bases and, for tiles of rank 1 or 2, a drawing of their first corner:
 * warp.lane.register (or the shared offset) per element, every line led by `prefix`. */
void layout_draw(const Layout *l, Type t, bool shared, const char *prefix, Buf *out);

#endif
