# SPDX-License-Identifier: BSD-3-Clause
"""Random numbers of the NPU: seeds and states of the default generators, one a device.

A state is a CPU ByteTensor of 16 bytes: the seed and the offset of the Philox counter. Seeds and states set before the
device is open take effect when it is opened.
"""

from collections.abc import Iterable

import torch
import torch_npu._C as _C

from ._devices import current_device, device_count
from ._lazy import _is_in_bad_fork, _lazy_call, _lazy_init, is_initialized
from ._utils import _get_device_index

__all__ = [
    "get_rng_state",
    "set_rng_state",
    "get_rng_state_all",
    "set_rng_state_all",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "initial_seed",
]

Device = int | str | torch.device


def _generator(device: Device) -> torch.Generator:
    return _C._npu_getDefaultGenerator(_get_device_index(device, optional=True))


def default_generators() -> tuple[torch.Generator, ...]:
    """The default generators by device index."""
    _lazy_init()
    return tuple(_C._npu_getDefaultGenerator(index) for index in range(device_count()))


def get_rng_state(device: Device = "npu") -> torch.Tensor:
    """State of the device's default generator (default: the current device's), a CPU ByteTensor. Opens the NPU."""
    _lazy_init()
    return _generator(device).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices, by index."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: torch.Tensor, device: Device = "npu") -> None:
    """Sets the state of the device's default generator to one from get_rng_state.

    Raises:
        RuntimeError: not a ByteTensor of the right size.
    """
    if not is_initialized():
        with torch._C._DisableFuncTorch():
            new_state = new_state.clone(memory_format=torch.contiguous_format)  # it may change before the call runs
    _lazy_call(lambda: _generator(device).set_state(new_state))


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Sets the states of all devices, in the order of get_rng_state_all."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def _get_rng_state_offset(device: Device = "npu") -> int:
    """The Philox offset of the device's default generator."""
    _lazy_init()
    return _generator(device).get_offset()


def _set_rng_state_offset(offset: int, device: Device = "npu") -> None:
    """Sets the Philox offset, a multiple of 4, of the device's default generator."""
    _lazy_call(lambda: _generator(device).set_offset(offset))


def manual_seed(seed: int) -> None:
    """Seeds the current device's generator. torch.manual_seed seeds CPU and all NPUs."""
    seed = int(seed)
    _lazy_call(lambda: _generator("npu").manual_seed(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all devices. Does nothing where no NPU can be used."""
    seed = int(seed)

    def call() -> None:
        for index in range(device_count()):
            _generator(index).manual_seed(seed)

    if not _is_in_bad_fork():
        _lazy_call(call)


def seed() -> None:
    """Seeds the current device's generator from the system's entropy."""
    _lazy_call(lambda: _generator("npu").seed())


def seed_all() -> None:
    """Seeds all devices' generators with one number from the system's entropy."""

    def call() -> None:
        number = _generator(0).seed()
        for index in range(1, device_count()):
            _generator(index).manual_seed(number)

    _lazy_call(call)


def initial_seed() -> int:
    """The current device's seed. Opens the NPU."""
    return _generator(current_device()).initial_seed()
