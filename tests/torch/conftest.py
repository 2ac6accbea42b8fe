# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the Python side share. They run on the staged package: PYTHONPATH=build/release/python."""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator

import pytest
import torch
from torch_npu.npu.utils import cpu_fallback_count, reset_cpu_fallback_count

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def run(tmp_path: object) -> Run:
    """run(code, NAME="value", …) runs a program in a process of its own, away from the source tree; NAME=None unsets."""

    def call(code: str, *, timeout: float = 120, **environment: str | None) -> subprocess.CompletedProcess:
        env = dict(os.environ)
        for name, value in environment.items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
        return subprocess.run(
            [sys.executable, "-c", code], env=env, cwd=str(tmp_path), capture_output=True, text=True, timeout=timeout
        )

    return call


@pytest.fixture
def output(run: Run) -> Callable[..., str]:
    """Like run, for a program that must succeed: returns what it printed."""

    def call(code: str, **environment: str | None) -> str:
        done = run(code, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return call


@pytest.fixture
def two_devices() -> None:
    """Skips where there is only one device."""
    if torch.npu.device_count() < 2:
        pytest.skip("needs two devices")


@pytest.fixture
def no_fallback() -> Iterator[None]:
    """Every operator of the test must have a kernel of its own; a test that expects otherwise empties the counter."""
    reset_cpu_fallback_count()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    assert cpu_fallback_count() == {}
