" SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
" Tile kernels are laid out like Python; :make compiles, and jumps to what tilec reports.
if exists('b:did_ftplugin')
    finish
endif
runtime! ftplugin/python.vim
runtime! indent/python.vim
setlocal makeprg=tilec\ --color=never\ -o\ /dev/null\ %:S
setlocal errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tarning:\ %m,%f:%l:%c:\ %m,%-G%.%#
