# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every test, a row each. scripts/test runs those of several builds, `ctest --test-dir build -R ptxas` some
# of one, `-L docs` those with that label. A test says `N passed, N failed` or as Check does, or is one check.
#
#   builds   every; release, asan, coverage: in that alone, or in those with a comma between them
#   labels   quick: scripts/test quick has it; full: scripts/test full alone; then what it is about;
#            layout, passes, codegen, interp: it finds mistakes in them, and runs for mutants of theirs (tests/mutants/)
#   s        how long it takes, about: long ones begin first, and one that takes many times that is ended
#   lock     alone: it measures time, and nothing runs beside it; another word: one that has it at a time.
#            `build` is of what builds, or installs what was built
if(TILE_SANITIZE)
    set(BUILD asan)
elseif(TILE_TSAN)
    set(BUILD tsan)
elseif(TILE_COVERAGE)
    set(BUILD coverage)
elseif(TILE_STAGED)
    set(BUILD static)
elseif(CMAKE_BUILD_TYPE STREQUAL Debug)
    set(BUILD debug)
else()
    set(BUILD release)
endif()

# Check ends what takes 4 s, unless a suite says otherwise: beside others that is short.
set(ENVIRONMENT ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
    CK_DEFAULT_TIMEOUT=60)
if(TILE_COVERAGE) # ten times as slow
    list(APPEND ENVIRONMENT CK_DEFAULT_TIMEOUT=600)
endif()

function(test name builds labels s lock)
    string(REPLACE "," ";" builds ${builds})
    if(NOT builds STREQUAL every AND NOT BUILD IN_LIST builds)
        return()
    endif()
    set(name "${BUILD}: ${name}")
    string(REPLACE "," ";" labels ${labels})
    math(EXPR limit "300 + 20 * ${s}")
    if(TILE_COVERAGE) # what hangs is another build's to find
        set(limit 3600)
    endif()
    if(TILE_SANITIZE)
        math(EXPR s "3 * ${s}")
    endif()
    list(TRANSFORM ARGN REPLACE "^(tests|scripts)/(.*_test[.]sh|rules)$" "${PROJECT_SOURCE_DIR}/\\0") # ctest looks elsewhere
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" COST ${s} TIMEOUT ${limit} SKIP_RETURN_CODE 77
        FIXTURES_REQUIRED ${BUILD} ENVIRONMENT "${ENVIRONMENT}")
    if(lock STREQUAL alone)
        set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    elseif(NOT lock STREQUAL "-")
        set_tests_properties(${name} PROPERTIES RESOURCE_LOCK ${lock})
    endif()
endfunction()

set(AT ${PROJECT_BINARY_DIR})
set(BIN ${AT}/bin)
set(SIZE tiny)
if(BUILD STREQUAL release)
    set(SIZE small)
endif()
set(KERNELS ${BIN}/tile-kernels --device=cpu)

# ---- the build, before all others ----
add_test(NAME "${BUILD}: build" COMMAND ${CMAKE_COMMAND} --build ${AT})
set_tests_properties("${BUILD}: build" PROPERTIES LABELS build FIXTURES_SETUP ${BUILD} RESOURCE_LOCK build
                     TIMEOUT 3600)

# ---- each suite of Check ----
set(ABOUT_layout test_layout test_layout_move test_layout_pass)
set(ABOUT_passes test_passes test_axis test_math test_jit_order)
set(ABOUT_codegen test_codegen test_codegen_tiles test_compile)
set(ABOUT_interp test_interp test_interp_atomics test_interp_moves test_interp_ops test_interp_programs test_interp_tiles
    test_number test_peers test_shared test_runtime test_tilerun)
foreach(suite ${SUITES})
    set(labels quick,check)
    foreach(folder layout passes codegen interp)
        if(suite IN_LIST ABOUT_${folder})
            string(APPEND labels ,${folder})
        endif()
    endforeach()
    test(${suite} every ${labels} 5 - ${AT}/tests/${suite})
endforeach()
test("test_cache at length" release full,check 60 - ${CMAKE_COMMAND} -E env TILE_TEST_SECONDS=60 ${AT}/tests/test_cache)

# ---- kernels ----
#    name                                  builds  labels         s  lock  command
test("data files"                          every   quick,data,layout,passes,codegen,interp     8  -     ${BIN}/tile-test --tools=tests/tools tests)
test("kernels on the CPU"                  every   quick,kernels,interp  9  -     ${KERNELS} --size=${SIZE})
test("kernels on the CPU, full size"       release full,kernels 150  -     ${KERNELS} --size=full)
foreach(target sm_80 sm_90a)
    test("kernels after passes, ${target}" every   quick,kernels 13  -     ${KERNELS} --size=${SIZE} --passes=all --target=${target})
endforeach()
test("kernels again and again"             release quick,kernels 10  -     ${KERNELS} --size=tiny --soak=1000)
test("kernels by descriptors"              every   quick,kernels  9  -     ${KERNELS} --size=${SIZE} --target=sm_90a
    --passes=swizzle_grid,lower_desc,lower_slices,fold,cse,dce,licm,combine,raise_desc,cse,licm,dce)
test("conformance"                         every   quick,kernels,interp  1  -     ${BIN}/tile-conformance)
test("conformance after all passes"        every   quick,kernels,passes  1  -     ${BIN}/tile-conformance --passes=all)
foreach(target sm_80 sm_90a)
    test("kernels on the PTX machine, ${target}" release quick,kernels,layout,passes,codegen 9 - ${KERNELS} --size=tiny --device=ptx:${target}
        --same-bits=tests/bits/kernels.tsv)
    test("conformance on the PTX machine, ${target}" release quick,kernels,codegen 13 - ${BIN}/tile-conformance --device=ptx:${target}
        --same-bits=tests/bits/conformance.tsv)
endforeach()
test("bits of launches"                    release quick,kernels  3  -     tests/bits_test.sh ${BIN})
test("which entry a launch takes"          every   quick,kernels,codegen  2  -     tests/entry_test.sh ${BIN})
test("what accesses take"                  every   quick,kernels,codegen  1  -     tests/counts_test.sh ${BIN})
test("reports"                            release,coverage quick,kernels 12 -     python3 tests/report.py ${BIN})
test("pages of reports"                   release,coverage quick,kernels 12 -     python3 tests/page.py ${BIN})
test("pages of reports in a browser"      release full,kernels   50 -     python3 tests/page.py ${BIN} --browser)
test("bank conflicts of the examples"      release quick,kernels,layout,passes,codegen 12  -     python3 tests/conflicts.py ${BIN})
test("outputs on pages"                   release quick,docs   3  -     tests/pages_test.sh ${BIN})
test("mistakes in PTX"                     every   quick,kernels  2  -     python3 tests/mutations.py ${BIN})
test("PTX of other compilers"              every   quick,kernels  1  -     tests/machine_test.sh ${BIN})
test("conformance on a GPU"                every   quick,gpu     30  gpu   ${BIN}/tile-conformance --device=cuda)
test("kernels on a GPU"                    every   quick,gpu     60  gpu   ${BIN}/tile-kernels --device=cuda --size=small)
test("two GPUs"                            every   quick,gpu      9  gpu   ${BIN}/tile-peers-gpu)
test("two GPUs, on the CPU device"         every   quick,kernels,interp  2  -     ${BIN}/tile-peers-gpu cpu cpu)
test("two GPUs, on the PTX machine"        every   quick,kernels  9  -     ${BIN}/tile-peers-gpu ptx:sm_80 ptx:sm_90a)
test("configs of matmul give the same"     every   quick,kernels,layout,passes  2  -     tests/same_test.sh ${BIN})
test("roles"                               every   quick,kernels,passes,interp  5  -     tests/roles_test.sh ${BIN}/tilerun)
test("pipelines"                           every   quick,kernels,passes,interp  1  -     tests/pipeline_test.sh ${BIN})
test("schedules"                           every   quick,kernels,passes  2  -     tests/schedule_test.sh ${BIN})
test("functions of floats"                 release quick,kernels,interp  2  -     ${BIN}/tile-ulp)
test("functions of floats at length"       release full,kernels 150  -     ${BIN}/tile-ulp --inputs=16777216 --threads=2)

# ---- random ones ----
if(FUZZ_TARGETS) # no fuzz target is built for machines without LLVM
    test("harness of fuzz targets"         every   quick,fuzz     3  -     tests/fuzz/harness_test.sh ${BIN})
endif()
foreach(target ${FUZZ_TARGETS})
    test("fuzz target ${target}"           asan    fuzz           6  -     ${BIN}/fuzz_${target} --seconds=6)
    test("fuzz target ${target} at length" asan    full,fuzz    300  -     ${BIN}/fuzz_${target} --seconds=300 --seed=2)
endforeach()
test("other fuzzers"                       asan    fuzz          30  build tests/fuzz/fuzzers_test.sh ${BIN} 3 npy)
test("other fuzzers at length"             asan    full,fuzz    600  build tests/fuzz/fuzzers_test.sh ${BIN} 20 ${FUZZ_TARGETS})
test("random integers"                     release quick,fuzz    16  -     ${BIN}/tile-integers --expressions=12800 --jobs=2)
test("random integers at length"           release full,fuzz    350  -     ${BIN}/tile-integers --seed=1000 --expressions=192000 --jobs=2)
foreach(target sm_80 sm_90a)
    test("random integers on the PTX machine, ${target}" release quick,fuzz,codegen 8 - ${BIN}/tile-integers --device=ptx:${target} --expressions=3200 --jobs=1)
endforeach()
test("random pipelines"                    release quick,fuzz    20  -     python3 tests/fuzz/pipelines.py ${BIN})
test("random products"                     release quick,fuzz    25  -     python3 tests/fuzz/products.py ${BIN} 1-60
    746 1390 1775) # of blocks that have no room for what threads store beside what matters
test("random attention"                    release quick,fuzz     8  -     python3 tests/fuzz/attention.py ${BIN})
test("random fused products"               release quick,fuzz    20  -     python3 tests/fuzz/fused.py ${BIN} 1-150 50191)
test("random attention around it"          release quick,fuzz    15  -     python3 tests/fuzz/scores.py ${BIN} 1-120)
test("random planes"                       release quick,fuzz    12  -     python3 tests/fuzz/planes.py ${BIN} 1-110 223 4709)
test("random branches"                     release quick,fuzz    15  -     python3 tests/fuzz/branches.py ${BIN})
test("random blocks"                       release quick,fuzz,passes    8  -     python3 tests/fuzz/blocks.py ${BIN})
test("random blocks on the PTX machine"    release quick,fuzz,passes,codegen     8  -     python3 tests/fuzz/blocks.py ${BIN} --device=ptx
    --same-bits=tests/bits/blocks.tsv 1-100) # as many as tests/record_bits.py runs
test("random kernels"                      release quick,fuzz    25  -     python3 tests/fuzz/kernels.py ${BIN} 0-99)
test("mistakes in random kernels"          release fuzz          30  -     python3 tests/fuzz/kernels.py ${BIN} --planted)
test("random kernels at length"            release full,fuzz    400  -     python3 tests/fuzz/kernels.py ${BIN} 1000-1599)
test("random blocks at length"             release full,fuzz    90  -     python3 tests/fuzz/blocks.py ${BIN} 1000-4000)
test("random products at length"           release full,fuzz    200  -     python3 tests/fuzz/products.py ${BIN} 1000-1399)
test("random attention at length"          release full,fuzz     80  -     python3 tests/fuzz/attention.py ${BIN} 1000-1599)
test("random fused products at length"     release full,fuzz    200  -     python3 tests/fuzz/fused.py ${BIN} 2000-3499)
test("random attention around it at length" release full,fuzz   180  -     python3 tests/fuzz/scores.py ${BIN} 2000-3499)
test("random planes at length"             release full,fuzz    200  -     python3 tests/fuzz/planes.py ${BIN} 2000-3499)
test("random branches at length"           release full,fuzz    200  -     python3 tests/fuzz/branches.py ${BIN} 2000-2899)
test("random pipelines at length"          release full,fuzz    400  -     python3 tests/fuzz/pipelines.py ${BIN} 1000-1700)

# ---- PTX ----
test("ptxas"                               every   quick,ptx     25  -     tests/ptxas_test.sh ${BIN}/tilec)
test("PTX of the kernels"                  release ptx           42  -     tests/run/ptxas_test.sh ${BIN}/tile-kernels 8)
test("PTX of all kernels"                  release full,ptx     330  -     tests/run/ptxas_test.sh ${BIN}/tile-kernels)
test("PTX of the conformance kernels"      release ptx           20  -     tests/run/ptxas_test.sh ${BIN}/tile-conformance 8)
test("PTX of all conformance kernels"      release full,ptx     150  -     tests/run/ptxas_test.sh ${BIN}/tile-conformance)
test("configs of matmul"                   release quick,ptx,layout,passes,codegen      8  -     tests/config_test.sh ${BIN}/tilec)
test("instruction mix"                     release quick,ptx,layout,passes,codegen      3  -     tests/mix_test.sh ${BIN}/tilec)
test("replay"                              release ptx           12  build tests/replay_test.sh ${BIN}/tilec)

# ---- programs ----
test("explanations of messages"            every   quick,cli      8  -     python3 tests/explain.py ${BIN})
test("command line"                        every   quick,cli,codegen      1  -     tests/cli_test.sh ${BIN})
test("limits, each"                        release,coverage quick,cli 10  -     python3 tests/limits.py ${BIN})
test("messages"                            every   quick,cli,passes      2  -     tests/messages_test.sh ${BIN})
test("modules"                             every   quick,cli      6  -     tests/modules_test.sh ${BIN})
test("manuals"                             every   quick,cli      1  -     tests/manual_test.sh ${BIN})
test("examples"                            every   quick,cli      1  -     tests/examples_test.sh ${AT})
test("examples of many GPUs"               release quick,cli     30  -     tests/distributed_test.sh ${AT})
test("tuning"                              every   quick,cli      5  -     tests/tune_test.sh ${BIN})
test("artefacts"                           every   quick,cli      5  -     tests/artefact_test.sh ${AT})
test("launchers"                           every   quick,cli     12  -     tests/launcher_test.sh ${AT})
test("editors"                             release quick,cli      1  -     tests/editors_test.sh ${BIN}/tilec)
test("language server"                     every   quick,cli     25 -     python3 tests/lsp.py ${BIN})
test("runner"                              every   quick,tests    1  -     tests/runner_test.sh ${BIN}/tile-test)
test("mutants of a small file"             release quick,tests    2  -     python3 tests/mutants/self.py)
test("mutants"                             release full,tests  7000  build python3 tests/mutants/run.py ${AT})
test("scripts/test"                        release quick,tests    4  -     tests/count_test.sh)

# ---- Python ----
if(PYTHON_INCLUDE)
    test("Python"                          release,coverage quick,python 4  -     ${PYTHON3} tests/python/run.py ${AT}/python)
    test("launches from Python, measured"  release quick,python   2  -     tests/runtime/launch_test.sh ${AT})
    test("hostile tensors in Python"       release quick,fuzz     5  -     ${PYTHON3} tests/fuzz/dlpack.py ${AT}/python)
    test("wheel"                           release package       40  build tests/python/wheel_test.sh ${AT})
endif()

# ---- the runtime ----
test("a driver that fails"                 every   quick,runtime  2  -     tests/runtime/fake_test.sh ${AT})
test("the driver's ABI"                    release quick,runtime  1  -     tests/runtime/cuda_h_test.sh)
test("tile.h in C and C++"                 release quick,runtime  1  -     tests/header_test.sh ${AT})
test("compiling when launched"             release quick,runtime  1  -     ${AT}/bench/jit launch cpu)
test("threads under ThreadSanitizer"       release tsan           5  build tests/tsan_test.sh test_threads 16 50)
test("threads that compile"                release tsan          12  build tests/tsan_test.sh test_jit_threads)
test("contexts that are peers"             release tsan           6  build tests/tsan_test.sh test_peers)
test("threads at length"                   release full,tsan     30  build tests/tsan_test.sh test_threads 32 1000)
test("threads that compile at length"      release full,tsan    200  build ${CMAKE_COMMAND} -E env TILE_TEST_ROUNDS=1000 tests/tsan_test.sh test_jit_threads)

# ---- which lines the tests run ----
test("coverage"                            release full,tree   1500 build scripts/coverage)

# ---- time ----
test("limits"                              release quick,time     3  alone tests/limit_test.sh ${BIN}/tilec) # ASan maps all addresses
test("progress on a terminal"              release time          21  alone tests/progress_test.sh ${BIN})
test("compile time"                        release quick,time     4  alone tests/speed_test.sh ${BIN}/tilec)

# ---- the tree, its pages, what is made of it ----
test("rules"                               release quick,tree     1  -     scripts/rules)
test("rows that are added"                 release tree         10  build tests/extend_test.sh ${AT})
test("source tree"                         release quick,tree    13  -     tests/tree_test.sh ${AT})
test("documentation"                       release quick,docs     2  build tests/docs_test.sh ${AT})
test("tutorial"                            release quick,docs     3  build tests/tutorial_test.sh ${AT})
test("tutorial on a fresh Debian"          release full,docs    120 build tests/fresh_test.sh ${AT})
test("tutorial from the sources on it"     release full,docs    150 build tests/fresh_test.sh ${AT} sources)
test("LLVM is found"                       release package       8  -     tests/configure_test.sh ${AT})
test("recipes"                             release package       3  -     tests/recipes_test.sh ${AT})
test("package"                             release package       60  build tests/package_test.sh ${AT})
test("kernels of a newer Triton"           release quick,tests    1  -     tests/newer_test.sh)
test("stage"                               release package       25  build tests/stage_test.sh ${AT})
