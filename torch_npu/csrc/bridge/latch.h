// SPDX-License-Identifier: BSD-3-Clause
// A lock for short critical sections that are almost never contended: one atomic operation to take it, a plain store to
// give it back (a mutex needs an atomic for both). Those who wait spin, then yield, then sleep.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <atomic>

namespace npu
{

class Latch
{
  public:
    void lock()
    {
        if (__builtin_expect(taken.exchange(true, std::memory_order_acquire), 0))
            wait();
    }
    void unlock()
    {
        taken.store(false, std::memory_order_release);
    }

  private:
    void wait()
    {
        for (unsigned round = 0;; round++) {
            if (!taken.load(std::memory_order_relaxed) && !taken.exchange(true, std::memory_order_acquire))
                return;
            if (round < 64)
                std::atomic_signal_fence(std::memory_order_seq_cst);
            else if (round < 256)
                sched_yield();
            else
                usleep(50);
        }
    }
    std::atomic<bool> taken{false};
};

} // namespace npu
