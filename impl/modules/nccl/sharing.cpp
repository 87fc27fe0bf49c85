// Memory that a communicator knows on all ranks. NCCL's registrations are collective, and so is
// their order among its calls. Where NCCL finds the memory of other ranks depends on the order of
// what is registered and deregistered. So memory that the program has given back stays registered
// until all ranks have given it back and share other memory, or until the communicator ends.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "communicator.hpp"
#include "gather.hpp"
#include "pauses.hpp"

namespace tutti::nccl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{5};  // for the host to say which rank is lost
// NCCL 2.27 never uses a place in its address space again, which has room for a device's memory,
// and ends the communicator when that is used up.
constexpr size_t room_in_2_27 = size_t{16} << 30;
constexpr size_t granularity_in_2_27 = size_t{512} << 20;

// The registrations of this process that all ranks have come to, by device: the order of their
// keys is the same on all ranks, so that no two of them wait for each other.
struct Queue {
    std::mutex mutex;
    std::map<int, std::multiset<uint64_t>> keys;
};

// Never destroyed: calls may come at the very end of the process.
Queue& queue() {
    static auto* const one = new Queue;
    return *one;
}

class Queued {
public:
    Queued(int device, uint64_t key) : device_(device), key_(key) {
        const std::lock_guard lock(queue().mutex);
        queue().keys[device].insert(key);
    }
    ~Queued() {
        const std::lock_guard lock(queue().mutex);
        auto& keys = queue().keys[device_];
        keys.erase(keys.find(key_));
    }
    Queued(const Queued&) = delete;
    Queued& operator=(const Queued&) = delete;
    [[nodiscard]] bool is_first() const {
        const std::lock_guard lock(queue().mutex);
        return *queue().keys[device_].begin() == key_;
    }

private:
    const int device_;
    const uint64_t key_;
};

size_t size_in_2_27(size_t bytes) {
    return (bytes / granularity_in_2_27 + 1) * granularity_in_2_27;
}

}  // namespace

// While it is there, and has the turn, no other call begins.
class Communicator::Turn {
public:
    explicit Turn(Communicator& of) : of_(of) {
        const Lock lock(of_.mutex_);
        of_.is_sharing_ = true;
        of_.ahead_ = of_.waiting_.size();
    }
    ~Turn() {
        {
            const Lock lock(of_.mutex_);
            of_.is_sharing_ = false;
        }
        of_.test();  // what came meanwhile
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    Communicator& of_;
};

Communicator::Registration Communicator::registration() const {
    const bool has_memory = nccl_.mem_alloc != nullptr && nccl_.mem_free != nullptr;
    if (!settings_.symmetric || !has_memory) return Registration::None;
    if (nccl_.window_register != nullptr && nccl_.window_deregister != nullptr) {
        return Registration::Window;
    }
    const bool has_local = nccl_.comm_register != nullptr && nccl_.comm_deregister != nullptr;
    return has_local ? Registration::Local : Registration::None;
}

// With the lock. None on another device than that of the calls.
Communicator::Registration Communicator::registration_of(const Memory& memory) const {
    const bool is_elsewhere = stage_ != Stage::Unused && device_ != memory.device();
    const bool has_room = nccl_.version() >= 22800 ||
                          registered_bytes_ + size_in_2_27(memory.bytes()) <= room_in_2_27;
    const Registration how = registration();
    return is_elsewhere || (how == Registration::Window && !has_room) ? Registration::None : how;
}

void* Communicator::make_memory(int device, size_t bytes) const {
    if (registration() != Registration::None) return Memory::make(nccl_, device, bytes);
    throw Failure{TUTTI_ERR_UNSUPPORTED, 0, "NCCL registers no memory here"};
}

struct Communicator::Agreement {
    Registration how;
    uint64_t key;    // of rank 0
    Windows unused;  // given back on all ranks
};

Communicator::Agreement Communicator::agree(const tutti_backend_place& place,
                                            const Memory& memory) {
    const auto key = static_cast<uint64_t>(Clock::now().time_since_epoch().count());
    std::string mine(reinterpret_cast<const char*>(&key), sizeof key);
    const size_t begin = mine.size() + 1;
    Windows known;
    {
        const Lock lock(mutex_);
        check_not_ended();
        known = windows_;
        mine += static_cast<char>(registration_of(memory));
        for (const auto& window : known) mine += window->memory->is_given_back() ? 'x' : ' ';
    }
    const auto all = all_gather(place, size_, mine);
    Agreement agreed{Registration::Window, 0, {}};
    std::memcpy(&agreed.key, all.front().data(), sizeof agreed.key);
    for (const std::string& one : all) {
        agreed.how = std::min(agreed.how, static_cast<Registration>(one[begin - 1]));
    }
    for (size_t index = 0; index < known.size(); ++index) {
        const auto is_unused = [&](const std::string& one) { return one[begin + index] == 'x'; };
        if (std::ranges::all_of(all, is_unused)) agreed.unused.push_back(known[index]);
    }
    return agreed;
}

// Whether NCCL has nothing to do, and the device is this communicator's.
bool Communicator::has_turn(int device) {
    test();
    const Lock lock(mutex_);
    check_not_ended();
    if (loss_) throw *loss_;
    if (stage_ == Stage::Unused) {
        device_ = device;
        start();
    }
    return stage_ == Stage::Ready && under_way_.empty() && ahead_ == 0 && !is_held_ &&
           take_device();
}

// Another communicator may have the device on one rank, and need this one's on another rank.
void Communicator::take_turn(const tutti_backend_place& place, int device, uint64_t key) {
    const Queued queued(device, key);
    for (Pauses pauses;;) {
        const auto until = Clock::now() + pauses.next();
        char mine = 0;
        while (mine == 0 && Clock::now() < until) {
            mine = queued.is_first() && has_turn(device) ? 1 : 0;
            if (mine == 0) std::this_thread::sleep_for(rest);
        }
        const auto all = all_gather<char>(place, size_, mine);
        if (std::ranges::count(all, 1) == size_) return;
        {
            const Lock lock(mutex_);
            if (mine != 0) give_device();
            ahead_ = waiting_.size();  // another rank's message may need them
        }
        test();
    }
}

void Communicator::begin_registration(Registration how, const std::shared_ptr<Window>& window,
                                      Windows unused) {
    const Lock lock(mutex_);
    if (stage_ != Stage::Ready) throw why_;
    std::erase_if(windows_, [&](const auto& one) { return std::ranges::count(unused, one) != 0; });
    windows_.push_back(window);
    registered_bytes_ += size_in_2_27(window->memory->bytes());
    registering_ = begin(
        [self = shared_from_this(), how, comm = comm_, window, unused = std::move(unused)](
            Comm*, Config*) mutable {
            self->deregister(comm, unused);
            free_later(std::move(unused));
            const Memory& memory = *window->memory;
            if (how == Registration::Local) {
                return self->nccl_.comm_register(comm, memory.address(), memory.bytes(),
                                                 &window->local_handle);
            }
            return self->nccl_.window_register(comm, memory.address(), memory.bytes(),
                                               &window->handle, window_symmetric);
        },
        settings_.config);
}

void Communicator::await_registration(const tutti_backend_place& place) {
    const auto begun = Clock::now();
    for (;; std::this_thread::sleep_for(rest)) {
        const Lock lock(mutex_);
        if (stage_ != Stage::Ready) throw why_;
        if (registering_->has_returned()) {
            const Result result = registering_->result;
            nccl_.check(result, "registering memory", comm_);
            if (is_settled()) {
                registering_ = nullptr;
                return give_device();
            }
        }
        const bool has_limit = place.timeout_ms >= 0;
        if (has_limit && Clock::now() - begun > std::chrono::milliseconds(place.timeout_ms)) {
            throw Failure{TUTTI_ERR_TIMEOUT, 0, "NCCL has not registered memory in time"};
        }
    }
}

// The host finds out which rank it is, and aborts. Throws.
void Communicator::await_end(const Failure& loss) {
    Lock lock(mutex_);
    const auto until = Clock::now() + patience;
    while (stage_ != Stage::Ended && Clock::now() < until) ended_.wait_for(lock, rest);
    throw stage_ == Stage::Ended ? why_ : loss;
}

void Communicator::share(const tutti_backend_place& place, std::shared_ptr<Memory> memory) {
    const Turn turn(*this);
    Agreement agreed = agree(place, *memory);
    if (agreed.how == Registration::None) return;
    try {
        take_turn(place, memory->device(), agreed.key);
        begin_registration(agreed.how, std::make_shared<Window>(Window{memory}),
                           std::move(agreed.unused));
        await_registration(place);
    } catch (const Failure& failure) {
        if (failure.status == TUTTI_ERR_PEER_LOST) await_end(failure);
        end_now(failure);  // NCCL may be in the midst of it
        throw;
    }
}

// No call that is on a stream uses them.
void Communicator::deregister(Comm comm, const Windows& windows) const noexcept {
    for (const auto& window : windows) {
        if (window->handle != nullptr) nccl_.window_deregister(comm, window->handle);
        if (window->local_handle != nullptr) nccl_.comm_deregister(comm, window->local_handle);
        window->handle = nullptr;
        window->local_handle = nullptr;
    }
}

// Before the communicator ends. Takes the device; false: calls use windows, or another communicator
// has the device. Then NCCL would wait, or take memory from a call that needs it.
bool Communicator::await_unused(Lock& lock, Clock::time_point until) {
    const Stage stage = stage_;
    while (is_window_in_use() || !take_device()) {
        if (Clock::now() > until) return false;
        ended_.wait_for(lock, rest);
        if (stage_ != stage) return false;
    }
    return true;
}

// The end of what is on the stream; a graph's calls have ended before the group does.
void Communicator::note_use(Stream stream) {
    const cuda::InContext context(nccl_.driver(), device_);
    cuda::CaptureStatus status{};
    nccl_.driver().check(nccl_.driver().stream_is_capturing(stream, &status),
                         "cuStreamIsCapturing");
    if (status != cuda::CaptureStatus::None) return;
    if (last_use_ == nullptr) {
        nccl_.driver().check(nccl_.driver().event_create(&last_use_, cuda::event_disable_timing),
                             "cuEventCreate");
    }
    nccl_.driver().check(nccl_.driver().event_record(last_use_, stream), "cuEventRecord");
}

bool Communicator::is_window_in_use() const {
    return last_use_ != nullptr && nccl_.driver().event_query(last_use_) == cuda::Result::NotReady;
}

// Freeing may wait for all that the device does, so nobody waits for it.
void Communicator::free_later(Windows windows) noexcept {
    if (windows.empty()) return;
    try {
        std::thread([windows = std::move(windows)] {}).detach();
    } catch (const std::system_error&) {
    }
}

}  // namespace tutti::nccl
