# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What `cmake --install` and cpack put on a machine, made of the object files of the build:
#
#   libtile_runtime.so.1, libtile_compiler.so.1   versioned symbols; LLVM inside, and hidden
#   libtile_runtime.a, libtile_compiler.a         one object each, that shows tile.h and nothing else
#   tilec, tilerun                                linked to the shared libraries
#   tile.h, the CMake package `tile`, tile-runtime.pc, tile-compiler.pc
#   manual pages and completions, which the programs print themselves; docs/, examples/, editors/
#   LICENSE, and a copyright file in Debian's format that names what is linked in
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(PACKAGE ${PROJECT_BINARY_DIR}/package)
file(MAKE_DIRECTORY ${PACKAGE})
set(TILE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tile)
set(zsh_default share/zsh/site-functions)
if(EXISTS /etc/debian_version) # zsh looks elsewhere there
    set(zsh_default share/zsh/vendor-completions)
endif()
set(TILE_ZSH_DIR ${zsh_default} CACHE STRING "Where zsh looks for completions, under the prefix")

# ---- libraries ----
tile_shared(tile_runtime_shared tile_runtime ${RUNTIME_PART})
tile_shared(tile_compiler_shared tile_compiler ${COMPILER_PART})
target_link_libraries(tile_runtime_shared PRIVATE ${JANSSON} ${CMAKE_DL_LIBS} m pthread)
target_link_libraries(tile_compiler_shared PUBLIC tile_runtime_shared PRIVATE ${LLVM_LINK} ${JANSSON}
                      ${CMAKE_DL_LIBS} m pthread)
target_include_directories(tile_runtime_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(tile_runtime_shared PROPERTIES EXPORT_NAME runtime)
set_target_properties(tile_compiler_shared PROPERTIES EXPORT_NAME compiler INSTALL_RPATH "$ORIGIN")

# An archive for programs outside: names that are not in the version script become local, so that a
# program may have a function `diag` of its own.
function(tile_archive name)
    file(STRINGS ${PROJECT_SOURCE_DIR}/scripts/${name}.map lines REGEX "^ +tile_[a-z_*]+;")
    set(keep)
    foreach(line ${lines})
        string(REGEX REPLACE "[ ;]" "" line "${line}")
        list(APPEND keep --keep-global-symbol=${line})
    endforeach()
    set(archive ${PACKAGE}/lib${name}.a)
    set(object ${PACKAGE}/${name}.o)
    add_custom_command(
        OUTPUT ${archive}
        COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
        COMMAND ${CMAKE_LINKER} -r -o ${object} ${SHARED_PART} ${ARGN}
        COMMAND ${CMAKE_OBJCOPY} --wildcard ${keep} ${object}
        COMMAND ${CMAKE_AR} rcs ${archive} ${object}
        DEPENDS ${SHARED_PART} ${ARGN} ${PROJECT_SOURCE_DIR}/scripts/${name}.map
        COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(${name}_archive ALL DEPENDS ${archive})
    install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
tile_archive(tile_runtime ${RUNTIME_PART})
tile_archive(tile_compiler ${COMPILER_PART})

# ---- programs ----
add_library(package_parts STATIC ${SHARED_PART})
foreach(program tilec tilerun)
    get_target_property(sources ${program} SOURCES)
    tile_program(${program}_shared ${sources})
    set_target_properties(${program}_shared PROPERTIES OUTPUT_NAME ${program} EXPORT_NAME ${program}
                          RUNTIME_OUTPUT_DIRECTORY ${PACKAGE}/bin
                          INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    target_link_libraries(${program}_shared PRIVATE tile_compiler_shared tile_runtime_shared package_parts
                          ${JANSSON} m)
    target_include_directories(${program}_shared PRIVATE ${PROJECT_SOURCE_DIR}/include)
    foreach(view man bash zsh)
        add_custom_command(OUTPUT ${PACKAGE}/${program}.${view}
                           COMMAND ${program} --manual=${view} > ${PACKAGE}/${program}.${view}
                           DEPENDS ${program} VERBATIM)
        list(APPEND manuals ${PACKAGE}/${program}.${view})
    endforeach()
    install(FILES ${PACKAGE}/${program}.man RENAME ${program}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${PACKAGE}/${program}.bash RENAME ${program}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${PACKAGE}/${program}.zsh RENAME _${program} DESTINATION ${TILE_ZSH_DIR})
endforeach()
add_custom_target(manuals ALL DEPENDS ${manuals})

# ---- for programs that use the libraries ----
install(TARGETS tile_runtime_shared tile_compiler_shared tilec_shared tilerun_shared EXPORT tile)
install(EXPORT tile FILE tileTargets.cmake NAMESPACE tile:: DESTINATION ${TILE_PACKAGE_DIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# What a program that links libtile_compiler.a has to link beside it, where it is not LLVM's own flags.
set(LLVM_OUTSIDE ${LLVM_LINK})
if(LLVM_ARCHIVES)
    set(LLVM_OUTSIDE -L${LLVM_LIBDIR} -Wl,--start-group ${LLVM_ARCHIVES} -Wl,--end-group -lstdc++ -lz -lzstd -lm)
endif()
string(REPLACE ";" " " LLVM_OUTSIDE_TEXT "${LLVM_OUTSIDE}")
configure_package_config_file(cmake/tileConfig.cmake.in ${PACKAGE}/tileConfig.cmake
                              INSTALL_DESTINATION ${TILE_PACKAGE_DIR}
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PACKAGE}/tileConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PACKAGE}/tileConfig.cmake ${PACKAGE}/tileConfigVersion.cmake cmake/tileKernels.cmake
        DESTINATION ${TILE_PACKAGE_DIR})
# The way from the folder of the .pc files to the prefix, so that a package may be moved.
file(RELATIVE_PATH PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(part runtime compiler)
    configure_file(cmake/tile-${part}.pc.in ${PACKAGE}/tile-${part}.pc @ONLY)
    install(FILES ${PACKAGE}/tile-${part}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Whose work a package holds, and on which terms: cmake/copyright.in, with tilec's own from LICENSE.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS LICENSE CMakeLists.txt)
file(STRINGS CMakeLists.txt TILE_LICENSE_NAME REGEX "^# SPDX-License-Identifier: " LIMIT_COUNT 1)
string(REPLACE "# SPDX-License-Identifier: " "" TILE_LICENSE_NAME "${TILE_LICENSE_NAME}")
string(REGEX REPLACE "(.*) WITH (.*)-exception" "\\1 with \\2 exception" TILE_LICENSE_NAME "${TILE_LICENSE_NAME}")
file(READ LICENSE TILE_LICENSE_TEXT)
string(REGEX REPLACE "^\n+|\n+$" "" TILE_LICENSE_TEXT "${TILE_LICENSE_TEXT}")
string(REPLACE "\n" "\n " TILE_LICENSE_TEXT " ${TILE_LICENSE_TEXT}")
string(REGEX REPLACE "\n +\n" "\n .\n" TILE_LICENSE_TEXT "${TILE_LICENSE_TEXT}")
string(REGEX REPLACE "\n +\n" "\n .\n" TILE_LICENSE_TEXT "${TILE_LICENSE_TEXT}") # of two, the second
configure_file(cmake/copyright.in ${PACKAGE}/copyright @ONLY)
install(FILES LICENSE ${PACKAGE}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples editors DESTINATION ${CMAKE_INSTALL_DATADIR}/tilec)

install(CODE "set(TILE_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")")
install(SCRIPT cmake/ldconfig.cmake)

# ---- cpack ----
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tilec)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "the maintainers of tilec")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler and runtime for kernels written in Triton's language")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "tilec turns kernels written in Triton's language into PTX, ahead of time or from a program, and its
 libraries launch them from C and C++, on a GPU or on the CPU. It needs no Python and no CUDA toolkit.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON) # and with them the call of ldconfig
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gcc | c-compiler, cmake, pkg-config, libjansson-dev, llvm-${TILE_LLVM_VERSION}-dev")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
include(CPack)
