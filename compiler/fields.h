/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fields.h: tile_compile_options by the rows of options.def, so that nothing that has to see every
 * option can forget one. */
#ifndef TILE_COMPILER_FIELDS_H
#define TILE_COMPILER_FIELDS_H

#include "base/arena.h"
#include "ir/options.h"
#include "tile.h"

enum FieldTraits { NO_JIT = 1, NO_KEY = 2, NO_TUNING = 4 }; /* see options.def */

typedef enum FieldKind { FIELD_NUMBER, FIELD_TEXT, FIELD_LIST } FieldKind;

typedef struct Field {
    const char *name;
    FieldKind kind;
    size_t offset, count; /* in tile_compile_options; the latter of a list's number */
    unsigned traits;
} Field;
extern const Field field_table[];
extern const int field_count;

/* The options of kernels, by field or by name. False with the reason in `why` when a value will not
 * do. */
bool fields_options(const tile_compile_options *o, OptionValues *values, char why[OPTION_WHY]);
/* Gives `put` all options that do not have the trait `without`, and those of kernels, as text that
 * differs where one does. The source is not among them. */
void fields_key(const tile_compile_options *o, unsigned without,
                void (*put)(void *ctx, const char *text, size_t len), void *ctx);
/* Reads what fields_key put: gives `see` each option that is given, by its name, and each text of a
 * list by the list's. The text behind it; NULL: that is no such text. */
const char *fields_read_key(const char *text, size_t len, unsigned without,
                            void (*see)(void *ctx, const char *name, const char *value, size_t n),
                            void *ctx);
/* The first option with this trait that is not 0; NULL: none is. */
const char *fields_given(const tile_compile_options *o, unsigned trait);
/* Texts and lists into the arena, in place; the source stays. */
void fields_keep(tile_compile_options *o, Arena *a);

#endif
