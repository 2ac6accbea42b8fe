// SPDX-License-Identifier: BSD-3-Clause
// Random number generators (generator.h). Lock: the generator's own mutex_ in philox_take.
#include "generator.h"

#include <ATen/EmptyTensor.h>

#include <cstring>

#include "device.h"
#include "error.h"
#include "graph.h"

namespace npu
{

Generator::Generator(int device)
    : c10::GeneratorImpl(c10::Device(device_type, (c10::DeviceIndex)device),
                         c10::DispatchKeySet(c10::DispatchKey::PrivateUse1))
{
}

// The graph that the current stream captures with this generator.
static Graph::Random *in_graph(const Generator *generator)
{
    return captures_active() ? Graph::random(const_cast<Generator *>(generator), generator->device().index()) : nullptr;
}

static void check_seed(uint64_t seed, uint64_t original)
{
    TORCH_CHECK(
        seed == original,
        "NPUGeneratorImpl::set_current_seed can be called during stream capture only if new seed is the same as "
        "the original seed.",
        error_suffix(Module::PTA, Kind::NOT_SUPPORT));
}

void Generator::set_current_seed(uint64_t seed)
{
    if (Graph::Random *random = in_graph(this)) {
        check_seed(seed, seed_);
        random->drawn = -(int64_t)random->base;
        return;
    }
    seed_ = seed;
    offset_ = 0;
}

void Generator::set_offset(uint64_t offset)
{
    if (Graph::Random *random = in_graph(this))
        random->drawn = (int64_t)(offset - random->base);
    else
        offset_ = offset;
}

uint64_t Generator::get_offset() const
{
    Graph::Random *random = in_graph(this);
    return random ? random->base + (uint64_t)random->drawn : offset_;
}

uint64_t Generator::seed()
{
    uint64_t random = c10::detail::getNonDeterministicRandom();
    set_current_seed(random);
    return random;
}

c10::intrusive_ptr<c10::TensorImpl> Generator::get_state() const
{
    at::TensorBase state = at::detail::empty_cpu({16}, at::kByte);
    uint64_t offset = get_offset();
    memcpy(state.mutable_data_ptr(), &seed_, 8);
    memcpy(static_cast<char *>(state.mutable_data_ptr()) + 8, &offset, 8);
    return state.getIntrusivePtr();
}

void Generator::set_state(const c10::TensorImpl &state)
{
    TORCH_CHECK_TYPE(state.device().is_cpu() && state.layout() == at::kStrided &&
                         c10::typeMetaToScalarType(state.dtype()) == at::kByte && state.is_contiguous(),
                     "RNG state must be a torch.ByteTensor", error_suffix(Module::PTA, Kind::TYPE));
    // 8 bytes: a seed alone.
    TORCH_CHECK(state.numel() == 16 || state.numel() == 8, "RNG state is wrong size",
                error_suffix(Module::PTA, Kind::VALUE));
    const char *data = static_cast<const char *>(state.data());
    uint64_t seed, offset = 0;
    memcpy(&seed, data, 8);
    if (state.numel() == 16)
        memcpy(&offset, data + 8, 8);
    if (in_graph(this))
        check_seed(seed, seed_);
    seed_ = seed;
    set_offset(offset);
}

Generator *Generator::clone_impl() const
{
    auto *copy = new Generator(device().index());
    copy->seed_ = seed_;
    copy->offset_ = offset_;
    return copy;
}

const at::Generator &default_generator(int device)
{
    static const auto *const all = [] {
        auto *made = new std::vector<at::Generator>;
        for (int i = 0; i < max_devices; i++) {
            made->push_back(at::make_generator<Generator>(i));
            made->back().seed();
        }
        return made;
    }();
    if (device < 0)
        device = current_device();
    TORCH_CHECK(device < max_devices, "Invalid NPU device ID ", device, error_suffix(Module::PTA, Kind::VALUE));
    return (*all)[device];
}

Philox philox_take(const at::Generator *generator, int device, uint64_t count)
{
    const at::Generator &chosen = generator && generator->defined() ? *generator : default_generator(device);
    TORCH_CHECK(chosen.device().type() == device_type, "Expected a 'npu' device type for generator but found '",
                chosen.device().type(), "'", error_suffix(Module::PTA, Kind::TYPE));
    auto *own = static_cast<Generator *>(chosen.unsafeGetGeneratorImpl());
    std::lock_guard<std::mutex> lock(own->mutex_);
    uint64_t step = (count + 3) / 4 * 4;
    if (Graph::Random *random = captures_active() ? Graph::random(own, device) : nullptr) {
        Philox in_capture{own->current_seed(), (uint64_t)random->drawn, &random->seed, &random->offset};
        random->drawn += (int64_t)step;
        return in_capture;
    }
    return {own->current_seed(), own->move_on(step), nullptr, nullptr};
}

} // namespace npu
