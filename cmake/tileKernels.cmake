# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tile_add_kernels(TARGET_NAME FILE… [TARGET GPU] [OPTIONS OPTION…])
#
# Compiles kernels when the target is built: of each FILE (a .tl, .py or .tir) tilec makes a C header,
# NAME.h for NAME.tl, with the compiled kernels inside and a typed launch function for each, and the
# target's sources can include it. GPU is tilec's --target (sm_80 when not given); OPTIONs go to tilec
# as they are, for all of the files: call the function again for files that need others. The files of
# --tuning=FILE and --variants=@FILE are found from the source folder, and when they change the header
# is made again.
#
#   add_executable(app app.c)
#   tile_add_kernels(app softmax.tl matmul.tl TARGET sm_90a OPTIONS --num-warps=8)
#   target_link_libraries(app PRIVATE tile::runtime)
function(tile_add_kernels target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TARGET" "OPTIONS")
    if(NOT arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "tile_add_kernels(${target} …): no kernel file")
    endif()
    set(options)
    set(read)
    foreach(option IN LISTS arg_OPTIONS)
        if(option MATCHES "^(--tuning=|--variants=@)(.+)$")
            set(name ${CMAKE_MATCH_1})
            get_filename_component(path ${CMAKE_MATCH_2} ABSOLUTE)
            list(APPEND read ${path})
            set(option ${name}${path})
        endif()
        list(APPEND options "${option}")
    endforeach()
    if(arg_TARGET)
        list(PREPEND options --target=${arg_TARGET})
    endif()
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/tile_kernels/${target})
    file(MAKE_DIRECTORY ${folder})
    foreach(file ${arg_UNPARSED_ARGUMENTS})
        get_filename_component(source ${file} ABSOLUTE)
        get_filename_component(name ${file} NAME_WLE)
        set(header ${folder}/${name}.h)
        add_custom_command(
            OUTPUT ${header}
            COMMAND tile::tilec --emit=header -o ${header} ${options} ${source}
            DEPENDS ${source} ${read} tile::tilec
            COMMENT "tilec ${file}"
            VERBATIM)
        target_sources(${target} PRIVATE ${header})
    endforeach()
    target_include_directories(${target} PRIVATE ${folder})
endfunction()
