#include "messaging_backend.hpp"

#include <utility>

#include "progress/processors.hpp"

namespace tutti {

namespace {

message::Messages::Setting setting_of(Membership& membership, const message::Neighbours& neighbours,
                                      Driver* driver) {
    return {membership.rank(),
            membership.size(),
            [&membership](int rank) { return membership.trouble(rank); },
            neighbours.doorbell_of(membership.rank()),
            neighbours.spins,
            has_spare_processor(processors_of_this_process(), neighbours.ranks.size()),
            driver};
}

}  // namespace

MessagingBackend::MessagingBackend(Membership& membership, const message::Neighbours& neighbours,
                                   Driver* driver)
    : messages_(std::make_shared<message::Messages>(setting_of(membership, neighbours, driver))),
      rings_(*messages_, neighbours, membership.rank()) {}

void MessagingBackend::end_messages() noexcept {
    abort({TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
    messages_->close();
}

void MessagingBackend::start(const Send& call, const Deadline& deadline,
                             std::shared_ptr<Work> work) {
    messages_->start(call, deadline, std::move(work));
}

void MessagingBackend::start(const Receive& call, const Deadline& deadline,
                             std::shared_ptr<Work> work) {
    messages_->start(call, deadline, std::move(work));
}

void MessagingBackend::send(const Send& call, const Deadline& deadline) {
    messages_->send(call, deadline);
}

int MessagingBackend::receive(const Receive& call, const Deadline& deadline) {
    return messages_->receive(call, deadline);
}

}  // namespace tutti
