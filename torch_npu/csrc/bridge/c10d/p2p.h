// SPDX-License-Identifier: BSD-3-Clause
// The connection to one other rank: a communicator of two ranks for each direction, so that both may send first.
//
// Both are opened at the first message, by a thread of its own: the caller does not wait for the other rank, and rings
// of first messages cannot block each other. Messages posted meanwhile are launched by that thread, in order.
#pragma once

#include "comm.h"

namespace npu
{

class Peer : public std::enable_shared_from_this<Peer>
{
  public:
    struct Setup {
        c10::intrusive_ptr<c10d::Store> store; // a clone: waits in it block nobody else
        std::string key;                       // the same on both sides
        int device, rank, peer, world_rank;
        c10::intrusive_ptr<GroupOptions> options;
    };
    // Called once: with the communicator, or with the reason why there is none.
    using Post = std::function<void(const std::shared_ptr<Communicator> &, std::exception_ptr)>;

    explicit Peer(Setup setup) : setup(std::move(setup))
    {
    }
    void connect(); // starts the thread
    void post(bool sends, Post post);
    void add_to(std::vector<std::shared_ptr<Communicator>> &all);
    void cancel(); // what has not connected yet never will

  private:
    void open();
    Setup setup;
    std::mutex lock;
    std::shared_ptr<Communicator> direction[2]; // from the lower rank to the higher, and back
    std::exception_ptr error;
    bool opened = false, cancelled = false;
    std::deque<std::pair<int, Post>> waiting;
};

} // namespace npu
