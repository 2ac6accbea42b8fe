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


def test_history():
    npu.memory._record_memory_history("all")
    x = torch.empty(MB, dtype=torch.uint8, device="npu")
    del x
    actions = [entry["action"] for trace in npu.memory._snapshot()["device_traces"] for entry in trace]
    npu.memory._record_memory_history(None)
    assert "alloc" in actions and "free_completed" in actions
    with pytest.raises(ValueError, match="enabled must be"):
        npu.memory._record_memory_history("some")


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
