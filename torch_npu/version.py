# SPDX-License-Identifier: BSD-3-Clause
"""This package's version. Which versions of PyTorch and CANN fit it: anynpu/versions.py.

The first part is the PyTorch release that libtorch_npu.so is built for; after the plus sign comes AnyNPU's own count.
"""
try:
    from ._built_for import torch_version
except ImportError:
    raise ImportError(
        f"{__file__[:-len('/version.py')]} is the source of torch_npu, not a built package. Build it (`make build`) and set "
        "PYTHONPATH=build/release/python, or run Python from another folder."
    ) from None

build = 1

__version__ = f"{torch_version}+anynpu.{build}"
