/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* type.h: the type of a value: an element, perhaps behind pointers, in a tile of a static shape.
 *
 * A Type is a small plain value; two types are equal when type_equal says so. Every dimension is a
 * power of two, so shapes are kept as logarithms. Rank 0 is a scalar. A type in another space than
 * registers is a buffer (`shared<f16[128,64]>`), which is not a tile of values but a place for one,
 * or for several of one kind, its slices (`shared<3 x f16[128,64]>`). `barrier` and `barrier<3>`
 * are places for mbarriers; a descriptor, `desc<f16[128,64]>`, says how a tensor in global memory
 * lies of which blocks of this shape are moved. */
#ifndef TILE_IR_TYPE_H
#define TILE_IR_TYPE_H

#include "base/text.h"

/* The logarithm to base 2, rounded down; of less than 1 it is 0. */
static inline int log2_of(int64_t n) {
    int l = 0;
    while (n > 1) {
        n >>= 1;
        l++;
    }
    return l;
}

typedef enum Elem {
#define ELEM(id, text, triton, bits, bytes, class_) EL_##id,
#include "ir/elem.def"
#undef ELEM
    ELEMS, /* that values have; what follows are names alone */
    EL_BEFORE_FOREIGN = ELEMS - 1,
#define ELEM(id, text, triton, bits, bytes, class_)
#define FOREIGN_ELEM(id, triton, bits) EL_##id,
#include "ir/elem.def"
#undef ELEM
    ELEM_NAMES
} Elem;

typedef enum ElemClass { ELEM_B, ELEM_I, ELEM_U, ELEM_F } ElemClass;

typedef struct ElemInfo {
    const char *text;   /* as tile IR writes it: f16 */
    const char *triton; /* as Triton's language writes it: fp16 */
    int bits;           /* significant bits of a value */
    int bytes;          /* size in memory */
    ElemClass class_;
} ElemInfo;
extern const ElemInfo elem_info[ELEM_NAMES];
static inline bool elem_is_fp8(Elem e) {
    return elem_info[e].class_ == ELEM_F && elem_info[e].bits == 8;
}

/* Where a value is. Tensor memory is Blackwell's, and a type's name alone: no code is made for it.
 * A token is nowhere: it says that something asynchronous is done. */
typedef enum Space {
    SPACE_REGISTER,
    SPACE_SHARED,
    SPACE_TENSOR,
    SPACE_BARRIER, /* in shared memory, too, but of mbarriers alone */
    SPACE_DESC,
    SPACE_TOKEN,
    SPACES
} Space;
extern const char *const space_text[SPACES];

enum {
    TYPE_MAX_SLICES = 1024,
    TILE_MAX_PARAMS = 512, /* of a kernel: 4 KB, what every GPU takes */
    TILE_MAX_RANK = 20,    /* a tile of 2^20 elements cut into twos */
    TILE_MAX_LOG2 = 20,    /* log2 of the most elements in a tile */
    POINTER_MAX_DEPTH = 3
};

typedef struct Type {
    uint8_t elem;  /* Elem; for a pointer, what lies behind all its levels */
    uint8_t depth; /* levels of pointer: 0 a plain element, 1 ptr<f16>, 2 ptr<ptr<f16>> */
    uint8_t space; /* Space; but in registers, a buffer of this tile */
    uint8_t rank;
    uint16_t slices;  /* of a buffer of several; 0: it is one */
    uint8_t constant; /* of a pointer, 1: the front end lets nobody write through it. It
                       * makes no other type, and text does not have it */
    uint8_t unused;   /* 0: the bytes are compared */
    /* log2 of each dimension, outermost first; 0 beyond rank. While the front end makes a kernel,
     * in the high bits: how many sixteenths are missing (DIM_MISSING). */
    uint8_t log2[TILE_MAX_RANK];
} Type;
enum { DIM_LOG2 = 31, DIM_MISSING = 5, DIM_SIXTEENTHS = 16 };

Type type_scalar(Elem e);
Type type_tile(Elem e, int rank,
               const int64_t *dims);         /* dims: see type_fits_dim, checked by caller */
Type type_pointer_to(Type t);                /* same shape, one pointer level more */
Type type_pointee(Type t);                   /* same shape, one level less; needs depth */
Type type_with_elem(Type t, Elem e);         /* same shape, plain element e */
Type type_with_shape(Type t, Type shape_of); /* element of t, shape of the other */
Type type_element(Type t);                   /* t as a scalar */
Type type_without_dim(Type t, int dim);      /* t without a dimension */
Type type_in_space(Type t, Space space); /* a buffer for one tile of t; in registers: that tile */
static inline bool type_is_buffer(Type t) {
    return t.space == SPACE_SHARED || t.space == SPACE_TENSOR || t.space == SPACE_BARRIER;
}
Type type_barrier(int slices); /* 0: one */
Type type_token(void);
static inline bool type_is_token(Type t) {
    return t.space == SPACE_TOKEN;
}
bool type_equal(Type a, Type b);
bool type_same_shape(Type a, Type b);
static inline bool type_is_pointer(Type t) {
    return t.depth > 0;
}
static inline bool type_is_tile(Type t) {
    return t.rank > 0;
}
static inline int64_t type_dim(Type t, int i) {
    return (int64_t)1 << (t.log2[i] & DIM_LOG2);
}
/* Of a tile that the front end makes: of 192 elements, which become 256. */
static inline int64_t type_size(Type t, int i) {
    return type_dim(t, i) - type_dim(t, i) / DIM_SIXTEENTHS * (t.log2[i] >> DIM_MISSING);
}
bool type_is_short(Type t); /* in some dimension */
Type type_padded(Type t);   /* to powers of two */
/* A tile may have so many elements along a dimension: a power of two, or in the front end a
 * multiple of 8 and of a sixteenth of the next one, which is not below half of it. */
bool type_fits_dim(int64_t n);
int type_log2_numel(Type t);
int64_t type_numel(Type t);  /* of a buffer: of one slice, as in what follows */
int type_elem_bits(Type t);  /* 64 for pointers; 1 for int1 */
int type_elem_bytes(Type t); /* bytes in memory: 8 for pointers, 1 for int1 */
int64_t type_bytes(Type t);  /* of all elements */
static inline bool type_is_float(Type t) {
    return !t.depth && elem_info[t.elem].class_ == ELEM_F;
}
static inline bool type_is_bool(Type t) {
    return !t.depth && t.elem == EL_I1;
}
static inline bool type_is_int(Type t) { /* int1 is an integer too, as in Triton */
    return !t.depth && elem_info[t.elem].class_ != ELEM_F;
}
static inline bool type_is_signed(Type t) {
    return !t.depth && elem_info[t.elem].class_ == ELEM_I;
}

/* "f16[128,64]", "ptr<f16>[128,64]", "i32", "shared<f16[128,64]>": tile IR's notation. */
void type_print(Buf *b, Type t);
char *type_text(Arena *a, Type t);
/* "fp16[128, 64]", "*fp16[128, 64]", "int32": for messages to the writer of a kernel. */
char *type_user_text(Arena *a, Type t);
/* Finds an element by its tile IR or Triton name (both spellings, and the aliases float16,
 * bfloat16, float32, float64, float8e4nv …, i1…u64). */
bool elem_from_name(const char *name, size_t n, Elem *out);
/* The same for fp8e4b8 and its like, which no value has. */
bool elem_from_foreign_name(const char *name, size_t n, Elem *out);
/* Element as signatures and manifests write it: i1 i8 … u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5
 * fp8e4b15. */
const char *elem_signature_name(Elem e);

#endif
