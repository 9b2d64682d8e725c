# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The packages that `cpack -G DEB` and `cpack -G RPM` make, in the folder of the build, of the components of
# package.cmake:
#
#   libtile-runtime1    libtile_runtime.so.1       launches kernels
#   libtile-compiler1   libtile_compiler.so.1      compiles them, with LLVM inside
#   libtile-dev         tile.h, archives, CMake, pkg-config; libtile-devel where it is an RPM
#   tilec               tilec, tilerun, manual pages, completions, docs, examples
#
# The numbers in the names are those of the sonames. What is wrong with a .deb as cpack leaves it is put
# right by deb_control.cmake.
set(PACKAGE_RELEASE 1)
set(TILE_MAINTAINER "tilec maintainers <maintainers@tilec.invalid>" CACHE STRING
    "Who answers for the packages that cpack makes: NAME <ADDRESS>")
set(parts runtime compiler dev programs)
set(package_runtime_deb libtile-runtime${TILE_SOVERSION})
set(package_compiler_deb libtile-compiler${TILE_SOVERSION})
set(package_dev_deb libtile-dev)
set(package_programs_deb tilec)
set(package_runtime_rpm ${package_runtime_deb})
set(package_compiler_rpm ${package_compiler_deb})
set(package_dev_rpm libtile-devel)
set(package_programs_rpm tilec)

set(summary_runtime "runtime for kernels written in Triton's language")
set(summary_compiler "compiler for kernels written in Triton's language, as a library")
set(summary_dev "compiler and runtime for kernels in Triton's language: development files")
set(summary_programs "compiler for kernels written in Triton's language")
set(text_runtime "It launches kernels that tilec compiled from C and C++ programs, on a GPU by
its driver, or on the CPU, where every access to memory is checked.")
set(text_compiler "It compiles kernels to PTX and to tile IR, ahead of time or when a program
launches them. LLVM is inside; it needs no CUDA toolkit and no Python.")
set(text_dev "The header, the archives, and what CMake and pkg-config need to build C and
C++ programs with the two libraries of tilec, whose kernels it compiles.")
set(text_programs "tilec turns kernels written in Triton's language into PTX, ahead of time, and
tilerun runs and tunes them on a GPU or on the CPU, which checks every
access. Neither needs Python or a CUDA toolkit.")

# Each package says on which terms it comes, and a .deb what is new, in the format of dpkg's tools.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, where it is set
file(WRITE ${PACKAGE}/changelog "tilec (${PROJECT_VERSION}-${PACKAGE_RELEASE}) unstable; urgency=medium\n
  * CHANGELOG.md of the sources says what is new.\n
 -- ${TILE_MAINTAINER}  ${date}\n")
if(GZIP)
    execute_process(COMMAND ${GZIP} -9nc ${PACKAGE}/changelog OUTPUT_FILE ${PACKAGE}/changelog.Debian.gz
                    COMMAND_ERROR_IS_FATAL ANY)
endif()
foreach(part IN LISTS parts)
    set(doc ${CMAKE_INSTALL_DATADIR}/doc/${package_${part}_deb})
    install(FILES ${PACKAGE}/copyright.deb RENAME copyright DESTINATION ${doc} COMPONENT ${part}_deb EXCLUDE_FROM_ALL)
    install(FILES ${PACKAGE}/changelog.Debian.gz DESTINATION ${doc} COMPONENT ${part}_deb EXCLUDE_FROM_ALL)
    install(FILES LICENSE ${PACKAGE}/copyright COMPONENT ${part}_rpm
            DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/${package_${part}_rpm} EXCLUDE_FROM_ALL)
endforeach()

# ---- for both kinds ----
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tilec)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${TILE_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/cpack_layout.cmake)

# ---- DEB ----
set(exactly "(= ${PROJECT_VERSION}-${PACKAGE_RELEASE})")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE tilec)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libtile-runtime${TILE_SOVERSION} ${exactly}, \
libtile-compiler${TILE_SOVERSION} ${exactly}, tilec ${exactly}")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS
    "gcc | c-compiler, cmake, pkg-config, libjansson-dev, llvm-${TILE_LLVM_VERSION}-dev")
set(CPACK_DEBIAN_COMPILER_PACKAGE_DEPENDS "libtile-runtime${TILE_SOVERSION} ${exactly}")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS
    "libtile-compiler${TILE_SOVERSION} ${exactly}, libtile-runtime${TILE_SOVERSION} ${exactly}")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS libtile-dev)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_COMPILER_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION devel)
file(WRITE ${PACKAGE}/triggers "activate-noawait ldconfig\n")
foreach(part RUNTIME COMPILER)
    set(CPACK_DEBIAN_${part}_PACKAGE_CONTROL_EXTRA ${PACKAGE}/triggers)
endforeach()

# ---- RPM ----
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_MAIN_COMPONENT programs)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE ${PACKAGE_RELEASE})
set(CPACK_PACKAGE_VENDOR tilec)
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION # folders of other packages
    /usr/lib64/cmake /usr/lib64/pkgconfig /usr/share/man /usr/share/man/man1 /usr/share/licenses
    /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions)
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _buildhost localhost") # not the name of this machine
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0 WITH LLVM-exception")
set(same "= ${PROJECT_VERSION}-${PACKAGE_RELEASE}")
set(CPACK_RPM_DEV_PACKAGE_REQUIRES "libtile-runtime${TILE_SOVERSION} ${same}, \
libtile-compiler${TILE_SOVERSION} ${same}, tilec ${same}")
foreach(part RUNTIME COMPILER)
    file(WRITE ${PACKAGE}/ldconfig.sh "/sbin/ldconfig\n")
    set(CPACK_RPM_${part}_POST_INSTALL_SCRIPT_FILE ${PACKAGE}/ldconfig.sh)
    set(CPACK_RPM_${part}_POST_UNINSTALL_SCRIPT_FILE ${PACKAGE}/ldconfig.sh)
endforeach()

foreach(part IN LISTS parts)
    string(TOUPPER ${part} PART)
    set(CPACK_DEBIAN_${PART}_PACKAGE_NAME ${package_${part}_deb})
    set(CPACK_DEBIAN_${PART}_DESCRIPTION "${summary_${part}}\n${text_${part}}")
    set(CPACK_RPM_${PART}_PACKAGE_NAME ${package_${part}_rpm})
    set(CPACK_RPM_${PART}_PACKAGE_SUMMARY ${summary_${part}})
    set(CPACK_RPM_${PART}_PACKAGE_DESCRIPTION ${text_${part}})
endforeach()
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/deb_control.cmake)
include(CPack)
foreach(part IN LISTS parts)
    cpack_add_component(${part} GROUP ${part})
    foreach(layout _prefix _deb _rpm)
        cpack_add_component(${part}${layout} GROUP ${part})
    endforeach()
endforeach()
