/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* codegen.c: a module of tile IR -> an LLVM module -> optimised -> LLVM IR text and PTX.
 *
 * Every LLVM object of a compilation hangs from one Llvm struct and is disposed here on every way
 * out, an arena without memory included. LLVM's own state is one once-flag: the registration of its
 * NVPTX back end. */
#include "codegen/codegen.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "codegen/gen.h"
#include "ir/roles.h"

typedef struct Llvm {
    LLVMContextRef c;
    LLVMModuleRef mod;
    LLVMBuilderRef b, entry;
    LLVMTargetMachineRef machine;
    LLVMMemoryBufferRef text;
    LLVMDIBuilderRef di;
} Llvm;

static void dispose(Llvm *l) {
    if (l->text) LLVMDisposeMemoryBuffer(l->text);
    if (l->di) LLVMDisposeDIBuilder(l->di);
    if (l->b) LLVMDisposeBuilder(l->b);
    if (l->entry) LLVMDisposeBuilder(l->entry);
    if (l->mod) LLVMDisposeModule(l->mod);
    if (l->machine) LLVMDisposeTargetMachine(l->machine);
    if (l->c) LLVMContextDispose(l->c);
    *l = (Llvm){0};
}

static void register_target(void) {
    LLVMInitializeNVPTXTargetInfo();
    gen_leave_passes_out();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
}

static pthread_once_t target_once = PTHREAD_ONCE_INIT;

const char *codegen_llvm_version(void) {
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
    return TEXT(LLVM_VERSION_MAJOR) "." TEXT(LLVM_VERSION_MINOR) "." TEXT(LLVM_VERSION_PATCH);
}

static bool make_machine(Session *s, Llvm *l, const CodegenOptions *o) {
    static const char triple[] = "nvptx64-nvidia-cuda";
    pthread_once(&target_once, register_target);
    LLVMTargetRef target;
    char *message = NULL, features[32];
    if (LLVMGetTargetFromTriple(triple, &target, &message)) {
        diag(&s->diags, E_LLVM, (Span){0}, "LLVM has no NVPTX target: %s", message ? message : "");
        LLVMDisposeMessage(message);
        return false;
    }
    snprintf(features, sizeof features, "+%s", gen_ptx_feature(o->target));
    l->machine = LLVMCreateTargetMachine(target, triple, gen_processor(o->target), features,
                                         o->level ? gen_level() : LLVMCodeGenLevelLess,
                                         LLVMRelocDefault, LLVMCodeModelDefault);
    if (!l->machine) {
        diag(&s->diags, E_LLVM, (Span){0}, "LLVM cannot make code for %s", o->target->name);
        return false;
    }
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(l->machine);
    LLVMSetModuleDataLayout(l->mod, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(l->mod, triple);
    return true;
}

/* ---- one function ---- */

static LLVMTypeRef param_type(Gen *g, Type t) { /* int1 travels as a byte */
    return type_is_bool(t) ? g->i8 : gen_elem_type(g, t);
}

const char *codegen_entry_name(Session *s, const char *name) {
    Buf b = buf_new(&s->arena);
    for (const char *p = name; *p; p++) {
        unsigned char c = (unsigned char)*p;
        bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (plain)
            buf_putc(&b, (char)c);
        else
            buf_printf(&b, "$%02x", c);
    }
    if (strcmp(b.data, "_") == 0 || strcmp(b.data, "WARP_SZ") == 0) buf_puts(&b, "$k");
    return b.data;
}

static void look_for_split(Op *op, void *found) {
    *(bool *)found |=
        op->code == OP_STREAM_K || op->code == OP_WORKSPACE || op->code == OP_LAUNCH_MARK;
}

typedef struct Wide {
    LLVMTypeRef *next, i64; /* the former: of the next number's parameter, i32 */
} Wide;

static void widen_number(Op *op, void *ctx) {
    Wide *x = ctx;
    if (op->code != OP_LAUNCH_NUMBER) return;
    if (type_elem_bits(op->result[0]->type) == 64) *x->next = x->i64;
    x->next++;
}

/* The types of all parameters; *n becomes their number. */
static LLVMTypeRef *param_types(Gen *g, int *n) {
    const Func *f = g->f;
    GenHidden *h = &g->hidden;
    *h = (GenHidden){.axes = f->persistent};
    gen_count_hidden(f, h);
    ir_walk(f->body, look_for_split, &h->split);
    int maps = gen_first_map(g), split = maps + h->maps;
    *n = split + (h->split ? GEN_SPLIT : 0);
    LLVMTypeRef *types = arena_array(&g->s->arena, (size_t)*n, sizeof *types);
    for (int i = 0; i < f->nparams; i++) types[i] = param_type(g, f->param[i].type);
    for (int i = f->nparams; i < split; i++)
        types[i] = i < maps ? g->i32 : LLVMPointerTypeInContext(g->c, 0);
    ir_walk(f->body, widen_number, &(Wide){types + gen_first_number(g), g->i64});
    for (int i = split; i < *n; i++)
        types[i] = i == split ? g->ptr : i == split + 1 ? g->i64 : g->i32;
    return types;
}

static void gen_func(Gen *g) {
    const Func *f = g->f;
    Arena *a = &g->s->arena;
    int all;
    LLVMTypeRef *types = param_types(g, &all);
    int maps = gen_first_map(g);
    LLVMTypeRef t = LLVMFunctionType(LLVMVoidTypeInContext(g->c), types, (unsigned)all, 0);
    g->func = LLVMAddFunction(g->mod, codegen_entry_name(g->s, f->name), t);
    int warps = warps_of_program(f);
    gen_make_kernel(g, (uint32_t)warps * 32);
    for (int i = 0; i < g->hidden.maps; i++) gen_map_param(g, (unsigned)(maps + i));
    g->nmaps = g->nnumbers = g->npolicies = 0;
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(g->c, g->func, "entry");
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(g->c, g->func, "body");
    LLVMPositionBuilderAtEnd(g->entry, entry);
    LLVMPositionBuilderAtEnd(g->b, entry);
    gen_debug_func(g);
    g->tile = arena_array(a, f->nvalues, sizeof *g->tile);
    g->run = arena_array(a, f->nvalues, sizeof *g->run);
    g->parts = NULL;
    g->alone = NULL;
    g->instructions = g->most = 0;
    g->tid = gen_intrinsic(g, INTRINSIC_TID_X, NULL, 0, NULL, 0);
    g->lane = LLVMBuildAnd(g->b, g->tid, gen_i32(g, 31), "lane");
    LLVMValueRef warp = LLVMBuildLShr(g->b, g->tid, gen_i32(g, 5), "");
    bool power = (warps & (warps - 1)) == 0; /* roles count their own */
    g->warp = power ? LLVMBuildAnd(g->b, warp, gen_i32(g, (uint32_t)warps - 1), "warp") : warp;
    for (int i = 0; i < f->nparams; i++) {
        if (!f->param[i].value) continue;
        Tile x = gen_new_tile(g, f->param[i].value);
        x.at[0] = LLVMGetParam(g->func, (unsigned)i);
        if (type_is_bool(f->param[i].type))
            x.at[0] = LLVMBuildICmp(g->b, LLVMIntNE, x.at[0], LLVMConstNull(g->i8), "");
    }
    LLVMPositionBuilderAtEnd(g->b, body);
    gen_block(g, f->body);
    LLVMBuildRetVoid(g->b);
    LLVMBuildBr(g->entry, body);
}

static void set_types(Gen *g) {
    g->i1 = LLVMInt1TypeInContext(g->c);
    g->i8 = LLVMInt8TypeInContext(g->c);
    g->i16 = LLVMInt16TypeInContext(g->c);
    g->i32 = LLVMInt32TypeInContext(g->c);
    g->i64 = LLVMInt64TypeInContext(g->c);
    g->f16 = LLVMHalfTypeInContext(g->c);
    g->bf16 = LLVMBFloatTypeInContext(g->c);
    g->f32 = LLVMFloatTypeInContext(g->c);
    g->f64 = LLVMDoubleTypeInContext(g->c);
    g->ptr = LLVMPointerTypeInContext(g->c, 1);
    g->ptr_shared = LLVMPointerTypeInContext(g->c, 3);
    g->shared = LLVMAddGlobalInAddressSpace(g->mod, LLVMArrayType2(g->i8, 0), "tile_shared", 3);
    LLVMSetLinkage(g->shared, LLVMExternalLinkage);
    LLVMSetAlignment(g->shared, 1024);
}

/* ---- LLVM's passes and output ---- */

/* The passes that pay on code that is SSA already and has no calls; default<O3> takes several times
 * as long for the same PTX. What a branch in a loop alone needs is not made before the loop, where
 * it would be held all the while. */
static const char simplify[] =
    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(licm<no-allowspeculation>),early-cse,instcombine<no-verify-fixpoint>,div-rem-pairs)";

/* Those of the back end, which would run EarlyCSE once more (gen_level): behind the repairs. */
static const char lower[] =
    "function(separate-const-offset-from-gep,early-cse,loop(loop-reduce),early-cse)";

static bool run(Session *s, Llvm *l, const CodegenOptions *o, const char *pipeline) {
    if (!o->level) return true;
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e = LLVMRunPasses(l->mod, pipeline, l->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!e) return true;
    char *message = LLVMGetErrorMessage(e);
    diag(&s->diags, E_BUG, (Span){0}, "LLVM's passes failed: %s; this is a bug in tilec", message);
    LLVMDisposeErrorMessage(message);
    return false;
}

static bool verify(Session *s, Llvm *l) {
    char *message = NULL;
    bool bad = LLVMVerifyModule(l->mod, LLVMReturnStatusAction, &message);
    if (bad)
        diag(&s->diags, E_BUG, (Span){0}, "LLVM refuses the code made: %s; this is a bug in tilec",
             message);
    LLVMDisposeMessage(message);
    return !bad;
}

/* LLVM's PTX for the target: of those that LLVM does not know, it is a processor's before them. */
static void write_ptx(const char *text, size_t len, const Target *t, Buf *ptx) {
    static const char version[] = "\n.version ", target[] = "\n.target ";
    const char *at = strstr(text, version), *to = at ? strstr(at, target) : NULL;
    if (to) {
        buf_write(ptx, text, (size_t)(at - text));
        buf_printf(ptx, "%s%s%s%s", version, t->ptx_version, target, t->name);
        to += sizeof target - 1;
        to += strcspn(to, ", \n");
        len -= (size_t)(to - text);
        text = to;
    }
    ptx_avoid_ptxas_bugs(text, len, ptx);
}

static bool emit(Session *s, Llvm *l, const Target *t, Buf *ptx) {
    char *message = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(l->machine, l->mod, LLVMAssemblyFile, &message,
                                            &l->text)) {
        diag(&s->diags, E_LLVM, (Span){0}, "LLVM cannot write the PTX: %s", message ? message : "");
        LLVMDisposeMessage(message);
        return false;
    }
    write_ptx(LLVMGetBufferStart(l->text), LLVMGetBufferSize(l->text), t, ptx);
    return true;
}

static bool generate(Session *s, Llvm *l, const Module *m, const CodegenOptions *o, Buf *llvm,
                     Buf *ptx) {
    l->c = LLVMContextCreate();
    l->mod = LLVMModuleCreateWithNameInContext("tile", l->c);
    l->b = LLVMCreateBuilderInContext(l->c);
    l->entry = LLVMCreateBuilderInContext(l->c);
    if (!make_machine(s, l, o)) return false;
    int errors = s->diags.errors;
    Gen g = {.s = s, .m = m, .o = o, .c = l->c, .mod = l->mod, .b = l->b, .entry = l->entry};
    if (!gen_find_intrinsics(&g)) return false;
    set_types(&g);
    gen_debug_begin(&g);
    l->di = g.di;
    for (const Func *f = m->funcs; f; f = f->next) {
        g.f = f;
        gen_func(&g);
    }
    gen_debug_end(&g);
    l->di = NULL;
    if (!LLVMGetFirstUse(g.shared)) LLVMDeleteGlobal(g.shared);
    if (s->diags.errors != errors || !verify(s, l) || !run(s, l, o, simplify)) return false;
    gen_avoid_ptxas_bugs(&g);
    gen_avoid_llvm_bugs(&g);
    gen_hold_wgmma_constants(&g);
    if (llvm) {
        char *text = LLVMPrintModuleToString(l->mod);
        buf_puts(llvm, text);
        LLVMDisposeMessage(text);
    }
    return !ptx || (run(s, l, o, lower) && emit(s, l, o->target, ptx));
}

bool codegen_module(Session *s, const Module *m, const CodegenOptions *o, Buf *llvm, Buf *ptx) {
    /* When the arena runs dry it jumps; LLVM's objects are disposed of on that way out too. */
    Llvm *volatile l = arena_alloc(&s->arena, sizeof *l);
    jmp_buf outer;
    memcpy(&outer, &s->bail, sizeof outer);
    if (setjmp(s->bail)) {
        dispose(l);
        memcpy(&s->bail, &outer, sizeof outer);
        longjmp(s->bail, 1);
    }
    bool ok = generate(s, l, m, o, llvm, ptx);
    dispose(l);
    memcpy(&s->bail, &outer, sizeof outer);
    return ok;
}
