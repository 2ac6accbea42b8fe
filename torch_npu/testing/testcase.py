# SPDX-License-Identifier: BSD-3-Clause
"""A TestCase that compares tensors, arrays, numbers and lists of them."""

import random
import unittest
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch

__all__ = ["TestCase", "run_tests"]

try:  # assertExpectedInline and its like, where the package is there
    from expecttest import TestCase as _Base
except ModuleNotFoundError:
    from unittest import TestCase as _Base

SEED = 666
_SEQUENCES = (list, tuple, torch.nn.ParameterList, torch.nn.ModuleList, torch.nn.Sequential)


def run_tests() -> None:
    """unittest.main, for the end of a test file."""
    unittest.main()


def _array(value: Any) -> numpy.ndarray:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else numpy.asarray(value)


class TestCase(_Base):
    """unittest.TestCase with seeds set before each test, and comparisons of tensors on any devices.

    precision: absolute difference that assertEqual allows when it is given no `prec`.
    """

    longMessage = True
    precision = 1e-5

    def setUp(self) -> None:
        random.seed(SEED)
        numpy.random.seed(SEED)
        torch.manual_seed(SEED)

    def assertRtolEqual(  # noqa: N802
        self,
        x: Any,
        y: Any,
        prec: float = 1.0e-4,
        prec16: float = 1.0e-3,
        auto_trans_dtype: bool = False,
        message: str | None = None,
    ) -> None:
        """x and y have one shape and dtype, NaN in the same places, and all but a share `prec` of the elements differ by at
        most `prec`, absolutely or relatively; `prec16` instead for 16-bit floats. bool must be equal.

        Args:
            x, y: tensors, arrays, numbers or sequences of them, compared by pairs.
            auto_trans_dtype: x takes the dtype of y first.
        """
        if isinstance(x, list | tuple) and isinstance(y, list | tuple):
            self.assertEqual(len(x), len(y), message=message or "length error")
            for a, b in zip(x, y):
                self.assertRtolEqual(a, b, prec, prec16, auto_trans_dtype, message)
            return
        if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
            if auto_trans_dtype:
                x = x.to(y.dtype)
            if x.dtype == y.dtype == torch.bfloat16:
                x, y, prec = x.float(), y.float(), prec16
        elif isinstance(x, torch.Tensor) and isinstance(y, Sequence):
            y = torch.as_tensor(y, dtype=x.dtype)
        elif isinstance(y, torch.Tensor) and isinstance(x, Sequence):
            x = torch.as_tensor(x, dtype=y.dtype)
        x, y = _array(x), _array(y)
        if x.shape != y.shape:
            self.fail(self._formatMessage(message, f"shape error: {x.shape} and {y.shape}"))
        if x.dtype != y.dtype:
            self.fail(self._formatMessage(message, f"dtype error: {x.dtype} and {y.dtype}"))
        if x.dtype == numpy.bool_:
            wrong = x != y
            if wrong.any():
                self.fail(self._formatMessage(message, f"result error: {wrong.sum()} of {x.size} differ"))
            return
        self._compare(x, y, prec16 if x.dtype == numpy.float16 else prec, message)

    def _compare(self, x: numpy.ndarray, y: numpy.ndarray, allowed: float, message: str | None) -> None:
        least = 6e-8 if x.dtype == numpy.float16 else 1e-9
        kind = numpy.complex128 if numpy.iscomplexobj(x) else numpy.float64
        x, y = x.astype(kind), y.astype(kind)
        nan = numpy.isnan(x)
        if not numpy.array_equal(nan, numpy.isnan(y)):
            self.fail(self._formatMessage(message, "result error: NaN in different places"))
        same = nan | (x == y)  # infinities of one sign, too
        with numpy.errstate(invalid="ignore"):
            far = numpy.where(same, 0, numpy.abs(x - y))
            rate = far / (numpy.maximum(numpy.abs(x), numpy.abs(y)) + least)
        beyond = (far > allowed) & ~(rate <= allowed)
        if beyond.sum() > x.size * allowed:
            at = numpy.unravel_index(int(numpy.argmax(numpy.where(beyond, far, -1))), x.shape)
            text = f"result error: {beyond.sum()} of {x.size} differ by more than {allowed}, most {x[at]} and {y[at]} at {at}"
            self.fail(self._formatMessage(message, text))

    def assertEqual(  # noqa: N802
        self,
        x: Any,
        y: Any,
        prec: Any = None,
        message: str | None = None,
        allow_inf: bool = False,
        exact_dtype: bool | None = None,
    ) -> None:
        """Equality; for tensors (on any devices), arrays, floats and containers of them up to `prec`.

        Args:
            prec: absolute difference; a text is taken as the message. self.precision if None.
            allow_inf: infinities may be equal; they always may.
            exact_dtype: tensors have one dtype; not asked for if None or False.
        """
        if isinstance(prec, str):
            prec, message = None, prec
        allowed = self.precision if prec is None else prec
        if isinstance(x, torch.Tensor | numpy.ndarray) or isinstance(y, torch.Tensor | numpy.ndarray):
            a, b = torch.as_tensor(x), torch.as_tensor(y)
            if not exact_dtype and a.dtype != b.dtype:
                both = torch.promote_types(a.dtype, b.dtype)
                a, b = a.to(both), b.to(both)
            torch.testing.assert_close(
                a,
                b,
                rtol=0,
                atol=allowed,
                equal_nan=True,
                check_device=False,
                msg=lambda text: self._formatMessage(message, text),
            )
        elif isinstance(x, dict) and isinstance(y, dict):
            super().assertEqual(set(x), set(y), message)
            for key in x:
                self.assertEqual(x[key], y[key], prec, message, allow_inf, exact_dtype)
        elif isinstance(x, _SEQUENCES) and isinstance(y, _SEQUENCES):
            super().assertEqual(len(x), len(y), message)
            for a, b in zip(x, y):
                self.assertEqual(a, b, prec, message, allow_inf, exact_dtype)
        elif isinstance(x, float) or isinstance(y, float):
            super().assertTrue(x == y or abs(x - y) <= allowed or x != x and y != y, self._formatMessage(message, f"{x} != {y}"))
        else:
            super().assertEqual(x, y, message)

    def assertTensorsSlowEqual(self, x: torch.Tensor, y: torch.Tensor, prec: float | None = None, message: str = "") -> None:  # noqa: N802
        """Tensors of one shape and dtype, on any devices, whose elements differ by at most `prec`; bool must be equal."""
        self.assertEqual(x.size(), y.size(), message=message)
        self.assertEqual(x, y, prec, message, exact_dtype=True)

    def assertAlmostEqual(self, x: Any, y: Any, places: int | None = None, msg: str | None = None, delta: Any = None) -> None:  # noqa: N802
        """unittest's; tensors, on any devices, differ by at most `delta`, or by 10 ** -places / 2."""
        if not isinstance(x, torch.Tensor) and not isinstance(y, torch.Tensor):
            super().assertAlmostEqual(x, y, places, msg, delta)
            return
        allowed = delta if delta is not None else 0.5 * 10.0 ** -(7 if places is None else places)
        self.assertEqual(x, y, allowed, msg)

    def assertNotEqual(self, x: Any, y: Any, prec: Any = None, message: str | None = None) -> None:  # noqa: N802
        """The opposite of assertEqual."""
        try:
            self.assertEqual(x, y, prec)
        except AssertionError:
            return
        self.fail(self._formatMessage(message if message else prec if isinstance(prec, str) else None, f"{x} == {y}"))

    def assertObjectIn(self, obj: object, iterable: Any) -> None:  # noqa: N802
        """`obj` itself is one of them."""
        if not any(obj is element for element in iterable):
            self.fail(f"object {obj!r} is not among them")

    def assertExpectedRaises(self, exc_type: type, call_fn: Callable, *args: Any, **kwargs: Any) -> None:  # noqa: N802
        """The call raises `exc_type`."""
        with self.assertRaises(exc_type):
            call_fn(*args, **kwargs)

    def assertNotWarn(self, call_fn: Callable, msg: str = "") -> None:  # noqa: N802
        """The call warns of nothing."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call_fn()
        self.assertEqual(len(caught), 0, message=msg or f"warned: {[str(w.message) for w in caught]}")
