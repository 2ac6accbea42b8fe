// SPDX-License-Identifier: BSD-3-Clause
// A communicator: an HcclComm, the device and the stream it works on, and the operations that are under way on it.
//
// Operations of one communicator start in the order of the calls on every rank: whichever stream an operation goes to,
// it first waits for the end of the one before. Lock order: launch (held while an operation is put on a stream), then
// state (a leaf; the watchdog takes only this one, so it works while a launch is stuck).
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <deque>
#include <memory>
#include <mutex>
#include <variant>

#include "../device.h"
#include "../version.h"
#include "hccl.h"

namespace npu
{

// An event out of a pool; goes back when the last owner lets go.
class DeviceEvent
{
  public:
    DeviceEvent(int device, bool timed);
    ~DeviceEvent();
    DeviceEvent(const DeviceEvent &) = delete;
    DeviceEvent &operator=(const DeviceEvent &) = delete;
    void record(int stream);                     // on a stream of its device
    void make_wait(int stream) const;            // the stream waits for what was recorded
    bool done() const;                           // does not wait
    bool wait_host(int ms) const;                // false: not finished within that time
    float elapsed(const DeviceEvent &end) const; // milliseconds; both timed and done
    const int device;

  private:
    aclrtEvent event;
    const bool timed;
};

struct GroupOptions : BackendOptions {
    using Value = std::variant<int64_t, std::string>;
    explicit GroupOptions(bool high_priority = false) : BackendOptions("hccl"), is_high_priority_stream(high_priority)
    {
    }
    bool is_high_priority_stream;
    std::string group_id;
    std::unordered_map<std::string, Value> hccl_config; // see config.cpp
};

void check_config(const GroupOptions &options); // throws for a bad key or value of hccl_config
void make_config(HcclCommConfig *config, const GroupOptions &options, int world_rank, bool p2p);

// One operation on a communicator, as its Work, the watchdog and the flight recorder see it.
struct Operation {
    uint64_t seq = 0, record = 0; // record: id in the flight recorder, 0 none
    c10d::OpType type = c10d::OpType::UNKNOWN;
    bool p2p = false, reported = false;
    bool captured = false; // in a graph: its events say nothing outside, it runs at each replay
    int64_t numel_in = 0, numel_out = 0;
    int stream = 0;
    std::chrono::milliseconds timeout{};
    std::chrono::steady_clock::time_point began;
    std::shared_ptr<DeviceEvent> start, end; // start: when timing is on
    std::shared_ptr<DeviceEvent> gate;       // what the caller's stream held before

    bool done() const
    {
        return captured || end->done();
    }
    std::string text(int rank) const; // "WorkHCCL(SeqNum=1, OpType=ALLREDUCE, …)"
};

class Communicator
{
  public:
    // Collective over the ranks of the communicator: rank 0 puts the root's description into the store under `key`.
    static std::shared_ptr<Communicator> make(c10d::Store &store, const std::string &key, int device, int rank,
                                              int size, int world_rank, const GroupOptions &options, bool p2p);
    ~Communicator();
    void close(std::chrono::milliseconds patience); // waits that long for what is under way, unless it failed
    Communicator(const Communicator &) = delete;
    Communicator &operator=(const Communicator &) = delete;

    const int device, rank, size, world_rank;
    int stream; // its own
    std::mutex launch;
    std::shared_ptr<DeviceEvent> last; // end of the newest operation, and its stream; under `launch`
    int last_stream = -1;

    HcclComm handle() const
    {
        return comm;
    }
    std::string name() const;

    void add(std::shared_ptr<Operation> operation); // what was launched last
    std::shared_ptr<Operation> oldest();            // not yet finished; nullptr: none
    bool wait_all(std::chrono::milliseconds timeout);

    // The text of what went wrong, "" while all is well. Asks the library, does not wait.
    std::string failure();
    void check(); // throws DistBackendError with that text
    // Gives up: what is under way fails, further use throws `why`. Any thread.
    void abort(const std::string &why);
    bool take_unreported(std::string *text); // true once for a failure that nobody has been told of
    void mark_reported();

    static std::vector<std::shared_ptr<Communicator>> all(); // alive now
    // An operation of this process failed and nobody has been told: the text, else "". For the end of the process.
    static std::string unseen_failure();

  private:
    Communicator(int device, int rank, int size, int world_rank) noexcept
        : device(device), rank(rank), size(size), world_rank(world_rank)
    {
    }
    std::atomic<HcclComm> comm{nullptr}; // nullptr: closed
    std::mutex state;
    std::deque<std::shared_ptr<Operation>> under_way;
    std::string failed; // first failure
    bool reported = false, high = false;
    bool hurt = false; // an operation of this rank failed, not only another rank's
};

} // namespace npu
