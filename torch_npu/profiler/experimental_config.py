# SPDX-License-Identifier: BSD-3-Clause
"""What a profiler records beside the operators: levels, ways to export. All of the official fields are taken and checked.

On a software device these have an effect: profiler_level, export_type, mstx (marks and ranges), data_simplification,
gc_detect_threshold. Counters of a chip's cores, caches and links (aic_metrics, l2_cache, sys_io, sys_interconnection, op_attr,
host_sys) do not exist here, and record_op_args dumps nothing: they are kept in profiler_info.json, and a warning says that
nothing is sampled.
"""

import warnings

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
]


class ProfilerLevel:
    """Level0: kernels and copies. Level1: calls of the CANN too. Level2: the same here. Level_none: marks only."""

    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"
    Level_none = "Level_none"


class AiCMetrics:
    """Which counters of the AI cores; a software device has none."""

    PipeUtilization = "ACL_AICORE_PIPE_UTILIZATION"
    ArithmeticUtilization = "ACL_AICORE_ARITHMETIC_UTILIZATION"
    Memory = "ACL_AICORE_MEMORY_BANDWIDTH"
    MemoryL0 = "ACL_AICORE_L0B_AND_WIDTH"
    MemoryUB = "ACL_AICORE_MEMORY_UB"
    ResourceConflictRatio = "ACL_AICORE_RESOURCE_CONFLICT_RATIO"
    L2Cache = "ACL_AICORE_L2_CACHE"
    MemoryAccess = "ACL_AICORE_MEMORY_ACCESS"
    AiCoreNone = "ACL_AICORE_NONE"


class ExportType:
    """Text: CSV and JSON files. Db: an SQLite file."""

    Db = "db"
    Text = "text"


class HostSystem:
    """What of the host to sample."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"
    NUMA = "numa"


def _values(of: type) -> set[str]:
    return {value for name, value in vars(of).items() if not name.startswith("_")}


def supported_profiler_level() -> set[str]:
    return _values(ProfilerLevel)


def supported_ai_core_metrics() -> set[str]:
    return _values(AiCMetrics)


def supported_export_type() -> set[str]:
    return _values(ExportType)


class _ExperimentalConfig:
    """See the module. A bad value is taken back to its default with a warning, as the official package does."""

    def __init__(
        self,
        profiler_level: str = ProfilerLevel.Level0,
        aic_metrics: str = AiCMetrics.PipeUtilization,
        l2_cache: bool = False,
        msprof_tx: bool = False,
        mstx: bool = False,
        data_simplification: bool = True,
        record_op_args: bool = False,
        op_attr: bool = False,
        gc_detect_threshold: float | None = None,
        export_type: str | list[str] = ExportType.Text,
        host_sys: list[str] | None = None,
        mstx_domain_include: list[str] | None = None,
        mstx_domain_exclude: list[str] | None = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
    ) -> None:
        self._profiler_level = self._one("profiler_level", profiler_level, supported_profiler_level(), ProfilerLevel.Level0)
        without = self._profiler_level in (ProfilerLevel.Level0, ProfilerLevel.Level_none)
        usual = AiCMetrics.AiCoreNone if without else AiCMetrics.PipeUtilization
        if without and aic_metrics == AiCMetrics.PipeUtilization:
            aic_metrics = usual
        if without and aic_metrics != AiCMetrics.AiCoreNone and aic_metrics in supported_ai_core_metrics():
            self._warn("Please use level1 or level2 if you want to collect aic metrics, reset aic metrics to None!")
            aic_metrics = usual
        self._aic_metrics = self._one("aic_metrics", aic_metrics, supported_ai_core_metrics(), usual)
        self._l2_cache = self._flag("l2_cache", l2_cache)
        self._msprof_tx = self._flag("msprof_tx", msprof_tx)
        self._mstx = self._flag("mstx", mstx)
        if self._msprof_tx:
            self._warn("The parameter msprof_tx will be deprecated. Please use the new parameter mstx instead.")
        if self._profiler_level == ProfilerLevel.Level_none and not self.tx_enabled:
            self._warn("Parameter mstx or msprof_tx must be True if profiler_level is set to Level_none.")
            self._mstx = True
        self._data_simplification = self._flag("data_simplification", data_simplification, True)
        self.record_op_args = self._flag("record_op_args", record_op_args)
        self._op_attr = self._flag("op_attr", op_attr)
        self._gc_detect_threshold = self._threshold(gc_detect_threshold)
        self._export_type = self._exports(export_type)
        self._host_sys = self._list("host_sys", host_sys, _values(HostSystem))
        self._mstx_domain_include = self._domains("mstx_domain_include", mstx_domain_include)
        self._mstx_domain_exclude = self._domains("mstx_domain_exclude", mstx_domain_exclude)
        if self._mstx_domain_include and self._mstx_domain_exclude:
            self._warn("mstx_domain_include and mstx_domain_exclude are both set: only mstx_domain_include will work.")
            self._mstx_domain_exclude = []
        self._sys_io = self._flag("sys_io", sys_io)
        self._sys_interconnection = self._flag("sys_interconnection", sys_interconnection)
        sampled = {
            "aic_metrics": self._aic_metrics if aic_metrics != usual else "",
            "l2_cache": self._l2_cache,
            "op_attr": self._op_attr,
            "host_sys": self._host_sys,
            "sys_io": self._sys_io,
            "sys_interconnection": self._sys_interconnection,
        }
        asked = [name for name, value in sampled.items() if value and value != AiCMetrics.AiCoreNone]
        if asked:
            self._warn(f"{', '.join(asked)}: a software device has no such counters, nothing is sampled.")

    @staticmethod
    def _warn(text: str) -> None:
        warnings.warn(text, stacklevel=4)

    def _one(self, name: str, value: str, of: set[str], usual: str) -> str:
        if value in of:
            return value
        self._warn(f"Invalid parameter {name} ({value!r}), reset it to {usual}.")
        return usual

    def _flag(self, name: str, value: bool, usual: bool = False) -> bool:
        if isinstance(value, bool):
            return value
        if value is not None or not usual:
            self._warn(f"Invalid parameter {name}, which must be of bool type, reset it to {usual}.")
        return usual

    def _list(self, name: str, value: list[str] | None, of: set[str] | None) -> list[str]:
        if not value:
            return []
        if isinstance(value, list) and all(isinstance(v, str) and (of is None or v in of) for v in value):
            return sorted(set(value))
        self._warn(f"Invalid parameter {name} ({value!r}), reset it to empty.")
        return []

    def _domains(self, name: str, value: list[str] | None) -> list[str]:
        if value and not self.tx_enabled:
            self._warn(f"{name} is valid when msprof_tx or mstx is True.")
            return []
        return self._list(name, value, None)

    def _threshold(self, value: float | None) -> float | None:
        if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0):
            return value
        self._warn(f"Invalid parameter gc_detect_threshold ({value!r}), reset it to default.")
        return None

    def _exports(self, value: str | list[str]) -> list[str]:
        wanted = [value] if isinstance(value, str) else value
        if isinstance(wanted, list) and wanted and all(v in supported_export_type() for v in wanted):
            return sorted(set(wanted))
        self._warn(f"Invalid parameter export_type: {value!r}, reset it to text.")
        return [ExportType.Text]

    @property
    def export_type(self) -> list[str]:
        return self._export_type

    @property
    def with_gc(self) -> bool:
        return self._gc_detect_threshold is not None

    @property
    def gc_detect_threshold(self) -> float | None:
        return self._gc_detect_threshold

    @property
    def tx_enabled(self) -> bool:
        return self._msprof_tx or self._mstx
