# SPDX-License-Identifier: BSD-3-Clause
"""How a storage in device memory, and an event, go through a queue of torch.multiprocessing.

PyTorch's own reduction turns a tensor into its storage and a view of it; only the storage is different here. What travels
is a key of the memory, so that both processes see the same bytes. The sender keeps the storage until the receiver's is gone:
each message has a counter, 1 at first, in host memory that both see; the receiver's storage sets it to 0 when it dies, and
the sender looks at its counters whenever it sends again, and in ipc_collect().

Memory that cannot be shared, because it came from another process, is sent as a copy. An event must be made with
interprocess=True and live until its receiver has it.
"""

import os
import threading
from multiprocessing.reduction import ForkingPickler

import torch
import torch_npu._C as _C
from torch.multiprocessing import reductions as torch_reductions

from ..npu.streams import Event

__all__ = [
    "init_reductions",
    "rebuild_npu_copy",
    "rebuild_npu_event",
    "rebuild_npu_storage",
    "reduce_event",
    "reduce_storage",
]

SLOTS = 4096
"""Storages that one process can have under way; more go as copies."""


class _Sent:
    """What this process has sent: storage and key by slot. Made anew in a forked child, which has sent nothing."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.counters = torch.zeros(SLOTS, dtype=torch.int32).share_memory_()
        self.held: dict[int, tuple[torch.UntypedStorage, bytes]] = {}
        self.free = list(range(SLOTS))

    def collect(self) -> None:
        """Lets go of what its receiver has let go of."""
        for slot in [slot for slot in self.held if not self.counters[slot].item()]:
            _, key = self.held.pop(slot)
            _C._npu_unshare_storage(key)
            self.free.append(slot)


_sent: _Sent | None = None
_lock = threading.Lock()


def _mine() -> _Sent:
    global _sent
    if _sent is None or _sent.process != os.getpid():
        _sent = _Sent()
    return _sent


def collect() -> None:
    """Frees the storages that were sent and that no receiver uses any more."""
    with _lock:
        if _sent is not None and _sent.process == os.getpid():
            _sent.collect()


def rebuild_npu_copy(host: torch.UntypedStorage, device: int) -> torch.UntypedStorage:
    """The receiver's side of a copy: a storage on NPU `device` with the bytes of `host`."""
    storage = torch.UntypedStorage(host.nbytes(), device=torch.device("npu", device))
    storage.copy_(host, False)
    return storage


def rebuild_npu_storage(
    process: int, device: int, key: bytes, size: int, offset: int, counters: torch.UntypedStorage, slot: int
) -> torch.UntypedStorage:
    """The receiver's side: a storage of `size` bytes on the memory that `process` sent as `slot`."""
    if process == os.getpid():  # it never left
        with _lock:
            storage, _ = _mine().held[slot]
            _mine().counters[slot] = 0
        return storage
    return _C._npu_open_shared_storage(device, key, size, offset, counters, slot)


def reduce_storage(storage: torch.UntypedStorage) -> tuple:
    """The sender's side, for the pickler: (function, arguments) that make the storage anew."""
    if storage.device.type != "npu":
        return torch_reductions.reduce_storage(storage)
    with _lock:
        sent = _mine()
        sent.collect()
        if storage.nbytes() and sent.free:
            try:
                device, key, size, offset = _C._npu_share_storage(storage)
            except NotImplementedError:
                pass
            else:
                slot = sent.free.pop()
                sent.held[slot] = storage, key
                sent.counters[slot] = 1
                return rebuild_npu_storage, (sent.process, device, key, size, offset, sent.counters.untyped_storage(), slot)
    return rebuild_npu_copy, (storage.cpu(), storage.get_device())


def rebuild_npu_event(device: torch.device | int | None, handle: bytes) -> Event:
    """The receiver's side of an event."""
    return Event.from_ipc_handle(device, handle)


def reduce_event(event: Event) -> tuple:
    """The sender's side, for the pickler.

    Raises:
        RuntimeError: the event was made without interprocess=True, or by another process.
    """
    return rebuild_npu_event, (event.device, event.ipc_handle())


def init_reductions() -> None:
    """Tells the pickler of torch.multiprocessing."""
    ForkingPickler.register(Event, reduce_event)
    ForkingPickler.register(torch.UntypedStorage, reduce_storage)
