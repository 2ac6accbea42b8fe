// SPDX-License-Identifier: BSD-3-Clause
// torch_npu._C._distributed_c10d, made by the module torch_npu._C.
#pragma once

#include <torch/csrc/python_headers.h>

// Adds the submodule; nullptr with a Python error, or a borrowed reference to it.
PyObject *add_distributed(PyObject *module);
