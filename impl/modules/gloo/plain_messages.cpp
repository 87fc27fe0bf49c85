#include "plain_messages.hpp"

#include <gloo/transport/unbound_buffer.h>

#include "collectives.hpp"
#include "worker.hpp"

namespace tutti::gloo_module {

Waiters::~Waiters() {
    {
        const std::lock_guard lock(mutex_);
        is_closed_ = true;
        changed_.notify_all();
    }
    for (std::thread& one : threads_) one.join();
}

void Waiters::add(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    if (idle_ < jobs_.size()) {
        const BlockedSignals blocked;
        threads_.emplace_back([this] { run(); });
    }
    changed_.notify_one();
}

void Waiters::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        ++idle_;
        changed_.wait(lock, [this] { return is_closed_ || !jobs_.empty(); });
        --idle_;
        if (jobs_.empty()) return;
        const auto job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
        lock.lock();
    }
}

// Gloo writes on the thread that posts, and the connection may be closed.
void PlainMessages::post(const tutti_backend_call* call) {
    if (call->peer == rank_) {
        throw Failure{TUTTI_ERR_UNSUPPORTED, "Gloo sends no message of a rank to itself"};
    }
    const bool is_send = call->kind == TUTTI_CALL_SEND;
    const tutti_piece& piece = is_send ? *call->inputs : *call->outputs;
    const auto slot = static_cast<uint64_t>(static_cast<uint32_t>(call->tag));
    std::shared_ptr<gloo::transport::UnboundBuffer> buffer =
        context_->createUnboundBuffer(piece.data, bytes_of(piece.count, *call));
    {
        const BlockedSignals blocked;
        if (is_send) {
            buffer->send(call->peer, slot);
        } else if (call->peer >= 0) {
            buffer->recv(call->peer, slot);
        } else {
            std::vector<int> others;
            for (int rank = 0; rank < size_; ++rank) {
                if (rank != rank_) others.push_back(rank);
            }
            buffer->recv(others, slot, 0, buffer->size);
        }
    }
    waiters_.add([this, call, buffer] { wait(call, *buffer); });
}

void PlainMessages::wait(const tutti_backend_call* call, gloo::transport::UnboundBuffer& buffer) {
    int source = -1;
    Failure failure;
    try {
        if (call->kind == TUTTI_CALL_SEND) {
            buffer.waitSend();
        } else {
            buffer.waitRecv(&source);
        }
    } catch (const Failure& caught) {
        failure = as_lost(caught);
    } catch (const Interrupted&) {
        failure = {TUTTI_ERR_INTERNAL, "a wait of Gloo's was ended by nobody"};
    } catch (const std::exception& error) {
        failure = {TUTTI_ERR_BACKEND, error.what()};
    }
    if (failure.status == TUTTI_OK) return host_.finish(call, TUTTI_OK, source, nullptr);
    tutti_error error = TUTTI_ERROR_INIT;
    host_.finish(call, report(failure, &error), source, &error);
}

}  // namespace tutti::gloo_module
