/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* lower.h: from syntax tree to tile IR: types, promotion, constexprs, inlining of calls. */
#ifndef TILE_FRONTEND_LOWER_H
#define TILE_FRONTEND_LOWER_H

#include "frontend/host/search.h"
#include "frontend/syntax/ast.h"
#include "ir/ir.h"
#include "ir/promise.h"

struct SymbolIndex;

/* Of an argument known already, for @triton.heuristics and for the order of elements. */
enum { VALUE_ASKED = 1, SIZE_ASKED = 2 };

typedef struct LowerOptions {
    const char *kernel;    /* NULL: every kernel of the file (see design.md section 10) */
    const char *signature; /* 'a_ptr=*fp16:16,M=i32' or positional '*fp32:16, i32, 1024'; or NULL */
    const char *const *define; /* "NAME=VALUE", as -D gives them */
    int ndefines;
    const char *const *value; /* "NAME=VALUE": arguments known already */
    int nvalues;
    uint8_t *value_asked;    /* what was asked of each (VALUE_ASKED, SIZE_ASKED); or NULL */
    bool sizes;              /* parameters say how large these values are: Param.size */
    int config;              /* index into the autotune configs; default 0 */
    const char *config_text; /* instead of it: "BM=64,num_warps=8", in the list or not; or NULL */
    OptionValues option;     /* which win over those of configs, heuristics and `# tile:` lines */
    bool ignore_annotations; /* launched from source: types come from the signature alone */
    bool annotations_hold;   /* but for those that annotations give */
    bool no_promises;        /* :16, :8 and :1 are left out: the kernel takes any argument */
    SourceReader reader;     /* of modules that are imported */
    const char *const *include; /* folders to look for them in, as -I gives them */
    int ninclude;
    bool debug;       /* arithmetic that wraps is an error */
    int capability;   /* of the target: 90 */
    int triton;       /* a version as ir/triton.h has it; 0: the file's, else the newest */
    bool warn_triton; /* say where versions of Triton differ on what the source means */
    struct SymbolIndex *symbols; /* filled in, for editors: see symbols.h; or NULL */
} LowerOptions;

/* Lowers s->source's kernels. NULL or a module with fewer functions after errors (see s->diags). */
Module *lower_file(Session *s, AstFile *file, const LowerOptions *options);

/* What a launcher has to know of a parameter before anything is compiled. */
typedef struct LaunchParam {
    const char *name; /* "x", or a part of it, "x.0" */
    /* do_not_specialize and do_not_specialize_on_alignment of @triton.jit */
    bool any_value, any_alignment;
    Promise promised; /* by its annotation; PROMISES: by a wrong one */
    bool whole;       /* a parameter of the source, no part of one */
    bool typed;       /* whole, and the signature gives its type */
} LaunchParam;

/* What launches of the kernel that the options name, or of the only one, pass: its parameters that
 * are no constexprs, part by part. NULL after errors. */
const char *lower_launch_params(Session *s, AstFile *file, const LowerOptions *options,
                                LaunchParam **out, int *n);

/* The autotune configs of the kernels as JSON: {"kernels": [{"name": "f", "key": ["n"], "configs":
 * ["BLOCK=64,num_warps=4,num_stages=3", …]}]}, each in the form of config_text. False after an
 * error. */
bool lower_configs(Session *s, AstFile *file, const LowerOptions *options, Buf *out);

#endif
