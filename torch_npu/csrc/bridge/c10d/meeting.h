// SPDX-License-Identifier: BSD-3-Clause
// Ranks that meet in the store, where rank 0 learns who is there and then tells them something.
//
// What an earlier life of the program has left in the store (torchrun starts dead ranks anew with the same store) must
// not be taken for an answer: each rank draws a word of its own, and what is said to it stands under that word. Rank r
// puts its word at here/r, waits for rank 0's at ask/(its word), repeats that at heard/(its word), and waits for
// root/(rank 0's word). Rank 0 asks every word that it finds until all ranks have heard it.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace npu
{

class Meeting
{
  public:
    Meeting(c10d::Store &store, std::string key, int rank, int size, std::chrono::milliseconds timeout);

    // Rank 0: until all others are there, or the time is over; the ranks that have not come. With `all` false it names
    // the first of them alone.
    std::vector<int> gather(bool all);
    void tell(const std::string &text); // rank 0: to those that came

    std::string answer(); // the others: what rank 0 tells
    [[noreturn]] void give_up(const std::vector<int> &missing, const std::string &why);

  private:
    using Clock = std::chrono::steady_clock;
    void say(const std::string &place, const std::string &text);
    bool there(const std::string &place);
    std::string read(const std::string &place);
    std::string await(const std::string &place);
    bool heard_by(int r, std::string *asked);

    c10d::Store &store;
    const std::string key;
    const int rank, size;
    const std::chrono::milliseconds timeout;
    const Clock::time_point until;
    std::string word;
};

} // namespace npu
