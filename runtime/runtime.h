/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* runtime.h: what lies behind the opaque types of tile.h, shared by the files of runtime/.
 *
 * context.c and launch.c check what the caller gave and keep the books; what depends on the device
 * is behind DeviceOps, implemented by cuda.c and cpu.c. Failures go through rt_fail, which keeps
 * the sentence for tile_error. */
#ifndef TILE_RUNTIME_RUNTIME_H
#define TILE_RUNTIME_RUNTIME_H

#include "tile.h"
#include "base/expr.h"
#include "ir/desc.h"
#include "ir/interp/interp.h"
#include "ptx/machine/machine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <unistd.h>

enum {
    RT_MAX_MAPS = 16,
    RT_MAX_NUMBERS = 32, /* that launches work out */
    RT_MAP_RANK = DESC_MAX_RANK,
    PORTABLE_CLUSTER = 8, /* programs, that every GPU with clusters takes */
    RT_MAX_PARAMS = TILE_MAX_PARAMS,
    RT_MAX_KERNELS = 4096
};

typedef struct CudaDevice CudaDevice;
struct CuModuleRec;
struct CuFunctionRec;
struct CuEventRec;

/* A stretch of device memory that the context answers for. */
typedef struct Buffer {
    tile_ptr start;
    size_t bytes;
    uint8_t *written; /* CPU: one byte per byte, nonzero once written; NULL: all written */
    void *map;        /* CPU: what to unmap; NULL: the caller's memory */
    size_t map_bytes;
    size_t tensors; /* imported tensors that it is kept for; 0: it is tile_alloc's or tile_wrap's */
    bool shared;    /* other processes may have it, too: tile_alloc_shared's */
    bool opened;    /* … and this is not the one that allocated it: tile_shared_open's */
    size_t written_bytes; /* CPU: `written` is mapped, so many bytes; 0: malloc'ed */
    int file;             /* CPU: of shared memory, the descriptor plus 1; 0: none */
} Buffer;

/* A buffer that is gone: for messages about addresses in it. */
typedef struct Freed {
    tile_ptr start;
    size_t bytes; /* 0: none, or its memory is another buffer's now */
} Freed;
enum { RT_FREED = 64 }; /* so many are remembered */

/* Who asks which entry a launch takes, without launching it. */
typedef struct EntryAsk {
    tile_entry_fn see;
    void *user;
    char why[400]; /* the entry that was asked last is not for it */
} EntryAsk;

typedef struct LaunchGrid {
    tile_grid programs; /* what is launched */
    tile_grid work;     /* what was asked for: more, of a persistent kernel */
    uint32_t cluster;   /* programs along x, which divides theirs; 1: there are none */
    bool stands_in;     /* for another entry: that there are no maps is no failure to tell of */
    uint32_t stream_k[STREAM_K_SHARES]; /* places 0: programs take whole ones; else they need a
                                           workspace */
    EntryAsk *ask;                      /* nothing is launched; NULL: it is */
} LaunchGrid;

/* What tile_shared_handle holds (shared.c): which sort of memory, its size, and what its device
 * knows it by. */
typedef struct SharedHandle {
    char magic[8];
    uint32_t kind; /* SHARED_ */
    int32_t pid;   /* of host memory, as is the next */
    uint64_t bytes;
    int32_t file;
    uint8_t driver[64]; /* of a GPU's */
    uint8_t nonce[16];  /* of host memory: which of all that were ever allocated */
    uint8_t zero[20];
} SharedHandle;
enum { SHARED_HOST = 1, SHARED_CUDA = 2 };

typedef struct DeviceOps {
    tile_status (*alloc)(tile_context *ctx, size_t bytes, Buffer *out);
    tile_status (*alloc_shared)(tile_context *ctx, size_t bytes, Buffer *out);
    /* Fills in what the device knows the memory by. */
    tile_status (*share)(tile_context *ctx, const Buffer *b, SharedHandle *out);
    tile_status (*open_shared)(tile_context *ctx, const SharedHandle *handle, Buffer *out);
    /* Both contexts are of this sort of device, and not the same. */
    tile_status (*enable_peer)(tile_context *ctx, tile_context *peer);
    tile_status (*copy_peer)(tile_context *ctx, tile_ptr to, tile_context *source, tile_ptr from,
                             size_t bytes, void *stream);
    tile_status (*release)(tile_context *ctx, Buffer *b);
    tile_status (*copy_in)(tile_context *ctx, tile_ptr to, const void *from, size_t bytes);
    tile_status (*copy_out)(tile_context *ctx, void *to, tile_ptr from, size_t bytes);
    tile_status (*copy_within)(tile_context *ctx, tile_ptr to, tile_ptr from, size_t bytes,
                               void *stream);
    tile_status (*write_value)(tile_context *ctx, void *stream, tile_ptr to, uint32_t value);
    tile_status (*wait_value)(tile_context *ctx, void *stream, tile_ptr from, uint32_t value);
    tile_status (*fill)(tile_context *ctx, tile_ptr to, unsigned char value, size_t bytes);
    /* Makes the code behind module->kernel[…] ready; text ends in a NUL. */
    tile_status (*load)(tile_module *m, const char *text);
    void (*unload)(tile_module *m);
    /* arg is the callee's to change. TILE_BAD_LAUNCH, with grid->stands_in: this entry is not for
     * it, as grid->ask is told. */
    tile_status (*launch)(tile_kernel *k, const LaunchGrid *grid, InterpArg *arg, void *stream);
    tile_status (*keep_graphs)(tile_context *ctx, int at_most); /* NULL: there are no graphs */
    tile_status (*synchronize)(tile_context *ctx);
    tile_status (*synchronize_stream)(tile_context *ctx, void *stream);
    tile_status (*stream_create)(tile_context *ctx, void **out);
    tile_status (*stream_destroy)(tile_context *ctx, void *stream);
    tile_status (*event_record)(tile_event *e, void *stream);
    /* What happens in the stream later waits for the event. */
    tile_status (*event_order)(tile_event *e, void *stream);
    tile_status (*event_wait)(tile_event *e);
    tile_status (*event_done)(tile_event *e, int *done);
    tile_status (*event_elapsed)(tile_event *start, tile_event *end, double *ms);
    void (*event_close)(tile_event *e);
    void (*close)(tile_context *ctx);
} DeviceOps;

/* The last failure of one thread. */
typedef struct ErrorText {
    struct ErrorText *next;
    pthread_t thread;
    char *text;
} ErrorText;

/* How other contexts know one: it may go before they do. */
typedef struct PeerLink {
    pthread_mutex_t lock;
    atomic_int holders;
    tile_context *ctx; /* NULL: it is gone */
} PeerLink;

struct tile_context {
    DeviceOps own_ops;    /* what ops points to, of a device that is made of another's */
    const DeviceOps *ops; /* NULL: never opened, serves tile_error only */
    bool is_cpu;          /* runs tile IR */
    bool on_host;         /* its memory is this process's */
    pid_t pid;
    /* A page that the system empties in a forked child, so that asking whose context this is costs
     * no system call; NULL where it cannot: pid is compared. */
    volatile unsigned char *ours;
    char name[256];
    const char *target;
    int multiprocessors; /* GPU */
    int ordinal;         /* GPU number */
    /* There is memory for launches whose programs hand each other parts of sums. */
    atomic_bool splits;
    CudaDevice *cuda;
    atomic_bool concurrent; /* no launch takes a whole multiprocessor's shared memory */
    pthread_mutex_t lock;   /* guards what follows */
    ErrorText *errors;
    bool error_lost; /* a thread that is not among them failed, and there was no memory to say so */
    Buffer *buffer;  /* by start */
    size_t nbuffers, cap;
    Freed freed[RT_FREED]; /* the last ones, in a ring */
    size_t nfreed;         /* ever */
    unsigned checks;
    uint32_t patience_ms; /* how long the host waits for a number; 0: PATIENCE_MS. Tests set it */
    tile_print_fn print;  /* NULL: dropped */
    void *print_user;
    tile_progress_fn progress; /* NULL: nobody asks */
    void *progress_user;
    tile_count_fn counts; /* NULL: nobody asks */
    void *counts_user;
    PeerLink *link; /* of contexts on the host: what others know this one by; NULL: none does */
    PeerLink *peer[TILE_MAX_PEERS]; /* … whose memory launches here may use */
    size_t npeers;
};

/* How a launch looks at an argument first (see launch.c). */
typedef enum ArgCheck {
    ARG_ASK, /* only by all that the parameter says */
    ARG_POINTER,
    ARG_INT,
    ARG_FLOAT,
    ARG_NONE /* anything goes */
} ArgCheck;

typedef struct KernelParam {
    const char *name, *type_text;
    Elem elem;
    int depth; /* levels of pointer */
    int64_t divisible;
    bool has_equals, none;
    int64_t equals;
    /* What the above comes to, worked out when the module is loaded: an argument of this type that
     * lies in lo..hi (of an integer) and has no bit of the mask keeps every promise. */
    ArgCheck check;
    tile_type type;
    int64_t lo, hi;
    uint64_t mask;
} KernelParam;

typedef struct KernelConstexpr {
    const char *name;
    bool is_int;
    int64_t value;
} KernelConstexpr;

typedef struct MadeMaps MadeMaps;       /* maps.c: the last ones that were made of it */
typedef struct KeptNumbers KeptNumbers; /* numbers.c */

/* A hidden parameter: the map of a tensor that arguments describe (maps.c). */
typedef struct KernelMap {
    int base; /* the parameter that points to it */
    Elem elem;
    int rank, swizzle;
    bool stored;               /* the kernel stores by it */
    uint32_t box[RT_MAP_RANK]; /* elements, outermost first */
    const char *text; /* sizes, strides and offset in elements: expressions, joined by ", " */
    ExprOp *code;     /* the same as code; NULL: they cannot be read */
    int nops;
    MadeMaps *made; /* that launches share */
} KernelMap;

/* A hidden parameter: a number that a launch works out. */
typedef struct KernelNumber {
    const char *text; /* an expression */
    Elem elem;        /* i32 or i64 */
} KernelNumber;

/* What a hidden parameter is; a split is RT_SPLIT of them. */
typedef enum HiddenKind { HIDDEN_MAP, HIDDEN_NUMBER, HIDDEN_AXIS, HIDDEN_SPLIT } HiddenKind;

enum { ITERATION_CLOCKS, LEAST_CLOCKS, PART_CLOCKS, MEET_CLOCKS, SPLIT_CLOCKS }; /* see attrs.def */
/* Hidden parameters: a workspace, a mark, and how programs share out loops (share.c). */
typedef struct KernelSplit {
    int64_t bytes; /* of a program in the workspace; 0: the kernel has no such parameters */
    const char *iterations; /* of a place: an expression */
    ExprOp *code;           /* the same as code; NULL: it cannot be read */
    int nops;
    int64_t clocks[SPLIT_CLOCKS];
} KernelSplit;

typedef struct TensorMap { /* as the hardware reads it */
    _Alignas(64) uint8_t bytes[128];
} TensorMap;

struct tile_kernel {
    tile_module *module;
    const char *name, *entry;
    KernelParam *param;
    int nparams;
    KernelConstexpr *constexpr_;
    int nconstexprs;
    const char *grid;  /* up to three expressions joined by ", "; NULL: not stated */
    ExprOp *grid_code; /* the same as code; NULL: not stated, or not sound (a launch says how) */
    int grid_ops;
    const char *flops, *bytes; /* expressions for what a launch does; NULL: not stated */
    int num_warps, num_stages;
    uint32_t cluster[3];   /* {1, 1, 1}: none */
    bool cooperative;      /* all programs run at once */
    bool plain;            /* neither of the two */
    bool dependent_launch; /* it waits for the grids before it: it may start before they end */
    int64_t shared;
    int64_t shared_single_cta; /* where no two programs share a multiprocessor; 0: the same */
    KernelMap *map;
    KernelNumber *number;
    ExprOp *number_code; /* of all numbers, as code; NULL: they cannot be read */
    int number_ops;
    uint8_t *hidden; /* the HiddenKind of each of the parameters that can be made, in their order */
    /* Hidden parameters, and how many of each kind can be made. */
    int nhidden, nkinds, nmaps, nnumbers, naxes, nsplit;
    KernelSplit split;
    int min_places; /* of a further entry: that a program has where it is worth it; 1: always */
    const char *worth_places; /* an expression that says it better; or NULL */
    ExprOp *worth_code;       /* the same as code; NULL: it cannot be read */
    int worth_ops;
    int max_cluster; /* programs that a launch may run as a cluster; 0: there are none for it */
    const char *cluster_when; /* an expression: not 0 where that is faster */
    ExprOp *cluster_code;     /* the same as code; NULL: it cannot be read */
    int cluster_ops;
    int persistent; /* axes of the grid that its programs share out; 0: a program for each place */
    /* A further entry of another kernel, for launches of that one that keep its conditions
     * (expressions joined by ", ", or NULL), and can have its maps. */
    tile_kernel *of;
    const char *conditions;
    ExprOp *condition_code; /* the same as code */
    int condition_ops;
    KeptNumbers *kept;         /* what conditions and numbers came to, which launches share */
    bool unusable;             /* a further entry that this device does not take */
    int nfurther;              /* of this one: they stand behind it in the module's list */
    const Func *func;          /* CPU */
    const PtxProgram *program; /* of the PTX machine */
    struct CuFunctionRec *function;
    int registers;
    size_t spill_bytes;
    int resident; /* programs that a multiprocessor runs at once; 0: not known */
};

struct tile_module {
    tile_context *ctx;
    Session session; /* holds all text of the kernels, and the tile IR */
    tile_kernel *kernel;
    int nkernels;
    const char *target;   /* of the manifest */
    Module *ir;           /* CPU */
    const PtxModule *ptx; /* of the PTX machine */
    struct CuModuleRec *cu;
};

struct tile_event {
    tile_context *ctx;
    struct CuEventRec *cu;
    double ms; /* CPU */
};

/* Keeps the sentence for this thread's tile_error and returns `status`. */
tile_status rt_fail(tile_context *ctx, tile_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* This process is a forked child of the one that made the context. */
static inline bool rt_forked(const tile_context *ctx) {
    return ctx->ours ? *ctx->ours == 0 : ctx->pid != getpid();
}
/* The first thing of every call: ctx is there, opened, and this process's own. */
static inline tile_status rt_enter(const tile_context *ctx) {
    if (!ctx) return TILE_INVALID;
    if (rt_forked(ctx)) return TILE_FORKED;
    /* The failure to open stays the thing to report. */
    return ctx->ops ? TILE_OK : TILE_INVALID;
}
/* Enters a new buffer, whose start is *out then; else it is released. */
tile_status rt_keep(tile_context *ctx, Buffer *b, tile_ptr *out);
/* The buffer that holds all of [p, p + bytes), copied to *out. Takes the lock. */
bool rt_find_buffer(tile_context *ctx, tile_ptr p, size_t bytes, Buffer *out);

/* p lies in what was a buffer and is none now. Takes the lock. */
bool rt_was_freed(tile_context *ctx, tile_ptr p);

/* CPU: lets kernels use the caller's memory until rt_give_back(ctx, *key) is called as often. What
 * lies inside a buffer already needs nothing: *key is 0 where that is not kept for a tensor. */
tile_status rt_borrow(tile_context *ctx, tile_ptr start, size_t bytes, tile_ptr *key);
void rt_give_back(tile_context *ctx, tile_ptr key);
/* The product of a kernel's cluster. */
static inline unsigned rt_cluster_size(const tile_kernel *k) {
    return k->cluster[0] * k->cluster[1] * k->cluster[2];
}
enum { RT_SPLIT = 2 + STREAM_K_SHARES }; /* so many parameters has a KernelSplit */
/* share.c: how many programs share out the places of the grid, and how. False: they are too many,
 * or along axes that the programs do not know of. */
bool rt_share_out(const tile_kernel *k, const InterpArg *arg, LaunchGrid *g);
/* cuTensorMapEncodeTiled: the 128 bytes of a map, as the device reads them. */
typedef int EncodeMap(void *map, int type, uint32_t rank, uint64_t address, const uint64_t *sizes,
                      const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,
                      int interleave, int swizzle, int l2_promotion, int fill);
/* maps.c: map i of k, for a launch with these arguments. NULL, or why there is none, in the buffer
 * or for good. *driver: what went wrong in the driver, whatever the arguments are. */
const char *rt_make_map(EncodeMap *encode, const tile_kernel *k, int i, const InterpArg *arg,
                        TensorMap *out, char *buffer, size_t size, int *driver);
/* The parameters of a kernel's PTX in a launch: where each is. A parameter takes the low bytes of
 * its InterpArg, which the machine has first; a float's are made here. */
typedef struct LaunchArgs {
    void *param[RT_MAX_PARAMS + RT_MAX_MAPS + RT_MAX_NUMBERS + 3 + RT_SPLIT];
    uint64_t floats[RT_MAX_PARAMS];
    TensorMap map[RT_MAX_MAPS];
    int64_t number[RT_MAX_NUMBERS]; /* the low bytes are the parameter */
    uint32_t work[3], stream_k[STREAM_K_SHARES];
    uint64_t workspace, mark; /* the caller's to fill in; 0 */
} LaunchArgs;
/* arguments.c: arg lives as long as *out is used. *driver: as of rt_make_map. */
tile_status rt_arguments(EncodeMap *encode, tile_kernel *k, const LaunchGrid *asked, InterpArg *arg,
                         LaunchArgs *out, int *driver);
/* Of expressions over a launch's arguments: the value of a parameter, by its number. */
static inline int64_t rt_value_of_slot(const void *args, int64_t number) {
    return ((const InterpArg *)args)[number].i;
}
/* Where maps of one tensor are kept, in the arena. */
MadeMaps *rt_made_maps(Arena *a);
/* numbers.c: this further entry is for a launch with these arguments, by its conditions and
 * numbers; the latter go to number[0..RT_MAX_NUMBERS), and to *places how many places of the grid
 * some program has where it is worth it. */
bool rt_is_for(const tile_kernel *k, const InterpArg *arg, int64_t *number, int64_t *places);
/* The arguments keep the entry's conditions. */
bool rt_keeps_conditions(const tile_kernel *k, const InterpArg *arg);
/* Why not, where it is for other launches: into text. */
void rt_why_not_for(const tile_kernel *k, const InterpArg *arg, char *text, size_t room);
/* Works the numbers out. NULL, or why there are none; the text may be in *e. */
const char *rt_why_no_numbers(const tile_kernel *k, const InterpArg *arg, int64_t *number,
                              ExprError *e);
/* What k's launches found, in the arena; its code is there. */
KeptNumbers *rt_keep_numbers(Arena *a, const tile_kernel *k);
/* entries.c: launches k by the entry that suits the arguments, g->work programs; or asks which. */
tile_status rt_launch(tile_kernel *k, LaunchGrid *g, InterpArg *arg, void *stream);
/* launch.c: works out, in the session's arena, what launches of k will use. */
void launch_prepare(Session *s, tile_kernel *k);
/* All of k's hidden parameters can be made. */
tile_status rt_check_hidden(const tile_kernel *k);

/* cpu.c and cuda.c: turn a fresh context into one on this device. cu_context NULL: the primary
 * context of GPU number `ordinal`. */
tile_status cpu_open(tile_context *ctx);
tile_status ptx_open(tile_context *ctx, const char *target);
/* cpu.c: the CPU device's, of which another on the host has all but modules and launches. */
extern const DeviceOps host_ops;
/* shared.c: memory of the host that processes share. `bytes` of it are mapped at b->start, with
 * guards around; fd -1: this process's alone. False: there is no room. */
bool host_map(size_t bytes, int fd, int64_t at, Buffer *b);
size_t host_pages(size_t bytes); /* rounded up to whole pages, of which there is at least one */
tile_status host_alloc_shared(tile_context *ctx, size_t bytes, Buffer *out);
tile_status host_share(tile_context *ctx, const Buffer *b, SharedHandle *out);
tile_status host_open_shared(tile_context *ctx, const SharedHandle *handle, Buffer *out);
/* peer.c: the same of contexts on the host; and what of them goes with a context. */
tile_status host_enable_peer(tile_context *ctx, tile_context *peer);
void peers_close(tile_context *ctx);
/* rt_find_buffer, and then in the memory of its peers. */
bool peers_find_buffer(tile_context *ctx, tile_ptr p, size_t bytes, Buffer *out);
/* peer.c: the context's buffers, its peers', and behind them those that are gone, each named after
 * the first parameter that points into it; the workspace, too, if there is one. malloc'ed; NULL: no
 * memory. */
InterpBuffer *host_buffers(tile_context *ctx, const tile_kernel *k, const InterpArg *arg,
                           const Buffer *workspace, int *n);
tile_status cuda_open(tile_context *ctx, int ordinal, void *cu_context);
void *cuda_context_of(const tile_context *ctx); /* the CUcontext; NULL on the CPU */

/* module.c, for tests: true with the JSON of the manifest at the head of a .ptx or .tir (malloc'ed,
 * *json_len 0 when there is none), and where the code starts. */
bool module_head(const char *text, size_t len, char **json, size_t *json_len, size_t *code);
/* Where the text begins in what a module was loaded from: 0 for a .ptx or .tir; behind the machine
 * code of a .cubin, to which tilec adds the manifest; SIZE_MAX when such a text is missing. */
size_t module_text_at(const char *data, size_t len);

typedef struct json_t json_t;
/* manifest.c: parsed manifest -> kernels in the session's arena. NULL, or what is wrong with it. */
const char *manifest_kernels(Session *s, const json_t *root, tile_kernel **kernel, int *n,
                             const char **target);
/* The same facts out of tile IR. */
const char *module_kernels(Session *s, const Module *m, tile_kernel **kernel, int *n);

#endif
