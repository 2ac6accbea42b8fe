// SPDX-License-Identifier: BSD-3-Clause
// The watchdog's thread (watchdog.h). It ends when no communicator is left and starts again with the next. It touches
// neither Python nor the launch lock, so a caller that is stuck in the library does not stop it.
//
// HCCL itself keeps the timeout of an operation (hcclExecTimeOut) and names the rank that is missing; the watchdog
// comes `grace` later, for a library that does not.
#include "watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>

#include "../variables.h"
#include "comm.h"
#include "recorder.h"

namespace npu
{

using std::chrono::milliseconds;

constexpr auto period = milliseconds(100);
constexpr auto grace = milliseconds(2000);

static std::mutex thread_lock;
static bool running;
static int quiet_rounds;

std::string Operation::text(int rank) const
{
    (void)rank;
    return c10::str("WorkHCCL(SeqNum=", seq, ", OpType=", c10d::opTypeToString(type), ", NumelIn=", numel_in,
                    ", NumelOut=", numel_out, ", Timeout(ms)=", timeout.count(), ")");
}

// Communicators whose failure has been told; the watchdog's own.
static std::set<const Communicator *> told;

static void look_at(Communicator &one)
{
    std::string why = one.failure();
    std::shared_ptr<Operation> operation = one.oldest();
    std::string what = operation ? operation->text(one.rank) : std::string("a collective");
    if (why.empty() && operation && operation->timeout.count() > 0) {
        auto age = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - operation->began);
        if (age >= operation->timeout + grace)
            why = c10::str("[Rank ", one.world_rank, "] Watchdog caught collective operation timeout: ", what,
                           " ran for ", age.count(), " milliseconds before timing out.",
                           error_suffix(Module::DIST, Kind::TIMEOUT));
    }
    if (why.empty() || !told.insert(&one).second)
        return;
    TORCH_WARN("[Rank ", one.world_rank, "] ", what, " failed: ", why);
    recorder_dump_on_failure(one.world_rank);
    one.abort(why);
}

static void watch()
{
    pthread_setname_np(pthread_self(), "npu_watchdog");
    for (;;) {
        std::this_thread::sleep_for(period);
        auto alive = Communicator::all();
        std::erase_if(told, [&](auto *gone) {
            return std::none_of(alive.begin(), alive.end(), [&](auto &one) { return one.get() == gone; });
        });
        for (auto &one : alive) {
            try {
                look_at(*one);
            } catch (const std::exception &error) {
                TORCH_WARN("the watchdog of device npu:", one->device, " cannot look: ", error.what());
            }
        }
        std::lock_guard<std::mutex> lock(thread_lock);
        if (!alive.empty())
            quiet_rounds = 0;
        else if (++quiet_rounds > 20) {
            running = false;
            return;
        }
    }
}

void watchdog_start()
{
    static const bool wanted = variable_on(VARIABLE_TORCH_HCCL_ASYNC_ERROR_HANDLING);
    std::lock_guard<std::mutex> lock(thread_lock);
    quiet_rounds = 0;
    if (running || !wanted)
        return;
    running = true;
    std::thread(watch).detach();
}

} // namespace npu
