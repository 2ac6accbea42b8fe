# SPDX-License-Identifier: BSD-3-Clause
"""torch.load under its NPU name, and saving while the training goes on."""

import io
import os
import pickle
import threading
from typing import Any

import torch
from torch.serialization import DEFAULT_PROTOCOL

from ._error_code import ErrCode, pta_error

__all__ = ["load", "save_async"]

_writers: list[threading.Thread] = []


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """torch.load."""
    return torch.load(f, map_location, pickle_module, weights_only=weights_only, mmap=mmap, **pickle_load_args)


def _write(before: list[threading.Thread], content: bytes, f: Any) -> None:
    for thread in before:  # files of one name keep the order of their calls
        thread.join()
    if not isinstance(f, str | os.PathLike):
        f.write(content)
        return
    whole = f"{os.fspath(f)}.{os.getpid()}.part"
    with open(whole, "wb") as file:  # a reader never sees half a file
        file.write(content)
    os.replace(whole, f)


def save_async(
    obj: object,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
    model: torch.nn.Module | None = None,
) -> None:
    """torch.save whose file is written by a thread. The values are those of this moment: they are copied to the host before it
    returns, so the training may change them at once. The interpreter waits for the thread at its end.

    Args:
        obj, f: what to save, and a path or a writable file object, which must stay open.
        model: not needed, since the copy is finished when this returns.

    Raises:
        RuntimeError: the old file format is asked for.
    """
    if not _use_new_zipfile_serialization:
        raise RuntimeError(
            'Error: torch_npu.save_async with "_use_new_zipfile_serialization = False" is not recommended for npu tensor'
            + pta_error(ErrCode.PARAM)
        )
    buffer = io.BytesIO()
    torch.save(obj, buffer, pickle_module, pickle_protocol, _disable_byteorder_record=_disable_byteorder_record)
    _writers[:] = [thread for thread in _writers if thread.is_alive()]
    writer = threading.Thread(target=_write, args=(list(_writers), buffer.getvalue(), f), name="save_async")
    _writers.append(writer)
    writer.start()
