# SPDX-License-Identifier: BSD-3-Clause
"""A C++ extension built against the installed headers: a custom operator on NPU tensors and streams, with its backward."""

import os
import subprocess
import sys

import pytest

SOURCE = r"""
#include <ATen/ops/empty_like.h>
#include <pybind11/pybind11.h>
#include <torch/library.h>
#include "torch_npu/csrc/core/npu/NPUFunctions.h"
#include "torch_npu/csrc/core/npu/NPUGuard.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

// A copy put on the current stream by AscendCL, then an operator of PyTorch.
static at::Tensor twice(const at::Tensor &x)
{
    TORCH_CHECK(x.is_privateuseone() && x.is_contiguous(), "twice needs a contiguous NPU tensor");
    c10_npu::NPUGuard guard(x.device().index());
    at::Tensor out = at::empty_like(x);
    c10_npu::NPUStream stream = c10_npu::getCurrentNPUStream();
    aclError error = aclrtMemcpyAsync(out.data_ptr(), out.nbytes(), x.data_ptr(), x.nbytes(), ACL_MEMCPY_DEVICE_TO_DEVICE,
                                      stream.stream());
    TORCH_CHECK(error == ACL_SUCCESS, "aclrtMemcpyAsync failed: ", error);
    return out.mul_(2);
}

TORCH_LIBRARY(test_extension, m)
{
    m.def("twice(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(test_extension, PrivateUse1, m)
{
    m.impl("twice", &twice);
}

namespace py = pybind11;
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("streams", [] {
        auto before = c10_npu::getCurrentNPUStream();
        auto own = c10_npu::getStreamFromPool(true);
        bool current;
        {
            c10_npu::NPUStreamGuard guard(own.unwrap());
            current = c10_npu::getCurrentNPUStream() == own;
        }
        own.synchronize();
        current &= c10_npu::getCurrentNPUStream() == before;
        return py::make_tuple((int64_t)before.id(), (int)before.device_index(), current,
                              own.query(), own.priority(), before == c10_npu::getDefaultNPUStream(), before.stream() != nullptr);
    });
    m.def("devices", [] {
        int32_t device = -1;
        c10_npu::GetDevice(&device);
        return py::make_tuple((int)c10_npu::device_count(), (int)c10_npu::current_device(), device, c10_npu::SetDevice(99));
    });
}
"""

SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension
from torch_npu.utils.cpp_extension import NpuExtension
build = BuildExtension.with_options(use_ninja=False)
setup(name="own_ops", ext_modules=[NpuExtension("own_ops", ["own_ops.cpp"])], cmdclass={"build_ext": build})
"""

USE = """
import torch, own_ops
x = torch.arange(6.0, device="npu").view(2, 3)
assert torch.ops.test_extension.twice(x).tolist() == (x * 2).tolist()
side = torch.npu.Stream()
with torch.npu.stream(side):
    assert own_ops.streams()[0] == side.stream_id and not own_ops.streams()[5]
    y = torch.ones(1 << 20, device="npu")
    for _ in range(10):
        y = torch.ops.test_extension.twice(y)  # ordered on this stream
    assert y.sum().item() == 1024 * (1 << 20)
id, device, current, done, priority, default, handle = own_ops.streams()
assert (id, device, current, done, default, handle) == (0, 0, True, True, True, True) and priority < 0
assert own_ops.devices()[:3] == (torch.npu.device_count(), 0, 0) and own_ops.devices()[3] != 0
if torch.npu.device_count() > 1:
    assert torch.ops.test_extension.twice(x.to("npu:1")).device.index == 1 and torch.npu.current_device() == 0
torch.library.register_autograd("test_extension::twice", lambda ctx, g: g * 2)
torch.library.register_fake("test_extension::twice", lambda x: torch.empty_like(x))
w = torch.ones(3, device="npu", requires_grad=True)
torch.ops.test_extension.twice(w).sum().backward()
assert w.grad.tolist() == [2, 2, 2]
assert torch.compile(lambda v: torch.ops.test_extension.twice(v) + 1, backend="npu")(w).tolist() == [3, 3, 3]
try:
    torch.ops.test_extension.twice(x.t())
except RuntimeError as error:
    assert "contiguous" in str(error)
try:
    torch.ops.test_extension.twice(x.cpu())
except NotImplementedError as error:
    print("ok")
"""


def test_an_extension_built_with_the_headers(tmp_path):
    (tmp_path / "own_ops.cpp").write_text(SOURCE)
    (tmp_path / "setup.py").write_text(SETUP)
    env = dict(os.environ, CXXFLAGS="-O0")
    built = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    if "command 'g++' failed: No such file" in built.stderr:
        pytest.skip("no C++ compiler")
    assert built.returncode == 0, built.stderr[-3000:]
    done = subprocess.run([sys.executable, "-c", USE], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip() == "ok", done.stderr


def test_headers_and_flags_are_found():
    from torch_npu.utils import cpp_extension

    own, cann = cpp_extension.include_paths()
    assert os.path.exists(os.path.join(own, "torch_npu/csrc/core/npu/NPUStream.h")) and os.path.exists(
        os.path.join(cann, "acl/acl.h")
    )
    extension = cpp_extension.NpuExtension("a", ["a.cpp"], include_dirs=["mine"], libraries=["m"])
    assert (
        extension.include_dirs[0] == "mine" and own in extension.include_dirs and {"m", "torch_npu"} <= set(extension.libraries)
    )
    assert "-ltorch_npu" in cpp_extension.library_flags()
