# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A text file as a C array: cmake -DIN=FILE -DOUT=FILE.c -DNAME=identifier -P scripts/embed.cmake
#
# An array of numbers, since C promises string literals of no more than 4095 characters.
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" bytes
                     "${bytes}")
get_filename_component(source ${IN} NAME)
file(WRITE ${OUT} "/* Made of ${source} by scripts/embed.cmake. */
#include <stddef.h>
extern const char ${NAME}[];
extern const size_t ${NAME}_size;
const char ${NAME}[] = {\n${bytes}0};
const size_t ${NAME}_size = sizeof ${NAME} - 1;
")
