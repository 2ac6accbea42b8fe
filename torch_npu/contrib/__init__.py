# SPDX-License-Identifier: BSD-3-Clause
"""Extras. `from torch_npu.contrib import transfer_to_npu` as a script's first line runs a script written for CUDA; `function`
and `module` are parts of networks under their NPU names."""

from .function import *
from .module import *
