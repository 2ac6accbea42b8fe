# SPDX-License-Identifier: BSD-3-Clause
"""Helpers that belong to no single part of torch_npu."""

from .cann import get_cann_version

__all__ = ["get_cann_version"]
