# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of operator tests as pairs (CPU, NPU), and conditions under which a test runs."""

import itertools
import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, wraps
from statistics import mean
from typing import Any

import numpy
import torch
import torch_npu

from .. import _variables

__all__ = [
    "freeze_rng_state",
    "iter_indices",
    "is_iterable",
    "set_npu_device",
    "get_npu_device",
    "create_common_tensor",
    "create_dtype_tensor",
    "test_2args_broadcast",
    "check_operators_in_prof",
    "SkipIfNoLapack",
    "SupportedDevices",
    "SkipIfNotGteCANNVersion",
    "get_cycles_per_ms",
]

Pair = tuple[torch.Tensor, torch.Tensor]


@contextmanager
def freeze_rng_state() -> Iterator[None]:
    """The states of the CPU's and the current NPU's generators are the same afterwards."""
    host, device = torch.get_rng_state(), torch.npu.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(host)
        torch.npu.set_rng_state(device)


def iter_indices(tensor: torch.Tensor) -> Iterable:
    """All indices of a tensor: numbers for one dimension, tuples for more, none for a scalar."""
    if tensor.dim() < 2:
        return range(tensor.size(0) if tensor.dim() else 0)
    return itertools.product(*map(range, tensor.size()))


def is_iterable(obj: object) -> bool:
    """Whether iter(obj) works."""
    try:
        iter(obj)
    except TypeError:
        return False
    return True


def get_npu_device() -> str:
    """ "npu:0", or the device of SET_NPU_DEVICE."""
    return f"npu:{_variables.text('SET_NPU_DEVICE') or 0}"


def set_npu_device() -> str:
    """Makes get_npu_device() current and returns it."""
    device = get_npu_device()
    torch.npu.set_device(device)
    return device


def _pair(values: numpy.ndarray, npu_format: int, device: str | None) -> Pair:
    host = torch.from_numpy(numpy.ascontiguousarray(values))
    moved = host.to(device or get_npu_device())
    return host, moved if npu_format == -1 else torch_npu.npu_format_cast(moved, npu_format)


def create_common_tensor(item: Sequence, minValue: float, maxValue: float, device: str | None = None) -> Pair:  # noqa: N803
    """Random numbers in [minValue, maxValue) as (CPU tensor, NPU tensor).

    Args:
        item: [NumPy dtype, format or -1, shape], what follows is the caller's own.
        device: of the second; get_npu_device() if None.
    """
    dtype, npu_format, shape = item[:3]
    return _pair(numpy.random.uniform(minValue, maxValue, shape).astype(dtype), npu_format, device)


def create_dtype_tensor(
    shape: Sequence[int],
    dtype: torch.dtype,
    npu_format: int = -1,
    min_value: float = -5,
    max_value: float = 5,
    no_zero: bool = False,
    device: str | None = None,
) -> Pair:
    """Random numbers as (CPU tensor, NPU tensor): bool, half and float as such, any other dtype as int32.

    Args:
        no_zero: 1 in place of 0.
        npu_format: for half and float; -1: the default.
        device: of the second; get_npu_device() if None.
    """
    floats = {torch.half: numpy.float16, torch.float: numpy.float32}
    if dtype == torch.bool:
        values = numpy.random.randint(0, 2, size=shape).astype(bool)
    elif dtype in floats:
        values = numpy.random.uniform(min_value, max_value, shape).astype(floats[dtype])
    else:
        values = numpy.random.randint(min_value, max_value + 1, size=shape).astype(numpy.int32)
    if no_zero:
        values = numpy.where(values != 0, values, numpy.ones_like(values))
    return _pair(values, npu_format if dtype in floats else -1, device)


def test_2args_broadcast(fn: Callable[..., torch.Tensor]) -> Iterator[tuple[numpy.ndarray, numpy.ndarray]]:
    """Results of a function of two tensors for shapes that broadcast in turns, as (CPU, NPU)."""
    shapes = [(5, 6), (5,), ()], [(6, 5, 1), (1, 7)], [(2, 3, 4), (3, 1)]
    for group in shapes:
        for first, second in itertools.product(group, repeat=2):
            try:
                numpy.broadcast_shapes(first, second)
            except ValueError:
                continue
            a, b = (create_common_tensor([numpy.float32, -1, shape], 1, 10) for shape in (first, second))
            yield fn(a[0], b[0]).numpy(), fn(a[1], b[1]).cpu().numpy()


test_2args_broadcast.__test__ = False  # type: ignore[attr-defined]  # for pytest, which would take it for a test


def check_operators_in_prof(expected_operators: list[str], prof: Any, unexpected_operators: list[str] | None = None) -> bool:
    """Whether a profile has all of the operators, and none of the unexpected ones."""
    seen = {entry.key for entry in prof.key_averages()}
    return set(expected_operators) <= seen and not seen & set(unexpected_operators or ())


def _skipping(fine: Callable[[], bool], reason: Callable[[], str]) -> Callable[[Callable], Callable]:
    def decorate(fn: Callable) -> Callable:
        @wraps(fn)
        def test(*args: Any, **kwargs: Any) -> Any:
            if not fine():
                raise unittest.SkipTest(reason())
            return fn(*args, **kwargs)

        return test

    return decorate


class SkipIfNoLapack:
    """Decorator: the test needs a PyTorch with LAPACK."""

    def __call__(self, fn: Callable) -> Callable:
        return _skipping(lambda: torch._C.has_lapack, lambda: "PyTorch compiled without Lapack")(fn)


class SupportedDevices:
    """Decorator: the test runs on these chips alone.

    Args:
        supported_devices: names such as "Ascend910B" or "Ascend950".
    """

    def __init__(self, supported_devices: list[str]) -> None:
        self.supported_devices = supported_devices

    def _name(self) -> str:
        name = torch.npu.get_device_name(0)
        return name[:12] if name.startswith("Ascend910_") else name[:9] if name.startswith("Ascend950") else name[:10]

    def __call__(self, fn: Callable) -> Callable:
        return _skipping(
            lambda: self._name() in self.supported_devices,
            lambda: f"Only run on {self.supported_devices!r}, current device is {self._name()}.",
        )(fn)


class SkipIfNotGteCANNVersion:
    """Decorator: the test needs this version of the CANN, or of a part of it, or a newer one."""

    def __init__(self, base_version: str, module: str = "CANN") -> None:
        self.base_version = base_version
        self.module = module

    def __call__(self, fn: Callable) -> Callable:
        from .._checks import minor

        def present() -> str:
            return torch_npu.utils.get_cann_version(self.module)

        return _skipping(
            lambda: minor(present()) >= minor(self.base_version),
            lambda: f"Only run on {self.base_version} or greater, current cann version is {present()}.",
        )(fn)


@lru_cache(maxsize=1)
def get_cycles_per_ms() -> float:
    """How many of the cycles of torch.npu._sleep take a millisecond."""

    def measure() -> float:
        start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        start.record()
        torch.npu._sleep(1_000_000)
        end.record()
        end.synchronize()
        return 1_000_000 / start.elapsed_time(end)

    return mean(sorted(measure() for _ in range(10))[2:8])
