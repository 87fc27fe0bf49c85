// Defaults of a backend: it refuses messages; a blocking message is started and waited for. The
// caller's thread.
#include "backend.hpp"

#include "base/error.hpp"

namespace tutti {

namespace {

template <typename Call>
int run_now(Backend& backend, const Call& call, const Deadline& deadline) {
    const auto work = std::make_shared<Work>();
    backend.start(call, deadline, work);
    work->wait(Deadline::never());  // its own deadline ends it
    if (const Status status = *work->status(); !status.ok()) throw Error(status);
    return work->source_rank();
}

[[noreturn]] void refuse_messages(const Backend& backend) {
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat("backend \"", backend.name(), "\" does not support messages"));
}

}  // namespace

void Backend::start(const Send& /*call*/, const Deadline& /*deadline*/,
                    std::shared_ptr<Work> /*work*/) {
    refuse_messages(*this);
}

void Backend::start(const Receive& /*call*/, const Deadline& /*deadline*/,
                    std::shared_ptr<Work> /*work*/) {
    refuse_messages(*this);
}

void Backend::start_batch(std::span<const Message> batch, const Deadline& deadline,
                          std::span<const std::shared_ptr<Work>> works) {
    for (size_t index = 0; index < batch.size(); ++index) {
        const auto& work = works[index];
        try {
            std::visit([&](const auto& call) { start(call, deadline, work); }, batch[index]);
        } catch (...) {
            work->finish(current_status());
        }
    }
}

void Backend::send(const Send& call, const Deadline& deadline) {
    run_now(*this, call, deadline);
}

int Backend::receive(const Receive& call, const Deadline& deadline) {
    return run_now(*this, call, deadline);
}

}  // namespace tutti
