# SPDX-License-Identifier: BSD-3-Clause
"""torch.npu.FloatTensor and the other typed names, and torch.npu.FloatStorage: old style, still used with isinstance.

torch.npu.FloatTensor(2, 3) makes an uninitialised tensor, torch.npu.FloatTensor([1, 2]) one with these values;
isinstance(x, torch.npu.FloatTensor) asks for a dense NPU tensor of that dtype; x.type(torch.npu.FloatTensor) converts.
"""

from typing import Any

import torch
from torch._utils import classproperty
from torch.storage import _LegacyStorage, _warn_typed_storage_removal

_NAMES = {
    "Double": torch.float64,
    "Float": torch.float32,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Long": torch.int64,
    "Int": torch.int32,
    "Short": torch.int16,
    "Char": torch.int8,
    "Byte": torch.uint8,
    "Bool": torch.bool,
}


class _TensorType(type):
    """Type of the typed names: calls make tensors, isinstance looks at device and dtype."""

    dtype: torch.dtype

    def __instancecheck__(cls, obj: object) -> bool:
        dense = isinstance(obj, torch.Tensor) and obj.layout == torch.strided
        return dense and obj.device.type == "npu" and obj.dtype == cls.dtype

    def __call__(cls, *arguments: Any) -> torch.Tensor:
        if len(arguments) == 1 and not isinstance(arguments[0], int):
            (value,) = arguments
            if isinstance(value, torch.Size):
                return torch.empty(value, dtype=cls.dtype, device="npu")
            if isinstance(value, torch.UntypedStorage | torch.TypedStorage):
                return torch.empty(0, dtype=cls.dtype, device="npu").set_(value)
            if isinstance(value, torch.Tensor) and not isinstance(value, cls):
                raise TypeError(f"expected {cls.__name__} (got {value.type()})")
            return torch.as_tensor(value, dtype=cls.dtype, device="npu")
        return torch.empty(arguments or (0,), dtype=cls.dtype, device="npu")

    def __repr__(cls) -> str:
        return f"<class '{cls.__name__}'>"

    @property
    def layout(cls) -> torch.layout:
        return torch.strided

    @property
    def is_npu(cls) -> bool:
        return True

    @property
    def is_cuda(cls) -> bool:
        return False


def _storage_class(name: str, dtype: torch.dtype) -> type:
    class Storage(_LegacyStorage):
        @classproperty
        def dtype(cls) -> torch.dtype:  # noqa: N805
            _warn_typed_storage_removal()
            return dtype

        @classproperty
        def _dtype(cls) -> torch.dtype:  # noqa: N805
            return dtype

        @classmethod
        def from_buffer(cls, *args: Any, **kwargs: Any) -> None:
            raise RuntimeError(f"from_buffer: Not available for NPU storage ({name})")

        @classmethod
        def _new_with_weak_ptr(cls, *args: Any, **kwargs: Any) -> None:
            raise RuntimeError(f"_new_with_weak_ptr: Not available for NPU storage ({name})")

        @classmethod
        def _new_shared_filename(cls, *args: Any, **kwargs: Any) -> None:
            raise RuntimeError(f"_new_shared_filename: Not available for NPU storage ({name})")

    Storage.__name__ = Storage.__qualname__ = name
    Storage.__module__ = "torch.npu"
    return Storage


def typed_names() -> dict[str, type]:
    """{"FloatTensor": …, "FloatStorage": …, …}"""
    made = {}
    for name, dtype in _NAMES.items():
        # A dotted name is what Tensor.type(cls) reads off the class.
        made[name + "Tensor"] = _TensorType(f"torch.npu.{name}Tensor", (), {"dtype": dtype, "__module__": "torch.npu"})
        made[name + "Storage"] = _storage_class(name + "Storage", dtype)
    return made
