// SPDX-License-Identifier: BSD-3-Clause
// What differs between PyTorch versions, in one place, and the check that we build against one that was tried. The
// other files are written for the newest; for older ones this header supplies what they lack.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <torch/version.h>

#if TORCH_VERSION_MAJOR != 2 || (TORCH_VERSION_MINOR != 7 && TORCH_VERSION_MINOR != 12 && TORCH_VERSION_MINOR != 13)
#error "torch_npu builds with torch 2.7, 2.12 and 2.13 (docs/COMPATIBILITY.md)"
#endif

namespace npu
{
// Operators newer than an older PyTorch are not missed there.
constexpr bool newest_torch = TORCH_VERSION_MINOR >= 13;
// PyTorch lets calls pass the autograd key of PrivateUse1 by itself since 2.12 (tried), before that the bridge has to.
constexpr bool autograd_passes = TORCH_VERSION_MINOR >= 12;
} // namespace npu

// Members that override a virtual function of PyTorch from this version on, and are plain functions before.
#if TORCH_VERSION_MINOR >= 12
#define OVERRIDE_2_12 override
#else
#define OVERRIDE_2_12
#endif

#if TORCH_VERSION_MINOR < 12
#include <utility>

#include <c10/core/Stream.h>

namespace c10
{

using MempoolId_t = std::pair<uint64_t, uint64_t>;

struct DeviceCapability {
};

// The allocator that torch.accelerator's memory functions ask, which came with 2.9: here the bridge alone asks it.
struct DeviceAllocator : Allocator {
    virtual bool initialized() = 0;
    virtual void emptyCache(MempoolId_t pool = {0, 0}) = 0;
    virtual void recordStream(const DataPtr &ptr, Stream stream) = 0;
    virtual CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex device) = 0;
    virtual void resetAccumulatedStats(DeviceIndex device) = 0;
    virtual void resetPeakStats(DeviceIndex device) = 0;
    virtual std::pair<size_t, size_t> getMemoryInfo(DeviceIndex device) = 0;
};

namespace CachingAllocator
{
using CachingDeviceAllocator::format_size;
}

} // namespace c10
#endif

#if TORCH_VERSION_MINOR < 13
#include <ATen/core/Dimname.h>

namespace npu
{
using at::DimnameList; // the macros of autocast's lists use the name bare
}
#endif

#ifdef NPU_GROUPS // process groups, whose headers the rest does without
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#if TORCH_VERSION_MINOR < 13
namespace c10d
{
using PreMulSumSupplement = NCCLPreMulSumSupplement;
}
#endif

namespace npu
{
#if TORCH_VERSION_MINOR >= 12
using BackendOptions = c10d::Backend::Options;
constexpr auto REDUCE_SCATTER_TENSORS = c10d::OpType::REDUCE_SCATTER_TENSOR_COALESCED;
#else
struct BackendOptions : c10d::Backend::Options { // which members came with 2.8
    using Options::Options;
    std::string group_name;
    std::vector<uint64_t> global_ranks_in_group;
};
constexpr auto REDUCE_SCATTER_TENSORS = c10d::OpType::COALESCED;
#endif
} // namespace npu
#endif
