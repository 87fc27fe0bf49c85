#include "hierarchy.hpp"

#include <optional>
#include <utility>

#include "backends/channel/channel_backend.hpp"
#include "backends/shm/shm.hpp"
#include "collectives.hpp"
#include "transport/tcp/tcp.hpp"

namespace tutti::hierarchy {

namespace {

constexpr const char* backend_name = "hierarchy";

message::Neighbours neighbours_in(const shm::BootstrapResult& bootstrap) {
    if (bootstrap.here.members.size() == 1) return {};
    return shm::neighbours(bootstrap.here);
}

class HierarchyBackend : public ChannelBackend {
public:
    HierarchyBackend(std::unique_ptr<Channel> channel, shm::BootstrapResult bootstrap)
        : ChannelBackend(std::move(channel), neighbours_in(bootstrap)),
          hosts_(std::move(bootstrap.hosts), this->channel().rank()) {
        if (hosts_.here().size() == 1) return;
        bootstrap.here.messages = message_helper();
        team_.emplace(std::move(bootstrap.here), this->channel().membership());
        this->channel().set_comparison([this] { team_->compare(); });
    }

    ~HierarchyBackend() override { end_messages(); }  // those of this host are in its memory

    [[nodiscard]] const char* name() const override { return backend_name; }
    void run(const FlatCall& call, uint64_t sequence, const Deadline& deadline) override {
        if (hosts_.count() == 1) {
            return ChannelBackend::run(call, sequence, deadline);
        }
        const Fingerprint& whole = call.fingerprint;
        const Deadline until = deadline;  // it begins here, for the steps of the team and between
        if (team_) team_->begin(whole, sequence, until);
        const auto go = [&](const FlatCall& one, const Fingerprint& print,
                            const Exchange::Step& step) {
            hierarchy::run(
                {team_ ? &*team_ : nullptr, hosts_, channel(), print, sequence, until, step}, one);
        };
        try {
            if (call.kind == FlatCall::Kind::Coalesced) {
                algorithm::run_coalesced(call, past_, go);
            } else {
                go(call, whole, {0, whole, past_});
            }
            past_.add(whole, sequence);
            if (team_ && call.kind == FlatCall::Kind::Alloc) see(team_->shared());
        } catch (...) {
            if (team_) team_->withdraw();
            throw;
        }
    }

private:
    const Hosts hosts_;
    std::optional<shm::Team> team_;  // of this host's ranks, if there are others
};

}  // namespace

std::unique_ptr<Backend> make(Membership& membership, shm::BootstrapResult bootstrap,
                              const Deadline& deadline) {
    if (bootstrap.all_see_each_other()) {
        return shm::make(membership, std::move(bootstrap.here), backend_name);
    }
    return make(tcp::open(membership, deadline), std::move(bootstrap));
}

std::unique_ptr<Backend> make(std::unique_ptr<Channel> channel, shm::BootstrapResult bootstrap) {
    return std::make_unique<HierarchyBackend>(std::move(channel), std::move(bootstrap));
}

}  // namespace tutti::hierarchy
