# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# build.sh, sourced: builds the programs of this folder with what is installed, as a project outside
# the tree does; tests/package_test.sh runs them here, scripts/stage takes them to a GPU. A copy of the
# folder is `source` of the working directory, the programs go to `outside`; LDFLAGS goes to each.

package_programs=(app_c app_cxx app_static pc_c pc_cxx pc_static) # those that need the runtime alone

# package_configure PREFIX [OPTION…], then package_build [TARGET…]: by find_package
package_configure() {
    local prefix=$1
    shift
    cmake -S source -B outside -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release "$@"
}
package_build() { cmake --build outside ${1:+--target "$@"}; }

# package_header: the kernel as scale.h, for the programs by pkg-config; PKG_CONFIG_PATH is set
package_header() { "$(pkg-config --variable=tilec tile-compiler)" -Wno-perf -o scale.h source/scale.tl; }

# package_pc NAME PART SOURCE COMMAND…: a program with the library tile-PART, by the compiler's command
package_pc() {
    local name=$1 part=$2 file=$3
    shift 3
    "$@" -Wall -Wextra -Wpedantic -Werror -I. "source/$file" $(pkg-config --cflags --libs "tile-$part") \
        ${LDFLAGS:-} -o "outside/$name"
}
# package_pc_static NAME PART SOURCE COMMAND…: with the archives, which need more beside them
package_pc_static() {
    local name=$1 part=$2 file=$3
    shift 3
    "$@" -Wall -Wextra -Wpedantic -Werror -I. "source/$file" \
        $(pkg-config --static --cflags --libs "tile-$part" | sed -E 's/-l(tile_[a-z]+)/-l:lib\1.a/g') \
        ${LDFLAGS:-} -o "outside/$name"
}
