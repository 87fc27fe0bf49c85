// Why a line closed, the control plane tells: until it does, the messages of that line stay under
// way. So whoever is in a call hears of the rank that died, not of the neighbour that tore its
// lines down because of it.
#include "gloo.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <gloo/transport/tcp/context.h>

#include "base/error.hpp"
#include "control/liveness.hpp"
#include "device.hpp"
#include "line.hpp"
#include "mesh.hpp"
#include "net/descriptor.hpp"
#include "parcel.hpp"

namespace tutti::gloo_channel {

namespace {

namespace tcp = ::gloo::transport::tcp;

constexpr int64_t farewell_ms = 2000;  // what the kernel may take to deliver what was sent
constexpr int64_t verdict_ms = 1000;   // what rank 0 may take to say why nobody can go on

class Context : public tcp::Context {
public:
    Context(const Device& device, int own_rank, int ranks, LineOwner& owner)
        : tcp::Context(device.gloo(), own_rank, ranks), owner_(owner) {}

    void add_line(int peer, int descriptor) {
        auto line = std::make_unique<Line>(this, device_.get(), peer, owner_);
        line->adopt(descriptor);
        pairs_[static_cast<size_t>(peer)] = std::move(line);
    }
    Line& line(int peer) { return static_cast<Line&>(*pairs_[static_cast<size_t>(peer)]); }

private:
    LineOwner& owner_;
};

class GlooChannel : public Channel, public LineOwner {
public:
    GlooChannel(const std::shared_ptr<Store>& store, int rank, int size, const Deadline& deadline)
        : Channel(rank, size),
          cancel_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          peers_(static_cast<size_t>(size)) {
        if (!cancel_.valid()) {
            throw Error(TUTTI_ERR_OUT_OF_MEMORY, cat("eventfd: ", errno_text(errno)), -1, errno);
        }
        liveness_ = Liveness::join(
            store, rank, size, deadline,
            {[this](const Status& status) { failed(status); }, [this](int peer) { left(peer); }});
        try {
            connect(deadline);
        } catch (const Error& error) {
            give_up(error.status());
        }
    }

    ~GlooChannel() override {
        leaving_ = true;
        abort({TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
        ledger_.wait_until_empty();  // other threads may be letting go of theirs just now
        if (context_) {
            const Device::Hurry hurry(*device_);
            context_.reset();
        }
        say_farewell();
        liveness_.reset();
    }

    [[nodiscard]] const char* name() const override { return "gloo"; }

    void post_send(Transfer& transfer, int peer, Slot slot, const void* data,
                   size_t bytes) override {
        post(transfer, peer, const_cast<void*>(data), bytes,
             [&](Parcel& parcel) { context_->line(peer).send(&parcel, slot.value(), 0, bytes); });
    }
    void post_receive(Transfer& transfer, int peer, Slot slot, void* data, size_t bytes) override {
        post(transfer, peer, data, bytes,
             [&](Parcel& parcel) { context_->line(peer).recv(&parcel, slot.value(), 0, bytes); });
    }
    void post_receive_any(Transfer& transfer, Slot slot, void* data, size_t bytes) override {
        post(transfer, -1, data, bytes, [&](Parcel& parcel) {
            // Gloo fails all of it for one rank that has left something unread: that one is passed
            // over. Each turn knows of one more line that is closed.
            for (auto ranks = open_lines(); !ranks.empty();) {
                try {
                    return parcel.recv(ranks, slot.value(), 0, bytes);
                } catch (const std::exception&) {
                    auto still_open = open_lines();
                    if (still_open.size() == ranks.size()) throw;
                    ranks = std::move(still_open);
                }
            }
        });
    }

    void report(const Status& cause) noexcept override { liveness_->report(cause); }

    void stalled(uint64_t number, const std::string& call) noexcept override {
        liveness_->stalled({number, call});
    }

    void abort(const Status& status) noexcept override {
        {
            const Lock lock(mutex_);
            if (!aborted_.ok()) return;
            aborted_ = status;
            told_.notify_all();
        }
        has_aborted_ = true;
        const uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(cancel_.get(), &one, sizeof one);
        ledger_.fail(Ledger::everything, status);
        flush_completions();
    }

    void leave() noexcept override {
        leaving_ = true;
        farewell_ = !has_aborted_;
        liveness_->leave();
    }

private:
    struct Peer {
        std::atomic<bool> closed{false};
        std::atomic<bool> left{false};
        net::Descriptor kept;  // our end of the line, to say farewell on
    };

    void connect(const Deadline& deadline) {
        auto sockets = connect_mesh(*liveness_, rank(), deadline, cancel_.get());
        device_ = Device::shared();
        context_ = std::make_shared<Context>(*device_, rank(), size(), *this);
        for (int peer = 0; peer < size(); ++peer) {
            if (peer == rank()) continue;
            const int descriptor = sockets[static_cast<size_t>(peer)].release();
            this->peer(peer).kept = net::Descriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
            if (!this->peer(peer).kept.valid()) {
                throw Error(TUTTI_ERR_OUT_OF_MEMORY, cat("dup: ", errno_text(errno)), -1, errno);
            }
            context_->add_line(peer, descriptor);
        }
    }

    // This rank could not connect, or another one failed meanwhile.
    [[noreturn]] void give_up(const Status& status) {
        leaving_ = true;
        if (has_aborted_) refuse();
        Status cause = status;
        cause.message = cat("rank ", rank(), " gave up: ", status.message);
        if (cause.rank < 0) cause.rank = rank();
        liveness_->report(cause);
        if (status.code != TUTTI_ERR_NETWORK) throw Error(status);
        // A connection that broke may only be what an earlier failure did to us: the verdict tells.
        const Deadline answer = Deadline::after_ms(verdict_ms);
        Lock lock(mutex_);
        while (aborted_.ok() && told_.wait(lock, answer)) {
        }
        throw Error(aborted_.ok() ? status : aborted_);
    }

    Peer& peer(int rank) { return peers_[static_cast<size_t>(rank)]; }

    template <typename Hand>
    void post(Transfer& transfer, int peer, void* data, size_t bytes, Hand&& hand_over) {
        if (has_aborted_) refuse();
        auto parcel = std::make_unique<Parcel>(context_, ledger_, transfer, peer, data, bytes);
        Parcel& posted = *parcel;
        transfer.hold = std::move(parcel);
        try {
            hand_over(posted);
        } catch (const std::exception&) {
            // The line has closed, and it will be told why.
        }
        // What happened before the parcel was in the ledger.
        if (has_aborted_) {
            const Lock lock(mutex_);
            posted.complete(aborted_, peer, 0);
        } else if (peer >= 0 && is_gone(peer)) {
            posted.complete(gone(peer), peer, 0);
        } else if (peer < 0 && all_are_gone()) {
            posted.complete(all_gone(), -1, 0);
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
            if (peer != rank() && !this->peer(peer).closed) ranks.push_back(peer);
        }
        return ranks;
    }
    // It left, and all it had sent has come in.
    bool is_gone(int peer) { return this->peer(peer).closed && this->peer(peer).left; }
    bool all_are_gone() {
        if (size() == 1) return false;  // nobody has left
        for (int peer = 0; peer < size(); ++peer) {
            if (peer != rank() && !is_gone(peer)) return false;
        }
        return true;
    }
    static Status all_gone() {
        return {TUTTI_ERR_PEER_LOST, -1, 0, "all other ranks left the group"};
    }
    void fail_gone(int peer) noexcept {
        ledger_.fail(peer, gone(peer));
        if (all_are_gone()) ledger_.fail(-1, all_gone());
    }

    static Status gone(int peer) {
        return {TUTTI_ERR_PEER_LOST, peer, 0, cat("rank ", peer, " left the group")};
    }

    // Control loop.
    void failed(const Status& status) noexcept { abort(status); }
    void left(int peer) noexcept {
        if (peer < 0 || peer >= size() || peer == rank()) return;
        this->peer(peer).left = true;
        if (!this->peer(peer).closed) return;  // what it has sent may still come in
        fail_gone(peer);
        flush_completions();
    }

    // Any thread that uses the line, with its lock.
    void line_closed(int peer, const std::string& reason) noexcept override {
        this->peer(peer).closed = true;
        if (leaving_ || has_aborted_) return;
        if (this->peer(peer).left) {
            fail_gone(peer);
        } else {
            liveness_->suspect(peer, cat("the connection between rank ", rank(), " and rank ", peer,
                                         " broke: ", reason));
        }
    }

    // What this rank has sent and the kernel still holds is delivered before the lines go.
    void say_farewell() noexcept {
        if (!farewell_) return;
        for (const Peer& peer : peers_) {
            if (peer.kept.valid()) shutdown(peer.kept.get(), SHUT_WR);
        }
        const Deadline patience = Deadline::after_ms(farewell_ms);
        const auto has_unsent = [](const Peer& peer) {
            int unsent = 0;
            if (!peer.kept.valid()) return false;
            // Input that nobody read would make the kernel drop our output.
            std::array<char, 4096> nowhere;
            while (recv(peer.kept.get(), nowhere.data(), nowhere.size(), MSG_DONTWAIT) > 0) {
            }
            return ioctl(peer.kept.get(), SIOCOUTQ, &unsent) == 0 && unsent > 0;
        };
        while (std::ranges::any_of(peers_, has_unsent) && !patience.expired()) {
            poll(nullptr, 0, 1);  // nothing tells when the kernel is done
        }
    }

    const net::Descriptor cancel_;
    std::vector<Peer> peers_;
    Ledger ledger_;
    Mutex mutex_;
    Condition told_;
    Status aborted_ TUTTI_GUARDED_BY(mutex_);
    std::atomic<bool> has_aborted_{false};
    std::atomic<bool> leaving_{false};
    std::atomic<bool> farewell_{false};
    std::unique_ptr<Liveness> liveness_;
    std::shared_ptr<Device> device_;
    std::shared_ptr<Context> context_;
};

}  // namespace

std::unique_ptr<Channel> connect(const std::shared_ptr<Store>& store, int rank, int size,
                                 const Deadline& deadline) {
    return std::make_unique<GlooChannel>(store, rank, size, deadline);
}

}  // namespace tutti::gloo_channel
