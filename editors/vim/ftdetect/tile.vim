" SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
" Tile kernels. Newer versions of Vim take .tl for Teal, which they have decided by now: this overrules it.
autocmd BufNewFile,BufRead *.tl set filetype=tile
