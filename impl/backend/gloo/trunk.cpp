// Why a line closed, the control plane tells: until it does, the messages of that line stay under
// way. So whoever is in a call hears of the rank that died, not of the neighbour that tore its
// lines down because of it.
#include "trunk.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/log.hpp"
#include "control/protocol.hpp"
#include "mesh.hpp"

namespace tutti::gloo_channel {

namespace {

namespace tcp = ::gloo::transport::tcp;

// What the kernel may take to deliver what was sent. After a failure nobody may read on, and only
// groups made from the first one wait for anything.
constexpr int64_t farewell_ms = 2000;
constexpr int64_t farewell_after_failure_ms = 500;
constexpr int64_t verdict_ms = 1000;  // what rank 0 may take to say why nobody can go on
constexpr size_t most_early_words = 1024;

}  // namespace

class Trunk::Context : public tcp::Context {
public:
    Context(const Device& device, int own_rank, int ranks, LineOwner& owner)
        : tcp::Context(device.gloo(), own_rank, ranks), owner_(owner) {}

    void add_line(int peer, int descriptor) {
        auto line = std::make_unique<Line>(this, device_.get(), peer, owner_);
        line->adopt(descriptor);
        pairs_[static_cast<size_t>(peer)] = std::move(line);
    }
    Line& line(int peer) { return static_cast<Line&>(*pairs_[static_cast<size_t>(peer)]); }

    // Gloo counts what was announced and not taken, by slot: what nobody of that group will take.
    void forget(uint32_t own, const std::vector<std::pair<int, uint32_t>>& peers) {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::erase_if(pendingRecv_,
                      [=](const auto& entry) { return WireSlot(entry.first).group() == own; });
        for (auto* const tallies : {&pendingOperations_, &expectedNotifications_}) {
            for (auto& tally : *tallies) forget(tally, own, peers);
            std::vector<Tally> left;
            for (auto& tally : *tallies) {
                if (!tally.empty()) left.push_back(tally);
            }
            tallies->swap(left);
        }
    }

private:
    template <typename Counts>
    static void forget(Counts& tally, uint32_t own,
                       const std::vector<std::pair<int, uint32_t>>& peers) {
        const uint32_t group = WireSlot(tally.slot).group();
        while (group == own && !tally.getSendList().empty()) {
            tally.shiftSend(tally.getSendList().front());
        }
        for (const auto& [peer, number] : peers) {
            while (number == group && tally.shiftRecv(peer)) {
            }
        }
    }

    LineOwner& owner_;
};

Trunk::Trunk(const std::shared_ptr<Store>& store, int rank, int size, const Deadline& deadline)
    : rank_(rank),
      size_(size),
      cancel_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      peers_(static_cast<size_t>(size)) {
    if (!cancel_.valid()) {
        throw Error(TUTTI_ERR_OUT_OF_MEMORY, cat("eventfd: ", errno_text(errno)), -1, errno);
    }
    liveness_ = Liveness::join(
        store, rank, size, deadline,
        {[this](const Status& verdict) { failed(verdict); }, [this](int peer) { left(peer); },
         [this](const Status& loss) { lost(loss); }});
    try {
        connect(deadline);
    } catch (const Error& error) {
        give_up(error.status());
    }
}

Trunk::~Trunk() {
    leaving_ = true;
    if (context_) {
        const Device::Hurry hurry(*device_);
        context_.reset();
    }
    say_farewell();
    liveness_.reset();
}

void Trunk::connect(const Deadline& deadline) {
    auto connections = connect_mesh(*liveness_, rank_, deadline, cancel_.get());
    device_ = Device::shared();
    LineOwner& owner = *this;
    auto context = std::make_shared<Context>(*device_, rank_, size_, owner);
    context_ = context;
    for (int peer = 0; peer < size_; ++peer) {
        if (peer == rank_) continue;
        Connection& connection = connections[static_cast<size_t>(peer)];
        of(peer).same_host = connection.same_host;
        const int descriptor = connection.socket.release();
        of(peer).kept = net::Descriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
        if (!of(peer).kept.valid()) {
            throw Error(TUTTI_ERR_OUT_OF_MEMORY, cat("dup: ", errno_text(errno)), -1, errno);
        }
        context->add_line(peer, descriptor);
    }
}

// This rank could not connect, or another one failed meanwhile.
void Trunk::give_up(const Status& status) {
    leaving_ = true;
    {
        const Lock lock(mutex_);
        if (!verdict_.ok()) throw Error(verdict_);
    }
    Status cause = status;
    cause.message = cat("rank ", rank_, " gave up: ", status.message);
    if (cause.rank < 0) cause.rank = rank_;
    liveness_->report(cause);
    if (status.code != TUTTI_ERR_NETWORK) throw Error(status);
    // A connection that broke may only be what an earlier failure did to us: the verdict tells.
    const Deadline answer = Deadline::after_ms(verdict_ms);
    Lock lock(mutex_);
    while (verdict_.ok() && told_.wait(lock, answer)) {
    }
    throw Error(verdict_.ok() ? status : verdict_);
}

Line& Trunk::line(int peer) {
    return static_cast<Context&>(*context_).line(peer);
}

uint32_t Trunk::reserve(const std::string& path) {
    const Lock lock(mutex_);
    if (last_number_ + 1 == WireSlot::most_groups) {
        throw Error(TUTTI_ERR_OUT_OF_MEMORY,
                    cat("this process has made ", last_number_,
                        " groups over the same connections, and can make no more"));
    }
    places_[++last_number_] = {};
    reserved_[path] = last_number_;
    return last_number_;
}

void Trunk::cancel(const std::string& path) noexcept {
    const Lock lock(mutex_);
    const auto found = reserved_.find(path);
    if (found == reserved_.end()) return;
    places_.erase(found->second);
    reserved_.erase(found);
}

uint32_t Trunk::take(const std::string& path) {
    const Lock lock(mutex_);
    return reserved_.at(path);
}

void Trunk::attach(uint32_t number, TrunkUser& user,
                   const std::vector<std::pair<int, uint32_t>>& peers) {
    const Lock lock(mutex_);
    targets_.insert(peers.begin(), peers.end());
    Place& place = places_[number];
    std::erase_if(reserved_, [=](const auto& entry) { return entry.second == number; });
    for (const auto& [peer, word] : std::exchange(place.words, {})) {
        try {
            user.heard(peer, std::as_bytes(std::span(word)));
        } catch (const Error& error) {
            log(LogLevel::Warning, "gloo: rank ", peer, " sent a malformed word: ", error.what());
        }
    }
    place.user = &user;
    if (!verdict_.ok()) user.failed(verdict_);
    for (const auto& [peer, loss] : losses_) user.lost(loss);
    for (int peer = 0; peer < size_; ++peer) {
        if (peer != rank_ && is_gone(peer)) user.gone(peer);
    }
}

void Trunk::detach(uint32_t number, const std::vector<std::pair<int, uint32_t>>& peers,
                   bool untidy) noexcept {
    {
        const Lock lock(mutex_);
        places_.erase(number);
        for (const auto& target : peers) targets_.erase(target);
    }
    if (number == 0 || !untidy) return;
    for (const auto& [peer, theirs] : peers) line(peer).forget(number, theirs);
    static_cast<Context&>(*context_).forget(number, peers);
}

void Trunk::farewell(bool after_failure) noexcept {
    leaving_ = true;
    patience_ms_ = after_failure ? farewell_after_failure_ms : farewell_ms;
    liveness_->leave();
}

template <typename Tell>
void Trunk::tell_users(Tell&& tell) noexcept {
    const Lock lock(mutex_);
    for (const auto& [number, place] : places_) {
        if (place.user != nullptr) tell(*place.user);
    }
}

// Control loop.

void Trunk::failed(const Status& verdict) noexcept {
    end_first_group(verdict);
    flush_completions();
}

// Any thread. The first cause wins.
void Trunk::end_first_group(const Status& verdict) noexcept {
    {
        const Lock lock(mutex_);
        if (!verdict_.ok()) return;
        verdict_ = verdict;
        told_.notify_all();
    }
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(cancel_.get(), &one, sizeof one);
    tell_users([&](TrunkUser& user) { user.failed(verdict); });
}

void Trunk::lost(const Status& loss) noexcept {
    {
        const Lock lock(mutex_);
        if (!losses_.emplace(loss.rank, loss).second) return;
    }
    tell_users([&](TrunkUser& user) { user.lost(loss); });
    flush_completions();
}

void Trunk::left(int peer) noexcept {
    if (peer < 0 || peer >= size_ || peer == rank_) return;
    of(peer).left = true;
    if (!of(peer).closed) return;  // what it has sent may still come in
    tell_users([=](TrunkUser& user) { user.gone(peer); });
    flush_completions();
}

// Any thread that uses the line, with its lock.

void Trunk::line_closed(int peer, const std::string& reason) noexcept {
    of(peer).closed = true;
    if (leaving_) return;
    if (of(peer).left) {
        tell_users([=](TrunkUser& user) { user.gone(peer); });
    } else {
        liveness_->suspect(peer, cat("the connection between rank ", rank_, " and rank ", peer,
                                     " broke: ", reason));
    }
}

void Trunk::line_heard(int peer, WireSlot slot, std::span<const std::byte> word) {
    if (slot.group() == 0) return trunk_heard(peer, word);
    const Lock lock(mutex_);
    const auto found = places_.find(slot.group());
    if (found == places_.end()) return;  // the group has ended here
    Place& place = found->second;
    if (place.user != nullptr) return place.user->heard(peer, word);
    if (place.words.size() == most_early_words) {
        throw Error(TUTTI_ERR_NETWORK, "too many words came for a group that is being made");
    }
    place.words.emplace_back(peer,
                             std::string(reinterpret_cast<const char*>(word.data()), word.size()));
}

void Trunk::trunk_heard(int peer, std::span<const std::byte> word) {
    control::FrameReader().feed(word, [&](const control::Frame& frame) {
        if (frame.kind == control::Kind::Report) end_first_group(control::decode_status(frame));
        if (frame.kind == control::Kind::Bye) of(peer).left = true;  // the line closes next
        return true;  // what a later version says may be ignored
    });
}

bool Trunk::awaits(WireSlot slot) noexcept {
    if (slot.group() == 0) return true;
    const Lock lock(mutex_);
    return places_.contains(slot.group());
}

// While a group is being made, others may have made it.
bool Trunk::sends_to(int peer, WireSlot slot) noexcept {
    if (slot.group() == 0) return true;
    const Lock lock(mutex_);
    return !reserved_.empty() || targets_.contains({peer, slot.group()});
}

// What this rank has sent and the kernel still holds is delivered before the lines go.
void Trunk::say_farewell() noexcept {
    if (patience_ms_ == 0) return;
    for (const Peer& peer : peers_) {
        if (peer.kept.valid()) shutdown(peer.kept.get(), SHUT_WR);
    }
    const Deadline patience = Deadline::after_ms(patience_ms_);
    while (has_unsent() && !patience.expired()) {
        poll(nullptr, 0, 1);  // nothing tells when the kernel is done
    }
}

// For ranks that are alive.
bool Trunk::has_unsent() noexcept {
    const Lock lock(mutex_);
    bool found = false;
    for (int rank = 0; rank < size_; ++rank) {
        const int line = of(rank).kept.get();
        if (!of(rank).kept.valid() || losses_.contains(rank)) continue;
        // Input that nobody read would make the kernel drop our output.
        std::array<char, 4096> nowhere;
        while (recv(line, nowhere.data(), nowhere.size(), MSG_DONTWAIT) > 0) {
        }
        int unsent = 0;
        found |= ioctl(line, SIOCOUTQ, &unsent) == 0 && unsent > 0;
    }
    return found;
}

}  // namespace tutti::gloo_channel
