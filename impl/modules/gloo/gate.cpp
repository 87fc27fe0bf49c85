#include "gate.hpp"

#include <gloo/common/error.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tutti::gloo_module {

namespace {

// The host watches the time. Gloo would close all connections when its own is up.
constexpr std::chrono::milliseconds forever = std::chrono::hours(24 * 365);

}  // namespace

void Gate::close(const Failure& why) {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    is_closed_ = true;
    why_ = why;
    for (auto* const buffer : buffers_) {
        buffer->abortWaitRecv();
        buffer->abortWaitSend();
    }
    closed_.notify_all();
}

void Gate::check(int awaited) const {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) return;
    Failure why = why_;
    why.awaited = awaited;
    throw why;
}

bool Gate::is_closed() const {
    const std::lock_guard lock(mutex_);
    return is_closed_;
}

bool Gate::wait_until_closed(std::chrono::milliseconds time) const {
    std::unique_lock lock(mutex_);
    return closed_.wait_for(lock, time, [this] { return is_closed_; });
}

void Gate::add(gloo::transport::UnboundBuffer* buffer) {
    const std::lock_guard lock(mutex_);
    buffers_.insert(buffer);
}

void Gate::remove(gloo::transport::UnboundBuffer* buffer) {
    const std::lock_guard lock(mutex_);
    buffers_.erase(buffer);
}

// One of Gloo's buffers, known to a gate.
class GatedBuffer final : public gloo::transport::UnboundBuffer {
public:
    using Inner = gloo::transport::UnboundBuffer;

    GatedBuffer(Gate& gate, gloo::transport::Context& transport, std::unique_ptr<Inner> inner)
        : Inner(inner->ptr, inner->size),
          gate_(gate),
          transport_(transport),
          inner_(std::move(inner)) {
        gate_.add(inner_.get());
    }
    ~GatedBuffer() override { gate_.remove(inner_.get()); }

    bool waitRecv(int* rank, std::chrono::milliseconds /*timeout*/) override {
        int source = -1;
        wait(receiving_, [&] { return inner_->waitRecv(&source, forever); });
        end(receiving_, source);
        if (rank != nullptr) *rank = source;
        return true;
    }
    bool waitSend(int* rank, std::chrono::milliseconds /*timeout*/) override {
        int destination = -1;
        wait(sending_, [&] { return inner_->waitSend(&destination, forever); });
        end(sending_, destination);
        if (rank != nullptr) *rank = destination;
        return true;
    }
    void abortWaitRecv() override { inner_->abortWaitRecv(); }
    void abortWaitSend() override { inner_->abortWaitSend(); }
    void send(int rank, uint64_t slot, size_t offset, size_t bytes) override {
        sending_.push_back(rank);
        move(rank, [&] { inner_->send(rank, slot, offset, bytes); });
    }
    void recv(int rank, uint64_t slot, size_t offset, size_t bytes) override {
        receiving_.push_back(rank);
        move(rank, [&] { inner_->recv(rank, slot, offset, bytes); });
    }
    void recv(std::vector<int> ranks, uint64_t slot, size_t offset, size_t bytes) override {
        move(-1, [&] { inner_->recv(ranks, slot, offset, bytes); });
    }

private:
    using Peers = std::vector<int>;  // in the order of the calls

    template <typename Wait>
    void wait(const Peers& for_any_of, Wait&& until_done) {
        const int awaited = for_any_of.empty() ? -1 : for_any_of.front();
        gate_.check(awaited);
        bool is_done = false;
        try {
            is_done = until_done();
        } catch (const gloo::Exception& error) {
            gate_.check(awaited);
            fail(lost_peer(), error);
        }
        if (is_done) return;
        gate_.check(awaited);
        throw Interrupted();
    }
    static void end(Peers& of, int peer) {
        const auto found = std::ranges::find(of, peer);
        if (found != of.end()) of.erase(found);
    }
    template <typename Move>
    void move(int rank, Move&& start) {
        gate_.check();
        try {
            start();
        } catch (const gloo::Exception& error) {
            fail(rank, error);
        }
    }
    [[nodiscard]] int lost_peer() const {
        for (const Peers* const peers : {&receiving_, &sending_}) {
            for (const int rank : *peers) {
                if (!transport_.getPair(rank)->isConnected()) return rank;
            }
        }
        return -1;
    }
    [[noreturn]] static void fail(int rank, const std::exception& error) {
        if (rank < 0) throw Failure{TUTTI_ERR_NETWORK, error.what()};
        throw Failure{TUTTI_ERR_NETWORK,
                      "the connection to rank " + std::to_string(rank) + " is closed", rank};
    }

    Gate& gate_;
    gloo::transport::Context& transport_;
    Peers receiving_, sending_;
    const std::unique_ptr<Inner> inner_;
};

namespace {

// The connections of another context, with buffers that a gate knows.
class GatedTransport final : public gloo::transport::Context {
public:
    GatedTransport(std::shared_ptr<gloo::transport::Context> inner, Gate& gate)
        : Context(inner->rank, inner->size), inner_(std::move(inner)), gate_(gate) {
        setTimeout(inner_->getTimeout());
    }
    std::unique_ptr<gloo::transport::Pair>& getPair(int peer) override {
        return inner_->getPair(peer);
    }
    std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override {
        return inner_->createPair(peer);
    }
    std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data,
                                                                        size_t bytes) override {
        return std::make_unique<GatedBuffer>(gate_, *inner_,
                                             inner_->createUnboundBuffer(data, bytes));
    }

private:
    const std::shared_ptr<gloo::transport::Context> inner_;
    Gate& gate_;
};

class GatedContext final : public gloo::Context {
public:
    GatedContext(std::shared_ptr<gloo::transport::Device> device,
                 std::shared_ptr<gloo::transport::Context> transport, Gate& gate)
        : Context(transport->rank, transport->size) {
        device_ = std::move(device);
        transportContext_ = std::make_shared<GatedTransport>(std::move(transport), gate);
    }
};

}  // namespace

std::shared_ptr<gloo::Context> gated_context(std::shared_ptr<gloo::transport::Device> device,
                                             std::shared_ptr<gloo::transport::Context> transport,
                                             Gate& gate) {
    return std::make_shared<GatedContext>(std::move(device), std::move(transport), gate);
}

}  // namespace tutti::gloo_module
