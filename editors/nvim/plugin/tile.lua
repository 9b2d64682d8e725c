-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-- Starts `tilec --lsp` for tile kernels: Neovim 0.8 or later. g:tilec_lsp is the command, g:tilec_lsp_python whether
-- it serves Python files that import triton, too.
vim.filetype.add({ extension = { tl = "tile", tir = "tir" } })

local function imports_triton(buffer)
  for _, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, 200, false)) do
    if line:match("^import%s+triton") or line:match("^from%s+triton") then return true end
  end
  return false
end

vim.api.nvim_create_autocmd("FileType", {
  pattern = { "tile", "tir", "python" },
  callback = function(event)
    if event.match == "python" and not (vim.g.tilec_lsp_python and imports_triton(event.buf)) then return end
    vim.lsp.start({
      name = "tilec",
      cmd = vim.g.tilec_lsp or { "tilec", "--lsp" },
      root_dir = vim.fs.dirname(vim.api.nvim_buf_get_name(event.buf)),
    })
  end,
})
