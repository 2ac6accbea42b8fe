# SPDX-License-Identifier: BSD-3-Clause
"""npu-smi and libdcmi: the layouts to the character, what other programs read out of them, true numbers across processes."""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import anynpu
import pytest

TOOLKIT = anynpu.toolkit_path()
TOOL = os.path.join(TOOLKIT, "bin", "npu-smi")

LOAD = """
import sys, time, torch, torch_npu
device, seconds = sys.argv[1], float(sys.argv[2])
a, b = torch.randn(1000, 1000).to(device), torch.randn(1000, 1000).to(device)
keep = torch.empty(256 << 20, dtype=torch.uint8, device=device)
torch.npu.synchronize()
print("ready", flush=True)
end = time.time() + seconds
while time.time() < end:
    if sys.argv[3] == "busy":
        torch.matmul(a, b).sum().item()
    else:
        time.sleep(0.01)
"""


@pytest.fixture
def smi(tmp_path, monkeypatch) -> Callable[..., str]:
    """smi("info", "-l", ANYNPU_SOC="…") runs npu-smi and returns its output; statistics in a folder of this test."""
    monkeypatch.setenv("ANYNPU_STATS", str(tmp_path))

    def call(*words: str, status: int = 0, **environment: str) -> str:
        done = subprocess.run([TOOL, *words], capture_output=True, text=True, timeout=60, env={**os.environ, **environment})
        assert done.returncode == status, done.stdout + done.stderr
        assert done.stderr == ""
        return done.stdout

    return call


@pytest.fixture
def load(tmp_path) -> Iterator[Callable[..., subprocess.Popen]]:
    """load(device, "busy" or "idle") starts a process that uses the device; ended with the test."""
    children = []

    def start(device: str = "npu:0", how: str = "busy", seconds: int = 60) -> subprocess.Popen:
        child = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", LOAD, device, str(seconds), how],
            stdout=subprocess.PIPE,
            text=True,
            cwd=str(tmp_path),
        )
        children.append(child)
        assert child.stdout.readline() == "ready\n"
        return child

    yield start
    for child in children:
        child.kill()
        child.wait()


SUMMARY_910B = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 25.5.1                   Version: 25.5.1                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 92.0        38                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          0    / 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| No running processes found in NPU 0                                                            |
+===========================+===============+====================================================+
"""

SUMMARY_A3 = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 25.5.1                   Version: 25.5.1                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     Ascend910           | OK            | 160.0       37                0    / 0             |
| 0     0                   | 0000:C1:00.0  | 0           0    / 0          0    / 65536         |
+------------------------------------------------------------------------------------------------+
| 0     Ascend910           | OK            | -           38                0    / 0             |
| 1     1                   | 0000:C2:00.0  | 0           0    / 0          0    / 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| No running processes found in NPU 0                                                            |
+===========================+===============+====================================================+
"""

SUMMARY_310P = """\
+--------------------------------------------------------------------------------------------------------+
| npu-smi 25.5.1                                   Version: 25.5.1                                       |
+-------------------------------+-----------------+------------------------------------------------------+
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
+===============================+=================+======================================================+
| 0       310P3                 | OK              | NA           42                0     / 0             |
| 0       0                     | 0000:C1:00.0    | 0            0    / 65536                            |
+===============================+=================+======================================================+
+-------------------------------+-----------------+------------------------------------------------------+
| NPU     Chip                  | Process id      | Process name             | Process memory(MB)        |
+===============================+=================+======================================================+
| No running processes found in NPU 0                                                                    |
+===============================+=================+======================================================+
"""

SUMMARY_950 = """\
+-------------------------------------------------------------------------------------------------+
| npu-smi 25.5.1                                   Version: 25.5.1                                |
+--------+------------------+---------------+-----------------------------------------------------+
| NPU ID | Name             | Health        | Power(W)    Temp(C)           Hugepages-Usage(page) |
|        |                  | Bus-Id        | NPU Util(%) Memory-Usage(MB)  HBM-Usage(MB)         |
+========+==================+===============+=====================================================+
| 0      | Ascend950PR      | OK            | 200.0       48                0     / 0             |
|        |                  | 0000:C1:00.0  | 0           0    / 0          0     / 65536         |
+========+==================+===============+=====================================================+
+---------------------------+---------------+-----------------------------------------------------+
| NPU ID                    | Process id    | Process name             | Process memory(MB)       |
+===========================+===============+=====================================================+
| No running processes found in NPU 0                                                             |
+===========================+===============+=====================================================+
"""


@pytest.mark.parametrize(
    ("soc", "form", "devices", "text"),
    [
        ("Ascend910B3", "910b", "1", SUMMARY_910B),
        ("Ascend910_9382", "a3", "2", SUMMARY_A3),
        ("Ascend310P3", "310p", "1", SUMMARY_310P),
        ("Ascend950PR_9599", "950", "1", SUMMARY_950),
    ],
)
def test_summary_to_the_character(smi, soc, form, devices, text):
    assert smi("info", ANYNPU_SOC=soc, ANYNPU_DEVICES=devices) == text
    assert smi("info", f"--form={form}", ANYNPU_DEVICES=devices) == text


def test_wide_form_has_one_width(smi):
    text = smi("info", "--form=26")
    lines = text.splitlines()
    assert {len(line) for line in lines} == {116} and "Process id in container" in text


def test_list_and_mapping(smi):
    assert smi("info", "-l") == (
        "\tTotal Count                    : 2\n\n\tNPU ID                         : 0\n\tChip Count                     : 1\n\n"
        "\tNPU ID                         : 1\n\tChip Count                     : 1\n"
    )
    rows = [re.split(r"\s{2,}", line.strip()) for line in smi("info", "-m").splitlines()]
    assert rows[0] == ["NPU ID", "Chip ID", "Chip Logic ID", "Chip Name"]
    assert rows[1] == ["0", "0", "0", "Ascend 910B3"] and rows[2] == ["0", "1", "-", "Mcu"] and rows[3][2] == "1"
    a3 = [re.split(r"\s{2,}", line.strip()) for line in smi("info", "-m", "--form=a3", ANYNPU_DEVICES="4").splitlines()]
    assert a3[0][3] == "Chip Phy-ID" and a3[4] == ["1", "0", "2", "2", "Ascend910"]


KEYS = {
    "usages": ["HBM Capacity(MB)", "HBM Usage Rate(%)", "Aicore Usage Rate(%)", "NPU Utilization(%)", "Chip ID"],
    "memory": ["HBM Capacity(MB)", "HBM Clock Speed(MHz)", "HBM Temperature(C)", "HBM Manufacturer ID"],
    "common": ["Aicore Freq(MHZ)", "Aicore curFreq(MHZ)", "Aicore Count", "Temperature(C)", "NPU Real-time Power(W)"],
    "board": ["Product Name", "Software Version", "Compatibility", "PCIe Bus Info", "Slot ID", "Chip Count"],
    "health": ["Health Status", "Error Code", "Error Information"],
    "temp": ["NPU Temperature (C)"],
    "power": ["NPU Real-time Power(W)"],
    "volt": ["Voltage(V)"],
    "sensors": ["NPU Temperature (C)", "Voltage(V)"],
    "ecc": ["HBM Single Bit Error Count"],
    "ecc-enable": ["HBM ECC Enable Flag"],
    "err-count": ["Error Count"],
    "flash": ["Flash Count"],
    "product": ["Product Type"],
    "phyid-remap": ["Chip Physical ID", "Chip Logic ID"],
    "cpu-num-cfg": ["Control CPU number"],
    "sys-time": ["System Time"],
}


def parse_fields(text: str) -> dict[str, str]:
    return dict(map(str.strip, line.split(":", 1)) for line in reversed(text.splitlines()) if " : " in line)


@pytest.mark.parametrize("name", KEYS)
def test_types(smi, name):
    text = smi("info", "-t", name, "-i", "0")
    found = parse_fields(text)
    for key in KEYS[name]:
        assert found[key], text
    for line in text.splitlines():
        assert not line or re.match(r"^\t.{30,40} : .+$", line), line
    assert smi("info", "-t", name).count("NPU ID") == (0 if name == "product" else 2)  # without -i: all


def test_seed_text_usage(smi):
    assert smi("info", "-t", "usage") == smi("info", "-t", "usages")


def test_chip_board_names_the_soc(smi):
    fields = parse_fields(smi("info", "-t", "board", "-i", "0", "-c", "0"))
    assert (fields["Chip Type"], fields["Chip Name"]) == ("Ascend", "910B3")
    fields = parse_fields(smi("info", "-t", "board", "-i", "0", "-c", "0", ANYNPU_SOC="Ascend910_9382"))
    assert (fields["Chip Name"], fields["NPU Name"]) == ("Ascend910", "9382")


def test_topology(smi):
    lines = smi("info", "-t", "topo").splitlines()
    assert lines[0].split() == ["NPU0", "NPU1", "CPU", "Affinity"]
    rows = [line.split() for line in lines[1:3]]
    assert [row[:3] for row in rows] == [["NPU0", "X", "HCCS"], ["NPU1", "HCCS", "X"]]
    assert re.fullmatch(r"[\d,-]+", rows[0][3])


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["info", "-t", "nonsense"], "Error parameter of -t"),
        (["info", "-t", "usages", "-i", "9"], "Error parameter of -i"),
        (["info", "-t", "usages", "-i", "0", "-c", "3"], "Error parameter of -c"),
        (["info", "-t", "hccs", "-i", "0"], "This device does not support querying hccs."),
        (["set", "-t", "ecc-enable", "-i", "0", "-d", "1"], "This device does not support setting ecc-enable."),
        (["clear", "-t", "ecc-info", "-i", "0", "-c", "0"], "This device does not support clearing ecc-info."),
        (["upgrade", "-b", "all", "-i", "0"], "This device does not support upgrading firmware."),
        (["--query-npu=nothing", "--format=csv"], 'Field "nothing" is not a valid field to query.'),
    ],
)
def test_refusals(smi, words, text):
    assert smi(*words, status=1).startswith(text)


def test_no_card(smi):
    assert smi("info", status=1, ANYNPU_DEVICES="0") == "There is no NPU card on this server.\n"


def test_version_and_help(smi):
    assert smi("-v") == "npu-smi version: 25.5.1\n"
    for words in ([], ["-h"], ["info", "-h"], ["info", "watch", "--help"], ["set", "-h"], ["--help-query-npu"]):
        assert smi(*words).startswith("Usage: npu-smi")


def test_json_and_csv_agree(smi, load):
    child = load(how="idle")
    devices = json.loads(smi("--json"))["devices"]
    assert len(devices) == 2 and devices[0]["software"] is True
    assert devices[0]["processes"][0]["pid"] == child.pid and devices[0]["memory.used"] >= 256
    text = smi("--query-npu=index,name,memory.used,memory.total,power.draw", "--format=csv")
    rows = list(csv.reader(io.StringIO(text), skipinitialspace=True))
    assert rows[0] == ["index", "name", "memory.used [MiB]", "memory.total [MiB]", "power.draw [W]"]
    assert rows[1][:4] == ["0", "910B3", f"{devices[0]['memory.used']} MiB", "65536 MiB"]
    assert smi("--query-npu=index", "--format=csv,noheader", "-i", "1") == "1\n"
    processes = json.loads(smi("--query-processes=pid,used_memory", "--format=json"))
    assert processes[0]["pid"] == child.pid
    assert json.loads(smi("--query-processes=pid", "--format=json", "-i", "1")) == []


def test_matmul_moves_ai_core_and_a_killed_process_is_gone(smi, load):
    assert parse_fields(smi("info", "-t", "usages", "-i", "0"))["Aicore Usage Rate(%)"] == "0"
    child = load()
    best = 0
    for _ in range(100):
        best = max(best, int(parse_fields(smi("info", "-t", "usage", "-i", "0"))["Aicore Usage Rate(%)"]))
        if best >= 20:
            break
        time.sleep(0.1)
    assert best >= 20
    fields = parse_fields(smi("info", "-t", "usages", "-i", "1"))
    assert fields["Aicore Usage Rate(%)"] == "0"
    assert re.search(
        rf"Process id:{child.pid} +Process name:\S+ +Process memory\(MB\):\d+", smi("info", "-t", "proc-mem", "-i", "0")
    )
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert "No running processes found in NPU 0" in smi("info")
    assert "No process in device." in smi("info", "-t", "proc-mem", "-i", "0")


def test_two_processes_see_both(smi, load):
    pids = {load("npu:0", "idle").pid, load("npu:1", "idle").pid}
    table = [line.split() for line in smi("info").splitlines() if re.match(r"^\| \d+ +\d+ +\| \d+ +\|", line)]
    assert {int(row[4]) for row in table} == pids
    assert {(row[1], row[2]) for row in table} == {("0", "0"), ("1", "0")}
    assert all(int(row[-2]) >= 256 for row in table)


# What programs in the field look for, in our own words.
def test_field_parsers(smi, load):
    child = load(how="idle")
    text = smi("info")
    lines = text.splitlines()
    assert lines[6].split()[2] == "910B3"  # build scripts: line 7, third field
    devices = re.findall(
        r"\|\s*(\d+)\s+(\S+)\s*\|\s*(OK|Warning|Alarm|Critical)\s*\|\s*(\S+)\s+(\d+)\s+(\d+)\s*/\s*(\d+)\s*\|", text
    )
    chips = re.findall(r"\|\s*(\d+)\s*\|\s*([0-9A-F:.]+)\s*\|\s*(\d+)\s+(\d+)\s*/\s*(\d+)\s+(\d+)\s*/\s*(\d+)\s*\|", text)
    assert [d[:3] for d in devices] == [("0", "910B3", "OK"), ("1", "910B3", "OK")]
    assert [c[1] for c in chips] == ["0000:C1:00.0", "0000:C2:00.0"] and int(chips[0][5]) >= 256 and chips[0][6] == "65536"
    processes = re.findall(r"\|\s*(\d+)\s+(\d+)\s*\|\s*(\d+)\s*\|\s*(\S+)\s*\|\s*(\d+)\s*\|", text)
    assert processes[0][2] == str(child.pid)
    header = next(line for line in lines if "Process id" in line)
    assert re.sub(r"\s+", " ", header.split("|")[1]).strip() == "NPU Chip"
    assert text.count("No running processes found in NPU") == 1
    assert re.search(r"HBM Usage Rate\(%\)\s*:\s*(\d+)", smi("info", "-t", "usages", "-i", "0"))
    assert re.search(r"Total Count\s*:\s*(\d+)", smi("info", "-l"))[1] == "2"
    watch = smi("info", "watch", "--count=1", "-s", "a").splitlines()
    assert watch[0].split() == ["NpuID(Idx)", "ChipId(Idx)", "AI", "Core(%)"] and watch[1].split()[:2] == ["0", "0"]
    assert len(watch[1]) == 36


def test_nputop_reads_it(smi, load):
    """The monitor of PyPI, through libdcmi."""
    pytest.importorskip("nputop", reason="pip install ascend-nputop")
    child = load(how="idle")
    path = f"{os.path.dirname(TOOL)}:{os.environ['PATH']}"
    env = {**os.environ, "LD_LIBRARY_PATH": os.path.join(TOOLKIT, "lib64"), "PATH": path}
    done = subprocess.run([sys.executable, "-m", "nputop", "-1"], capture_output=True, text=True, timeout=60, env=env)
    assert "2 chips / 2 cards" in done.stdout and "Driver 25.5.1" in done.stdout, done.stdout + done.stderr
    assert re.search(r"0 +910B3 +0:0 +│ 0000:C1:00.0", done.stdout), done.stdout
    assert re.search(rf"0:0 +{child.pid} .* 0\.2\dGiB", done.stdout), done.stdout


def test_ascend_npu_utils_reads_it(smi, load):
    """The library of PyPI, by its own reading of the table; it knows one card."""
    utils = pytest.importorskip("ascend_npu_utils.utils", reason="pip install ascend-npu-utils")
    child = load(how="idle")
    reader = object.__new__(utils.AscendNPUUtils)  # its constructor needs a set_env.sh at /usr/local/Ascend
    devices, processes = reader.parse_npu_info(smi("info", "-i", "0"))
    assert [d["name"] for d in devices] == ["910B3"] and int(devices[0]["memory_usage_mb_total"]) >= 256
    assert [p["process_id"] for p in processes] == [str(child.pid)] and int(processes[0]["process_memory_mb"]) >= 256


def test_watch(smi):
    lines = smi("info", "watch", "--count=2", "-i", "1").splitlines()
    assert lines[0] == "".join(
        f"{head:12}"
        for head in ["NpuID(Idx)", "ChipId(Idx)", "Pwr(W)", "Temp(C)", "AI Core(%)", "AI Cpu(%)", "Ctrl Cpu(%)", "Memory(%)"]
        + ["Memory BW(%)"]
    )
    assert len(lines) == 3 and lines[1].split()[0] == "1"
    begin = time.time()
    smi("info", "watch", "--count=2", "-d", "1")
    assert time.time() - begin >= 1


def test_dcmi(smi, load):
    child = load(how="idle")
    code = f"""
import ctypes, json
d = ctypes.CDLL({os.path.join(TOOLKIT, "lib64", "libdcmi.so")!r})
assert d.dcmi_init() == 0
n, cards = ctypes.c_int(), (ctypes.c_int * 64)()
assert d.dcmi_get_card_num_list(ctypes.byref(n), cards, 64) == 0
class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_int), ("bytes", ctypes.c_ulong)]
processes, count, value = (Process * 64)(), ctypes.c_int(), ctypes.c_uint()
assert d.dcmi_get_device_resource_info(0, 0, processes, ctypes.byref(count)) == 0
rates = {{}}
for kind in 2, 6, 13:
    assert d.dcmi_get_device_utilization_rate(0, 0, kind, ctypes.byref(value)) == 0
    rates[kind] = value.value
wrong = [d.dcmi_get_device_utilization_rate(9, 0, 2, ctypes.byref(value))]
wrong += [d.dcmi_get_device_temperature(0, 5, ctypes.byref(value)), d.dcmi_get_device_temperature(0, 0, None)]
wrong += [d.dcmi_get_device_utilization_rate(0, 0, kind, ctypes.byref(value)) for kind in (99, 10)]
print(json.dumps([n.value, count.value, processes[0].pid, processes[0].bytes, rates, wrong]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    cards, count, pid, size, rates, wrong = json.loads(done.stdout)
    assert (cards, count, pid) == (2, 1, child.pid) and size >= 256 << 20
    assert all(0 <= rate <= 100 for rate in rates.values())
    assert wrong == [-8008, -8008, -8001, -8001, -8255]


def test_the_process_itself_is_seen_by_libraries_in_it(smi, run):
    code = f"""
import ctypes, torch, torch_npu
x = torch.ones(1 << 20, device="npu")
d = ctypes.CDLL({os.path.join(TOOLKIT, "lib64", "libdcmi.so")!r})
count, room = ctypes.c_int(), ctypes.create_string_buffer(64 * 16)
for _ in range(3):
    assert d.dcmi_get_device_resource_info(0, 0, room, ctypes.byref(count)) == 0
print(count.value)
import subprocess
print(subprocess.check_output([{TOOL!r}, "--query-npu=processes", "--format=csv,noheader", "-i", "0"], text=True))
"""
    assert run(code).stdout.split() == ["1", "1"]


def test_utilization_of_the_package(run, tmp_path):
    code = """
import time, torch, torch_npu
a = torch.randn(1000, 1000).npu()
assert torch.npu.utilization() == 0
end = time.time() + 1.5
while time.time() < end:
    torch.matmul(a, a).sum().item()
print(torch.npu.utilization())
"""
    assert int(run(code, ANYNPU_STATS=str(tmp_path)).stdout) >= 20


@pytest.mark.skipif(not shutil.which("tmux"), reason="needs tmux")
def test_two_terminals(smi, load, tmp_path):
    """The guides' exercise: a matmul loop in one terminal, npu-smi in the other."""
    socket = f"npu-smi-test-{os.getpid()}"

    def tmux(*words: str) -> str:
        return subprocess.run(["tmux", "-L", socket, *words], capture_output=True, text=True, check=True, timeout=30).stdout

    environment = (
        f"export ANYNPU_STATS={tmp_path} PYTHONPATH={os.environ.get('PYTHONPATH', '')} PATH={TOOLKIT}/bin:$PATH; cd {tmp_path}"
    )
    script = tmp_path / "loop.py"
    script.write_text(LOAD)
    tmux("-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "50", "bash --norc")
    try:
        tmux("split-window", "-d", "bash --norc")
        tmux("send-keys", "-t", "1", f"{environment}; clear; npu-smi info watch -i 0", "Enter")
        time.sleep(1.5)
        before = tmux("capture-pane", "-p", "-t", "1")
        assert "AI Core(%)" in before
        idle = [int(line.split()[4]) for line in before.splitlines() if re.match(r"^\d", line)]
        assert idle and max(idle) == 0
        tmux("send-keys", "-t", "0", f"{environment}; {sys.executable} -W ignore loop.py npu:0 30 busy", "Enter")
        for _ in range(40):
            time.sleep(0.5)
            lines = [line.split() for line in tmux("capture-pane", "-p", "-t", "1").splitlines() if re.match(r"^\d", line)]
            if lines and int(lines[-1][4]) >= 20:
                break
        assert int(lines[-1][4]) >= 20
    finally:
        tmux("kill-server")
