// SPDX-License-Identifier: BSD-3-Clause
// See meeting.h.
#include "meeting.h"

#include <unistd.h>

#include <random>
#include <thread>

#include "../device.h"

namespace npu
{

using std::chrono::milliseconds;

static constexpr std::chrono::microseconds longest{20000}; // between two looks

Meeting::Meeting(c10d::Store &store, std::string key, int rank, int size, milliseconds timeout)
    : store(store), key(std::move(key)), rank(rank), size(size), timeout(timeout), until(Clock::now() + timeout)
{
    std::random_device chance;
    word = c10::str(std::hex, chance(), chance(), "-", getpid());
}

void Meeting::say(const std::string &place, const std::string &text)
{
    store.set(key + "/" + place, std::vector<uint8_t>(text.begin(), text.end()));
}

bool Meeting::there(const std::string &place)
{
    return store.check({key + "/" + place});
}

std::string Meeting::read(const std::string &place)
{
    auto text = store.get(key + "/" + place);
    return {text.begin(), text.end()};
}

std::string Meeting::await(const std::string &place)
{
    auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
    try {
        store.wait({key + "/" + place}, std::max(left, milliseconds(1)));
    } catch (const std::exception &error) {
        std::vector<int> missing;
        for (int r = 1; r < size; r++)
            if (!there("here/" + std::to_string(r)))
                missing.push_back(r);
        give_up(missing.empty() ? std::vector<int>{0} : missing, error.what());
    }
    return read(place);
}

std::string Meeting::answer()
{
    say("here/" + std::to_string(rank), word);
    std::string asks = await("ask/" + word);
    say("heard/" + word, asks);
    return await("root/" + asks);
}

bool Meeting::heard_by(int r, std::string *asked)
{
    std::string place = "here/" + std::to_string(r);
    if (!there(place))
        return false;
    std::string now = read(place);
    if (now != *asked) {
        *asked = now;
        say("ask/" + now, word);
    }
    return there("heard/" + now) && read("heard/" + now) == word; // an earlier life's answer was another's
}

std::vector<int> Meeting::gather(bool all)
{
    std::vector<std::string> asked(size);
    std::vector<int> missing;
    for (int r = 1; r < size; r++)
        missing.push_back(r);
    for (auto pause = std::chrono::microseconds(200); !missing.empty(); pause = std::min(pause * 2, longest)) {
        std::erase_if(missing, [&](int r) { return heard_by(r, &asked[r]); });
        if (missing.empty())
            break;
        if (Clock::now() > until) {
            if (!all)
                missing.resize(1);
            break;
        }
        std::this_thread::sleep_for(pause);
    }
    return missing;
}

void Meeting::tell(const std::string &text)
{
    say("root/" + word, text);
}

void Meeting::give_up(const std::vector<int> &missing, const std::string &why)
{
    TORCH_CHECK_WITH(DistBackendError, false, "[Rank ", rank, "] the first collective of a group waited ",
                     timeout.count(), " ms for rank ", c10::Join(", ", missing), " to join it: ", why,
                     error_suffix(Module::DIST, Kind::TIMEOUT));
    abort(); // not reached
}

} // namespace npu
