// SPDX-License-Identifier: BSD-3-Clause
// When a step of DistributedDataParallel computes and communicates, on the device: c10d's reducer asks for it in the
// steps that it samples (torch's _get_ddp_logging_data). Without it DDP would know the host's times alone.
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include <array>
#include <cmath>

#include "comm.h"

namespace npu
{

class StepTimer : public c10d::Timer
{
  public:
    explicit StepTimer(c10::Device device) : device(device.index())
    {
    }

    void record(Event event) override
    {
        Timer::record(event);
        auto &mark = marks[static_cast<size_t>(event)];
        if (!mark)
            mark = std::make_shared<DeviceEvent>(device, true);
        mark->record(current_stream_index(device));
    }

    // Nanoseconds; nothing when one of them has not been recorded, or is of an earlier step (no backward pass).
    std::optional<int64_t> measureDifference(Event start, Event end) override
    {
        auto &from = marks[static_cast<size_t>(start)], &to = marks[static_cast<size_t>(end)];
        if (!from || !to)
            return std::nullopt;
        for (auto &mark : {from, to})
            while (!mark->wait_host(50)) {}
        try {
            return std::llround(from->elapsed(*to) * 1e6);
        } catch (const c10::Error &) { // CANN refuses an end before its start
            return std::nullopt;
        }
    }

  private:
    const int device;
    std::array<std::shared_ptr<DeviceEvent>, 5> marks;
};

} // namespace npu

namespace c10d
{
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::DeviceType::PrivateUse1, npu::StepTimer)
}
