# SPDX-License-Identifier: BSD-3-Clause
"""This package's version, and the versions of PyTorch and CANN that it fits.

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

cann_version = "9.1.0"
"""The CANN release it is tested with."""

cann_oldest = (9, 0)
"""The oldest CANN (major, minor) that is accepted."""

PAIRS = (
    # CANN, PyTorch, torch_npu: the vendor's table, newest first (COMPATIBILITY.md of Ascend/pytorch, August 2026).
    ("9.1.0", "2.13.0", "2.13.0"),
    ("9.1.0", "2.12.0", "2.12.0"),
    ("9.1.0", "2.11.0", "2.11.0"),
    ("9.1.0", "2.10.0", "2.10.0"),
    ("9.1.0", "2.9.0", "2.9.0.post3"),
    ("9.1.0", "2.7.1", "2.7.1.post5"),
    ("9.0.0", "2.9.0", "2.9.0.post2"),
    ("9.0.0", "2.8.0", "2.8.0.post4"),
    ("9.0.0", "2.7.1", "2.7.1.post4"),
    ("8.5.0", "2.9.0", "2.9.0"),
    ("8.5.0", "2.8.0", "2.8.0.post2"),
    ("8.5.0", "2.7.1", "2.7.1.post2"),
    ("8.5.0", "2.6.0", "2.6.0.post5"),
    ("8.3.RC1", "2.8.0", "2.8.0"),
    ("8.3.RC1", "2.7.1", "2.7.1"),
    ("8.3.RC1", "2.6.0", "2.6.0.post3"),
    ("8.2.RC1", "2.6.0", "2.6.0"),
    ("8.2.RC1", "2.5.1", "2.5.1.post1"),
    ("8.1.RC1", "2.5.1", "2.5.1"),
    ("8.1.RC1", "2.4.0", "2.4.0.post4"),
    ("8.0.0", "2.4.0", "2.4.0.post2"),
)
