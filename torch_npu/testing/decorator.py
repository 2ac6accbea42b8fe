# SPDX-License-Identifier: BSD-3-Clause
"""A test method for each dtype and format of a list."""

import inspect
import itertools
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

__all__ = ["Dtypes", "Formats", "instantiate_tests"]


class Dtypes:
    """Decorator of a test method: the dtypes for its argument whose name contains "dtype".

    Raises:
        RuntimeError: none given, or not a dtype.
    """

    def __init__(self, *args: torch.dtype) -> None:
        if not args:
            raise RuntimeError("No dtypes given")
        if not all(isinstance(arg, torch.dtype) for arg in args):
            raise RuntimeError(f"Unknown dtype in {args}")
        self.args = args

    def __call__(self, fn: Callable) -> Callable:
        fn.dtypes = self.args
        return fn


class Formats:
    """Decorator of a test method: the formats for its argument whose name contains "format".

    Raises:
        RuntimeError: none given.
    """

    def __init__(self, *args: int) -> None:
        if not args:
            raise RuntimeError("No formats given")
        self.args = args

    def __call__(self, fn: Callable) -> Callable:
        fn.formats = self.args
        return fn


def _bound(fn: Callable, name: str, values: dict[str, Any]) -> Callable:
    @wraps(fn)
    def test(self: Any) -> Any:
        return fn(self, **values)

    test.__name__ = name
    return test


def instantiate_tests(arg: type) -> type:
    """Class decorator: replaces each method that has Dtypes or Formats by one for each of their combinations, named
    test_x_float32, test_x_2_float16, …; an argument `device` gets "npu".

    Raises:
        RuntimeError: a method has no argument for them, or several.
    """
    for name, fn in list(vars(arg).items()):
        lists = {"dtype": getattr(fn, "dtypes", None), "format": getattr(fn, "formats", None)}
        lists = {kind: values for kind, values in lists.items() if values}
        if not lists:
            continue
        parameters = list(inspect.signature(fn).parameters)
        places = []
        for kind in lists:
            fitting = [parameter for parameter in parameters if kind in parameter]
            if len(fitting) != 1:
                raise RuntimeError(f"{name} needs one argument whose name contains {kind!r}, but has {fitting}")
            places.append(fitting[0])
        for combination in itertools.product(*lists.values()):
            given = dict(zip(places, combination)) | ({"device": "npu"} if "device" in parameters else {})
            made = "_".join([name, *(str(value).removeprefix("torch.") for value in combination)])
            setattr(arg, made, _bound(fn, made, given))
        delattr(arg, name)
    return arg
