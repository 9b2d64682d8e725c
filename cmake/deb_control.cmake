# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Run by cpack when its packages are made; rewrites what it cannot be told to write into a .deb:
#
#   Installed-Size   as dpkg-gencontrol counts: cpack takes a link for another file of that size
#   Multi-Arch       `same` for libraries, which lie in folders named after the architecture
#   postinst, postrm out: they call ldconfig, which the trigger does once for all packages
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()
find_program(DPKG_DEB dpkg-deb REQUIRED)
function(checked)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()
foreach(deb IN LISTS CPACK_PACKAGE_FILES) # an error here is one of cpack, at its end
    set(box ${deb}.box)
    file(REMOVE_RECURSE ${box})
    checked(${DPKG_DEB} -R ${deb} ${box})
    file(REMOVE ${box}/DEBIAN/postinst ${box}/DEBIAN/postrm)

    # A KiB for each folder or link, a file's size rounded up to the next.
    file(GLOB_RECURSE entries LIST_DIRECTORIES true ${box}/*)
    set(kib 0)
    foreach(entry IN LISTS entries)
        if(entry MATCHES "\\.box/DEBIAN(/|$)")
            continue()
        endif()
        set(size 1024)
        if(NOT IS_SYMLINK ${entry} AND NOT IS_DIRECTORY ${entry})
            file(SIZE ${entry} size)
        endif()
        math(EXPR kib "${kib} + (${size} + 1023) / 1024")
    endforeach()
    file(READ ${box}/DEBIAN/control control)
    string(REGEX REPLACE "\nInstalled-Size: [0-9]+" "\nInstalled-Size: ${kib}" control "${control}")
    if(control MATCHES "(^|\n)Package: libtile-")
        string(PREPEND control "Multi-Arch: same\n")
    endif()
    file(WRITE ${box}/DEBIAN/control "${control}")
    checked(${DPKG_DEB} --root-owner-group -b ${box} ${deb}.new)
    file(RENAME ${deb}.new ${deb})
    file(REMOVE_RECURSE ${box})
endforeach()
