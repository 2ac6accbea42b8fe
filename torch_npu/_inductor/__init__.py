# SPDX-License-Identifier: BSD-3-Clause
"""torch.compile's backend "inductor" for the NPU. Imported when inductor asks torch.npu for these names, never before.

Inductor's C++ kernels run on the NPU's memory where the CANN gives the host a view of it (a software NPU): a kernel gets CPU
tensors on the memory of its arguments, after the stream's tasks are done. Operators that inductor does not generate are
called as they are. On a CANN without that view compiling raises an error that names the backends that work.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo.device_interface import DeviceInterface, register_interface_for_device
from torch._inductor import utils as inductor_utils
from torch._inductor.codegen.common import DeviceOpOverrides, register_device_op_overrides
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.wrapper import PythonWrapperCodegen as _PythonWrapperCodegen
from torch._inductor.scheduler import BaseSchedulerNode
from torch._inductor.virtualized import V
from torch_npu import _C

__all__ = ["Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen", "run_kernel"]


@functools.cache
def _has_host_view() -> bool:
    return _C._npu_hostAlias(torch.empty(1, device="npu")) is not None


def run_kernel(kernel: Callable[..., Any], *args: Any) -> Any:
    """Calls a compiled C++ kernel with host views of the NPU tensors among its arguments; generated code calls this."""
    return kernel(*[_C._npu_hostAlias(arg) if isinstance(arg, torch.Tensor) and arg.is_npu else arg for arg in args])


class Scheduling(CppScheduling):
    """Fuses nodes and generates C++ for them, as for the CPU."""

    def __init__(self, scheduler: Any) -> None:
        if not _has_host_view():
            raise RuntimeError(
                "torch.compile(backend='inductor') on npu needs a CANN whose memory the host can see; "
                "use backend='npu', 'aot_eager' or 'eager'"
            )
        super().__init__(scheduler)


class PythonWrapperCodegen(_PythonWrapperCodegen):
    """The Python code around the kernels: tensors are allocated on the NPU, kernels called through run_kernel."""

    @staticmethod
    def create(
        is_subgraph: bool, subgraph_name: str | None, parent_wrapper: Any, partition_signatures: Any = None
    ) -> _PythonWrapperCodegen:
        if is_subgraph:
            return _PythonWrapperCodegen.create(is_subgraph, subgraph_name, parent_wrapper, partition_signatures)
        return PythonWrapperCodegen()

    def write_header(self) -> None:
        super().write_header()
        self.imports.writeline("from torch_npu._inductor import run_kernel as run_npu_kernel")

    def _generate_kernel_call_helper(self, kernel_name: str, call_args: Any, *, device: Any = None, **rest: Any) -> None:
        device = device or V.graph.get_current_device_or_throw()
        if device.type == "npu" and not rest.get("triton", True):
            self.writeline(f"run_npu_kernel({', '.join([kernel_name, *call_args])})")
        else:
            super()._generate_kernel_call_helper(kernel_name, call_args, device=device, **rest)


class CppWrapperCodegen:
    """In the place of the C++ wrapper (config.cpp_wrapper, AOTInductor), which there is none of for the NPU."""

    supports_caching = False

    @staticmethod
    def create(*args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("inductor's C++ wrapper (cpp_wrapper, AOTInductor) is not there for npu; use torch.export")


class WrapperFxCodegen(CppWrapperCodegen):
    """In the place of the wrapper that writes an FX graph (config.fx_wrapper)."""


class _NpuOpOverrides(DeviceOpOverrides):
    """Pieces of generated Python that handle the device."""

    def import_get_raw_stream_as(self, name: str) -> str:
        return f"from torch_npu._C import _npu_getCurrentRawStream as {name}"

    def set_device(self, device_idx: int) -> str:
        return f"torch.npu.set_device({device_idx})"

    def synchronize(self) -> str:
        return "torch.npu.synchronize()"

    def device_guard(self, device_idx: int) -> str:
        return f"torch.npu.device({device_idx})"

    def current_stream(self) -> str:
        return "torch.npu.current_stream()"


class _Interface(DeviceInterface):
    """What dynamo and inductor ask of a device."""

    device = torch.npu.device
    Event = torch.npu.Event
    Stream = torch.npu.Stream

    class Worker:
        set_device = staticmethod(torch.npu.set_device)
        current_device = staticmethod(torch.npu.current_device)
        get_device_properties = staticmethod(torch.npu.get_device_properties)

    current_device = staticmethod(torch.npu.current_device)
    set_device = staticmethod(torch.npu.set_device)
    device_count = staticmethod(torch.npu.device_count)
    stream = staticmethod(torch.npu.stream)
    current_stream = staticmethod(torch.npu.current_stream)
    set_stream = staticmethod(torch.npu.set_stream)
    synchronize = staticmethod(torch.npu.synchronize)
    get_device_properties = staticmethod(torch.npu.get_device_properties)
    memory_allocated = staticmethod(torch.npu.memory_allocated)
    exchange_device = staticmethod(torch.npu._exchange_device)
    maybe_exchange_device = staticmethod(torch.npu._maybe_exchange_device)

    @staticmethod
    def get_raw_stream(device_idx: int) -> int:
        return _C._npu_getCurrentRawStream(device_idx)

    @staticmethod
    def is_available() -> bool:
        return torch.npu.is_available()

    @staticmethod
    def get_compute_capability(device: Any = None) -> str:
        return torch.npu.get_device_name(device)

    @staticmethod
    def is_bf16_supported(including_emulation: bool = False) -> bool:
        return torch.npu.is_bf16_supported()

    @staticmethod
    def is_triton_capable(device: Any = None) -> bool:
        return False

    @staticmethod
    def raise_if_triton_unavailable(device: Any = None) -> None:
        raise RuntimeError("Triton kernels do not run on this NPU")


def _nodes_are_of_the_cpu() -> None:
    """The scheduler's choices for CPU nodes, whose groups have C++'s form, hold for ours."""
    is_cpu = BaseSchedulerNode.is_cpu

    @functools.wraps(is_cpu)
    def is_cpu_or_npu(self: BaseSchedulerNode) -> bool:
        device = self.get_device()
        return is_cpu(self) or (device is not None and device.type == "npu")

    BaseSchedulerNode.is_cpu = is_cpu_or_npu


def _kernels_are_cpp() -> None:
    """Inductor asks which language a device's kernels have; for one that it does not know it would say Triton."""
    language = inductor_utils.get_current_backend

    @functools.wraps(language)
    def get_current_backend(device_type: str | None = None) -> str:
        kind = device_type or V.graph.get_current_device_or_throw().type
        return "cpp" if kind == "npu" else language(kind)

    for name, module in list(sys.modules.items()):
        if name.startswith("torch._inductor") and getattr(module, "get_current_backend", None) is language:
            module.get_current_backend = get_current_backend


_nodes_are_of_the_cpu()
_kernels_are_cpp()
register_device_op_overrides("npu", _NpuOpOverrides())
register_interface_for_device("npu", _Interface)
