# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Read by cpack for each kind of package: which components of cmake/package.cmake that is made of.
set(CPACK_COMPONENTS_ALL dev programs) # those without a layout; runtime and compiler have nothing else
if(CPACK_GENERATOR STREQUAL "DEB")
    list(APPEND CPACK_COMPONENTS_ALL runtime_deb compiler_deb dev_deb programs_deb)
elseif(CPACK_GENERATOR STREQUAL "RPM")
    list(APPEND CPACK_COMPONENTS_ALL runtime_rpm compiler_rpm dev_rpm programs_rpm)
else()
    message(FATAL_ERROR "cpack makes DEB and RPM: cpack -G DEB; `cmake --install` puts files anywhere else")
endif()
