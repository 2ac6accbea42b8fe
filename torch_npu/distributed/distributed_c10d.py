# SPDX-License-Identifier: BSD-3-Clause
"""What torch.distributed gets from this package: the backend "hccl", collectives over uneven parts, rebuilding a group.

The collectives themselves are ProcessGroupHCCL's (csrc/bridge/c10d); PyTorch calls them directly.
"""

import atexit
import functools
import os
import sys
from collections.abc import Callable
from copy import copy
from datetime import timedelta

import torch
import torch.distributed as dist
import torch_npu._C as _C

from ..utils._error_code import ErrCode, dist_error


def is_available() -> bool:
    """Whether this PyTorch has torch.distributed at all."""
    return dist.is_available()


def is_hccl_available() -> bool:
    """Whether torch.distributed has the backend "hccl" here."""
    return is_available() and hasattr(_C, "_distributed_c10d")


def _make_group(backend: "dist._DistributedBackendOptions", options: object) -> "dist.ProcessGroup":
    """What init_process_group and new_group call for the backend "hccl"."""
    own = _C._distributed_c10d.ProcessGroupHCCL.Options
    if not isinstance(options, own):
        options = own()
    options = copy(options)
    options._timeout = backend.timeout
    options.global_ranks_in_group = backend.global_ranks_in_group
    options.group_id = backend.group_id
    return _C._distributed_c10d.ProcessGroupHCCL(backend.store, backend.group_rank, backend.group_size, options)


def _backend_of(group: "dist.ProcessGroup | None") -> "_C._distributed_c10d.ProcessGroupHCCL":
    """The group's ProcessGroupHCCL; an error where it has none."""
    group = group or dist.distributed_c10d._get_default_group()
    npu = torch.device("npu")
    if npu not in [torch.device(d) for d in group._device_types]:
        raise RuntimeError("This process group has no backend for npu." + dist_error(ErrCode.PARAM))
    backend = group._get_backend(npu)
    while hasattr(backend, "wrapped_pg"):  # TORCH_DISTRIBUTED_DEBUG=DETAIL
        backend = backend.wrapped_pg
    return backend


def _finish(work: "dist.Work", async_op: bool) -> "dist.Work | None":
    if async_op:
        return work
    work.wait()
    return None


def all_gather_into_tensor_uneven(
    output: torch.Tensor,
    input: torch.Tensor,
    output_split_sizes: list[int] | None = None,
    group: "dist.ProcessGroup | None" = None,
    async_op: bool = False,
) -> "dist.Work | None":
    """Gathers one tensor of each rank, of different lengths, into `output`, one behind the other.

    Args:
        output: shape (sum(output_split_sizes), …) on the NPU.
        input: this rank's part, shape (output_split_sizes[rank], …).
        output_split_sizes: rows of each rank; None: all alike.
    """
    if dist.distributed_c10d._rank_not_in_group(group):
        return None
    opts = dist.distributed_c10d.AllgatherOptions()
    opts.asyncOp = async_op
    work = _backend_of(group).all_gather_into_tensor_uneven(output, input, output_split_sizes or [], opts)
    return _finish(work, async_op)


def reduce_scatter_tensor_uneven(
    output: torch.Tensor,
    input: torch.Tensor,
    input_split_sizes: list[int] | None = None,
    op: "dist.ReduceOp" = dist.ReduceOp.SUM,
    group: "dist.ProcessGroup | None" = None,
    async_op: bool = False,
) -> "dist.Work | None":
    """Reduces `input` over the ranks and gives each rank its part, of different lengths.

    Args:
        output: this rank's part, shape (input_split_sizes[rank], …) on the NPU.
        input: shape (sum(input_split_sizes), …).
        input_split_sizes: rows of each rank; None: all alike.
    """
    if dist.distributed_c10d._rank_not_in_group(group):
        return None
    opts = dist.distributed_c10d.ReduceScatterOptions()
    opts.reduceOp = op
    opts.asyncOp = async_op
    work = _backend_of(group).reduce_scatter_tensor_uneven(output, input, input_split_sizes or [], opts)
    return _finish(work, async_op)


def all_to_all_vc(
    output: torch.Tensor,
    input: torch.Tensor,
    send_count_matrix: torch.Tensor | list[list[int]],
    group: "dist.ProcessGroup | None" = None,
    async_op: bool = False,
) -> "dist.Work | None":
    """all_to_all_single by one matrix that all ranks know: element [i][j] is how many elements rank i sends to rank j."""
    if dist.distributed_c10d._rank_not_in_group(group):
        return None
    matrix = torch.as_tensor(send_count_matrix).reshape(-1, dist.get_world_size(group)).tolist()
    opts = dist.distributed_c10d.AllToAllOptions()
    opts.asyncOp = async_op
    work = _backend_of(group).alltoallvc(output, input, matrix, opts)
    return _finish(work, async_op)


def reinit_process_group(group: "dist.ProcessGroup | None" = None, rebuild_link: bool = True) -> "dist.ProcessGroup | None":
    """Makes groups usable again after a failed collective. All their ranks must call it.

    With rebuild_link the communicators of `group` (default: the world) are opened anew at its next collective, and the group is
    returned; else those of every group of this process are, and None is returned.
    """
    if rebuild_link:
        group = group or dist.distributed_c10d._get_default_group()
        _backend_of(group)._reopen()
        return group
    npu = torch.device("npu")
    for each in list(dist.distributed_c10d._world.pg_map):
        if npu in [torch.device(d) for d in each._device_types]:
            _backend_of(each)._reopen()
    return None


def _also_on_hccl(monitored_barrier: Callable[..., None]) -> Callable[..., None]:
    """PyTorch's monitored_barrier takes gloo alone; here it works with hccl too."""

    @functools.wraps(monitored_barrier)
    def barrier(group: "dist.ProcessGroup | None" = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        if dist.distributed_c10d._rank_not_in_group(group) or "hccl" not in dist.get_backend(group):
            return monitored_barrier(group, timeout, wait_all_ranks)
        if isinstance(timeout, (int, float)):
            timeout = timedelta(seconds=timeout)
        backend = _backend_of(group)
        return backend.monitored_barrier(backend.options._timeout if timeout is None else timeout, wait_all_ranks)

    return barrier


def _tell_unseen(pid: int) -> None:
    """At exit: an operation failed and nobody has asked for it. The program must not look as if all were well."""
    text = _C._distributed_c10d._unseen_failure() if os.getpid() == pid else ""
    if text:
        print(f"A collective of this process failed, which was not noticed before its end: {text}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def install() -> None:
    """Registers the backend and puts the names into torch.distributed; may run twice."""
    if "HCCL" not in dist.Backend._plugins:
        dist.Backend.register_backend("hccl", _make_group, extended_api=True, devices=["npu"])
        atexit.register(_tell_unseen, os.getpid())
    dist.is_hccl_available = is_hccl_available
    dist.reinit_process_group = reinit_process_group
    if not hasattr(dist.monitored_barrier, "__wrapped__") or dist.monitored_barrier.__module__ != __name__:
        patched = _also_on_hccl(dist.monitored_barrier)
        patched.__module__ = __name__
        dist.monitored_barrier = dist.distributed_c10d.monitored_barrier = patched
