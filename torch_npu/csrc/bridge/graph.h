// SPDX-License-Identifier: BSD-3-Clause
// NPU graphs: capturing the work of a stream with CANN's aclmdlRI functions, replaying it.
//
// While a graph is captured, allocations on capturing streams come from its private pool (mempool.h), which keeps them
// apart from everything else until the graph is reset. Random numbers inside a graph read their seed and offset from
// two tensors of the graph, which every replay fills from the generator; the generator then moves on by what the
// capture has drawn, so that a replay gives the numbers that running the work would have given.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "device.h"
#include "version.h"

namespace npu
{

struct Generator;

extern std::atomic<int> captures_under_way;
// Captures by Graph under way in this process; one load.
inline int captures_active()
{
    return captures_under_way.load(std::memory_order_relaxed);
}

// The graph that the stream captures, nullptr: none. Asks CANN.
aclmdlRI stream_capture(aclrtStream stream);
bool current_stream_capturing();       // false when no NPU has been used
void require_graphs(const char *name); // throws where this CANN has no graphs

class Graph
{
  public:
    ~Graph();
    void capture_begin(c10::MempoolId_t pool, int mode); // mode: aclmdlRICaptureMode
    void capture_end();
    void replay();
    void reset();
    c10::MempoolId_t pool() const;
    bool captured() const
    {
        return ready;
    }
    void debug_dump(const std::string &path);
    aclmdlRI handle() const
    {
        return model;
    }

    // Seed and offset of a generator inside the graph.
    struct Random {
        at::Tensor seed, offset; // one int64 each, on the device
        uint64_t base = 0;       // the generator's offset when it was first used
        int64_t drawn = 0;       // since then, in the order of the work; less than 0 when the state was set back
    };
    // The current stream's graph's state of a generator, made at its first use; nullptr when nothing is captured.
    static Random *random(Generator *generator, int device);

  private:
    void forget();
    aclmdlRI model = nullptr;
    int device = 0, stream = 0;
    c10::MempoolId_t pool_id{0, 0};
    bool capturing = false, ready = false;
    std::map<Generator *, Random> randoms;
    std::vector<at::Generator> kept; // those generators
};

void task_group_begin(int device, int stream);
void *task_group_end(int device, int stream);
void task_update_begin(int device, int stream, void *group);
void task_update_end(int device, int stream);

} // namespace npu
