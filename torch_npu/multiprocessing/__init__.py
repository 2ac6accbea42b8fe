# SPDX-License-Identifier: BSD-3-Clause
"""Passing NPU tensors between processes: torch.multiprocessing queues take them once this package is imported."""

from . import reductions

reductions.init_reductions()
