# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from lib.inner import seven as also_seven
