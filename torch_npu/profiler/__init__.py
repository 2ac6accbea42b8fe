# SPDX-License-Identifier: BSD-3-Clause
"""Profiling on NPUs: `torch_npu.profiler.profile` with the official files, and what torch.profiler needs (`_torch`)."""

from . import _torch, dynamic_profile
from .experimental_config import (
    AiCMetrics,
    ExportType,
    HostSystem,
    ProfilerLevel,
    _ExperimentalConfig,
    supported_ai_core_metrics,
    supported_export_type,
    supported_profiler_level,
)
from .profiler import _KinetoProfile, profile, tensorboard_trace_handler
from .profiler_interface import ProfilerActivity, supported_activities
from .scheduler import ProfilerAction
from .scheduler import Schedule as schedule

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "_KinetoProfile",
    "dynamic_profile",
    "profile",
    "schedule",
    "supported_activities",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
    "tensorboard_trace_handler",
]
