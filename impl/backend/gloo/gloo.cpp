// A group's channel: its messages on the lines of a trunk, and its end. The first group of a trunk
// learns from the control plane what the others did; a group that branched off tells and hears it
// by words on the lines, of which the last is goodbye, behind all that was sent.
#include "gloo.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "control/stalls.hpp"
#include "parcel.hpp"
#include "trunk.hpp"

namespace tutti::gloo_channel {

namespace {

using control::Kind;

// Ranks in the group by ranks of the trunk; -1: not in it.
std::vector<int> inverse(const std::vector<int>& lines, int size) {
    std::vector<int> members(static_cast<size_t>(size), -1);
    for (size_t rank = 0; rank < lines.size(); ++rank) {
        members[static_cast<size_t>(lines[rank])] = static_cast<int>(rank);
    }
    return members;
}

std::vector<int> all_lines(int size) {
    std::vector<int> lines;
    for (int rank = 0; rank < size; ++rank) lines.push_back(rank);
    return lines;
}

template <typename Values>
auto of(const Values& values, int rank) {
    return values[static_cast<size_t>(rank)];
}

class GlooChannel : public Channel, public TrunkUser {
public:
    explicit GlooChannel(std::shared_ptr<Trunk> trunk)
        : GlooChannel(trunk, 0, all_lines(trunk->size()),
                      std::vector<uint32_t>(static_cast<size_t>(trunk->size()), 0), trunk->rank(),
                      trunk->liveness().identity()) {}

    // `lines`: the members' ranks in the trunk; `numbers`: by which each of them knows the group.
    GlooChannel(std::shared_ptr<Trunk> trunk, uint32_t number, std::vector<int> lines,
                std::vector<uint32_t> numbers, int rank, std::string identity)
        : Channel(rank, static_cast<int>(lines.size())),
          trunk_(std::move(trunk)),
          number_(number),
          lines_(std::move(lines)),
          numbers_(std::move(numbers)),
          identity_(std::move(identity)),
          members_(inverse(lines_, trunk_->size())),
          ledger_(members_),
          gone_(lines_.size()) {
        trunk_->attach(number_, *this, others());
    }

    ~GlooChannel() override {
        abort({TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
        ledger_.wait_until_empty();  // other threads may be letting go of theirs just now
        trunk_->detach(number_, others(), ledger_.untidy());
    }

    [[nodiscard]] const char* name() const override { return "gloo"; }
    [[nodiscard]] bool same_host(int peer) const override {
        return trunk_->same_host(of(lines_, peer));
    }
    [[nodiscard]] std::string identity() const override { return identity_; }

    void post_send(Transfer& transfer, int peer, Slot slot, const void* data,
                   size_t bytes) override {
        Line& line = trunk_->line(of(lines_, peer));
        const WireSlot wire(slot, of(numbers_, peer));
        post(transfer, peer, const_cast<void*>(data), bytes, &line,
             [&](Parcel& parcel) { line.send(&parcel, wire.value(), 0, bytes); });
    }
    void post_receive(Transfer& transfer, int peer, Slot slot, void* data, size_t bytes) override {
        Line& line = trunk_->line(of(lines_, peer));
        const WireSlot wire(slot, number_);
        post(transfer, peer, data, bytes, nullptr,
             [&](Parcel& parcel) { line.recv(&parcel, wire.value(), 0, bytes); });
    }
    void post_receive_any(Transfer& transfer, Slot slot, void* data, size_t bytes) override {
        const WireSlot wire(slot, number_);
        post(transfer, -1, data, bytes, nullptr, [&](Parcel& parcel) {
            // Gloo fails all of it for one rank that has left something unread: that one is passed
            // over. Each turn knows of one more line that is closed.
            for (auto ranks = open_lines(); !ranks.empty();) {
                try {
                    return parcel.recv(ranks, wire.value(), 0, bytes);
                } catch (const std::exception&) {
                    auto still_open = open_lines();
                    if (still_open.size() == ranks.size()) throw;
                    ranks = std::move(still_open);
                }
            }
        });
    }

    void report(const Status& cause) noexcept override {
        if (number_ == 0) trunk_->liveness().report(cause);
        if (!rank_0_tells()) say_to_all(control::encode(Kind::Report, cause));
    }

    void stalled(uint64_t number, const std::string& call) noexcept override {
        if (number_ == 0) return trunk_->liveness().stalled({number, call});
        say_to_all(control::encode(control::Stall{number, call}));
        hear_of_stall(rank(), {number, call});
        flush_completions();
    }

    void abort(const Status& status) noexcept override {
        end_all(status);
        flush_completions();
    }

    void leave() noexcept override {
        const bool after_failure = has_aborted_;
        if (number_ == 0) trunk_->farewell(after_failure);
        // After a failure the others shall hear of that, not of who went because of it: who told
        // this rank may reach them later. But where every line has told it, those who work on in
        // other groups hear that this rank left.
        if (const Status cause = told(); !cause.ok()) {
            say_to_all(control::encode(Kind::Report, cause));
        }
        const bool all_have_heard = number_ == 0 && !rank_0_tells();
        if (!after_failure || all_have_heard) say_to_all(control::encode(Kind::Bye));
    }

    [[nodiscard]] Status trouble(int peer) const override {
        // Looked at first: what it left for was told before.
        const bool gone = peer != rank() &&
                          (gone_[static_cast<size_t>(peer)] || trunk_->has_left(of(lines_, peer)));
        const Lock lock(mutex_);
        if (!aborted_.ok()) return aborted_;
        return gone ? gone_status(peer) : Status{};
    }

    std::optional<std::string> reserve(const std::string& path) override {
        return cat(trunk_->reserve(path));
    }
    void cancel(const std::string& path) noexcept override { trunk_->cancel(path); }

    std::unique_ptr<Channel> branch(const Branch& branch) override {
        std::vector<uint32_t> numbers;
        for (const std::string& card : branch.cards) {
            numbers.push_back(static_cast<uint32_t>(
                parse_number(card, "a rank's number of the group", 1, WireSlot::most_groups - 1)));
        }
        return std::make_unique<GlooChannel>(trunk_, trunk_->take(branch.path), branch.ranks,
                                             std::move(numbers), branch.rank,
                                             cat(identity_, "/", branch.path));
    }

private:
    [[nodiscard]] int member(int line) const { return of(members_, line); }

    [[nodiscard]] std::vector<std::pair<int, uint32_t>> others() const {
        std::vector<std::pair<int, uint32_t>> peers;
        for (int peer = 0; peer < size(); ++peer) {
            if (peer != rank()) peers.emplace_back(of(lines_, peer), of(numbers_, peer));
        }
        return peers;
    }

    // Else the members tell each other: rank 0 watches the first group alone, until it leaves.
    [[nodiscard]] bool rank_0_tells() const { return number_ == 0 && !trunk_->has_left(0); }

    void say_to_all(const std::string& word) noexcept {
        for (int peer = 0; peer < size(); ++peer) {
            if (peer == rank()) continue;
            trunk_->line(of(lines_, peer)).say(WireSlot::word(of(numbers_, peer)), word);
        }
    }

    template <typename Hand>
    void post(Transfer& transfer, int peer, void* data, size_t bytes, Line* outgoing,
              Hand&& hand_over) {
        if (has_aborted_) refuse();
        auto parcel = std::make_unique<Parcel>(trunk_->context(), ledger_, transfer, peer, data,
                                               bytes, outgoing);
        Parcel& posted = *parcel;
        transfer.hold = std::move(parcel);
        try {
            hand_over(posted);
        } catch (const std::exception&) {
            // The line has closed, and it will be told why.
        }
        // What happened before the parcel was in the ledger.
        const bool gone = peer < 0 ? all_are_gone() : gone_[static_cast<size_t>(peer)].load();
        if (has_aborted_) {
            const Lock lock(mutex_);
            posted.complete(aborted_, peer, 0);
        } else if (gone) {
            posted.complete(peer < 0 ? all_gone() : gone_status(peer), peer, 0);
        }
        flush_completions();
    }

    [[noreturn]] void refuse() {
        const Lock lock(mutex_);
        throw Error(aborted_);
    }

    std::vector<int> open_lines() {
        std::vector<int> ranks;
        for (int peer = 0; peer < size(); ++peer) {
            const int line = of(lines_, peer);
            if (peer != rank() && !trunk_->line_is_closed(line)) ranks.push_back(line);
        }
        return ranks;
    }
    bool all_are_gone() {
        if (size() == 1) return false;  // nobody has left
        for (int peer = 0; peer < size(); ++peer) {
            if (peer != rank() && !gone_[static_cast<size_t>(peer)]) return false;
        }
        return true;
    }
    static Status all_gone() {
        return {TUTTI_ERR_PEER_LOST, -1, 0, "all other ranks left the group"};
    }
    static Status gone_status(int peer) {
        return {TUTTI_ERR_PEER_LOST, peer, 0, cat("rank ", peer, " left the group")};
    }

    // The rest leaves the listeners to whoever called.

    void end_all(const Status& status) noexcept {
        {
            const Lock lock(mutex_);
            if (!aborted_.ok()) return;
            aborted_ = status;
        }
        has_aborted_ = true;
        ledger_.fail(Ledger::everything, status);
    }

    // Others know it, and not all of them may.
    void end_as_told(const Status& cause) noexcept {
        {
            const Lock lock(mutex_);
            if (told_.ok()) told_ = cause;
        }
        end_all(cause);
    }

    [[nodiscard]] Status told() const {
        const Lock lock(mutex_);
        return told_;
    }

    void failed(const Status& verdict) noexcept override {
        if (number_ == 0) end_as_told(verdict);
    }

    // In the first group the verdict says it.
    void lost(const Status& loss) noexcept override {
        if (number_ == 0 || loss.rank < 0 || loss.rank >= trunk_->size()) return;
        const int peer = member(loss.rank);
        if (peer < 0 || gone_[static_cast<size_t>(peer)]) return;
        Status status = loss;
        status.rank = peer;
        status.message =
            cat(loss.message, "; global rank ", loss.rank, " is rank ", peer, " of this group");
        end_as_told(status);
    }

    void gone(int line) noexcept override {
        const int peer = member(line);
        if (peer >= 0 && peer != rank()) lose(peer);
    }

    void lose(int peer) noexcept {
        gone_[static_cast<size_t>(peer)] = true;
        ledger_.fail(peer, gone_status(peer));
        if (all_are_gone()) ledger_.fail(-1, all_gone());
    }

    void heard(int line, std::span<const std::byte> word) override {
        const int peer = member(line);
        if (peer < 0) return;  // a rank that has no business here
        control::FrameReader().feed(word, [&](const control::Frame& frame) {
            switch (frame.kind) {
                case Kind::Bye:
                    lose(peer);
                    return true;
                case Kind::Report:
                    end_as_told(control::decode_status(frame));
                    return true;
                case Kind::Stalled:
                    hear_of_stall(peer, control::decode_stall(frame));
                    return true;
                default:
                    return true;  // what a later version says may be ignored
            }
        });
    }

    void hear_of_stall(int peer, const control::Stall& stall) noexcept {
        std::optional<Status> mismatch;
        {
            const Lock lock(mutex_);
            mismatch = stalls_.add(peer, stall);
        }
        if (mismatch) end_as_told(*mismatch);
    }

    const std::shared_ptr<Trunk> trunk_;
    const uint32_t number_;  // of the group in this process; 0: the first
    const std::vector<int> lines_;
    const std::vector<uint32_t> numbers_;
    const std::string identity_;
    const std::vector<int> members_;
    Ledger ledger_;
    std::vector<std::atomic<bool>> gone_;  // members that left, and all they sent has come in
    mutable Mutex mutex_;
    Status aborted_ TUTTI_GUARDED_BY(mutex_);
    Status told_ TUTTI_GUARDED_BY(mutex_);  // the first cause that came from others
    control::Stalls stalls_ TUTTI_GUARDED_BY(mutex_);
    std::atomic<bool> has_aborted_{false};
};

}  // namespace

std::unique_ptr<Channel> connect(const std::shared_ptr<Store>& store, int rank, int size,
                                 const Deadline& deadline) {
    return std::make_unique<GlooChannel>(std::make_shared<Trunk>(store, rank, size, deadline));
}

}  // namespace tutti::gloo_channel
