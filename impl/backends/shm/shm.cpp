#include "shm.hpp"

#include <utility>

#include "backend/messaging_backend.hpp"
#include "base/assert.hpp"
#include "collectives.hpp"

namespace tutti::shm {

namespace {

class ShmBackend final : public MessagingBackend {
public:
    ShmBackend(Membership& membership, TeamConfig config, const char* name)
        : MessagingBackend(membership, neighbours(config)),
          name_(name),
          team_(with_messages(std::move(config)), membership) {}
    ~ShmBackend() override { end_messages(); }  // they are in the team's memory

    [[nodiscard]] const char* name() const override { return name_; }
    [[nodiscard]] bool same_memory() const override { return true; }

    void run(const FlatCall& call, uint64_t sequence, const Deadline& deadline) override {
        team_.begin(call.fingerprint, sequence, deadline);
        try {
            const Server serve = handler_for(call);
            TUTTI_ASSERT(serve != nullptr);  // else the capabilities leave it out
            serve(team_, call);
            if (call.kind == FlatCall::Kind::Alloc) see(team_.shared());
        } catch (...) {
            team_.withdraw();
            throw;
        }
    }

private:
    TeamConfig with_messages(TeamConfig config) {
        config.messages = message_helper();
        return config;
    }

    const char* const name_;
    Team team_;
};

}  // namespace

std::unique_ptr<Backend> make(Membership& membership, TeamConfig config, const char* name) {
    return std::make_unique<ShmBackend>(membership, std::move(config), name);
}

}  // namespace tutti::shm
