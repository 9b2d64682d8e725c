# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The Python package: build/python/tilec/, which scripts/wheel makes a wheel of. Its extension module has
# the compiler and the runtime inside, and uses Python's stable ABI: one for all versions from 3.10 on.
set(TILE_PYTHON "auto" CACHE STRING "The Python package: ON, OFF, or auto: where there are Python's headers")

find_program(PYTHON3 NAMES python3)
set(PYTHON_INCLUDE "")
if(PYTHON3 AND NOT TILE_PYTHON STREQUAL OFF)
    execute_process(
        COMMAND ${PYTHON3} -c "import sys, sysconfig\nif sys.version_info >= (3, 10): print(sysconfig.get_path('include'), end='')"
        OUTPUT_VARIABLE PYTHON_INCLUDE)
endif()
if(NOT EXISTS "${PYTHON_INCLUDE}/Python.h")
    if(TILE_PYTHON STREQUAL ON)
        message(FATAL_ERROR "the Python package needs Python.h of 3.10 or newer: scripts/setup installs python3-dev")
    endif()
    set(PYTHON_INCLUDE "")
    message(STATUS "without the Python package: there is no Python.h of 3.10 or newer (scripts/setup installs it)")
    return()
endif()

set(PYTHON_PACKAGE ${PROJECT_BINARY_DIR}/python/tilec)
file(GLOB python_sources CONFIGURE_DEPENDS python/*.c)
add_library(python_module MODULE ${python_sources})
target_compile_options(python_module PRIVATE ${STRICT} -fvisibility=hidden)
target_include_directories(python_module SYSTEM PRIVATE ${PYTHON_INCLUDE})
target_link_libraries(python_module PRIVATE tile_compiler)
# jansson inside, where there is its archive; else scripts/wheel takes the library along.
find_library(JANSSON_ARCHIVE libjansson.a)
if(JANSSON_ARCHIVE)
    set_target_properties(python_module PROPERTIES TILE_JANSSON_INSIDE ON)
endif()
target_link_options(python_module PRIVATE -Wl,--wrap=stdin,--wrap=arc4random)
target_link_options(python_module PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/python/module.map
                    -Wl,--exclude-libs,ALL)
set_target_properties(python_module PROPERTIES PREFIX "" OUTPUT_NAME _tilec SUFFIX .abi3.so
                      BUILD_RPATH "$ORIGIN" # in a wheel what it needs lies beside it
                      LIBRARY_OUTPUT_DIRECTORY ${PYTHON_PACKAGE} LINK_DEPENDS ${PROJECT_SOURCE_DIR}/python/module.map)
file(GLOB_RECURSE python_files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python python/tilec/*.py
     python/tilec/*.pyi python/tilec/py.typed)
foreach(file ${python_files})
    add_custom_command(
        OUTPUT ${PROJECT_BINARY_DIR}/python/${file}
        COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/python/${file} ${PROJECT_BINARY_DIR}/python/${file}
        DEPENDS python/${file})
    list(APPEND python_copies ${PROJECT_BINARY_DIR}/python/${file})
endforeach()
add_custom_target(python_package ALL DEPENDS ${python_copies} python_module)
