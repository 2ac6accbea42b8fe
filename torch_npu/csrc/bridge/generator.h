// SPDX-License-Identifier: BSD-3-Clause
// Random number generators: a Philox seed and an offset that moves on with every use. The numbers themselves are made
// by CANN's operators; state is 16 bytes, seed then offset. While the current stream captures a graph the seed is fixed
// and the offset is the graph's (graph.h).
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GeneratorImpl.h>

namespace npu
{

struct Generator final : c10::GeneratorImpl {
    explicit Generator(int device);

    void set_current_seed(uint64_t seed) override;
    void set_offset(uint64_t offset) override;
    uint64_t get_offset() const override;
    uint64_t current_seed() const override
    {
        return seed_;
    }
    uint64_t seed() override;
    void set_state(const c10::TensorImpl &state) override;
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

    // Outside a graph: the offset as it is, moved on by count.
    uint64_t move_on(uint64_t count)
    {
        uint64_t before = offset_;
        offset_ += count;
        return before;
    }

  private:
    Generator *clone_impl() const override;
    uint64_t seed_ = c10::default_rng_seed_val, offset_ = 0;
};

const at::Generator &default_generator(int device);

// Seed and offset for `count` numbers, of the given generator (or the device's default one), which moves on. In a graph
// they are the contents of two tensors of one int64 each, at the time of execution, and `offset` is added.
struct Philox {
    uint64_t seed = 0, offset = 0;
    const at::Tensor *seeds = nullptr, *offsets = nullptr;
};
Philox philox_take(const at::Generator *generator, int device, uint64_t count);

} // namespace npu
