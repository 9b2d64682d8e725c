/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* object.h: what a name stands for while a file is lowered: a Python object that is known, or a
 * value of tile IR. */
#ifndef TILE_FRONTEND_LOWER_OBJECT_H
#define TILE_FRONTEND_LOWER_OBJECT_H

#include "frontend/syntax/ast.h"
#include "ir/ir.h"
#include "ir/options.h"

/* ---- objects ---- */
typedef enum ObjKind {
    OBJ_POISON, /* the result of an error already reported: silences what follows from it */
    OBJ_NONE,
    OBJ_BOOL,           /* .i */
    OBJ_INT,            /* .i; beyond int64 when .big: then .i holds the bits of a uint64 */
    OBJ_FLOAT,          /* .f */
    OBJ_STRING,         /* .text */
    OBJ_DTYPE,          /* .type: an element, a pointer, or (x.type) a whole tile */
    OBJ_CONSTEXPR_TYPE, /* .of: the type of that constant */
    OBJ_TUPLE_TYPE,     /* .seq: the types of a tuple's parts */
    OBJ_TUPLE,          /* .seq; lists too */
    OBJ_INSTANCE,       /* .seq: the fields of an aggregate */
    OBJ_CLASS,          /* .class_ */
    OBJ_METHOD,         /* .method */
    OBJ_UNSET,          /* a field that __init__ has not assigned yet */
    OBJ_SET,     /* .seq, each once; outside kernels, in no order that a program may rely on */
    OBJ_DICT,    /* .seq: key, value, key, value … */
    OBJ_CONFIG,  /* .seq: CONFIG_DICT and what follows of a triton.Config */
    OBJ_SLICE,   /* .seq: start, stop, step */
    OBJ_RANGE,   /* .range */
    OBJ_FUNC,    /* .func */
    OBJ_BUILTIN, /* .builtin.row, and .builtin.self for a method */
    OBJ_MODULE,  /* .path: Triton's, Python's, or a package of which only parts are read */
    OBJ_SOURCE,  /* .source: a module that is read */
    OBJ_FOREIGN, /* .path: something in a module that is not read: its value is not known */
    OBJ_VALUE,   /* .value */
    OBJ_LAMBDA,  /* .lambda */
    OBJ_ARGS,    /* what a lambda of @triton.heuristics is given: the kernel's arguments by name */
    OBJ_UNKNOWN, /* .path: the name of an argument whose value only a launch would tell;
                    .is_pointer */
} ObjKind;

/* The parts of a config; an option that it leaves open is None. */
enum { CONFIG_DICT, CONFIG_CTAS, CONFIG_OPTION, CONFIG_PARTS = CONFIG_OPTION + OPTIONS };

typedef struct Obj Obj;
typedef struct Builtin Builtin;
typedef struct Range Range;
typedef struct Lambda Lambda;
typedef struct Class Class;
struct Call;
struct Obj {
    ObjKind kind;
    bool big;
    bool grown;      /* of a list outside kernels: see host.c */
    bool returned;   /* of a number: by a function, or it is made of one; for CHANGE_RETURN */
    bool is_pointer; /* of an OBJ_UNKNOWN */
    bool constant;   /* made by tl.constexpr() or of such: kernels may read it as a global */
    uint16_t weight; /* of a sequence: how many objects it holds, at all levels */
    union {
        int64_t i;
        double f;
        struct {
            const char *at;
            size_t n;
        } text;
        const Type *type;
        const Obj *of;
        struct {
            Obj *at;
            int n;
            int of_class; /* of an instance or a NamedTuple: number in Lower.classes, from 1 */
        } seq;
        const Class *class_;
        struct {
            const AstFunc *func;
            const Obj *self;
        } method;
        const Range *range;
        const Lambda *lambda;
        const AstFunc *func;
        struct {
            const Builtin *row;
            const Obj *self;
        } builtin;
        const char *path;
        struct SourceModule *source;
        Value *value;
    };
};
/* ---- classes: see class.c ---- */
typedef enum ClassKind { CLASS_PLAIN, CLASS_NAMED_TUPLE, CLASS_AGGREGATE } ClassKind;
typedef struct Field {
    const char *name;
    const Expr *annotation, *value; /* NULL when there is none */
    const AstClass *owner;
} Field;
struct Class {
    const AstClass *ast;
    const char *name;
    ClassKind kind;
    int number;   /* in Lower.classes, from 1 */
    Field *field; /* those of the bases first */
    int nfields;
    const Class **order; /* where methods are looked for: itself, then the bases */
    int norder;
};

struct Range {
    Obj start, stop, step;
    bool is_static;
    int num_stages; /* -1: not given */
    bool warp_specialize;
};

#endif
