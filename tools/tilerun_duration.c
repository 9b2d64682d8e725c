/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun_duration.c: a time -> its text, in the unit that suits it. */
#include "tools/tilerun.h"

#include <stdio.h>

const char *duration_text(double ms, char text[DURATION_TEXT]) {
    static const char *const units[] = {"us", "ms", "s"};
    int unit = 0;
    double v = ms * 1e3;
    /* What would be rounded to four digits of the next unit is of that unit. */
    for (; unit < 2 && v >= 999.95; unit++) v /= 1e3;
    int decimals = v < 9.9995 ? 3 : v < 99.995 ? 2 : v < 999.95 ? 1 : 0;
    snprintf(text, DURATION_TEXT, "%.*f %s", decimals, v, units[unit]);
    return text;
}
