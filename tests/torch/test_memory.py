# SPDX-License-Identifier: BSD-3-Clause
"""The caching allocator's figures, limits and errors; pinned host memory."""

import pickle

import pytest
import torch

MB = 1 << 20
npu = torch.npu


def test_counters_move_with_tensors():
    npu.init()
    npu.empty_cache()
    base = npu.memory_allocated()
    npu.reset_peak_memory_stats()
    x = torch.empty(8 * MB, dtype=torch.uint8, device="npu")
    assert npu.memory_allocated() - base >= 8 * MB and npu.memory_reserved() >= npu.memory_allocated()
    del x
    assert npu.memory_allocated() == base and npu.max_memory_allocated() - base >= 8 * MB
    npu.reset_max_memory_allocated()
    npu.reset_max_memory_cached()
    assert npu.max_memory_allocated() == base
    assert npu.memory_cached() == npu.memory_reserved() and npu.max_memory_cached() == npu.max_memory_reserved()


def test_stats_have_the_known_names():
    stats = npu.memory_stats()
    for key in ("allocation", "segment", "active", "inactive_split"):
        for pool in ("all", "small_pool", "large_pool"):
            for kind in ("current", "peak", "allocated", "freed"):
                assert f"{key}.{pool}.{kind}" in stats
    for key in ("allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes"):
        assert f"{key}.all.current" in stats
    assert stats["num_ooms"] >= 0 and stats["num_alloc_retries"] >= 0
    nested = npu.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"]["current"] == stats["allocated_bytes.all.current"]
    assert list(stats) == sorted(stats)


def test_accumulated_reset():
    torch.empty(MB, dtype=torch.uint8, device="npu")
    assert npu.memory_stats()["allocated_bytes.all.allocated"] > 0
    npu.reset_accumulated_memory_stats()
    assert npu.memory_stats()["allocated_bytes.all.allocated"] == 0


def test_small_and_large_pools():
    npu.empty_cache()
    before = npu.memory_stats()
    small, large = torch.empty(1000, dtype=torch.uint8, device="npu"), torch.empty(4 * MB, dtype=torch.uint8, device="npu")
    after = npu.memory_stats()
    assert after["allocation.small_pool.current"] - before["allocation.small_pool.current"] == 1
    assert after["allocation.large_pool.current"] - before["allocation.large_pool.current"] == 1
    del small, large


def test_freed_memory_is_used_again():
    x = torch.empty(4 * MB, dtype=torch.uint8, device="npu")
    address = x.data_ptr()
    reserved = npu.memory_reserved()
    del x
    y = torch.empty(4 * MB, dtype=torch.uint8, device="npu")
    assert y.data_ptr() == address and npu.memory_reserved() == reserved


def test_per_device(two_devices):
    base = npu.memory_allocated(1)
    here = npu.memory_allocated(0)
    x = torch.empty(2 * MB, dtype=torch.uint8, device="npu:1")
    assert npu.memory_allocated("npu:1") - base >= 2 * MB and npu.memory_allocated(0) == here
    del x


def test_mem_get_info():
    free, total = npu.mem_get_info()
    assert 0 < free <= total
    x = torch.empty(64 * MB, dtype=torch.uint8, device="npu").fill_(1)
    npu.synchronize()
    assert npu.mem_get_info(0)[0] <= free
    del x


def test_out_of_memory_is_catchable_and_leaves_the_device_usable():
    before = npu.memory_stats().get("num_ooms", 0)
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(1 << 50, dtype=torch.uint8, device="npu")
    text = str(caught.value)
    assert isinstance(caught.value, RuntimeError)
    assert text.startswith("NPU out of memory. Tried to allocate 1048576.00 GiB (NPU 0;")
    for part in ("total capacity", "already allocated", "free", "reserved in total by PyTorch"):
        assert part in text
    assert torch.ones(4, device="npu").sum().item() == 4 and npu.memory_stats()["num_ooms"] == before + 1


def test_absurd_sizes():
    for size in ((1 << 62, 8), (1 << 40, 1 << 40)):
        with pytest.raises(RuntimeError):
            torch.empty(size, device="npu")
    assert torch.ones(4, device="npu").sum().item() == 4


def test_memory_fraction(output):
    code = """
import torch, torch_npu
assert torch.npu.get_per_process_memory_fraction() == 1.0
total = torch.npu.get_device_properties().total_memory
torch.npu.set_per_process_memory_fraction(0.001)
try:
    torch.empty(int(total * 0.002), dtype=torch.uint8, device='npu')
except torch.OutOfMemoryError:
    print('refused', round(torch.npu.get_per_process_memory_fraction(), 6), torch.ones(3).npu().sum().item())
"""
    assert output(code) == "refused 0.001 3.0"


@pytest.mark.parametrize("bad, error", [(1, TypeError), (0.0, ValueError), (1.5, ValueError), (-0.5, ValueError)])
def test_bad_fractions(bad, error):
    with pytest.raises(error):
        npu.set_per_process_memory_fraction(bad)


def test_raw_allocations():
    base = npu.memory_allocated()
    pointer = npu.caching_allocator_alloc(3 * MB)
    assert pointer and npu.memory_allocated() - base >= 3 * MB
    npu.caching_allocator_delete(pointer)
    assert npu.memory_allocated() == base
    pointer = npu.caching_allocator_alloc(512, device=0, stream=npu.current_stream())
    npu.caching_allocator_delete(pointer)
    with pytest.raises(TypeError, match="Invalid type for stream argument"):
        npu.caching_allocator_alloc(8, stream="main")


def test_snapshot_covers_what_is_reserved(tmp_path):
    x = torch.empty(5 * MB, dtype=torch.uint8, device="npu")
    segments = npu.memory_snapshot()
    mine = [s for s in segments if s["device"] == 0]
    assert sum(s["total_size"] for s in mine) == npu.memory_reserved(0)
    assert sum(s["allocated_size"] for s in mine) == npu.memory_allocated(0)
    block = next(b for s in mine for b in s["blocks"] if b["address"] == x.data_ptr())
    assert block["state"] == "active_allocated" and block["size"] >= 5 * MB
    npu.memory._dump_snapshot(str(tmp_path / "snapshot.pickle"))
    assert pickle.loads((tmp_path / "snapshot.pickle").read_bytes())["segments"]


def somewhere(size):
    return torch.empty(size, dtype=torch.uint8, device="npu")


def test_history(tmp_path):
    npu.memory._record_memory_history("all")
    try:
        x, kept = somewhere(MB), somewhere(3 * MB)
        address = x.data_ptr()
        del x
        with pytest.raises(torch.OutOfMemoryError):
            somewhere(1 << 50)
        snapshot = npu.memory._snapshot()
        npu.memory._dump_snapshot(str(tmp_path / "snapshot.pickle"))
    finally:
        npu.memory._record_memory_history(None)
    trace = snapshot["device_traces"][0]
    mine = [entry for entry in trace if entry.get("addr") == address and "segment" not in entry["action"]]
    assert [entry["action"] for entry in mine][-3:] == ["alloc", "free_requested", "free_completed"]
    stack = [frame["name"] for frame in mine[-3]["frames"]]
    assert stack[:2] == ["somewhere", "test_history"] and mine[-3]["frames"][0]["filename"] == __file__
    assert any(entry["action"] == "oom" and entry["device_free"] > 0 for entry in trace)
    blocks = [block for segment in snapshot["segments"] for block in segment["blocks"]]
    (block,) = (block for block in blocks if block["address"] == kept.data_ptr())
    assert block["frames"][0]["name"] == "somewhere" and block["requested_size"] == 3 * MB
    from torch.cuda import _memory_viz

    loaded = pickle.loads((tmp_path / "snapshot.pickle").read_bytes())
    assert "somewhere" in _memory_viz.trace_plot(loaded) or len(_memory_viz.trace_plot(loaded)) > 1000
    assert len(_memory_viz.segment_plot(loaded)) > 1000 and "allocated" in _memory_viz.segsum(loaded)
    assert "3.0MiB" in _memory_viz.trace(loaded)


def test_history_of_state_alone():
    npu.memory._record_memory_history("state", context="state", stacks="python")
    try:
        x = somewhere(2 * MB)
        snapshot = npu.memory._snapshot()
    finally:
        npu.memory._record_memory_history(None)
    assert snapshot["device_traces"][0] == []
    blocks = [block for segment in snapshot["segments"] for block in segment["blocks"] if block["address"] == x.data_ptr()]
    assert blocks[0]["frames"][0]["name"] == "somewhere"
    npu.memory._record_memory_history("all", context=None, max_entries=3)
    try:
        for _ in range(9):
            somewhere(100)
        trace = npu.memory._snapshot()["device_traces"][0]
    finally:
        npu.memory._record_memory_history(None)
    assert len(trace) == 3 and all(entry["frames"] == [] for entry in trace)


@pytest.mark.parametrize(
    "bad", [{"enabled": "some"}, {"context": "none"}, {"stacks": "c++"}, {"max_entries": 0}, {"max_entries": "all"}]
)
def test_bad_histories(bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))} must be"):
        npu.memory._record_memory_history(**bad)


def test_pinned_memory_of_exact_size(output):
    code = """
import torch, torch_npu
MB, n = 1 << 20, torch.npu
n.init()
x = torch.empty(5 * MB, dtype=torch.uint8, pin_memory=True)
y = torch.empty(MB, dtype=torch.uint8, pin_memory=True)
print(n.host_memory_stats()['reserved_bytes.current'] / MB)
del x, y
print(n.host_memory_stats()['reserved_bytes.current'] / MB)
"""
    assert output(code) == "9.0\n9.0"
    assert output(code, PYTORCH_NPU_ALLOC_CONF="pinned_max_round_threshold_mb:2") == "6.0\n6.0"
    assert output(code, PYTORCH_NPU_ALLOC_CONF="pinned_max_cached_size_mb:2") == "6.0\n1.0"


def test_summary_is_a_table():
    torch.empty(1, device="npu")
    text, short = npu.memory_summary(), npu.memory_summary(abbreviated=True)
    assert "PyTorch NPU memory summary, device ID 0" in text and "from large pool" in text and "from large pool" not in short
    assert len({len(line) for line in text.splitlines()}) == 1


def test_questions_before_use(output):
    code = (
        "import torch, torch_npu; n = torch.npu; print(n.memory_allocated(), n.max_memory_reserved(), "
        "dict(n.memory_stats()), n.memory_snapshot(), n.memory_summary().strip(), n.is_initialized())"
    )
    assert output(code) == "0 0 {} [] NPU 0: not used yet, no memory is allocated False"


@pytest.mark.parametrize(
    "good",
    [
        "max_split_size_mb:64",
        "expandable_segments:True",
        "garbage_collection_threshold:0.6",
        "expandable_segments:False,max_split_size_mb:64",
    ],
)
def test_allocator_settings(output, good):
    code = "import torch, torch_npu; print(torch.ones(1 << 20).npu().sum().item())"
    assert output(code, PYTORCH_NPU_ALLOC_CONF=good) == "1048576.0"


@pytest.mark.parametrize(
    "bad, named",
    [
        ("no_such_key:1", "no_such_key"),
        ("max_split_size_mb:many", "max_split_size_mb"),
        ("max_split_size_mb:3", "max_split_size_mb"),
        ("garbage_collection_threshold:7", "garbage_collection_threshold"),
        ("expandable_segments:maybe", "expandable_segments"),
        ("max_split_size_mb", "max_split_size_mb"),
        ("expandable_segments:True,max_split_size_mb:64", "max_split_size_mb"),
    ],
)
def test_bad_allocator_settings_name_the_key(run, bad, named):
    done = run("import torch, torch_npu; print(torch.ones(1).npu().item())", PYTORCH_NPU_ALLOC_CONF=bad)
    assert done.returncode != 0 and named in done.stderr


def test_two_settings_variables_are_refused(run):
    done = run(
        "import torch, torch_npu; torch.ones(1).npu()",
        PYTORCH_NPU_ALLOC_CONF="max_split_size_mb:64",
        PYTORCH_ALLOC_CONF="max_split_size_mb:64",
    )
    assert done.returncode != 0 and "PYTORCH_ALLOC_CONF" in done.stderr


def test_no_caching(output):
    code = "import torch, torch_npu; x = torch.ones(9).npu(); s = x.sum().item(); del x; print(s, torch.npu.memory_reserved())"
    assert output(code, PYTORCH_NO_NPU_MEMORY_CACHING="1").split()[0] == "9.0"


def test_pinned_memory():
    x = torch.arange(1000.0)
    assert x.is_pinned() is False and torch.empty(0).is_pinned() is False
    p = x.pin_memory()
    assert p.is_pinned() and p.equal(x) and p[3:].is_pinned() and p.data_ptr() != x.data_ptr()
    assert p.to("npu", non_blocking=True).cpu().equal(x)
    assert torch.empty(7, pin_memory=True).is_pinned() and torch.empty(0).pin_memory().numel() == 0
    assert not torch.ones(3, device="npu").is_pinned()
    assert p.pin_memory() is p


def test_host_memory_stats():
    p = torch.empty(3 * MB, dtype=torch.uint8, pin_memory=True)
    stats = npu.host_memory_stats()
    assert any(value >= 3 * MB for value in stats.values())
    nested = npu.host_memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["current"] == stats["allocated_bytes.current"]
    npu.reset_peak_host_memory_stats()
    npu.reset_accumulated_host_memory_stats()
    del p
    npu.host_empty_cache()


def test_accelerator_memory_api():
    a = torch.accelerator
    x = torch.empty(MB, dtype=torch.uint8, device="npu")
    assert a.memory_allocated() == npu.memory_allocated() and a.max_memory_reserved() == npu.max_memory_reserved()
    a.reset_peak_memory_stats()
    a.reset_accumulated_memory_stats()
    a.empty_cache()
    del x


def test_backend_name():
    assert npu.get_allocator_backend() == "native"


# ---- keys of PYTORCH_NPU_ALLOC_CONF ----
def test_expandable_segments_use_freed_pieces(output):
    code = """
import torch, torch_npu
n, MB = torch.npu, 1 << 20
def make(size): return torch.empty(size * MB, dtype=torch.uint8, device='npu')
parts = [make(30) for _ in range(8)]
for p in parts: p.fill_(7)
begin, reserved = parts[0].data_ptr(), n.memory_reserved()
del parts, p
big = make(200)  # no segment of its own: where the eight were
print(big.data_ptr() == begin, n.memory_reserved() == reserved, big.fill_(3).sum(dtype=torch.int64).item() == 3 * 200 * MB)
more = make(150)
more.fill_(1)
segments = [s for s in n.memory_snapshot() if s['segment_type'] == 'large']
held = n.memory_stats()['reserved_bytes.large_pool.current']
print(len(segments), segments[0]['is_expandable'], segments[0]['total_size'] == held)
free = n.mem_get_info()[0]
del more
n.empty_cache()
print(n.memory_reserved() < 270 * MB, n.mem_get_info()[0] > free + 100 * MB, big[0].item())
del big
n.empty_cache()
s = n.memory_stats()
print(s['reserved_bytes.large_pool.current'], s['segment.large_pool.current'], s['inactive_split_bytes.large_pool.current'])
print((torch.ones(5 * MB, device='npu') * 2).sum().item() == 10 * MB, torch.ones(3).npu().tolist())
"""
    assert output(code, PYTORCH_NPU_ALLOC_CONF="expandable_segments:True").split("\n") == [
        "True True True",
        "1 True True",
        "True True 3",
        "0 0 0",
        "True [1.0, 1.0, 1.0]",
    ]


def test_networks_train_in_growing_ranges(output):
    code = """
import torch, torch_npu
torch.manual_seed(0)
def run(device):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(300, 900), torch.nn.ReLU(), torch.nn.Linear(900, 3)).to(device)
    opt = torch.optim.Adam(net.parameters())
    for k in range(1, 12):
        x = torch.randn(211 * k, 300, generator=torch.Generator().manual_seed(k)).to(device)
        opt.zero_grad(); net(x).square().mean().backward(); opt.step()
        if k == 6 and device == 'npu': torch.npu.empty_cache()
    return torch.cat([p.detach().cpu().flatten() for p in net.parameters()])
print(torch.allclose(run('npu'), run('cpu'), rtol=1e-3, atol=1e-4))
import torch.multiprocessing as mp
x = torch.ones(3, device='npu')
print(torch_npu.multiprocessing.reductions.reduce_storage(x.untyped_storage())[0].__name__)
"""
    assert output(code, PYTORCH_NPU_ALLOC_CONF="expandable_segments:True").split() == ["True", "rebuild_npu_copy"]


@pytest.mark.parametrize("kb, unit", [(16, 16384), (0, 512)])
def test_alignment_of_base_addresses(output, kb, unit):
    code = f"""
import torch, torch_npu
sizes = [(3 << 20) + 512 * k for k in range(1, 9)]
held = [torch.empty(s, dtype=torch.uint8, device='npu') for s in sizes]
print(min((t.data_ptr() & -t.data_ptr()) for t in held[1:]) >= {unit}, len({{t.data_ptr() % 16384 for t in held}}) == 1)
"""
    conf = f"expandable_segments:True,base_addr_aligned_kb:{kb}"
    assert output(code, PYTORCH_NPU_ALLOC_CONF=conf) == f"True {kb == 16}"


@pytest.mark.parametrize("conf", ["page_size:1g", "page_size:1g,expandable_segments:True"])
def test_huge_pages(output, conf):
    code = """
import torch, torch_npu
x = torch.empty(5 << 20, dtype=torch.uint8, device='npu')
small = torch.ones(3, device='npu')
s = torch.npu.memory_stats()
print(s['reserved_bytes.large_pool.current'] >> 20, s['reserved_bytes.small_pool.current'] >> 20)
"""
    assert output(code, PYTORCH_NPU_ALLOC_CONF=conf) == "1024 2"


def test_segment_size(output):
    code = """
import torch, torch_npu
torch.empty(2 << 20, dtype=torch.uint8, device='npu')
print(torch.npu.memory_reserved() >> 20)
"""
    assert output(code, PYTORCH_NPU_ALLOC_CONF="large_segment_size_mb:64") == "64"
    assert output(code, PYTORCH_NPU_ALLOC_CONF="segment_size_mb:40") == "40"


def test_max_split_size_keeps_large_blocks_whole(output):
    code = """
import torch, torch_npu
MB, n = 1 << 20, torch.npu
def make(size): return torch.empty(size * MB, dtype=torch.uint8, device='npu')
x = make(100); place = x.data_ptr(); del x
small = make(12)
print(small.data_ptr() != place, make(98).data_ptr() == place)
"""
    assert output(code, PYTORCH_NPU_ALLOC_CONF="max_split_size_mb:32") == "True True"
    assert output(code) == "False False"


def test_rounding_by_divisions(output):
    code = """
import torch, torch_npu
MB = 1 << 20
x = torch.empty(9 * MB, dtype=torch.uint8, device='npu')
print(torch.npu.memory_allocated() / MB)
"""
    assert output(code, PYTORCH_NPU_ALLOC_CONF="roundup_power2_divisions:4") == "10.0"
    assert output(code, PYTORCH_NPU_ALLOC_CONF="roundup_power2_divisions:[4:1,8:2,>:2]") == "12.0"


def test_collecting_above_a_threshold(output):
    code = """
import torch, torch_npu
MB, n = 1 << 20, torch.npu
n.set_per_process_memory_fraction(400 * MB / n.get_device_properties().total_memory)
for k in range(8):
    torch.empty((30 + k) * MB, dtype=torch.uint8, device='npu')
print(n.memory_reserved() <= 300 * MB, n.memory_stats()['num_alloc_retries'])
"""
    assert output(code, PYTORCH_NPU_ALLOC_CONF="garbage_collection_threshold:0.5") == "True 0"


def test_a_fraction_by_setting(output):
    code = """
import torch, torch_npu
total = torch.npu.get_device_properties().total_memory
try: torch.empty(total // 50, dtype=torch.uint8, device='npu')
except torch.OutOfMemoryError as e: print('allowed' in str(e))
"""
    assert output(code, PYTORCH_NPU_ALLOC_CONF="per_process_memory_fraction:0.01") == "True"


def test_requests_that_cannot_fit_are_rejected_early(output):
    code = """
import torch, torch_npu
n = torch.npu
kept = torch.empty(50 << 20, dtype=torch.uint8, device='npu'); del kept
try: torch.empty(n.get_device_properties().total_memory + 1, dtype=torch.uint8, device='npu')
except torch.OutOfMemoryError: pass
s = n.memory_stats()
print(s['num_oom_rejections'], s['num_alloc_retries'], n.memory_reserved() > 0)
n.reset_accumulated_memory_stats()
print(n.memory_stats()['num_oom_rejections'])
"""
    assert output(code, PYTORCH_NPU_ALLOC_CONF="throw_on_npumalloc_oom:True") == "1 0 True\n0"
    assert output(code).split("\n")[0] == "0 1 False"


def test_lazy_reclaim_frees_all_the_same(output):
    code = """
import torch, torch_npu
n, other = torch.npu, torch.npu.Stream()
for _ in range(20):
    x = torch.empty(40 << 20, dtype=torch.uint8, device='npu')
    x.record_stream(other)
    del x
    other.synchronize()
print(n.memory_reserved() >> 20)
"""
    assert int(output(code, PYTORCH_NPU_ALLOC_CONF="multi_stream_lazy_reclaim:True")) <= 80


@pytest.mark.parametrize(
    "conf, text",
    [
        ("expandable_segments:True,garbage_collection_threshold:0.5", "please set `expandable_segments` to `False`"),
        ("expandable_segments:yes", "Expected a single True/False argument for expandable_segments"),
        ("base_addr_aligned_kb:17", "base_addr_aligned_kb error, must be \\[0~16\\], dtype is int"),
        ("base_addr_aligned_kb:x", "base_addr_aligned_kb is invalid"),
        ("segment_size_mb:513", "segment_size_mb error, must be \\[20, 512\\]"),
        ("large_segment_size_mb:10", "must be > 10"),
        ("max_split_size_mb:30,large_segment_size_mb:40", "at least large_segment_size_mb"),
        ("page_size:2g", "Unsupported page_size value: 2g"),
        ("garbage_collection_threshold:0", "garbage_collection_threshold is invalid, set it in \\(0.0, 1.0\\)"),
        ("per_process_memory_fraction:1.5", "set it in \\[0.0, 1.0\\]"),
        ("pinned_max_round_threshold_mb:100,pinned_max_cached_size_mb:50", "pinned_max_round_threshold_mb"),
        ("roundup_power2_divisions:3", "power of 2"),
        ("nonsense", "is not key:value"),
        ("a:b:c", "Unrecognized key 'a'"),
    ],
)
def test_bad_settings_in_words(conf, text):
    with pytest.raises(ValueError, match=text):
        npu.memory._set_allocator_settings(conf)
    assert torch.ones(2, device="npu").sum().item() == 2


SNAPSHOT = """
import glob, os, pickle, sys, torch, torch_npu
kept = torch.ones(5 << 18, device="npu")
def hungry():
    return torch.empty(1 << 44, dtype=torch.uint8, device="npu")
try: hungry()
except torch.OutOfMemoryError as error: print("out of memory" in str(error))
files = glob.glob(sys.argv[1] + f"/oom_snapshot_{os.getpid()}_*.pickle")
with open(files[0], "rb") as file: made = pickle.load(file)
events = [e for e in made["device_traces"][0] if e["action"] == "oom"]
held = sum(s["allocated_size"] for s in made["segments"])
print(len(files), held >= 5 << 20, len(events), [e["size"] == 1 << 44 for e in events])
print(any("kept" in str(b.get("frames")) or b["frames"] for s in made["segments"] for b in s["blocks"] if "active" in b["state"]))
print(torch.ones(3, device="npu").sum().item())
"""


@pytest.mark.parametrize("mode, events", [("1", "1 [True]"), ("2", "0 []")])
def test_a_snapshot_at_out_of_memory(run, tmp_path, mode, events):
    code = SNAPSHOT.replace("sys.argv[1]", repr(str(tmp_path)))
    done = run(code, OOM_SNAPSHOT_ENABLE=mode, OOM_SNAPSHOT_PATH=str(tmp_path))
    assert done.stdout.split("\n")[:4] == ["True", f"1 True {events}", "True", "3.0"], done.stdout + done.stderr
    assert "a snapshot for pytorch.org/memory_viz is in" in done.stderr
    done = run(code, OOM_SNAPSHOT_ENABLE=mode, OOM_SNAPSHOT_PATH=str(tmp_path), TORCH_NPU_WARNING_DISABLE="1")
    assert "memory_viz" not in done.stderr


def test_a_snapshot_has_somewhere_to_go(run, tmp_path):
    done = run("import torch, torch_npu; torch.ones(1).npu()", OOM_SNAPSHOT_ENABLE="1", OOM_SNAPSHOT_PATH=str(tmp_path / "none"))
    assert done.returncode and "`OOM_SNAPSHOT_PATH` is invalid" in done.stderr and "ERR00008" in done.stderr
    assert run("import torch, torch_npu; torch.ones(1).npu()", OOM_SNAPSHOT_PATH=str(tmp_path / "none")).returncode == 0


def test_an_observer_of_out_of_memory(output):
    code = """
import torch, torch_npu
told = []
torch_npu._C._npu_attach_out_of_memory_observer(lambda *seen: told.append(seen))
try: torch.empty(1 << 44, dtype=torch.uint8, device="npu")
except torch.OutOfMemoryError: pass
torch_npu._C._npu_attach_out_of_memory_observer(lambda *seen: 1 / 0)
try: torch.empty(1 << 44, dtype=torch.uint8, device="npu")
except torch.OutOfMemoryError: print("still out of memory")
(device, wanted, total, free), = told
print(device, wanted == 1 << 44, 0 < free <= total)
try: torch_npu._C._npu_attach_out_of_memory_observer(3)
except TypeError as error: print(str(error).splitlines()[0])
"""
    assert output(code).splitlines() == ["still out of memory", "0 True True", "the observer of out-of-memory must be callable"]
