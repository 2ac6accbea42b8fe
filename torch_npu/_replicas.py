# SPDX-License-Identifier: BSD-3-Clause
"""What torch.nn.DataParallel asks of PyTorch's core to spread tensors over the devices of one process and to collect them.

PyTorch has these functions in its CUDA builds alone; elsewhere they are added here, for npu and CPU tensors. Device indices are
those of npu devices, -1 is the CPU.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch


def _device(index: int) -> torch.device:
    return torch.device("npu", index) if index >= 0 else torch.device("cpu")


def _broadcast(tensor: torch.Tensor, devices: Sequence[int]) -> tuple[torch.Tensor, ...]:
    """A copy on each device; the tensor itself on its own."""
    return tuple(tensor.to(_device(index), non_blocking=True) for index in devices)


def _broadcast_out(tensor: torch.Tensor, out: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    for i, copy in enumerate(out):
        if copy.device.type == "cpu":
            raise RuntimeError(f"Expected all output tensors to be npu tensors, but output tensor at index {i} is not")
        if copy.shape != tensor.shape:
            raise RuntimeError(
                f"Expected all output tensors to have same shape as the source tensor {list(tensor.shape)}, but output tensor "
                f"at index {i} has shape {list(copy.shape)}"
            )
        copy.copy_(tensor, non_blocking=True)
    return tuple(out)


def _broadcast_coalesced(tensors: Sequence[torch.Tensor], devices: Sequence[int], buffer_size: int) -> list[list[torch.Tensor]]:
    """For each device the tensors' copies. Nothing is gained by packing them: devices share the machine's memory."""
    if not all(tensor.device == _device(devices[0]) for tensor in tensors):
        raise RuntimeError("all tensors must be on devices[0]: " + str(devices[0]))
    return [[tensor.to(_device(index), non_blocking=True) for tensor in tensors] for index in devices]


def _chunks(tensor: torch.Tensor, count: int, sizes: Sequence[int] | None, dim: int) -> Sequence[torch.Tensor]:
    if sizes is None:
        return tensor.chunk(count, dim)
    if len(sizes) != count:
        raise RuntimeError(f"Expected devices and chunk_sizes to be of same length, but got len(devices) = {count} and "
                           f"len(chunk_sizes) = {len(sizes)}")  # fmt: skip
    return tensor.split_with_sizes(list(sizes), dim)


def _scatter(
    tensor: torch.Tensor,
    devices: Sequence[int],
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Sequence[torch.npu.Stream | None] | None = None,
) -> tuple[torch.Tensor, ...]:
    """The tensor's chunks, one a device, each copied on that device's stream if one is given."""
    if streams is not None and len(streams) != len(devices):
        raise RuntimeError(f"Expected streams and devices to be of same length, but got {len(streams)} and {len(devices)}")
    copies = []
    for i, chunk in enumerate(_chunks(tensor, len(devices), chunk_sizes, dim)):
        with torch.npu.stream(streams[i] if streams else None):
            copies.append(chunk.contiguous().to(_device(devices[i]), non_blocking=True))
    return tuple(copies)


def _scatter_out(
    tensor: torch.Tensor, out: Sequence[torch.Tensor], dim: int = 0, streams: Sequence[torch.npu.Stream | None] | None = None
) -> tuple[torch.Tensor, ...]:
    sizes = [part.size(dim) for part in out]
    if sum(sizes) != tensor.size(dim):
        raise RuntimeError(f"Total size for output tensors along scatter dim {dim} does not match expected {tensor.size(dim)}")
    for i, (part, chunk) in enumerate(zip(out, tensor.split_with_sizes(sizes, dim), strict=True)):
        with torch.npu.stream(streams[i] if streams else None):
            part.copy_(chunk, non_blocking=True)
    return tuple(out)


def _gather(tensors: Sequence[torch.Tensor], dim: int, destination: int | None = None) -> torch.Tensor:
    """The tensors one after another on one device: the current one without a destination."""
    device = _device(torch.npu.current_device() if destination is None else destination)
    return torch.cat([tensor.to(device) for tensor in tensors], dim)


def _gather_out(tensors: Sequence[torch.Tensor], out: torch.Tensor, dim: int) -> torch.Tensor:
    return torch.cat([tensor.to(out.device) for tensor in tensors], dim, out=out)


def install() -> None:
    """Adds the functions to torch._C where it lacks them; may run twice."""
    for function in (_broadcast, _broadcast_out, _broadcast_coalesced, _scatter, _scatter_out, _gather, _gather_out):
        if not hasattr(torch._C, function.__name__):
            setattr(torch._C, function.__name__, function)
    # comm.reduce_add asks for NCCL first, and wants no more than the answer
    warnings.filterwarnings("ignore", "PyTorch is not compiled with NCCL support", UserWarning, r"torch\.nn\.parallel\.comm")
