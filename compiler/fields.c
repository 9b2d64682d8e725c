/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fields.c: options.def expanded over the fields of tile_compile_options (see fields.h). */
#include "compiler/fields.h"

bool fields_options(const tile_compile_options *o, OptionValues *values, char why[OPTION_WHY]) {
#define HOME_FIELD(name) o->name
#define HOME_NAMED(name) 0
#define KERNEL_OPTION(home, name, ...) [OPTION_##name] = HOME_##home(name),
    *values = (OptionValues){{
#include "ir/options.def"
    }};
    for (int i = 0; i < OPTIONS; i++)
        if (values->at[i] && !option_check((KernelOption)i, values->at[i], why)) return false;
    return true;
}
