# SPDX-License-Identifier: BSD-3-Clause
"""Profiling of a program that runs: it looks at a configuration file and records when the file changes.

    from torch_npu.profiler import dynamic_profile as dp
    dp.init("profiler_config_path")          # a folder; profiler_config.json is made in it
    for step in steps:
        train_one_step()
        dp.step()                            # changing the file's values starts a recording at start_step

    dp.start("profiler_config.json")         # or: record from here, by this file

The environment variable PROF_CONFIG_PATH is an init() at `import torch_npu.profiler.dynamic_profile`'s first step.
"""

import atexit
import json
import os
import warnings
from typing import Any

from .. import _variables
from .experimental_config import ProfilerLevel, _ExperimentalConfig
from .profiler import profile, tensorboard_trace_handler
from .profiler_interface import ProfilerActivity
from .scheduler import Schedule

__all__ = ["init", "set_state", "start", "step"]

FILE = "profiler_config.json"
DEFAULTS: dict[str, Any] = {
    "activities": ["CPU", "NPU"],
    "prof_dir": "./",
    "analyse": False,
    "async_mode": False,
    "record_shapes": False,
    "profile_memory": False,
    "with_stack": False,
    "with_flops": False,
    "with_modules": False,
    "active": 1,
    "warmup": 0,
    "start_step": 0,
    "is_rank": False,
    "rank_list": [],
    "experimental_config": {
        "profiler_level": "Level0",
        "aic_metrics": "AiCoreNone",
        "l2_cache": False,
        "op_attr": False,
        "gc_detect_threshold": None,
        "data_simplification": True,
        "record_op_args": False,
        "export_type": ["text"],
        "mstx": False,
        "mstx_domain_include": [],
        "mstx_domain_exclude": [],
        "host_sys": [],
        "sys_io": False,
        "sys_interconnection": False,
    },
    "metadata": {},
}


class _Dynamic:
    def __init__(self) -> None:
        self.path: str | None = None
        self.seen = 0  # the file's time of change, ns
        self.step_number = 0
        self.left = 0
        self.pending: dict[str, Any] | None = None
        self.prof: profile | None = None

    def watch(self, folder: str) -> None:
        os.makedirs(folder, mode=0o750, exist_ok=True)
        self.path = os.path.join(os.path.abspath(folder), FILE)
        if not os.path.exists(self.path):
            with open(self.path, "w") as file:
                json.dump(DEFAULTS, file, indent=4)
        self.seen = os.stat(self.path).st_mtime_ns
        atexit.register(self.finish)

    def changed(self) -> dict[str, Any] | None:
        """The configuration when its file has changed since the last look."""
        if self.path is None:
            return None
        try:
            when = os.stat(self.path).st_mtime_ns
        except OSError:
            return None
        if when == self.seen:
            return None
        self.seen = when
        return read(self.path)

    def begin(self, config: dict[str, Any]) -> None:
        from .profiler_interface import rank

        if config["is_rank"] and rank() not in config["rank_list"]:
            return
        options = {k: bool(config[k]) for k in ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")}
        warmup, active = int(config["warmup"]), max(int(config["active"]), 1)
        self.left = warmup + active
        self.prof = profile(
            activities=[ProfilerActivity[name] for name in config["activities"]],
            schedule=Schedule(wait=0, warmup=warmup, active=active, repeat=1),
            on_trace_ready=tensorboard_trace_handler(
                config["prof_dir"], analyse_flag=config["analyse"], async_mode=config["async_mode"]
            ),
            experimental_config=experimental(config["experimental_config"]),
            **options,
        )
        self.prof._offset = self.step_number
        for key, value in config["metadata"].items():
            self.prof.metadata[key] = value
        self.prof.start()

    def step(self) -> None:
        self.step_number += 1
        self.pending = self.changed() or self.pending
        if self.prof is not None:
            self.prof.step()
            self.left -= 1
            if self.left <= 0:
                self.finish()
        elif self.pending is not None:
            at = int(self.pending["start_step"])
            if at > self.step_number:
                return
            config, self.pending = self.pending, None
            if 0 < at < self.step_number:
                warnings.warn(
                    f"start_step={at} of {FILE} has passed: this is step {self.step_number}, nothing is recorded", stacklevel=3
                )
            else:
                self.begin(config)

    def finish(self) -> None:
        if self.prof is not None:
            prof, self.prof = self.prof, None
            prof.stop()


_dynamic = _Dynamic()


def read(path: str) -> dict[str, Any] | None:
    """The file with defaults filled in; None with a warning when it is no configuration."""
    try:
        with open(path) as file:
            given = json.load(file)
        inner = given.get("experimental_config") or {}
        config = {**DEFAULTS, **given, "experimental_config": {**DEFAULTS["experimental_config"], **inner}}
        unknown = set(config["activities"]) - set(ProfilerActivity.__members__)
        if unknown or not isinstance(config["metadata"], dict):
            raise ValueError(f"unknown activities {sorted(unknown)}" if unknown else "metadata is no object")
        int(config["active"]), int(config["warmup"]), int(config["start_step"])
    except (OSError, ValueError, TypeError, AttributeError) as error:
        warnings.warn(f"{path} is no configuration of the profiler: {error}", stacklevel=2)
        return None
    return config


def experimental(given: dict[str, Any]) -> _ExperimentalConfig:
    from .experimental_config import AiCMetrics

    values = dict(given)
    values["profiler_level"] = getattr(ProfilerLevel, str(values["profiler_level"]), values["profiler_level"])
    values["aic_metrics"] = getattr(AiCMetrics, str(values["aic_metrics"]), values["aic_metrics"])
    return _ExperimentalConfig(**values)


def init(path: str) -> None:
    """Watches `path`/profiler_config.json, which is made with the defaults when there is none. Changes count at step()."""
    if _dynamic.path is not None:
        warnings.warn("Init dynamic profiling repeatedly", stacklevel=2)
        return
    _dynamic.watch(path)


def step() -> None:
    """The program's step has ended."""
    folder = _variables.raw("PROF_CONFIG_PATH")
    if _dynamic.path is None and folder:
        _dynamic.watch(folder)
    _dynamic.step()


def set_state(state_step: dict[str, int]) -> None:
    """{"cur_step": n}: the step that a program which goes on from a checkpoint is at."""
    current = state_step.get("cur_step", 0) if isinstance(state_step, dict) else -1
    if not isinstance(current, int) or current < 0:
        warnings.warn("Dynamic profiler cur_step must be a non-negative integer.", stacklevel=2)
        return
    _dynamic.step_number = current


def start(config_path: str | None = None) -> None:
    """Records the next steps by this file (default: the watched one), now."""
    path = config_path or _dynamic.path
    config = read(path) if path else None
    if config is None or _dynamic.prof is not None:
        warnings.warn(
            "dynamic_profile.start: " + ("something is recorded already" if config else "no configuration"), stacklevel=2
        )
        return
    _dynamic.begin(config)
