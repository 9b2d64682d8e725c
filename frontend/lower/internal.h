/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* internal.h: what the files of the lowering share: objects, scopes, frames, and who does
 * what.
 *
 * Lowering is an abstract interpreter over the syntax tree, as Triton's own code generator is. A
 * name stands for an Obj, which is either known while compiling (a Python number, string, dtype,
 * tuple, function, module …) or a Value of tile IR. Calls of jit functions are inlined by
 * interpreting their bodies in a new Frame. The one rule to keep in mind: a plain assignment of a
 * number makes it a tensor (see decay()); only constexpr names and unassigned literals stay
 * numbers.
 *
 *   lower.c          file -> kernels: which functions, one Frame each
 *   kernel.c   a kernel's parameters: signature, annotations, -D, autotune configs
 *   signature.c  texts of -s and -D; argument.c  the parts of an argument
 *   stmt.c     statements; flow.c  if; loop.c  for, while and what they carry
 *   expr.c     expressions; call.c  calls, inlining, binding of arguments
 *   scan.c     questions about syntax alone
 *   symbols.c  what names stand for, for editors; symbols_walk.c  which names are one
 *   name.c     names and attributes -> objects; modules and globals
 *   untyped.c  parameters without types, and a signature that could be meant: guess.c
 *   advice.c   what to write instead of a word that means nothing
 *   machine.c  versions, capabilities, environment: what a source asks of the machine
 *   host.c     Python outside kernels; python.c  its functions and methods
 *   top.c      which of several definitions of a name counts
 *   modules.c  modules that are read: imports, the search path, and whose names are looked up
 *   version.c  versions of Triton, and what they changed
 *   const.c    Python arithmetic on objects known while compiling; text.c  objects as text
 *   ops.c      promotion, broadcasting, casts, operators on tensors
 *   unify.c    operands brought to one type and shape
 *   library.c  builtins written in the tile language: stdlib.tl, libdevice.tl
 *   builtin.c  the table builtins.def; shape.c, memory.c, math.c,
 * meta.c its handlers; class.c  classes and their instances; type.c  the types of objects */
#ifndef TILE_FRONTEND_LOWER_INTERNAL_H
#define TILE_FRONTEND_LOWER_INTERNAL_H

#include "frontend/host/search.h"
#include "frontend/lower/lower.h"
#include "frontend/lower/object.h"
#include "frontend/lower/symbols.h"

enum {
    UNROLL_LIMIT = 4096,      /* iterations of one tl.static_range */
    INLINE_LIMIT = 256,       /* calls inside each other */
    LOWER_DEPTH_LIMIT = 2000, /* expressions and statements inside each other, over all calls */
    OPS_LIMIT = 250000,       /* statements executed, and values made, for one kernel */
    WORK_PER_STEP = 64,       /* expressions that count as one of them */
    TUPLE_LIMIT = 4096,       /* objects in one tuple, at all levels */
    HOST_TUPLE_LIMIT = 60000, /* the same outside kernels: lists of autotune configs */
    STRING_LIMIT = 65536,     /* bytes of one string */
    SHOWN_BYTES = 200,        /* of an object in a message */
    STAGES_LIMIT = 16,        /* num_stages */
    DIAG_CALL_NOTES = 6,      /* "called from here" notes under one error */
    LIBRARY_PARTS = 3,        /* stdlib.tl, libdevice.tl, special.tl */
};

/* ---- scopes and frames ---- */
typedef struct Binding {
    const char *name; /* interned */
    Obj obj;
    Span span;  /* where it was assigned */
    bool fixed; /* declared tl.constexpr: cannot be assigned again inside a loop or branch */
    const char *undefined; /* why the name has no value here (obj is OBJ_POISON), or NULL */
} Binding;
typedef VEC(Binding) Scope;
struct Lambda { /* or a function inside a function */
    const AstFunc *func;
    const Obj *defaults; /* one per parameter: what they were where it was written */
    Scope scope;         /* there */
};
typedef VEC(const char *) Names;

/* The statements that follow a nested list, for the arms of an `if` that return on one side only;
 * or the rounds that an unrolled loop has left. */
typedef struct Continuation {
    StmtList list;
    int next;
    const struct Rounds *rounds; /* instead of the list, or NULL */
    const struct Continuation *after;
} Continuation;

typedef struct Frame {
    struct Frame *caller;
    const AstFunc *func; /* NULL at top level: evaluating a global, a default, a decorator */
    Span call;           /* of the call that made it; line 0 for a kernel */
    Scope scope;
    Names declared; /* `name: tl.constexpr` above, without a value: the next one stays constant */
    int loops;      /* loops around the current statement */
    int unrolled;   /* of these, the unrolled ones */
    bool finished;  /* returned, from inside of unrolled loops */
    bool returned;  /* the path has ended: by return; in a loop, by break or continue */
    Obj result;
    Span result_span;
    const char *constructs; /* the name whose fields are assigned: `self` in __init__; or NULL */
} Frame;

typedef struct Reported {
    Span span;
    const char *text;
} Reported;

/* A global that was looked at: it is evaluated once, as globals may be made of others many times.
 */
typedef enum GlobalState { GLOBAL_UNSEEN, GLOBAL_BUSY, GLOBAL_KNOWN } GlobalState;
typedef struct Global {
    GlobalState state;
    Obj value;    /* OBJ_POISON: not known while compiling */
    Reported why; /* then */
    bool lacking; /* then: Triton does not have what it asks for */
} Global;

/* ---- modules ---- */

/* A name that is being looked up in a module: star imports may go round in a circle. */
typedef struct Lookup {
    const struct SourceModule *in;
    const char *name;
    const struct Lookup *outer;
} Lookup;

struct Definition;
/* A source file with all that is known of its top level; the libraries are two more of them. */
typedef struct SourceModule {
    struct SourceModule *next;
    const char *name; /* as it is imported, or the file's; NULL: the library */
    FoundFile found;
    const Source *source; /* NULL: the first file's, or the library's */
    const AstFile *file;
    Global *global;                      /* one per file->global */
    int triton;                          /* the version of Triton that it says; 0: none */
    const struct Definition *definition; /* by name; top.c */
    int ndefinitions;
    bool indexed;
    Span import;                   /* what brought it in, */
    struct SourceModule *importer; /* and in which module; NULL: the first file */
    bool import_told;              /* an error has shown the chain */
    Diags said;                    /* while it was parsed: not an error until it matters */
} SourceModule;

/* Names are looked up in one module, where definitions below `at` are there yet. */
typedef struct Visit {
    SourceModule *here;
    int at;
} Visit;

typedef struct Lower {
    Session *s;
    Module *module;
    SourceModule *here; /* whose names are looked up */
    const LowerOptions *options;
    Builder b; /* b.f is NULL while evaluating top-level code: nothing may be emitted */
    Frame *frame;
    int inlined;          /* frames below the kernel */
    int depth;            /* nested expressions and statements */
    int64_t steps;        /* statements executed, and WORK_PER_STEP units of other work each */
    int64_t work;         /* units that do not make a step yet */
    bool failed;          /* this kernel has an error, perhaps one that was reported before */
    bool abandoned;       /* a limit was reached: finish without looking further */
    bool checks_overflow; /* this kernel does: see check_overflow() */
    int unchecked;        /* within what does not */
    bool any_global;      /* a default value is evaluated: plain globals are allowed */
    int at;               /* of the file's definitions, those of a smaller order are there yet */
    SearchPath path;
    SourceModule *modules, *first; /* all of them; the one whose kernels are compiled */
    const Lookup *lookup;          /* that are under way, the innermost first */
    int lookups;
    int triton;   /* the version of files that say none: see version.c */
    bool lacking; /* set when a module of Triton's does not have what was asked for */
    struct KernelParams *params;    /* of the kernel whose heuristics are evaluated */
    VEC(const Class *) classes;     /* those that were used */
    VEC(const AstImport *) missing; /* names from other files, reported already */
    Reported silenced;              /* the first error while they were muted; .text NULL: none */
    const char *needs;              /* the argument that an OBJ_UNKNOWN was made for, or NULL */
    /* error bookkeeping: see fail() */
    const Frame *chain;
    SourceModule *chain_module;            /* of the error before, which is not in the first file */
    const AstFile *library[LIBRARY_PARTS]; /* once they are needed */
    Span library_call;   /* of the user's call in whose course it is interpreted; line 0: none */
    bool library_failed; /* that call has had its error */
    const Builtin *library_row; /* of the builtin that it calls, whom messages name; NULL: none */
    bool suppressed;
    VEC(Reported) reported;
    const Expr *statement; /* an expression that is one */
} Lower;

/* ---- lower.c: errors ---- */
/* Reports an error at span and gives the poison object. The same text at the same place (an inlined
 * body, an unrolled loop) is reported once. "called from here" notes follow the error's own notes.
 */
Obj fail(Lower *l, Code code, Span span, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void note(Lower *l, Span span, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void flush_call_notes(Lower *l);
Obj poison(void);
/* The text was reported at this place before; if not, it counts as reported. */
bool repeated(Lower *l, Span span, const char *text);
/* Adds "did you mean 'x'?" when a name is near. */
void suggest(Lower *l, const char *word, const char *const *names, int n);
void suggest_param(Lower *l, const AstFunc *f, const char *word);
bool enter(Lower *l, Span span); /* false after an error: nested too deep, or abandoned */
void leave(Lower *l);
/* Reads a text (an annotation, a -D value, a signature entry) as a type: "*fp16", "i32". */
bool parse_type(const char *text, size_t n, Type *out);
/* One more step of a kernel, or of Python outside it; false at the limit. */
bool count_step(Lower *l, Span span);
/* Work that statements do not bound: expressions, objects looked through. False at the limit. */
bool count_work(Lower *l, int64_t units, Span span);
/* A limit is reached: reports it, also where errors are muted, and ends the lowering. */
void abandon(Lower *l, Code code, Span span, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool is_jit(const AstFunc *f);
const Expr *find_decorator(const AstFunc *f, const char *name);

/* ---- version.c: versions of Triton ---- */
typedef enum Change {
#define CHANGE(name, since, ...) CHANGE_##name,
#include "frontend/changes.def"
#undef CHANGE
    CHANGES
} Change;
void foresee_fusion(Lower *l, Func *f); /* what Triton 3.10 changes, once for a kernel */
int triton_version(const Lower *l);     /* of the text that is lowered: 306 … 309 */
/* Whether it has the meaning that the change made. */
bool changed(const Lower *l, Change which);
bool watches(const Lower *l);                              /* -Wtriton, for this text */
void has_no_effect(Lower *l, Span span, const char *text); /* what Triton passes over */
/* -Wtriton: the text at span means another thing before the change than since. */
void differs(Lower *l, Change which, Span span, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
typedef enum Feature {
#define FEATURE(name, ...) FEATURE_##name,
#include "frontend/newer.def"
} Feature;
void beyond_triton(Lower *l, Span span, const char *what); /* -Wtriton: no version has it */
void newer(Lower *l, Feature which, Span span); /* -Wtriton: if the text's version lacks it */
int version_said(const AstFile *file);          /* 0: by no line of it */
/* An error if a line says another than there is, or two say two. */
void check_version(Lower *l, const SourceModule *m);
void open_version(Lower *l); /* of the first file, whose other directives are looked at, too */
bool is_file_key(const char *name);

/* ---- kernel.c ---- */
bool lower_params(Lower *l, const AstFunc *f, Func *out);
bool launch_params(Lower *l, const AstFunc *f, LaunchParam **out, int *n); /* see lower.h */
bool annotated_constexpr(const AstParam *p);
const char *find_define(Lower *l, const char *name); /* what -D gives the name, or NULL */
/* Reports -D and signature names that no kernel has. */
void check_unknown_names(Lower *l, AstFunc *const *kernels, int n);

/* The argument `name` as a heuristic sees it: a number, None, OBJ_UNKNOWN. */
Obj kernel_argument(Lower *l, const char *name, Span span);

/* ---- top.c: which definition of a name at top level counts ---- */
typedef enum Known { KNOWN_UNSEEN, KNOWN_FALSE, KNOWN_MAYBE, KNOWN_TRUE } Known;
Known module_known(Lower *l, const char *name); /* can be imported */
/* The function of this name that counts; NULL: there is none. After an error, when conditions that
 * are not known leave several, one of them. */
const AstFunc *find_function(Lower *l, const char *name);
bool is_left_out(Lower *l, Guard *g); /* what stands under it is not defined */
void say_why_left_out(Lower *l, const Guard *g);
/* The same of a name's last definition; false: none is left out. */
bool say_why_name_left_out(Lower *l, const char *name);
/* What a name stands for, poison after an error; false: it is not defined at top level. */
bool lookup_top(Lower *l, const char *name, Span span, Obj *out);
/* e, evaluated without a word where definitions below `order` are there; poison: not known. */
Obj quietly(Lower *l, const Expr *e, int order);
bool given_value(Lower *l, const char *name, Span span, Obj *out); /* by -D */
bool is_given(Lower *l, const Expr *e);                            /* a name at top level, by -D */
bool defined_at_top(const Lower *l, const char *name); /* or a path of a module imported there */
/* What a module has under this name; false: nothing. */
bool lookup_in(Lower *l, SourceModule *m, const char *name, Span span, Obj *out);

/* ---- modules.c: files that are imported ---- */
SourceModule *add_module(Lower *l, const char *name, AstFile *file);
/* The first source's, of whose kernels l is asked. */
SourceModule *add_first_module(Lower *l, AstFile *file);
/* From here on names are those of a file; leave_module puts back what was. */
Visit enter_module(Lower *l, SourceModule *m);
Visit enter_file(Lower *l, const AstFile *file);
void leave_module(Lower *l, Visit before);
Obj obj_source(SourceModule *m);
/* The module that an import names, NULL without a word where there is none to read. */
SourceModule *imported_module(Lower *l, const AstImport *im);
/* The module that `from package import member` names itself; NULL, too. */
SourceModule *imported_member(Lower *l, const AstImport *im);
/* A module `name` of a package m; NULL: it has none, or is no package. */
SourceModule *submodule(Lower *l, SourceModule *m, const char *name, Span span);
/* A module by its dotted name; NULL: it is not on the search path. */
SourceModule *module_named(Lower *l, const char *name, Span span);
bool module_there(Lower *l, const char *name); /* without reading it */
/* An error that `im` names a module that is not there, with where it was looked for. */
Obj module_missing(Lower *l, const AstImport *im, Span span);
/* The same of the module that `path.name` is of. */
Obj folder_missing(Lower *l, const char *path, const char *name, Span span);
/* m did not parse: its errors are the user's now. False: it did. */
bool report_parse(Lower *l, SourceModule *m);
/* A module that lacks a name. */
Obj name_missing(Lower *l, SourceModule *m, const char *name, Span span);

/* ---- config.c: decorators ---- */
bool jit_debugs(Lower *l, const AstFunc *f);                        /* @triton.jit(debug=True) */
bool jit_lists(Lower *l, const AstFunc *f, const char *key, int i); /* its parameter number i */
Obj choose_config(Lower *l, const AstFunc *f); /* OBJ_CONFIG, None, or poison: not known */
bool list_configs(Lower *l, const AstFunc *f, Buf *out); /* as JSON, see lower.h */
/* A constexpr as -D gives it; span: what it is the value of, for errors. */
Obj parse_value(Lower *l, const char *text, size_t n, Span span);
bool config_attribute(Obj config, const char *name, Obj *out);
void check_jit(Lower *l, const AstFunc *f);      /* the keywords of @triton.jit */
void check_autotune(Lower *l, const AstFunc *f); /* the arguments that @triton.autotune names */
bool config_value(Obj config, const char *name, Obj *out);
/* What the command line, else the config, else nobody gives an option: an int or None. */
Obj launch_option(Lower *l, const AstFunc *f, Obj config, KernelOption which);
/* The options of the kernel, with what heuristics give. */
void launch_options(Lower *l, const AstFunc *f, Obj config, Func *out);
/* The value that a heuristic gives `name`; false when none does. */
bool heuristic_value(Lower *l, const AstFunc *f, const char *name, Obj *out);

/* ---- host.c: Python outside kernels ---- */
Obj host_expr(Lower *l, const Expr *e); /* evaluated at top level */
Obj host_call(Lower *l, const AstFunc *f, Obj *value);
/* A class's function that is plain Python: it runs where it is called, with tensors. If it is
 * __init__, the result is what it has made of its first parameter. */
Obj host_method_call(Lower *l, const AstFunc *f, Obj *value, bool constructs);
Obj host_elements(Lower *l, Obj o, Span span);
Obj unordered_elements(Lower *l, Obj o, Span span);  /* of sets, too */
Obj set_binary(Lower *l, Operator op, Obj x, Obj y); /* | & - ^ */
bool same_set(Obj x, Obj y);
Obj host_set(Lower *l, Obj elements);                      /* of a tuple's elements */
Obj python_function(const char *module, const char *name); /* python.c; poison: there is none */
Obj python_method(Lower *l, Obj self, const char *name, const struct Call *c); /* as well */
Obj with_item(Lower *l, Obj object, Obj key, Obj value, Span span); /* of a dict or a list */
/* name.append(x) and the like: the object with the change; poison after an error. *known false:
 * there is no such method. */
Obj python_change(Lower *l, Obj self, const char *name, const struct Call *c, bool *known);
Obj host_function(const char *module, const char *name); /* poison: there is none */

/* ---- machine.c: what Python's modules, PyTorch and Triton say of the machine ---- */
Obj machine_function(const char *module, const char *name); /* poison: there is none */
bool host_constant(Lower *l, const char *path, const char *name, Obj *out);
bool host_module(const char *path); /* something is known of it, or of a module in it */
/* What -D gives an environment variable; false: nothing. */
bool host_environ(Lower *l, Obj key, Obj *out);
Obj format_string(Lower *l, Obj self, const struct Call *c); /* poison: not known */
bool host_method(Lower *l, Obj self, const char *name, const struct Call *c, Obj *out);
Obj host_dict(Lower *l, const struct Call *c);
Obj make_lambda(Lower *l, const Expr *e);
Obj make_closure(Lower *l, const AstFunc *f);
Obj call_closure(Lower *l, const Lambda *closure, const struct Call *c);

/* ---- const.c: objects known while compiling ---- */
Obj obj_none(void);
Obj obj_bool(bool v);
Obj obj_int(int64_t v);
Obj obj_float(double v);
Obj obj_string(Lower *l, const char *s);
Obj obj_dtype(Lower *l, Type t);
Obj shape_tuple(Lower *l, Type t); /* its sizes */
Obj obj_value(Value *v);           /* NULL: poison */
Obj obj_tuple(Lower *l, const Obj *at, int n);
bool obj_is_structure(Obj o);            /* a tuple or an instance: carried part by part */
Obj copy_structure(Lower *l, Obj o);     /* with parts of its own */
Obj checked(Lower *l, Obj o, Span span); /* o, or an error when a tuple or string is too large */
bool obj_is_number(Obj o);               /* bool, int or float */
bool obj_is_const(Obj o);                /* no Value inside */
bool obj_is_torch_tensor(Obj o);         /* an argument that is one at launch */
bool obj_is_poison(Obj o);               /* or a tuple with poison in it */
bool obj_same(Obj a, Obj b);             /* the same constant or the same Value */
bool obj_equal(Obj a, Obj b);            /* Python's == */
int dict_place(Obj dict, Obj key);       /* of the key, whose value is the next; -1 */
double obj_double(Obj o);                /* of a number */
bool obj_truth(Obj o);                   /* Python's truth value; not for OBJ_VALUE */
const char *obj_text(Lower *l, Obj o);   /* as Python's str() writes it */
const char *obj_repr(Lower *l, Obj o);   /* as its repr() does */
const char *obj_what(Lower *l, Obj o);   /* for messages: "int32[64]", "the string 'a'", "None" */
bool obj_json(Obj o, Buf *out);          /* false: has no JSON form */
Obj concat(Lower *l, Obj x, Obj y, Span span); /* two sequences, as of the first one's kind */
Obj const_unary(Lower *l, Operator op, Obj x, Span span);
Obj const_binary(Lower *l, Operator op, Obj x, Obj y, Span span);
Obj const_compare(Lower *l, Operator op, Obj x, Obj y, Span span);

/* ---- ops.c: tensors ---- */
Type obj_type(Obj o); /* of a Value, or the type a number would take */
Value *to_value(Lower *l, Obj o,
                Span span); /* a number becomes a scalar constant; NULL after an error */
Obj decay(Lower *l, Obj o,
          Span span); /* what assignment does: numbers become tensors, in tuples too */
Obj positive_zero(Lower *l, Obj number, Span span); /* what -0.0 is as a constant; else number */
Value *number_value(Lower *l, Obj number, Type t,
                    Span span); /* a constant of type t; checks the range */
Value *cast_value(Lower *l, Value *v, Type elem, bool rtz,
                  Span span); /* shape of v, element of elem */
/* False, after an error, for an element that no GPU targeted here has. */
bool type_is_known(Lower *l, Type t, Span span);
Value *bitcast_value(Lower *l, Value *v, Type elem, Span span);
Value *broadcast_value(Lower *l, Value *v, Type shape, Span span);
bool broadcast_pair(Lower *l, Value **x, Value **y, Span span);
Elem promote_ints(Elem a, Elem b);
/* The element type in which `a op b` is computed, of which either may be a number's; false after an
 * error. */
bool promote(Lower *l, Elem a, bool a_number, Elem b, bool b_number, bool div, const char *what,
             Span span, Elem *out);
Elem number_elem(Obj number); /* of the tensor that it would be by itself */
bool int_fits(Obj number, Elem e);
bool is_operand(Obj o);
bool wrong_operands(Lower *l, const char *what, Obj x, Obj y, Span span); /* false */
Obj binary(Lower *l, Operator op, Obj x, Obj y, Span span);
Obj unary(Lower *l, Operator op, Obj x, Span span);
Obj compare(Lower *l, Operator op, Obj x, Obj y, Span span);
Obj logical(Lower *l, Operator op, Value *x, Value *y, Span span);
/* The error that o, which is no tensor, cannot be asked whether it is true. */
bool is_no_condition(Lower *l, Obj o, Span span);
/* A scalar int1, also of a tile of one element where that is allowed. */
Value *condition_value(Lower *l, Obj o, bool one_element, Span span, const char *what);
Value *add_pointer(Lower *l, Value *p, Value *offset, Span span);

/* ---- unify.c: operands brought to one type and shape ---- */
bool unify_operands(Lower *l, Obj x, Obj y, bool div, const char *what, Span span, Value **vx,
                    Value **vy); /* of an arithmetic operator */
/* The same where numbers are tensors of their own type first. */
bool unify_typed(Lower *l, Obj x, Obj y, const char *what, Span span, Value **vx, Value **vy);
/* Operands of a comparison; of a function that computes; of one that chooses. */
typedef enum Operands { COMPARED, COMPUTED, ORDERED } Operands;
/* n of them, as the version of Triton has it. */
bool unify_numbers(Lower *l, const Obj *x, int n, Operands kind, const char *what, Span span,
                   Value **v);

/* ---- scan.c ---- */
Names assigned_names(Lower *l, StmtList list, const Expr *also); /* `also`: for := in a condition */
Names global_names(Lower *l, const AstFunc *f);                  /* mentioned, and not its own */
bool returns_value(Lower *l, const AstFunc *f);

/* ---- name.c ---- */
Obj lookup_name(Lower *l, const char *name, Span span);
Obj global_object(Lower *l, int index, Span span);
const Global *global_value(Lower *l, int index); /* evaluated where it stands */
Obj import_object(Lower *l, const AstImport *im, Span span);
Obj import_member(Lower *l, const char *path, const char *name, Span span); /* of a known module */
bool is_known_module(const char *path);
char module_letter(const char *path); /* of the rows of builtins.def that are its members; 0 */
void inner_modules(const char *path, MemberFn fn, void *ctx); /* Triton's, directly in it */
bool always_there(const char *module);                        /* wherever Triton runs */
bool is_searched(const char *module); /* read where it is found: what jit functions may be in */
/* The error that nothing can be done with a value that is not known; false: x is another one. */
bool is_foreign(Lower *l, Obj x, Span span);
/* The error that a tensor is computed with outside a kernel; false: x is none, or this is one. */
bool is_outside(Lower *l, Obj x, Span span);
Obj attribute(Lower *l, Obj o, const char *name, Span span);
Binding *find_binding(Scope *scope, const char *name);
void bind_name(Lower *l, const char *name, Obj o, Span span);
Scope copy_scope(Lower *l, const Scope *scope);

/* ---- symbols.c: does nothing where nobody asks for symbols ---- */
/* What the name (NULL: an operator) at a place gives. */
void see(Lower *l, Span span, const char *name, Obj o);
void reach(Lower *l, const AstFunc *f); /* its body is looked at */
bool is_reached(const Lower *l, const AstFunc *f);
/* Notes what is taken for granted of a parameter. */
void assume(Lower *l, const AstParam *p, const char *what, bool is_type);

/* ---- untyped.c ---- */
/* For symbols, what the parameter could be, of which a launch would tell; NULL and poison: nobody
 * knows. */
const char *assumed_type(Lower *l, const AstFunc *f, const AstParam *p);
Obj assumed_constexpr(Lower *l, const AstFunc *f, const AstParam *p);
/* An error about parameters of f without types, and types that they could have. */
void report_untyped(Lower *l, const AstFunc *f, const AstParam *const *untyped, int n);
/* The same of constexprs without values. */
void report_missing(Lower *l, const AstFunc *f, const AstParam *const *missing, int n);

/* ---- advice.c ---- */
typedef enum AdvicePlace {
    ADVICE_STATEMENT,
    ADVICE_NAME,
    ADVICE_TL,
    ADVICE_TENSOR,
    ADVICE_LIST
} AdvicePlace;
/* To the error before, a note with what to write instead of a word that means nothing there; false
 * when none is known. */
bool advise(Lower *l, AdvicePlace place, const char *word);

/* What a value is that hints (tl.multiple_of) only promise something of. */
Value *unhinted(Value *v);
/* A hint that stands as a statement: names of what it is about have its promise from here on. */
void keep_promise(Lower *l, Obj o);

/* ---- expr.c ---- */
Obj lower_expr(Lower *l, const Expr *e);
Obj index_value(Lower *l, Value *v, Obj index, Span span);

/* ---- call.c ---- */
typedef struct Call { /* what stands between the parentheses, evaluated */
    Obj *arg;
    Span *where;
    int nargs;
    const Keyword *keyword;
    Obj *keyword_value;
    int nkeywords;
    Span span, name_span; /* the whole call; the callee */
    bool unused;          /* it is a statement */
} Call;
Obj lower_call(Lower *l, const Expr *e);
bool call_arguments(Lower *l, const Expr *e, Call *c); /* those of call e; false after an error */
Obj call(Lower *l, Obj callee, const Call *c);
Obj default_value(Lower *l, const AstFunc *f, const AstParam *p);
/* One value per parameter; `defaults` (NULL: those of a function at top level) likewise. */
bool bind_arguments(Lower *l, const AstFunc *f, const Call *c, const Obj *defaults, Obj *value);
/* @triton.constexpr_function, @tl.constexpr: kernels call it with constants. */
bool runs_at_compile_time(const AstFunc *f);
Obj call_object(Lower *l, Obj callee, const Obj *args, int nargs, Span span); /* positional only */

/* ---- class.c: aggregates and NamedTuples ---- */
ClassKind class_kind(const AstClass *ast);
Obj class_object(Lower *l, const AstClass *ast, Span span);
Obj named_tuple_class(Lower *l, const char *name, Obj fields, Span span);
Obj named_tuple(Lower *l, const Class *class, const Obj *field); /* an instance */
Obj class_call(Lower *l, const Class *class, const struct Call *c);
const char *class_name(Lower *l, Obj o);        /* of what o is an instance of, or NULL */
const char *field_name(Lower *l, Obj o, int i); /* of such an object */
bool instance_of(Lower *l, Obj o, const Class *class);
/* A field or a method; false when there is none of that name. */
bool class_attribute(Lower *l, Obj o, const char *name, Span span, Obj *out);
void assign_field(Lower *l, const Expr *target, Obj o);
/* Operators of which an operand is an instance. */
Obj class_binary(Lower *l, Operator op, Obj x, Obj y, Span span);
Obj class_unary(Lower *l, Operator op, Obj x, Span span);

/* ---- ask.c ---- */
/* What isinstance(o, class) gives; *known false: class is none that it knows. */
bool is_instance(Lower *l, Obj o, Obj class, bool *known);

/* ---- type.c ---- */
bool has_type(Obj o);
Obj type_object(Lower *l, Obj o);                         /* what `o.type` is */
bool float_format_of(Type t, const char *name, Obj *out); /* fp_mantissa_width, exponent_bias */

/* ---- stmt.c, flow.c, loop.c ---- */
void lower_stmts(Lower *l, StmtList list, int from, const Continuation *then);
/* To the end of the function, or of the innermost round of an unrolled loop. */
void lower_continuation(Lower *l, const Continuation *then, bool whole);
void assign(Lower *l, const Expr *target, Obj o);
void assign_name(Lower *l, const char *name, Obj o, Span span);
/* As a kernel assigns: numbers become tensors, unless the name is declared tl.constexpr. */
Obj assign_decayed(Lower *l, const char *name, Obj o, Span span);
void lower_if(Lower *l, const Stmt *stmt, const Continuation *then);
void lower_for(Lower *l, const Stmt *stmt, const Continuation *then);
/* Goes on with the rounds that are left, and behind the loop. */
void continue_rounds(Lower *l, const struct Rounds *left);
void lower_while(Lower *l, const Stmt *stmt);
void lower_jump(Lower *l, const Stmt *stmt); /* break, continue */
extern const char loop_stop[];               /* the hidden name that break sets */
Obj lower_ternary(Lower *l, const Expr *e, Obj condition);
bool range_count(Lower *l, const Range *r, Span span,
                 int64_t *count); /* of compile-time integers */

/* ---- builtin.c: the table of builtins ---- */
typedef VEC(int64_t) Dims;
typedef struct Args { /* of a builtin's call, in the order of its parameters */
    const Builtin *row;
    Span span; /* the whole call */
    Obj *at;
    Span *where;
    bool *given;
    int n, npositional; /* of these were given by position */
    Span name_span;     /* the function's name */
} Args;
typedef Obj (*BuiltinFn)(Lower *l, const Args *a, int64_t data);
struct Builtin {
    const char *name;
    const char *where; /* letters: see builtins.def */
    const char *params;
    BuiltinFn fn; /* NULL: part of Triton, not supported; params says why */
    int64_t data;
};
/* A function of Python's or of one of its modules, "" of Python itself. */
typedef struct HostRow {
    const char *module;
    Builtin row;
} HostRow;
Obj find_host_row(const HostRow *rows, int n, const char *module, const char *name);
const Builtin *find_builtin(char where, const char *name);
int builtin_names(Lower *l, char where, const char ***out); /* for suggestions */
const char *builtin_text(Lower *l, const Builtin *row);     /* "tl.arange" */
Obj call_builtin(Lower *l, const Builtin *row, const Obj *self, const Call *c);
/* The names of its keywords, where what it is given is not known. */
void check_keywords(Lower *l, const Builtin *row, const struct Call *c);
void newer_words(Lower *l, const Args *a); /* as newer(), of the builtin that is called */
const char *arg_name(Lower *l, const Args *a, int i);
/* Each of these reports an error that names the function and the parameter. */
bool arg_int(Lower *l, const Args *a, int i, int64_t *out);
bool arg_bool(Lower *l, const Args *a, int i, bool *out);
bool arg_text(Lower *l, const Args *a, int i, const char **out);
bool arg_type(Lower *l, const Args *a, int i, Type *out);
bool arg_dims(Lower *l, const Args *a, int i, Dims *out); /* an integer or a sequence of them */
Value *arg_value(Lower *l, const Args *a, int i);
bool check_dims(Lower *l, const Args *a, int i, const Dims *dims); /* powers of two, not too many */
bool arg_axis(Lower *l, const Args *a, int i, Type t, int *out);   /* a dimension of t */
bool arg_shape(Lower *l, const Args *a, int i, Type elem, Type *out);
Obj arg_error(Lower *l, const Args *a, int i, const char *expected);
/* A builtin that Triton has and tilec has not, which is an error that says why; else false. */
bool is_refused(Lower *l, Obj o, Span span);

/* ---- pad.c ---- */
/* Tiles of sizes that are no powers of two made of some that are. */
void pad_tiles(Lower *l, Func *f);

/* ---- reduce.c ---- */
Value *only_element(Lower *l, Value *x, Span span); /* of a tile of one element: a scalar */

/* ---- library.c: builtins written in the tile language ---- */
/* Calls a function of the library; what goes wrong in it is reported at span. */
Obj library_call(Lower *l, const char *name, const Obj *args, int nargs, Span span);

/* ---- memory.c ---- */
/* One of a few words, as its index; a NULL ends the words, "" is what None means. */
bool arg_word(Lower *l, const Args *a, int i, const char *const *words, int64_t *out);
Value *pointer_arg(Lower *l, const Args *a); /* argument 0 */
/* False, after an error, if p, the type of pointers in argument 0, is of a tl.const. */
bool may_write(Lower *l, const Args *a, Type p);
/* Pointer and mask (argument i; NULL when None) brought to one shape. */
bool fit_mask(Lower *l, const Args *a, int i, Value **p, Value **mask);
/* The same of what is written: the pointer has that shape already. */
bool fit_write_mask(Lower *l, const Args *a, int i, Value *p, Value **mask);
/* Argument i in the shape of the pointers and the type they point to. */
Value *fit_value(Lower *l, const Args *a, int i, Type p);

/* ---- effect.c ---- */
/* Ends the kernel where the condition fails and the mask (or None) holds; false after an error. */
bool emit_assert(Lower *l, Obj condition, Obj mask, const char *text, Span span);
/* In a kernel for debugging, asserts that x op y (+, - or * of integers below 64 bits) does not
 * wrap.
 */
void check_overflow(Lower *l, Operator op, Value *x, Value *y, Span span);

/* ---- descriptor.c: block pointers and tensor descriptors ---- */
bool obj_is_descriptor(Obj o);
const char *descriptor_text(Obj o); /* "a block pointer", "a tensor descriptor" */
bool descriptor_is_tensor(Obj w);
Obj descriptor_attribute(Lower *l, Obj w, const char *name, Span span);
Type descriptor_block(Obj w); /* a tile of pointers */
/* Argument 0, a descriptor, is a block pointer; else false after an error. */
bool block_pointer(Lower *l, const Args *a);
/* Loads its block, NaN or 0 outside, or stores a value (NULL: loads), with boundary_check in
 * argument check_at; NULL after an error. */
Op *block_pointer_access(Lower *l, const Args *a, int check_at, bool nan, Value *value);

/* What add_rd and the like are of an OP_ROUNDED, in bi_rounded's data. */
enum { ROUNDED_PLAIN, ROUNDED_SUB, ROUNDED_RCP };

#define BUILTIN(text, where_, params_, fn_, data_) Obj fn_(Lower *l, const Args *a, int64_t data);
#define REFUSED(text, where_, why_)
#include "frontend/builtins.def"
#undef BUILTIN
#undef REFUSED

#endif
