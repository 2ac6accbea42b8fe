# SPDX-License-Identifier: BSD-3-Clause
"""Offline models (.om, made by atc) as functions of npu tensors.

    model = anynpu.offline.load("resnet18.om")
    scores = model(images)          # images and scores on npu, nothing is copied, in the order of the current stream

A model that was converted with a choice of sizes (`--dynamic_batch_size`, `--dynamic_image_size`, `--dynamic_dims`) or with
sizes between limits takes any of them: the tensors' own sizes say which.
"""

from __future__ import annotations

import dataclasses
import os
import threading
from typing import TYPE_CHECKING, Any

import acl

if TYPE_CHECKING:
    import torch

__all__ = ["Model", "TensorInfo", "load"]

# aclDataType → names of torch's types
_TYPES = {
    0: "float32",
    1: "float16",
    2: "int8",
    3: "int32",
    4: "uint8",
    6: "int16",
    7: "uint16",
    8: "uint32",
    9: "int64",
    10: "uint64",
    11: "float64",
    12: "bool",
    16: "complex64",
    17: "complex128",
    27: "bfloat16",
}
_SIZE_INPUT = "ascend_mbatch_shape_data"
_AIPP_INPUT = "ascend_dynamic_aipp_data"
_FREE_SIZE = -1


class OfflineError(RuntimeError):
    """A call of AscendCL failed; the text is its own."""


def _check(status: int, what: str) -> None:
    if status:
        raise OfflineError(f"{what} failed with {status}: {acl.get_recent_err_msg() or 'no text'}")


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    """An input or output: its name, sizes (-1: chosen by the caller), the name of torch's type, bytes of the largest size."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int


class _Data(threading.local):
    """A thread's datasets: made at its first call, filled with addresses at each."""

    inputs: tuple[int, list[int]] | None = None
    outputs: tuple[int, list[int]] | None = None
    sizes: list[tuple[int, ...]] | None = None  # that were set last
    place: Any = None  # memory of the input of sizes


def _dataset(count: int) -> tuple[int, list[int]]:
    dataset, buffers = acl.mdl.create_dataset(), []
    for _ in range(count):
        buffers.append(acl.create_data_buffer(0, 0))
        _check(acl.mdl.add_dataset_buffer(dataset, buffers[-1])[1], "aclmdlAddDatasetBuffer")
    return dataset, buffers


class Model:
    """A loaded model. Call it with one npu tensor an input; it returns one tensor, or a tuple where the model has several.

    Attributes:
        inputs, outputs: what it takes and gives, as `TensorInfo`.
        device: the npu that it was loaded on.
    """

    def __init__(self, path: str | os.PathLike[str], device: int | None = None) -> None:
        import torch
        import torch_npu  # noqa: F401

        index = torch.npu.current_device() if device is None else device
        self.device = torch.device("npu", index)
        with torch.npu.device(index):
            self._id, status = acl.mdl.load_from_file(os.fspath(path))
        _check(status, f"aclmdlLoadFromFile({os.fspath(path)!r})")
        self._desc = acl.mdl.create_desc()
        _check(acl.mdl.get_desc(self._desc, self._id), "aclmdlGetDesc")
        described = [self._info(i, "input") for i in range(acl.mdl.get_num_inputs(self._desc))]
        names = [info.name for info in described]
        if _AIPP_INPUT in names:
            raise OfflineError("the model takes AIPP parameters at run time; use acl.mdl.set_input_aipp with acl.mdl.execute")
        self._size_input = names.index(_SIZE_INPUT) if _SIZE_INPUT in names else None
        self._all_inputs = described
        self.inputs = tuple(info for info in described if info.name != _SIZE_INPUT)
        self.outputs = tuple(self._info(i, "output") for i in range(acl.mdl.get_num_outputs(self._desc)))
        self._free = self._size_input is None and any(_FREE_SIZE in info.shape for info in self.inputs)
        self._descs = self._free or any(_FREE_SIZE in info.shape for info in self.outputs)
        self._data = _Data()

    def _info(self, i: int, side: str) -> TensorInfo:
        dims, status = getattr(acl.mdl, f"get_{side}_dims")(self._desc, i)
        _check(status, f"sizes of {side} {i}")
        dtype = getattr(acl.mdl, f"get_{side}_data_type")(self._desc, i)
        name = getattr(acl.mdl, f"get_{side}_name_by_index")(self._desc, i)
        size = getattr(acl.mdl, f"get_{side}_size_by_index")(self._desc, i)
        return TensorInfo(name, tuple(dims["dims"]), _TYPES.get(dtype, f"aclDataType {dtype}"), size)

    def unload(self) -> None:
        """Waits for the model's executions and gives back its memory. Also at the end of the object."""
        if self._id is not None:
            _check(acl.mdl.unload(self._id), "aclmdlUnload")
            acl.mdl.destroy_desc(self._desc)
            self._id = None

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *exc: object) -> None:
        self.unload()

    def __del__(self) -> None:
        if getattr(self, "_id", None) is not None:
            try:
                self.unload()
            except Exception:  # noqa: BLE001 — the interpreter ends, or the device was reset
                pass

    def _checked(self, tensors: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
        if len(tensors) != len(self.inputs):
            names = ", ".join(info.name for info in self.inputs)
            raise TypeError(f"the model takes {len(self.inputs)} tensors ({names}), not {len(tensors)}")
        ready = []
        for tensor, info in zip(tensors, self.inputs, strict=True):
            if tensor.device != self.device:
                raise ValueError(f"input {info.name} is on {tensor.device}, the model on {self.device}")
            if str(tensor.dtype).removeprefix("torch.") != info.dtype:
                raise TypeError(f"input {info.name} is {tensor.dtype}, the model takes {info.dtype}")
            fits = len(tensor.shape) == len(info.shape) and all(
                want in (size, _FREE_SIZE) for size, want in zip(tensor.shape, info.shape, strict=True)
            )
            if not fits and tensor.nbytes != info.nbytes:  # a picture that AIPP takes has sizes of its own
                raise ValueError(f"input {info.name} is {tuple(tensor.shape)}, the model takes {info.shape}")
            ready.append(tensor.contiguous())
        return ready

    def __call__(self, *tensors: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        """Queues an execution on the current stream.

        Raises:
            OfflineError: the model was not converted for these sizes, or was unloaded.
        """
        import torch

        if self._id is None:
            raise OfflineError("the model was unloaded")
        ready = self._checked(tensors)
        with torch.npu.device(self.device):
            stream = torch.npu.current_stream().npu_stream
            if self._data.inputs is None:
                self._data.inputs, self._data.outputs = _dataset(len(self._all_inputs)), _dataset(len(self.outputs))
            dataset, buffers = self._data.inputs
            for buffer, tensor in zip(buffers, ready, strict=False):
                acl.update_data_buffer(buffer, tensor.data_ptr(), tensor.nbytes)
            self._set_sizes(dataset, buffers, ready)
            results = self._execute(dataset, stream)
        return results[0] if len(results) == 1 else tuple(results)

    def _set_sizes(self, dataset: int, buffers: list[int], tensors: list[torch.Tensor]) -> None:
        import torch

        sizes = [tuple(t.shape) for t in tensors]
        if self._size_input is not None and self._data.sizes != sizes:
            count = self._all_inputs[self._size_input]
            if self._data.place is None:
                self._data.place = torch.empty(count.nbytes, dtype=torch.uint8, device=self.device)
            acl.update_data_buffer(buffers[self._size_input], self._data.place.data_ptr(), count.nbytes)
            batches = acl.mdl.get_dynamic_batch(self._desc)[0]["batchCount"]
            images = acl.mdl.get_dynamic_hw(self._desc, -1)[0]["hwCount"]
            index = self._size_input
            if batches:
                axis = next(i.shape.index(_FREE_SIZE) for i in self.inputs if _FREE_SIZE in i.shape)
                which = next(k for k, i in enumerate(self.inputs) if _FREE_SIZE in i.shape)
                status = acl.mdl.set_dynamic_batch_size(self._id, dataset, index, sizes[which][axis])
            elif images:
                which = next(k for k, i in enumerate(self.inputs) if _FREE_SIZE in i.shape)
                height, width = (s for s, w in zip(sizes[which], self.inputs[which].shape, strict=True) if w == _FREE_SIZE)
                status = acl.mdl.set_dynamic_hw_size(self._id, dataset, index, height, width)
            else:
                every = [s for shape in sizes for s in shape]
                dims = {"name": "", "dimCount": len(every), "dims": every}
                status = acl.mdl.set_input_dynamic_dims(self._id, dataset, index, dims)
            _check(status, f"the choice of sizes {sizes}")
            self._data.sizes = sizes
        elif self._free and self._data.sizes != sizes:
            for i, shape in enumerate(sizes):
                old = acl.mdl.get_dataset_tensor_desc(dataset, i)
                desc = acl.create_tensor_desc(0, list(shape), 2)
                _check(acl.mdl.set_dataset_tensor_desc(dataset, desc, i)[1], "aclmdlSetDatasetTensorDesc")
                if old:
                    acl.destroy_tensor_desc(old)
            self._data.sizes = sizes

    def _output_shapes(self) -> list[tuple[int, ...]]:
        """Of the sizes that were set; where they are free, an output has none yet."""
        if self._size_input is None:
            return [info.shape for info in self.outputs]
        dims = [acl.mdl.get_cur_output_dims(self._desc, i) for i in range(len(self.outputs))]
        return [tuple(d["dims"]) for d, _ in dims]

    def _execute(self, inputs: int, stream: int) -> list[torch.Tensor]:
        import torch

        dataset, buffers = self._data.outputs
        results = []
        for info, buffer, shape in zip(self.outputs, buffers, self._output_shapes(), strict=True):
            dtype = getattr(torch, info.dtype)
            if self._descs:  # room for the largest; the sizes follow
                results.append(torch.empty(info.nbytes // dtype.itemsize, dtype=dtype, device=self.device))
            else:
                results.append(torch.empty(shape, dtype=dtype, device=self.device))
            acl.update_data_buffer(buffer, results[-1].data_ptr(), results[-1].numel() * dtype.itemsize)
        if not self._descs or all(info.nbytes for info in self.outputs):
            _check(acl.mdl.execute_async(self._id, inputs, dataset, stream), "aclmdlExecuteAsync")
        else:
            results = self._execute_open(inputs, dataset, buffers, stream)
        return [self._cut(result, dataset, i) for i, result in enumerate(results)] if self._descs else results

    def _execute_open(self, inputs: int, dataset: int, buffers: list[int], stream: int) -> list[torch.Tensor]:
        """Outputs without an upper end: the device finds memory for them, and one copy brings it into torch's."""
        import torch

        for buffer in buffers:
            acl.update_data_buffer(buffer, 0, 0)
        config = acl.mdl.create_exec_config_handle()
        status = acl.mdl.execute_v2(self._id, inputs, dataset, stream, config)
        acl.mdl.destroy_exec_config_handle(config)
        _check(status, "aclmdlExecuteV2")
        results = []
        for info, buffer in zip(self.outputs, buffers, strict=True):
            address, size = acl.get_data_buffer_addr(buffer), acl.get_data_buffer_size(buffer)
            dtype = getattr(torch, info.dtype)
            results.append(torch.empty(size // dtype.itemsize, dtype=dtype, device=self.device))
            if size:
                _check(acl.rt.memcpy(results[-1].data_ptr(), size, address, size, 3), "aclrtMemcpy")
            acl.rt.free(address)
        return results

    def _cut(self, result: torch.Tensor, dataset: int, i: int) -> torch.Tensor:
        """The part of an output's memory that was filled, in its sizes."""
        desc = acl.mdl.get_dataset_tensor_desc(dataset, i)
        shape = [acl.get_tensor_desc_dim_v2(desc, d)[0] for d in range(acl.get_tensor_desc_num_dims(desc))]
        count = 1
        for size in shape:
            count *= size
        return result[:count].view(shape)


def load(path: str | os.PathLike[str], device: int | None = None) -> Model:
    """Loads an offline model on an npu (the current one unless `device` names another).

    Raises:
        OfflineError: there is no such file, or it is not a model of this toolkit; the text says which.
    """
    return Model(path, device)
