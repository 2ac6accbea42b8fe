# SPDX-License-Identifier: BSD-3-Clause
"""Logs, errors and the fallback report: what a user is told, where, and in which form."""

import os
import re

import pytest

FAILS = """
import torch, torch_npu
x = torch.randn(10, 4).npu()
def step(x):
    return x.tanh()
try:
    for k in range(4):
        x = step(x)
    torch.npu.synchronize()
    print("no error")
except RuntimeError as error:
    print(error)
print("then", (x * 0 + 1).sum().item())
"""
STAMP = r"\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d"


@pytest.mark.parametrize("queued", [None, "0"])
def test_failed_operator_is_named_with_its_line(output, queued):
    text = output(FAILS, ANYNPU_FAULT="task:2", ANYNPU_INLINE_US=queued)
    assert re.search(rf"\[ERROR\] {STAMP} \(PID:\d+, Device:0, RankID:-1\) ERR00100 PTA call acl api failed", text), text
    assert "error code is 507015" in text and "[Error]: The AI Core execution is abnormal." in text
    assert "EE9999: Inner Error!" in text and "Operator: aclnnTanh" in text and "TraceBack (most recent call last):" in text
    if queued:  # told late, of the line that asked
        assert "Called at: <string>:5 in step" in text, text
        assert "its later tasks have run, and it can be used on" in text
    assert text.endswith("then 40.0")


@pytest.mark.parametrize("queued", [None, "0"])
def test_a_failed_operator_is_one_line_of_the_log(run, queued):
    done = run(FAILS, ANYNPU_FAULT="task:2", ANYNPU_INLINE_US=queued, ASCEND_SLOG_PRINT_TO_STDOUT="1")
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("[ERROR] RUNTIME(")]
    assert len(lines) == 1 and "fault injected into aclnnTanh" in lines[0], done.stdout


def test_place_in_a_file(run, tmp_path):
    (tmp_path / "user_code.py").write_text(FAILS)
    done = run(
        "import user_code", ANYNPU_FAULT="task:2", ANYNPU_INLINE_US="0", PYTHONPATH=f"{tmp_path}:{os.environ['PYTHONPATH']}"
    )
    assert "user_code.py:5 in step" in done.stdout, done.stdout + done.stderr


def test_compact_and_chinese(output):
    text = output(FAILS, ANYNPU_FAULT="task:2", TORCH_NPU_COMPACT_ERROR_OUTPUT="1")
    line = text.splitlines()[0]
    assert line.startswith(
        "CANN error: CANN Inner Error. Please rectify the fault based on the error information in the ascend log."
    )
    assert "Operator: aclnnTanh" in line and "[ERROR]" not in text
    text = output(FAILS, ANYNPU_FAULT="task:2", ANYNPU_LANG="zh", PYTHONIOENCODING="utf-8", ANYNPU_INLINE_US="0")
    assert "算子：aclnnTanh" in text and "该流可以继续使用" in text and "错误码为 507015" in text
    code = "import torch, torch_npu\ntry:\n    torch.ones(3).npu()[torch.tensor([9]).npu()]\nexcept IndexError as e: print(e)"
    text = output(code, ANYNPU_LANG="zh")
    assert text.startswith("index 9 is out of bounds for dimension 0 with size 3")


OPERATORS = (
    "import torch, torch_npu; x = torch.randn(4, 4).npu(); y = (x @ x + 1).relu_(); torch.linalg.matrix_exp(y); y.sum().item()"
)


def test_info_log_names_each_operator(run):
    text = run(OPERATORS, ASCEND_GLOBAL_LOG_LEVEL="1", ASCEND_SLOG_PRINT_TO_STDOUT="1").stdout
    line = rf"\[INFO\] RUNTIME\(\d+,python\S*\):{STAMP}\.\d{{3}}\.\d{{3}} \[\S+\]\d+ "
    assert re.search(
        line + r"aclnnMm\(DT_FLOAT\[4,4\], DT_FLOAT\[4,4\] -> DT_FLOAT\[4,4\]\) native stream_id=0 task_id=\d+ [\d.]+us", text
    )
    assert "aten::linalg_matrix_exp(Float[4, 4]) fallback to CPU" in text, text
    assert "aclnnReduceSum(" in text


def test_module_levels_files_and_silence(run, tmp_path):
    quiet = run(OPERATORS, ASCEND_SLOG_PRINT_TO_STDOUT="1").stdout
    assert "[INFO]" not in quiet
    one = run(OPERATORS, ASCEND_MODULE_LOG_LEVEL="APP=1", ASCEND_SLOG_PRINT_TO_STDOUT="1").stdout
    assert "fallback to CPU" in one and "aclnnMm" not in one
    run(OPERATORS, ASCEND_GLOBAL_LOG_LEVEL="1", ASCEND_PROCESS_LOG_PATH=str(tmp_path / "logs"))
    files = list((tmp_path / "logs" / "debug" / "plog").glob("plog-*_*.log"))
    assert len(files) == 1 and re.fullmatch(r"plog-\d+_\d{17}\.log", files[0].name)
    assert "aclnnMm(" in files[0].read_text()


def test_torch_npu_logs(run):
    text = run(OPERATORS, TORCH_NPU_LOGS="dispatch,dispatch_time,memory,+env").stderr
    assert re.search(
        rf"\[{STAMP}\.\d{{3}}\] \[PID:\d+\] \[INFO\] \[torch_npu.dispatch\] aten::mm\(Float\[4, 4\], Float\[4, 4\]\)", text
    )
    assert re.search(r"\[torch_npu.dispatch_time\] aten::mm [\d.]+us", text)
    assert "[torch_npu.memory] aclrtMalloc" in text and "[torch_npu.env] TORCH_NPU_LOGS=dispatch," in text
    text = run(OPERATORS, TORCH_NPU_LOGS="all", TORCH_NPU_LOGS_FILTER="+aten::mm,-dispatch_time").stderr
    lines = [line for line in text.splitlines() if "[torch_npu." in line]
    assert lines and all("aten::mm" in line and "dispatch_time" not in line for line in lines)
    assert "[torch_npu." not in run(OPERATORS).stderr


REPORT = """
import torch, torch_npu
torch.npu.utils.reset_cpu_fallback_count()
x = torch.rand(10, 10, 10, device="npu")
for _ in range(3):
    torch.linalg.matrix_exp(x)
torch.linalg.svd(torch.randn(8, 8, device="npu"))
r = torch.npu.fallback_report()
by = {row.name: row for row in r}
row = by["aten::linalg_matrix_exp"]
assert row.count == 3 and row.bytes == 3 * 8000 and row.time_us > 0 and 0 < row.share < 1, row
assert any("svd" in name and by[name].suggestion for name in by), r
print(torch_npu.npu.fallback_report())
torch.npu.utils.reset_cpu_fallback_count()
assert not torch.npu.fallback_report() and "no operator" in str(torch.npu.fallback_report())
torch.geqrf(x)
"""


def test_fallback_report(run):
    done = run(REPORT, ANYNPU_FALLBACK_REPORT="1")
    assert done.returncode == 0, done.stderr
    assert re.search(r"\n +3 +0\.024 +[\d.]+ +[\d.]+%  aten::linalg_matrix_exp\n", done.stdout), done.stdout
    assert "instead: " in done.stdout
    assert "1 operators ran on the CPU, 1 calls" in done.stderr and "aten::geqrf" in done.stderr
