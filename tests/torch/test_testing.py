# SPDX-License-Identifier: BSD-3-Clause
"""torch_npu.testing: comparisons fail where they should, inputs come in pairs, conditions skip."""

import unittest

import numpy
import pytest
import torch
from torch_npu.testing import common_utils as utils
from torch_npu.testing.decorator import Dtypes, Formats, instantiate_tests
from torch_npu.testing.testcase import TestCase

case = TestCase()


@pytest.mark.parametrize(
    "x, y, text",
    [
        (torch.ones(3), torch.ones(3), ""),
        (torch.ones(3).npu(), torch.ones(3) + 5e-5, ""),
        (torch.ones(3), torch.ones(3) + 5e-3, "3 of 3 differ by more than 0.0001"),
        (torch.full((3,), 1e6), torch.full((3,), 1e6) + 50, ""),
        (torch.ones(3).half().npu(), torch.ones(3).half() + 9e-4, ""),
        (torch.ones(3).bfloat16().npu(), torch.ones(3).bfloat16(), ""),
        (torch.ones(3), torch.ones(4), "shape error"),
        (torch.ones(3), torch.ones(3).double(), "dtype error"),
        (torch.tensor([1, float("nan")]), torch.tensor([1, float("nan")]), ""),
        (torch.tensor([1, float("nan")]), torch.tensor([1.0, 2.0]), "NaN in different places"),
        (torch.tensor([float("inf")]), torch.tensor([float("inf")]), ""),
        (torch.tensor([float("inf")]), torch.tensor([-float("inf")]), "result error"),
        (torch.tensor([True]), torch.tensor([False]), "1 of 1 differ"),
        (torch.ones(2, dtype=torch.complex64).npu(), torch.ones(2, dtype=torch.complex64), ""),
        ([torch.ones(1), 2.0], [torch.ones(1), 2.0], ""),
        ([torch.ones(1)], [torch.ones(1), 2.0], "length error"),
        (torch.ones(2), [1.0, 1.0], ""),
        (numpy.arange(3), numpy.arange(3) + 1, "result error"),
        (3, 3, ""),
    ],
)
def test_assert_rtol_equal(x, y, text):
    if not text:
        case.assertRtolEqual(x, y)
        return
    with pytest.raises(AssertionError, match=text):
        case.assertRtolEqual(x, y)


def test_a_dtype_may_be_taken_over():
    case.assertRtolEqual(torch.ones(3).double(), torch.ones(3).npu(), auto_trans_dtype=True)


def test_assert_equal():
    x = torch.ones(3).npu()
    case.assertEqual(x, torch.ones(3))
    case.assertEqual(x, torch.ones(3).int())
    case.assertEqual(x, x + 0.05, 0.1)
    case.assertEqual({"a": [x, 1.0]}, {"a": (torch.ones(3), 1.0 + 1e-7)})
    case.assertEqual("a", "a")
    case.assertNotEqual(x, x + 1)
    case.assertNotEqual(1.0, 2.0)
    case.assertObjectIn(x, [x])
    case.assertExpectedRaises(ZeroDivisionError, lambda: 1 / 0)
    case.assertNotWarn(lambda: x + 1)
    for wrong in (
        lambda: case.assertEqual(x, x + 1),
        lambda: case.assertEqual(x, torch.ones(3).int(), exact_dtype=True),
        lambda: case.assertEqual([1], [1, 2]),
        lambda: case.assertEqual(1.0, 1.1),
        lambda: case.assertNotEqual(x, x),
        lambda: case.assertObjectIn(3, [x]),
    ):
        with pytest.raises(AssertionError):
            wrong()


def test_inputs():
    host, device = utils.create_common_tensor([numpy.float16, 2, (3, 4)], -2, 2)
    assert device.cpu().equal(host) and host.dtype == torch.float16 and host.abs().max() <= 2
    assert utils.get_npu_device() == str(device.device) == utils.set_npu_device()
    for dtype in (torch.bool, torch.half, torch.float, torch.int32):
        host, device = utils.create_dtype_tensor((50,), dtype, no_zero=True)
        assert device.cpu().equal(host) and host.dtype == dtype and (host != 0).all()


def test_helpers():
    before = torch.npu.get_rng_state()
    with utils.freeze_rng_state():
        torch.randn(3).npu(), torch.randn(3, device="npu")
    assert torch.npu.get_rng_state().equal(before)
    assert list(utils.iter_indices(torch.ones(2, 2))) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert list(utils.iter_indices(torch.ones(3))) == [0, 1, 2] and not list(utils.iter_indices(torch.tensor(1)))
    assert utils.is_iterable([1]) and not utils.is_iterable(1)
    assert 1e5 < utils.get_cycles_per_ms() < 1.1e6
    with torch.profiler.profile() as profile:
        torch.ones(2).npu() + 1
    assert utils.check_operators_in_prof(["aten::add"], profile)
    assert not utils.check_operators_in_prof(["aten::add"], profile, ["aten::ones"])
    assert not utils.check_operators_in_prof(["aten::mul"], profile)


def test_conditions():
    here = torch.npu.get_device_name()[:10]
    assert utils.SupportedDevices([here])(lambda self: 7)(case) == 7
    assert utils.SkipIfNotGteCANNVersion("1.0")(lambda self: 7)(case) == 7 and utils.SkipIfNoLapack()(lambda: 7)() == 7
    with pytest.raises(unittest.SkipTest, match="current device is"):
        utils.SupportedDevices(["Ascend310P"])(lambda self: 7)(case)
    with pytest.raises(unittest.SkipTest, match="99.0 or greater"):
        utils.SkipIfNotGteCANNVersion("99.0")(lambda self: 7)(case)


def test_a_test_for_each_dtype():
    seen = []

    @instantiate_tests
    class Tests(TestCase):
        @Dtypes(torch.float32, torch.float16)
        @Formats(2, 29)
        def test_add(self, device, npu_format, dtype):
            seen.append((npu_format, dtype))
            self.assertRtolEqual(torch.ones(2, dtype=dtype, device=device) + 1, torch.full((2,), 2.0, dtype=dtype))

    loaded = unittest.defaultTestLoader.loadTestsFromTestCase(Tests)
    result = unittest.TestResult()
    loaded.run(result)
    assert result.wasSuccessful() and result.testsRun == 4 and len(set(seen)) == 4
    assert sorted(name for name in dir(Tests) if name.startswith("test"))[0] == "test_add_float16_2"
    for bad in (lambda: Dtypes(), lambda: Dtypes(1), lambda: Formats()):
        with pytest.raises(RuntimeError):
            bad()
    with pytest.raises(RuntimeError, match="one argument whose name contains 'dtype'"):

        @instantiate_tests
        class Wrong(TestCase):
            @Dtypes(torch.float32)
            def test_nothing(self):
                pass


def test_results_of_two_broadcast_arguments():
    pairs = list(utils.test_2args_broadcast(torch.div))
    assert len(pairs) > 9 and all(numpy.allclose(a, b) and a.shape == b.shape for a, b in pairs)
    assert len({a.shape for a, _ in pairs}) > 5


def test_more_comparisons():
    x = torch.arange(6.0).view(2, 3)
    case.assertTensorsSlowEqual(x, x.npu(), prec=1e-3, message="same")
    case.assertAlmostEqual(x.npu(), x + 1e-9)
    case.assertAlmostEqual(1.0, 1.0 + 1e-9)
    layers = [torch.nn.Parameter(x.npu()) for _ in range(2)]
    case.assertEqual(torch.nn.ParameterList(layers), torch.nn.ParameterList(layers))
    for fails in (
        lambda: case.assertTensorsSlowEqual(x, x.npu() + 1, prec=1e-3),
        lambda: case.assertTensorsSlowEqual(x, x.double(), prec=1e-3),
        lambda: case.assertAlmostEqual(x.npu(), x + 1e-3),
        lambda: case.assertAlmostEqual(1.0, 1.1),
        lambda: case.assertEqual(torch.nn.ParameterList(layers), torch.nn.ParameterList(layers[:1])),
    ):
        with pytest.raises(AssertionError):
            fails()


def test_expected_text():
    case.assertExpectedInline("a", """a""")
