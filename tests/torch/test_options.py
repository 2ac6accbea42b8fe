# SPDX-License-Identifier: BSD-3-Clause
"""Options: right values are kept, wrong ones are named. Counting of operators that ran on the CPU."""

import warnings

import pytest
import torch
import torch_npu

npu = torch.npu


def test_set_option():
    npu.set_option({"ACL_PRECISION_MODE": "must_keep_origin_dtype", "ACL_OP_DEBUG_LEVEL": 2, "ACL_AICORE_NUM": 8})
    npu.set_option({"MM_BMM_ND_ENABLE": "disable"})
    assert npu.get_mm_bmm_format_nd() is False
    npu.set_mm_bmm_format_nd(True)
    assert npu.get_mm_bmm_format_nd() is True
    with pytest.warns(UserWarning, match="ACL_OP_SELECT_IMPL_MODE will be deprecated"):
        npu.set_option({"ACL_OP_SELECT_IMPL_MODE": "high_precision"})


@pytest.mark.parametrize(
    "option, text",
    [
        ({"ACL_PRECISION_MODE": "fast"}, "value of ACL_PRECISION_MODE should be in .*allow_fp32_to_fp16.* but got fast"),
        ({"ACL_AICORE_NUM": 99}, "value of ACL_AICORE_NUM should be in 1 to 32 but got 99"),
        ({"ACL_OP_DEBUG_LEVEL": 9}, "value of ACL_OP_DEBUG_LEVEL should be in"),
        ({"NO_SUCH_OPTION": 1}, "unknown npu option 'NO_SUCH_OPTION'"),
        ({"MM_BMM_ND_ENABLE": "perhaps"}, "value of MM_BMM_ND_ENABLE"),
    ],
)
def test_bad_options(option, text):
    with pytest.raises(ValueError, match=text):
        npu.set_option(option)


def test_an_option_that_is_no_dictionary():
    with pytest.raises(TypeError, match="npu option must be a dict"):
        npu.set_option("ACL_PRECISION_MODE")


def test_switches():
    for switch, first in ((npu.matmul, False), (npu.conv, True)):
        assert switch.allow_hf32 is first
        switch.allow_hf32 = not first
        assert switch.allow_hf32 is (not first)
        switch.allow_hf32 = first
        with pytest.raises(TypeError, match="allow_hf32 must be a bool, but got str"):
            switch.allow_hf32 = "yes"
        with pytest.raises(AttributeError):
            switch.allow_tf32 = True
    npu.config.allow_internal_format = False
    assert npu.config.allow_internal_format is False
    assert npu.matmul.cube_math_type is None
    npu.matmul.cube_math_type = npu.CubeMathType.KEEP_DTYPE
    assert npu.matmul.cube_math_type is npu.CubeMathType.KEEP_DTYPE
    with pytest.raises(TypeError, match="CubeMathType"):
        npu.matmul.cube_math_type = 1


def test_float32_matmul_stays_float32_with_hf32_allowed():
    a, b = torch.randn(64, 64, dtype=torch.float64), torch.randn(64, 64, dtype=torch.float64)
    npu.matmul.allow_hf32 = True
    try:
        c = (a.float().npu() @ b.float().npu()).double().cpu()
    finally:
        npu.matmul.allow_hf32 = False
    assert (c - a @ b).abs().max().item() < 1e-4


def test_compile_mode():
    assert npu.is_jit_compile_false()
    npu.set_compile_mode(jit_compile=True)
    assert not npu.is_jit_compile_false()
    npu.set_compile_mode(jit_compile=False)
    assert npu.is_jit_compile_false()


def test_set_aoe(tmp_path):
    npu.set_aoe(str(tmp_path / "new" / "folder"))
    assert (tmp_path / "new" / "folder").is_dir()
    with pytest.raises(TypeError):
        npu.set_aoe(None)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        npu.set_aoe(str(tmp_path / "file" / "below"))


def test_deterministic():
    x = torch.ones(2, device="npu", requires_grad=True)
    y = npu.enable_deterministic_with_backward(x)
    assert torch.are_deterministic_algorithms_enabled()
    z = npu.disable_deterministic_with_backward(y * 2)
    assert not torch.are_deterministic_algorithms_enabled()
    z.sum().backward()
    assert not torch.are_deterministic_algorithms_enabled() and x.grad.tolist() == [2, 2]
    with pytest.raises(ValueError, match="deterministic level"):
        npu.set_deterministic_level(7)
    with pytest.warns(UserWarning, match="conflicts with"):
        npu.set_deterministic_level(1)
    with pytest.warns(UserWarning, match="conflicts with"):
        npu.set_deterministic_level(0)


def test_overflow():
    check = npu.utils.npu_check_overflow
    assert (
        check(torch.tensor([1.0, float("inf")]).npu())
        and check(float("nan"))
        and not check(torch.ones(3).npu())
        and not check(1.0)
    )
    with pytest.raises(RuntimeError, match="Unsupported type"):
        check("inf")
    with pytest.raises(RuntimeError, match="please use npu_check_overflow"):
        npu.get_npu_overflow_flag()
    with pytest.warns(UserWarning, match="clear_npu_overflow_flag is useless"):
        npu.clear_npu_overflow_flag()
    assert npu.utils.is_support_inf_nan() is True


def test_cann_version():
    assert torch_npu.utils.get_cann_version() == npu.utils.get_cann_version()
    assert torch_npu._checks.minor(torch_npu.utils.get_cann_version()) >= (9, 0)


def test_op_timeout():
    npu.set_op_timeout_ms(60_000)
    for bad in (-1, "long", 1.5):
        with pytest.raises(ValueError, match="timeout must be"):
            npu.set_op_timeout_ms(bad)


def test_fallbacks_are_counted():
    count = npu.utils.cpu_fallback_count
    npu.utils.reset_cpu_fallback_count()
    assert count() == {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.linalg.eigvals(torch.eye(3, device="npu"))
        torch.linalg.eigvals(torch.eye(3, device="npu"))
    names = [name for name in count() if "eig" in name]
    assert names and count()[names[0]] == 2 and names[0].startswith("aten::")
    npu.utils.reset_cpu_fallback_count()
    assert count() == {}


def test_fallback_warns_once_an_operator(run):
    code = "import torch, torch_npu\nfor _ in range(3): torch.linalg.eigvals(torch.eye(3).npu())"
    err = run(code).stderr
    assert err.count("and will fall back to run on the CPU. This may have performance implications.") == 1
    assert "CAUTION: The operator 'aten::" in err and "(function npu_cpu_fallback)" in err


def test_fallback_can_be_refused(run):
    code = """
import torch, torch_npu
try: torch.linalg.eigvals(torch.eye(3).npu())
except Exception as e: print(e)
print(torch.ones(2).npu().sum().item())
"""
    done = run(code, TORCH_NPU_FALLBACK_CPU_DISABLE="1")
    assert "CPU fallback is disabled by TORCH_NPU_FALLBACK_CPU_DISABLE=1" in done.stdout and done.stdout.strip().endswith("2.0")
    assert "not implemented for NPU" in done.stdout and "ERR01007" in done.stdout


def test_compact_errors(output):
    code = "import torch, torch_npu\ntry: torch.npu.set_option(3)\nexcept TypeError as e: print(repr(str(e)))"
    assert output(code, TORCH_NPU_COMPACT_ERROR_OUTPUT="1") == "'npu option must be a dict.'"
    assert "ERR00001 PTA invalid parameter" in output(code)


def test_bad_fork_and_lazy_calls():
    calls = []
    npu._lazy_call(lambda: calls.append(1))
    npu.init()
    assert calls == [1] and not npu._is_in_bad_fork()


def test_a_deferred_call_that_fails_names_its_origin(output):
    code = """
import torch, torch_npu
def here(): torch.npu._lazy_call(lambda: 1 / 0)
here()
try: torch.npu.init()
except torch.npu.DeferredNpuCallError as e: print('division by zero' in str(e) and 'in here' in str(e))
"""
    assert output(code) == "True"
