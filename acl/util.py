# SPDX-License-Identifier: BSD-3-Clause
"""acl.util: between Python objects and addresses."""

import ctypes
from typing import Any


def bytes_to_ptr(data: bytes) -> int:
    """Address of the bytes; valid while `data` lives."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def ptr_to_bytes(pointer: int, size: int) -> bytes:
    """A copy of `size` bytes of host memory."""
    return ctypes.string_at(pointer, size)


def numpy_to_ptr(array: Any) -> int:
    """Address of a NumPy array's data; valid while the array lives."""
    return array.ctypes.data


def ptr_to_numpy(pointer: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """A NumPy array on host memory, without a copy; valid while the memory is."""
    import numpy

    kind = numpy.dtype(dtype)
    count = 1
    for size in shape:
        count *= size
    return numpy.ctypeslib.as_array((ctypes.c_uint8 * (count * kind.itemsize)).from_address(pointer)).view(kind).reshape(shape)
