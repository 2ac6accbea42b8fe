# SPDX-License-Identifier: BSD-3-Clause
"""Execution by the module acl, in the way of public pyACL samples."""

from __future__ import annotations

import numpy as np

import acl

HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
NUMPY = {0: np.float32, 1: np.float16, 2: np.int8, 3: np.int32, 4: np.uint8, 9: np.int64, 11: np.float64, 12: np.bool_}


def check(status: int, what: str) -> None:
    assert status == 0, f"{what}: {status} {acl.get_recent_err_msg()}"


class Program:
    """Loads a model on device 0 of an acl that was initialised; `run` takes and gives NumPy arrays."""

    def __init__(self, path: str) -> None:
        check(acl.rt.set_device(0), "set_device")
        self.model, status = acl.mdl.load_from_file(path)
        check(status, "load_from_file")
        self.desc = acl.mdl.create_desc()
        check(acl.mdl.get_desc(self.desc, self.model), "get_desc")

    def dataset(self, sizes: list[int]) -> tuple[int, list[tuple[int, int]]]:
        dataset, memory = acl.mdl.create_dataset(), []
        for size in sizes:
            address, status = acl.rt.malloc(max(size, 1), 0)
            check(status, "malloc")
            _, status = acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(address, size))
            check(status, "add_dataset_buffer")
            memory.append((address, size))
        return dataset, memory

    def run(self, arrays: list[np.ndarray], batch: int = 0) -> list[np.ndarray]:
        inputs = acl.mdl.get_num_inputs(self.desc)
        sizes = [acl.mdl.get_input_size_by_index(self.desc, i) for i in range(inputs)]
        sizes = [max(size, a.nbytes) for size, a in zip(sizes, arrays, strict=False)] + sizes[len(arrays) :]
        given, taken = self.dataset(sizes)
        room = [acl.mdl.get_output_size_by_index(self.desc, i) for i in range(acl.mdl.get_num_outputs(self.desc))]
        made, got = self.dataset(room)
        for i, size in enumerate(room):
            if not size:  # known after the execution alone
                acl.rt.free(got[i][0])
                acl.update_data_buffer(acl.mdl.get_dataset_buffer(made, i), 0, 0)
        for (address, size), array in zip(taken, arrays, strict=False):
            host = np.ascontiguousarray(array)
            check(acl.rt.memcpy(address, size, acl.util.numpy_to_ptr(host), host.nbytes, HOST_TO_DEVICE), "memcpy")
        if batch:
            index, status = acl.mdl.get_input_index_by_name(self.desc, "ascend_mbatch_shape_data")
            check(status, "get_input_index_by_name")
            check(acl.mdl.set_dynamic_batch_size(self.model, given, index, batch), "set_dynamic_batch_size")
        check(acl.mdl.execute(self.model, given, made), "execute")
        results = [self.fetch(made, i) for i in range(len(room))]
        for dataset in (given, made):
            for i in range(acl.mdl.get_dataset_num_buffers(dataset)):
                buffer = acl.mdl.get_dataset_buffer(dataset, i)
                acl.rt.free(acl.get_data_buffer_addr(buffer))
                check(acl.destroy_data_buffer(buffer), "destroy_data_buffer")
            check(acl.mdl.destroy_dataset(dataset), "destroy_dataset")
        return results

    def result_type(self, dataset: int, i: int) -> tuple[list[int], int]:
        """Sizes and aclDataType of output i, as the execution told them or as the model says."""
        desc = acl.mdl.get_dataset_tensor_desc(dataset, i)
        if desc:
            shape = [acl.get_tensor_desc_dim_v2(desc, d)[0] for d in range(acl.get_tensor_desc_num_dims(desc))]
            return shape, acl.get_tensor_desc_type(desc)
        dims, status = acl.mdl.get_cur_output_dims(self.desc, i)
        check(status, "get_cur_output_dims")
        return dims["dims"], acl.mdl.get_output_data_type(self.desc, i)

    def fetch(self, dataset: int, i: int) -> np.ndarray:
        shape, kind = self.result_type(dataset, i)
        return self.fetch_as(dataset, i, np.empty(shape, NUMPY[kind]))

    def fetch_as(self, dataset: int, i: int, host: np.ndarray) -> np.ndarray:
        address = acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(dataset, i))
        if host.nbytes:
            check(acl.rt.memcpy(acl.util.numpy_to_ptr(host), host.nbytes, address, host.nbytes, DEVICE_TO_HOST), "memcpy")
        return host

    def close(self) -> None:
        check(acl.mdl.unload(self.model), "unload")
        check(acl.mdl.destroy_desc(self.desc), "destroy_desc")
