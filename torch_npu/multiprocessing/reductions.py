# SPDX-License-Identifier: BSD-3-Clause
"""How a storage in device memory goes through a queue of torch.multiprocessing.

PyTorch's own reduction turns a tensor into its storage and a view of it; only the storage is different here. It travels
as a copy through shared host memory and is put on the same device again: the receiver has equal values, and a later
change on one side is not seen on the other.
"""

from multiprocessing.reduction import ForkingPickler

import torch
from torch.multiprocessing import reductions as torch_reductions

__all__ = ["rebuild_npu_storage", "reduce_storage", "init_reductions"]


def rebuild_npu_storage(host: torch.UntypedStorage, device: int) -> torch.UntypedStorage:
    """The receiver's side: a storage on NPU `device` with the bytes of `host`."""
    storage = torch.UntypedStorage(host.nbytes(), device=torch.device("npu", device))
    storage.copy_(host, False)
    return storage


def reduce_storage(storage: torch.UntypedStorage) -> tuple:
    """The sender's side, for the pickler: (function, arguments) that make the storage anew."""
    if storage.device.type != "npu":
        return torch_reductions.reduce_storage(storage)
    return rebuild_npu_storage, (storage.cpu(), storage.get_device())


def init_reductions() -> None:
    """Tells the pickler of torch.multiprocessing."""
    ForkingPickler.register(torch.UntypedStorage, reduce_storage)
