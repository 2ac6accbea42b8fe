# SPDX-License-Identifier: BSD-3-Clause
"""torch.npu: NPUs for PyTorch, in the form of torch.cuda.

Nothing here opens the device until it is used: importing, counting, asking for names and seeding do not.
"""

from typing import Any

import torch_npu._C as _C

from . import _tensor_types, _utils, aclnn, amp, graphs, memory, npu_config, random, streams, utils
from ._backends import *

# Names with an underscore are what PyTorch itself and tools written for CUDA look for.
from ._devices import (
    _exchange_device,
    _maybe_exchange_device,
    can_device_access_peer,
    current_blas_handle,
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_soc_version,
    is_available,
    set_device,
    synchronize,
    utilization,
    why_not_available,
    why_unavailable,
)
from ._fallback import FallbackReport, fallback_report
from ._lazy import DeferredNpuCallError, _is_in_bad_fork, _lazy_call, _lazy_init, init, is_initialized
from ._recovery import npurt, restart_device, stop_device
from ._utils import _get_device_index
from .autocast_utils import (
    get_amp_supported_dtype,
    get_autocast_dtype,
    is_autocast_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from .deterministic import (
    disable_deterministic_with_backward,
    enable_deterministic_with_backward,
    set_deterministic_level,
)
from .graphs import *
from .memory import *
from .memory import _dump_snapshot, _record_memory_history, _snapshot
from .mstx import mstx
from .npu_config import *
from .npu_config import CubeMathType, config, conv, matmul
from .random import *
from .random import _get_rng_state_offset, _set_rng_state_offset
from .streams import (
    Event,
    ExternalEvent,
    ExternalStream,
    Stream,
    StreamContext,
    SyncLaunchStream,
    current_stream,
    default_stream,
    set_stream,
    stream,
)
from .utils import (
    check_uce_in_memory,
    clear_npu_overflow_flag,
    get_npu_overflow_flag,
    get_sync_debug_mode,
    ipc_collect,
    is_bf16_supported,
    obfuscation_calculate,
    obfuscation_finalize,
    obfuscation_initialize,
    set_op_timeout_ms,
    set_sync_debug_mode,
    stress_detect,
)

globals().update(_tensor_types.typed_names())

__all__ = [name for name in globals() if not name.startswith("_") and name != "Any"]


def _sleep(cycles: int) -> None:
    """Keeps the current stream busy for `cycles` of a clock of 1 GHz."""
    init()
    _C._npu_sleep(int(cycles))


def __getattr__(name: str) -> Any:
    if name == "_initialized":
        return is_initialized()
    if name == "default_generators":
        return random.default_generators()
    if name in ("Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen"):  # inductor asks for them
        from torch_npu import _inductor

        return getattr(_inductor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
