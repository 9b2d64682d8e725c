# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What `cmake --install` and cpack put on a machine, made of the object files of the build:
#
#   libtile_runtime.so.1, libtile_compiler.so.1   versioned symbols; LLVM inside, and hidden
#   libtile_runtime.a, libtile_compiler.a         one object each, that shows tile.h and nothing else
#   tilec, tilerun                                linked to the shared libraries
#   tile.h, the CMake package `tile`, tile-runtime.pc, tile-compiler.pc
#   manual pages and completions, which the programs print themselves; docs/, examples/, editors/
#   LICENSE, and a copyright file in Debian's format that names what is linked in
#
# Four components: runtime, compiler, dev, programs; cmake/cpack.cmake makes packages of them. A package
# lies where its system looks, whatever CMAKE_INSTALL_LIBDIR is: what the folder of the libraries changes
# is installed in each of three layouts, of which `cmake --install` takes the first.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(PACKAGE ${PROJECT_BINARY_DIR}/package)
file(MAKE_DIRECTORY ${PACKAGE})
set(zsh_default share/zsh/site-functions)
set(zsh_debian share/zsh/vendor-completions)
if(EXISTS /etc/debian_version) # zsh looks elsewhere there
    set(zsh_default ${zsh_debian})
endif()
set(TILE_ZSH_DIR ${zsh_default} CACHE STRING "Where zsh looks for completions, under the prefix")
find_program(GZIP gzip) # what a .deb compresses
# A layout: the suffix of its components, where libraries lie, and where zsh looks.
set(LIBDIR_prefix ${CMAKE_INSTALL_LIBDIR})
set(LIBDIR_deb lib/${CMAKE_LIBRARY_ARCHITECTURE}) # lib/x86_64-linux-gnu
set(LIBDIR_rpm lib64)
set(ZSH_prefix ${TILE_ZSH_DIR})
set(ZSH_deb ${zsh_debian})
set(ZSH_rpm share/zsh/site-functions)

# ---- libraries ----
tile_shared(tile_runtime_shared tile_runtime ${RUNTIME_PART})
tile_shared(tile_compiler_shared tile_compiler ${COMPILER_PART})
target_link_libraries(tile_runtime_shared PRIVATE ${JANSSON} ${CMAKE_DL_LIBS} m pthread)
# What LLVM needs beside libstdc++ is on every machine, and replaced there when it has a bug.
string(REPLACE "-lz;-lzstd;-Wl,--pop-state" "-Wl,--pop-state;-lz;-lzstd" LLVM_LINK_SHARED "${LLVM_LINK}")
target_link_libraries(tile_compiler_shared PUBLIC tile_runtime_shared PRIVATE ${LLVM_LINK_SHARED} ${JANSSON}
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
    if(GZIP)
        add_custom_command(OUTPUT ${PACKAGE}/${program}.man.gz
                           COMMAND ${GZIP} -9nc ${PACKAGE}/${program}.man > ${PACKAGE}/${program}.man.gz
                           DEPENDS ${PACKAGE}/${program}.man VERBATIM)
        list(APPEND manuals ${PACKAGE}/${program}.man.gz)
    endif()
    install(FILES ${PACKAGE}/${program}.bash RENAME ${program} COMPONENT programs
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endforeach()
add_custom_target(manuals ALL DEPENDS ${manuals})
add_custom_target(package_files) # what `cmake --install` needs, without tests and examples
add_dependencies(package_files tile_runtime_shared tile_compiler_shared tile_runtime_archive tile_compiler_archive
                 tilec_shared tilerun_shared manuals)

# ---- for programs that use the libraries ----
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h")

# What a program that links libtile_compiler.a has to link beside it, where it is not LLVM's own flags.
set(LLVM_OUTSIDE ${LLVM_LINK})
if(LLVM_ARCHIVES)
    set(LLVM_OUTSIDE -L${LLVM_LIBDIR} -Wl,--start-group ${LLVM_ARCHIVES} -Wl,--end-group -lstdc++ -lz -lzstd -lm)
endif()
string(REPLACE ";" " " LLVM_OUTSIDE_TEXT "${LLVM_OUTSIDE}")
write_basic_package_version_file(${PACKAGE}/tileConfigVersion.cmake COMPATIBILITY SameMinorVersion)

# install_layout(LAYOUT [EXCLUDE_FROM_ALL]): what the folder of the libraries changes
function(install_layout layout)
    set(lib ${LIBDIR${layout}})
    set(out ${PACKAGE}/layout${layout})
    foreach(part runtime compiler)
        install(TARGETS tile_${part}_shared EXPORT tile${layout} LIBRARY DESTINATION ${lib}
                COMPONENT ${part}${layout} NAMELINK_COMPONENT dev${layout} ${ARGN})
        install(FILES ${PACKAGE}/libtile_${part}.a DESTINATION ${lib} COMPONENT dev${layout} ${ARGN})
        # The way from the folder of the .pc files to the prefix, so that a package may be moved.
        file(RELATIVE_PATH PC_TO_PREFIX /prefix/${lib}/pkgconfig /prefix)
        set(PC_LIBDIR ${lib})
        configure_file(cmake/tile-${part}.pc.in ${out}/tile-${part}.pc @ONLY)
        install(FILES ${out}/tile-${part}.pc DESTINATION ${lib}/pkgconfig COMPONENT dev${layout} ${ARGN})
    endforeach()
    install(TARGETS tilec_shared tilerun_shared EXPORT tile${layout} RUNTIME COMPONENT programs${layout} ${ARGN})
    if(NOT layout STREQUAL _prefix) # the loader finds libraries of packages by itself
        install(CODE "set(at \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
file(RPATH_REMOVE FILE \"\${at}/${CMAKE_INSTALL_BINDIR}/tilec\")
file(RPATH_REMOVE FILE \"\${at}/${CMAKE_INSTALL_BINDIR}/tilerun\")" COMPONENT programs${layout} EXCLUDE_FROM_ALL)
        install(CODE "file(RPATH_REMOVE
    FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${lib}/libtile_compiler.so.${TILE_SOVERSION}\")"
                COMPONENT compiler${layout} EXCLUDE_FROM_ALL)
    endif()
    foreach(program tilec tilerun)
        set(gz)
        if(layout STREQUAL _deb)
            set(gz .gz)
        endif()
        install(FILES ${PACKAGE}/${program}.man${gz} RENAME ${program}.1${gz}
                DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs${layout} ${ARGN})
        install(FILES ${PACKAGE}/${program}.zsh RENAME _${program} DESTINATION ${ZSH${layout}}
                COMPONENT programs${layout} ${ARGN})
    endforeach()
    install(EXPORT tile${layout} FILE tileTargets.cmake NAMESPACE tile:: DESTINATION ${lib}/cmake/tile
            COMPONENT dev${layout} ${ARGN})
    configure_package_config_file(cmake/tileConfig.cmake.in ${out}/tileConfig.cmake
                                  INSTALL_DESTINATION ${lib}/cmake/tile PATH_VARS lib CMAKE_INSTALL_INCLUDEDIR)
    install(FILES ${out}/tileConfig.cmake ${PACKAGE}/tileConfigVersion.cmake cmake/tileKernels.cmake
            DESTINATION ${lib}/cmake/tile COMPONENT dev${layout} ${ARGN})
endfunction()

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
# A .deb names the text that Debian has, and holds the exception.
string(FIND "${TILE_LICENSE_TEXT}" " ---- LLVM Exceptions" at)
string(SUBSTRING "${TILE_LICENSE_TEXT}" ${at} -1 TILE_LICENSE_TEXT)
set(TILE_LICENSE_TEXT " On Debian systems the full text of the Apache License 2.0 can be found in
 `/usr/share/common-licenses/Apache-2.0'.\n .\n${TILE_LICENSE_TEXT}")
configure_file(cmake/copyright.in ${PACKAGE}/copyright.deb @ONLY)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
install(DIRECTORY examples editors DESTINATION ${CMAKE_INSTALL_DATADIR}/tilec COMPONENT programs)
install(FILES LICENSE ${PACKAGE}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)

install_layout(_prefix)
if(GZIP AND CMAKE_LIBRARY_ARCHITECTURE)
    install_layout(_deb EXCLUDE_FROM_ALL)
endif()
install_layout(_rpm EXCLUDE_FROM_ALL)

install(CODE "set(TILE_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")" COMPONENT loader)
install(SCRIPT cmake/ldconfig.cmake COMPONENT loader)
include(cmake/cpack.cmake)
