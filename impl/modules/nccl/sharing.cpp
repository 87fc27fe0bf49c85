#include "sharing.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "gather.hpp"
#include "pauses.hpp"
#include "turns.hpp"

namespace tutti::nccl {

namespace {

using Clock = std::chrono::steady_clock;

struct Agreement {
    Registration how;
    uint64_t key;       // of rank 0
    WindowList unused;  // given back on all ranks
};

// Ranks exchange a key, how they can register the memory, and which windows were given back.
Agreement agree(Communicator& communicator, const tutti_backend_place& place,
                const Memory& memory) {
    const auto key = static_cast<uint64_t>(Clock::now().time_since_epoch().count());
    const Communicator::Known known = communicator.windows_for(memory);
    std::string own(reinterpret_cast<const char*>(&key), sizeof key);
    own += static_cast<char>(known.how);
    const size_t begin = own.size();
    for (const auto& window : known.windows) own += window->memory->is_given_back() ? 'x' : ' ';
    const auto all = all_gather(place, communicator.size(), own);
    Agreement agreed{Registration::Window, 0, {}};
    std::memcpy(&agreed.key, all.front().data(), sizeof agreed.key);
    for (const std::string& one : all) {
        agreed.how = std::min(agreed.how, static_cast<Registration>(one[begin - 1]));
    }
    for (size_t index = 0; index < known.windows.size(); ++index) {
        const auto is_unused = [&](const std::string& one) { return one[begin + index] == 'x'; };
        if (std::ranges::all_of(all, is_unused)) agreed.unused.push_back(known.windows[index]);
    }
    return agreed;
}

// Another communicator may have the device on one rank, and need this one's on another rank.
void take_turn(Communicator& communicator, const tutti_backend_place& place, int device,
               uint64_t key) {
    const RegistrationTurn turn(device, key);
    for (Pauses pauses;;) {
        const auto until = Clock::now() + pauses.next();
        char has_it = 0;
        while (has_it == 0 && Clock::now() < until) {
            has_it = turn.has_come() && communicator.take_turn(device) ? 1 : 0;
            if (has_it == 0) std::this_thread::sleep_for(rest);
        }
        const auto all = all_gather<char>(place, communicator.size(), has_it);
        if (std::ranges::count(all, 1) == communicator.size()) return;
        communicator.give_turn();  // another rank's message may need calls that wait
    }
}

struct EndSharing {
    Communicator& of;
    ~EndSharing() { of.end_sharing(); }
};

}  // namespace

void* make_memory(const Communicator& communicator, int device, size_t bytes) {
    if (communicator.best_registration() != Registration::None) {
        return Memory::make(communicator.nccl(), device, bytes);
    }
    throw Failure{TUTTI_ERR_UNSUPPORTED, 0, "NCCL registers no memory here"};
}

void share(Communicator& communicator, const tutti_backend_place& place,
           const std::shared_ptr<Memory>& memory) {
    communicator.begin_sharing();
    const EndSharing end{communicator};
    Agreement agreed = agree(communicator, place, *memory);
    if (agreed.how == Registration::None) return;
    try {
        take_turn(communicator, place, memory->device(), agreed.key);
        communicator.begin_registration(agreed.how, std::make_shared<Window>(Window{memory}),
                                        std::move(agreed.unused));
        communicator.await_call(place, "registering memory",
                                "NCCL has not registered memory in time",
                                [](LongCall&) { return true; });
    } catch (const Failure& failure) {
        if (failure.status == TUTTI_ERR_PEER_LOST) communicator.await_abort(failure);
        communicator.abort(failure);  // NCCL may be in the midst of it
        throw;
    }
}

}  // namespace tutti::nccl
