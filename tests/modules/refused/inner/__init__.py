# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from ..broken import broken as handed_on
