// SPDX-License-Identifier: BSD-3-Clause
// Random number generators: a Philox seed and an offset that moves on with every use. The numbers themselves are made
// by CANN's operators; state is 16 bytes, seed then offset.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

namespace npu
{

struct Generator final : c10::GeneratorImpl {
    explicit Generator(int device);

    void set_current_seed(uint64_t seed) override;
    void set_offset(uint64_t offset) override;
    uint64_t get_offset() const override
    {
        return offset_;
    }
    uint64_t current_seed() const override
    {
        return seed_;
    }
    uint64_t seed() override;
    void set_state(const c10::TensorImpl &state) override;
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

  private:
    Generator *clone_impl() const override;
    uint64_t seed_ = c10::default_rng_seed_val, offset_ = 0;
};

const at::Generator &default_generator(int device);

// Seed and offset for `count` numbers, of the given generator (or the device's default one), which moves on.
void philox_take(const at::Generator *generator, int device, uint64_t count, uint64_t *seed, uint64_t *offset);

} // namespace npu
