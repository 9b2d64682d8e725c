# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# digest.cmake: the compiler's own sources -> one hash of all of them, as C. What it compiled is kept on
# disk (compiler/jit/cache.c), and must not outlive the compiler that made it.
# cmake -DROOT=FOLDER -DOUT=FILE.c -DLLVM=VERSION -P digest.cmake
set(all "${LLVM}")
foreach(folder base ir ptx frontend passes codegen compiler)
    file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${folder}/*.c ${ROOT}/${folder}/*.h
         ${ROOT}/${folder}/*.def ${ROOT}/${folder}/*.tl ${ROOT}/${folder}/*.y ${ROOT}/${folder}/*.l)
    list(SORT files)
    foreach(file ${files})
        file(SHA256 ${ROOT}/${file} hash)
        string(APPEND all " ${file} ${hash}")
    endforeach()
endforeach()
string(SHA256 hash "${all}")
file(WRITE ${OUT} "/* digest.c: which compiler this is. */\nextern const char compiler_digest[];\n"
     "const char compiler_digest[] = \"${hash}\";\n")
