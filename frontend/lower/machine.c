/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* machine.c: what a source may ask of Python's modules, PyTorch and Triton, and the answers.
 *
 * Most of it is about the machine: versions, the GPU's capability, environment variables, whether
 * there is a module. The answers are those of PyTorch on CUDA and of the target that is compiled
 * for; an environment variable has the default that the source gives it, or -D's value, never the
 * process's. Kernels see them, too: Triton calls Python where a jit function does. What has no row
 * is not known, and an error where it is needed. */
#include "frontend/lower/internal.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- constants ---- */

static const Obj python_version[] = {{.kind = OBJ_INT, .i = 3},
                                     {.kind = OBJ_INT, .i = 12},
                                     {.kind = OBJ_INT, .i = 0},
                                     {.kind = OBJ_STRING, .text = {"final", 5}},
                                     {.kind = OBJ_INT, .i = 0}};

#define TEXT(s)                                                                                    \
    {                                                                                              \
        .kind = OBJ_STRING, .text = { s, sizeof s - 1 }                                            \
    }
#define INTEGER(n)                                                                                 \
    { .kind = OBJ_INT, .i = n }
#define NUMBER(x)                                                                                  \
    { .kind = OBJ_FLOAT, .f = x }
#define THING(path_)                                                                               \
    { .kind = OBJ_MODULE, .path = path_ }
static const struct {
    const char *path, *name;
    Obj value;
} constants[] = {
    {"triton.language.PropagateNan", "NONE", INTEGER(0)},
    {"triton.language.PropagateNan", "ALL", INTEGER(0xffff)},
    {"triton.language", "TRITON_MAX_TENSOR_NUMEL", INTEGER(1 << TILE_MAX_LOG2)},
    {"triton.language", "CONSTEXPR_0", INTEGER(0)},
    {"triton.language", "N_ROUNDS_DEFAULT", INTEGER(10)},
    {"math", "pi", NUMBER(3.14159265358979323846)},
    {"math", "e", NUMBER(2.71828182845904523536)},
    {"math", "tau", NUMBER(6.28318530717958647692)},
    {"math", "inf", NUMBER((double)INFINITY)},
    {"math", "nan", NUMBER((double)NAN)},
    {"numpy", "pi", NUMBER(3.14159265358979323846)},
    {"numpy", "e", NUMBER(2.71828182845904523536)},
    {"numpy", "inf", NUMBER((double)INFINITY)},
    {"numpy", "nan", NUMBER((double)NAN)},
    {"triton.target", "backend", TEXT("cuda")},
    {"triton.target", "warp_size", INTEGER(32)},
    {"sys", "platform", TEXT("linux")},
    {"sys", "byteorder", TEXT("little")},
    {"sys", "maxsize", INTEGER(INT64_MAX)},
    {"os", "name", TEXT("posix")},
    {"typing", "TYPE_CHECKING", {.kind = OBJ_BOOL, .i = 0}},
    {"torch", "__version__", TEXT("2.10.0")},
    {"torch.version", "__version__", TEXT("2.10.0")},
    {"torch.version", "hip", {.kind = OBJ_NONE}},
    {"torch.version", "xpu", {.kind = OBJ_NONE}},
    {"torch.version", "cuda", TEXT("12.8")},
    {"torch", "inf", NUMBER((double)INFINITY)},
    {"torch", "nan", NUMBER((double)NAN)},
    {"torch", "pi", NUMBER(3.14159265358979323846)},
    {"torch", "Tensor", THING("torch.Tensor")},
    {"torch", "half", THING("torch.float16")},
    {"torch", "float", THING("torch.float32")},
    {"torch", "double", THING("torch.float64")},
    {"torch", "short", THING("torch.int16")},
    {"torch", "int", THING("torch.int32")},
    {"torch", "long", THING("torch.int64")},
};

/* PyTorch's dtypes and the ends of their ranges. */
static const struct {
    const char *path, *name;
    int bits;
    double max, epsilon, tiny; /* of floats; 0: an integer */
    bool is_signed;
} torch_dtypes[] = {
    {"torch.float16", "float16", 16, 65504, 0x1p-10, 0x1p-14, true},
    {"torch.bfloat16", "bfloat16", 16, 0x1.fep127, 0x1p-7, 0x1p-126, true},
    {"torch.float32", "float32", 32, (double)FLT_MAX, 0x1p-23, 0x1p-126, true},
    {"torch.float64", "float64", 64, DBL_MAX, 0x1p-52, 0x1p-1022, true},
    {"torch.float8_e4m3fn", "float8_e4m3fn", 8, 448, 0x1p-3, 0x1p-6, true},
    {"torch.float8_e5m2", "float8_e5m2", 8, 57344, 0x1p-2, 0x1p-14, true},
    {"torch.int8", "int8", 8, 0, 0, 0, true},
    {"torch.int16", "int16", 16, 0, 0, 0, true},
    {"torch.int32", "int32", 32, 0, 0, 0, true},
    {"torch.int64", "int64", 64, 0, 0, 0, true},
    {"torch.uint8", "uint8", 8, 0, 0, 0, false},
    {"torch.uint16", "uint16", 16, 0, 0, 0, false},
    {"torch.uint32", "uint32", 32, 0, 0, 0, false},
    {"torch.bool", "bool", 8, 0, 0, 0, false},
};
enum { TORCH_DTYPES = sizeof torch_dtypes / sizeof *torch_dtypes };

static Obj thing(const char *path) {
    return (Obj){.kind = OBJ_MODULE, .path = path};
}

static const char finfo_path[] = "torch.finfo()", iinfo_path[] = "torch.iinfo()";

/* torch.finfo(torch.float32).max: the object's path ends in the dtype's. */
static bool limit_of(const char *path, const char *name, Obj *out) {
    size_t n = sizeof finfo_path - 1;
    bool real = strncmp(path, finfo_path, n) == 0;
    if (!real && strncmp(path, iinfo_path, n) != 0) return false;
    int i = 0;
    while (i < TORCH_DTYPES && strcmp(torch_dtypes[i].path, path + n) != 0) i++;
    if (i == TORCH_DTYPES) return false;
    double max = torch_dtypes[i].max;
    int bits = torch_dtypes[i].bits;
    int64_t top = (int64_t)(UINT64_MAX >> (64 - bits + torch_dtypes[i].is_signed));
    if (strcmp(name, "bits") == 0)
        *out = obj_int(bits);
    else if (strcmp(name, "max") == 0)
        *out = real ? obj_float(max) : obj_int(top);
    else if (strcmp(name, "min") == 0)
        *out = real ? obj_float(-max) : obj_int(torch_dtypes[i].is_signed ? -top - 1 : 0);
    else if (real && strcmp(name, "eps") == 0)
        *out = obj_float(torch_dtypes[i].epsilon);
    else if (real && (strcmp(name, "tiny") == 0 || strcmp(name, "smallest_normal") == 0))
        *out = obj_float(torch_dtypes[i].tiny);
    else
        return false;
    return true;
}

bool host_constant(Lower *l, const char *path, const char *name, Obj *out) {
    int capability = l->options->capability;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(constants[i].path, path) == 0 && strcmp(constants[i].name, name) == 0)
            return *out = constants[i].value, true;
    for (int i = 0; i < TORCH_DTYPES && strcmp(path, "torch") == 0; i++)
        if (strcmp(torch_dtypes[i].name, name) == 0)
            return *out = thing(torch_dtypes[i].path), true;
    bool device = strcmp(path, "torch.cuda.properties") == 0;
    int version = triton_version(l);
    if (strcmp(path, "triton") == 0 && strcmp(name, "__version__") == 0)
        *out = obj_string(l, arena_printf(&l->s->arena, "%d.%d.0", version / 100, version % 100));
    else if (strcmp(path, "triton.target") == 0 && strcmp(name, "arch") == 0)
        *out = obj_int(capability);
    else if (device && strcmp(name, "major") == 0)
        *out = obj_int(capability / 10);
    else if (device && strcmp(name, "minor") == 0)
        *out = obj_int(capability % 10);
    else if (strcmp(path, "sys") == 0 && strcmp(name, "version_info") == 0)
        *out = obj_tuple(l, python_version, 5);
    else
        return limit_of(path, name, out);
    return true;
}

/* ---- functions ---- */

/* A fixed answer: data is the truth value. */
static Obj answer(Lower *l, const Args *a, int64_t data) {
    (void)l, (void)a;
    return obj_bool(data != 0);
}

/* Whether the target has at least the capability `data`. */
static Obj capability_from(Lower *l, const Args *a, int64_t data) {
    (void)a;
    return obj_bool(l->options->capability >= data);
}

static Obj first_device(Lower *l, const Args *a, int64_t data) {
    (void)l, (void)a, (void)data;
    return obj_int(0);
}

static Obj is_tensor(Lower *l, const Args *a, int64_t data) {
    (void)data;
    bool is = obj_is_torch_tensor(a->at[0]);
    if (!is && !obj_is_const(a->at[0])) return arg_error(l, a, 0, "known while compiling");
    return obj_bool(is);
}

static Obj capability(Lower *l, const Args *a, int64_t data) {
    (void)a, (void)data;
    Obj part[2] = {obj_int(l->options->capability / 10), obj_int(l->options->capability % 10)};
    return obj_tuple(l, part, 2);
}

/* What the table names as data is an object with members of its own. */
static Obj member_object(Lower *l, const Args *a, int64_t data) {
    (void)l, (void)a;
    static const char *const paths[] = {"triton.target", "torch.cuda.properties"};
    return thing(paths[data]);
}

bool host_environ(Lower *l, Obj key, Obj *out) {
    const char *text = key.kind == OBJ_STRING ? find_define(l, key.text.at) : NULL;
    if (text) *out = obj_string(l, text);
    return text != NULL;
}

static Obj getenv_default(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj given;
    return host_environ(l, a->at[0], &given) ? given : a->at[1];
}

static Obj number_limits(Lower *l, const Args *a, int64_t data) {
    const char *of = a->at[0].kind == OBJ_MODULE ? a->at[0].path : NULL;
    for (int i = 0; of && i < TORCH_DTYPES; i++)
        if (strcmp(torch_dtypes[i].path, of) == 0 && (torch_dtypes[i].max > 0) == (data != 0))
            return thing(arena_printf(&l->s->arena, "%s%s", data ? finfo_path : iinfo_path, of));
    return arg_error(l, a, 0,
                     data ? "one of PyTorch's floating-point dtypes"
                          : "one of PyTorch's integer dtypes");
}

/* importlib.util.find_spec(name): None or not. */
static Obj find_spec(Lower *l, const Args *a, int64_t data) {
    (void)data;
    if (a->at[0].kind != OBJ_STRING) return arg_error(l, a, 0, "a string");
    Known there = module_known(l, a->at[0].text.at);
    return there == KNOWN_TRUE ? thing("importlib.spec") : obj_none();
}

static Obj import_by_name(Lower *l, const Args *a, int64_t data) {
    (void)data;
    if (a->at[0].kind != OBJ_STRING || a->at[0].text.at[0] == '.')
        return arg_error(l, a, 0, "a module's full name");
    SourceModule *m = module_named(l, a->at[0].text.at, a->span);
    return m ? obj_source(m) : thing(a->at[0].text.at);
}

static Obj version_of(Lower *l, const Args *a, int64_t data) {
    (void)data;
    Obj o;
    if (a->at[0].kind != OBJ_STRING) return arg_error(l, a, 0, "a string");
    if (host_constant(l, a->at[0].text.at, "__version__", &o)) return o;
    return (Obj){.kind = OBJ_FOREIGN,
                 .path = arena_printf(&l->s->arena, "%s.__version__", a->at[0].text.at)};
}

static Obj a_text(Lower *l, const Args *a, int64_t data) {
    static const char *const texts[] = {"Linux", "x86_64", "3.12.0"};
    (void)a;
    return obj_string(l, texts[data]);
}

/* packaging.version.parse("3.6.0") as a tuple that compares as versions do: what is missing is 0,
 * and a release candidate comes before its release. */
static Obj parse_version(Lower *l, const Args *a, int64_t data) {
    (void)data;
    enum { PARTS = 5 };
    Obj part[PARTS + 1];
    if (a->at[0].kind == OBJ_TUPLE) return a->at[0];
    if (a->at[0].kind != OBJ_STRING) return arg_error(l, a, 0, "a string");
    const char *s = a->at[0].text.at;
    for (int i = 0; i < PARTS; i++) {
        part[i] = obj_int(0);
        if (!isdigit((unsigned char)*s)) continue;
        size_t n = strspn(s, "0123456789");
        if (n > 9) return arg_error(l, a, 0, "a version");
        for (size_t k = 0; k < n; k++) part[i].i = part[i].i * 10 + s[k] - '0';
        s += n;
        if (*s == '.' && isdigit((unsigned char)s[1])) s++;
    }
    if (*s && *s != '+' && *s != '.') return arg_error(l, a, 0, "a version of numbers alone");
    return obj_tuple(l, part, PARTS);
}

static const HostRow functions[] = {
    {"os", {"getenv", "C", "key, default=None", getenv_default, 0}},
    {"os.environ", {"get", "C", "key, default=None", getenv_default, 0}},
    {"platform", {"system", "C", "", a_text, 0}},
    {"platform", {"machine", "C", "", a_text, 1}},
    {"platform", {"python_version", "C", "", a_text, 2}},
    {"packaging.version", {"parse", "C", "version", parse_version, 0}},
    {"packaging.version", {"Version", "C", "version", parse_version, 0}},
    {"pkg_resources", {"parse_version", "C", "version", parse_version, 0}},
    {"distutils.version", {"LooseVersion", "C", "version", parse_version, 0}},
    {"distutils.version", {"StrictVersion", "C", "version", parse_version, 0}},
    {"importlib.util", {"find_spec", "C", "name, package=None", find_spec, 0}},
    {"importlib.metadata", {"version", "C", "name", version_of, 0}},
    {"importlib", {"import_module", "C", "name, package=None", import_by_name, 0}},
    {"torch", {"finfo", "C", "type", number_limits, 1}},
    {"torch", {"iinfo", "C", "type", number_limits, 0}},
    {"torch", {"is_tensor", "C", "obj", is_tensor, 0}},
    {"torch.cuda", {"is_available", "C", "", answer, 1}},
    {"torch.cuda", {"is_bf16_supported", "C", "including_emulation=True", capability_from, 80}},
    {"torch.cuda", {"get_device_capability", "C", "device=None", capability, 0}},
    {"torch.cuda", {"get_device_properties", "C", "device=None", member_object, 1}},
    {"torch.cuda", {"current_device", "C", "", first_device, 0}},
    {"torch.xpu", {"is_available", "C", "", answer, 0}},
    {"torch.mps", {"is_available", "C", "", answer, 0}},
    {"torch.backends.mps", {"is_available", "C", "", answer, 0}},
    {"torch.backends.cuda", {"is_built", "C", "", answer, 1}},
    {"torch.compiler", {"is_compiling", "C", "", answer, 0}},
    {"torch.distributed", {"is_available", "C", "", answer, 1}},
    {"torch.distributed", {"is_initialized", "C", "", answer, 0}},
    {"torch.utils._triton", {"has_triton", "C", "", answer, 1}},
    {"torch.utils._triton", {"has_triton_package", "C", "", answer, 1}},
    {"torch.utils._triton", {"has_triton_tma", "C", "", capability_from, 90}},
    {"torch.utils._triton", {"has_triton_tma_device", "C", "", capability_from, 90}},
    {"triton.runtime.driver.active", {"get_current_target", "C", "", member_object, 0}},
};

/* path is `module`, or one around it. */
static bool holds(const char *path, const char *module) {
    size_t n = strlen(path);
    return strncmp(module, path, n) == 0 && (!module[n] || module[n] == '.');
}

bool host_module(const char *path) {
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (holds(path, constants[i].path)) return true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (holds(path, functions[i].module)) return true;
    return false;
}

Obj machine_function(const char *module, const char *name) {
    return find_host_row(functions, sizeof functions / sizeof *functions, module, name);
}
