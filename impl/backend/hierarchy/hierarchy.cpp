#include "hierarchy.hpp"

#include <optional>
#include <utility>

#include "backend/channel_backend.hpp"
#include "backend/shm/shm.hpp"
#include "collectives.hpp"

namespace tutti::hierarchy {

namespace {

constexpr const char* backend_name = "hierarchy";

class HierarchyBackend : public ChannelBackend {
public:
    HierarchyBackend(std::unique_ptr<Channel> channel, shm::Meeting meeting)
        : ChannelBackend(std::move(channel)),
          hosts_(std::move(meeting.hosts), this->channel().rank()) {
        if (hosts_.here().size() == 1) return;
        team_.emplace(std::move(meeting.here), this->channel());
        this->channel().set_comparison([this] { team_->compare(); });
    }

    [[nodiscard]] const char* name() const override { return backend_name; }
    [[nodiscard]] bool same_host(int peer) const override {
        return hosts_.host_of(peer) == hosts_.host() || ChannelBackend::same_host(peer);
    }

    void run(const Collective& call, uint64_t number, const Deadline& deadline) override {
        if (hosts_.count() == 1 || channel().compares_first()) {
            return ChannelBackend::run(call, number, deadline);
        }
        const Fingerprint whole = fingerprint(call);
        if (team_) team_->begin(whole, number, deadline);
        const auto go = [&](const Collective& one, const Fingerprint& print,
                            const Exchange::Step& step) {
            hierarchy::run(
                {team_ ? &*team_ : nullptr, hosts_, channel(), print, number, deadline, step}, one);
        };
        try {
            if (const auto* coalesced = std::get_if<Coalesced>(&call)) {
                algorithm::run_coalesced(*coalesced, hosts_.ranks(), go);
            } else {
                go(call, whole, {0, whole});
            }
        } catch (...) {
            if (team_) team_->withdraw();
            throw;
        }
    }

    std::unique_ptr<Backend> branch(const Branch& branch) override {
        return connect(channel().branch(branch), branch.deadline);
    }

private:
    const Hosts hosts_;
    std::optional<shm::Team> team_;  // of this host's ranks, if there are others
};

}  // namespace

std::unique_ptr<Backend> connect(std::unique_ptr<Channel> channel, const Deadline& deadline) {
    shm::Meeting meeting = shm::meet(*channel, deadline);
    return make(std::move(channel), std::move(meeting), deadline);
}

std::unique_ptr<Backend> make(std::unique_ptr<Channel> channel, shm::Meeting meeting,
                              const Deadline& deadline) {
    if (meeting.all_see_each_other()) {
        return shm::make(std::move(channel), std::move(meeting.here), backend_name, deadline);
    }
    return std::make_unique<HierarchyBackend>(std::move(channel), std::move(meeting));
}

}  // namespace tutti::hierarchy
