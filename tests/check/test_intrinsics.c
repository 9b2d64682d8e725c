/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_intrinsics.c: an LLVM that has not all the intrinsics that tilec needs is an error that
 * names the first one, whatever the kernel calls. LLVM's lookup is wrapped, and does not find one.
 */
#include "tile.h"
#include "tests/run_suite.h"

#include <check.h>
#include <string.h>

enum {
#define INTRINSIC(id, ...) KNOWN_##id,
#include "codegen/intrinsics.def"
#undef INTRINSIC
    KNOWN
};

static int asked, missing = -1; /* of the lookups of one compile */
static char name_missed[100];

unsigned __real_LLVMLookupIntrinsicID(const char *name, size_t len);
unsigned __wrap_LLVMLookupIntrinsicID(const char *name, size_t len);

unsigned __wrap_LLVMLookupIntrinsicID(const char *name, size_t len) {
    if (asked++ != missing) return __real_LLVMLookupIntrinsicID(name, len);
    memcpy(name_missed, name, len);
    name_missed[len] = '\0';
    return 0;
}

static tile_status compile(tile_compiled **out) {
    static const char source[] = "import triton\nimport triton.language as "
                                 "tl\n\n\n@triton.jit\ndef k(x: \"*i32\"):\n    tl.store(x, 1)\n";
    tile_compile_options o = {
        .source = source, .source_len = strlen(source), .emit = TILE_EMIT_PTX};
    asked = 0;
    return tile_compile(&o, out);
}

START_TEST(all_are_there) {
    tile_compiled *out;
    missing = -1;
    ck_assert_int_eq(compile(&out), TILE_OK);
    ck_assert_int_eq(asked, KNOWN);
    tile_compiled_free(out);
}
END_TEST

START_TEST(a_missing_one_is_named) {
    tile_compiled *out;
    missing = _i;
    ck_assert_int_eq(compile(&out), TILE_COMPILE_ERROR);
    const char *text = tile_compiled_text(out, TILE_PART_DIAGNOSTICS, NULL);
    ck_assert_str_ne(name_missed, "");
    ck_assert_ptr_nonnull(strstr(text, name_missed));
    ck_assert_ptr_nonnull(strstr(text, ", which tilec needs: build it on LLVM 22 or 19"));
    tile_compiled_free(out);
}
END_TEST

int main(void) {
    Suite *s = suite_create("intrinsics");
    TCase *c = tcase_create("intrinsics");
    tcase_add_test(c, all_are_there);
    tcase_add_loop_test(c, a_missing_one_is_named, 0, KNOWN);
    return run_suite(s, c);
}
