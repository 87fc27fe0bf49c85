#include "shm.hpp"

#include <utility>

#include "backend/channel_backend.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "collectives.hpp"
#include "mailbox.hpp"
#include "messages.hpp"

namespace tutti::shm {

namespace {

// A rank's memory: its part in collectives, then its mail.
std::vector<MailPlace> mails_in(const std::vector<Segment>& segments, bool direct) {
    std::vector<MailPlace> mails;
    for (const Segment& segment : segments) {
        mails.push_back({static_cast<std::byte*>(segment.data()) + sizeof(Part),
                         direct ? segment.address().process : 0});
    }
    return mails;
}

class ShmBackend : public ChannelBackend {
public:
    ShmBackend(std::unique_ptr<Channel> channel, Met met, const char* name,
               const Deadline& deadline)
        : ChannelBackend(std::move(channel)),
          name_(name),
          team_(std::move(met), this->channel()),
          messages_(mails_in(team_.met().segments, team_.met().direct),
                    team_.met().ways[static_cast<size_t>(Op::Message)], team_.met().spins,
                    this->channel()) {
        this->channel().set_comparison([this] { team_.compare(); });
        // All have met once all are here: who fails then fails nobody else's meeting.
        team_.begin(fingerprint(Barrier{}), 0, deadline);
        barrier(team_);
    }

    [[nodiscard]] const char* name() const override { return name_; }
    [[nodiscard]] bool same_host(int /*peer*/) const override { return true; }
    [[nodiscard]] bool same_memory() const override { return true; }

    void run(const Collective& call, uint64_t number, const Deadline& deadline) override {
        if (team_.size() == 1 || channel().compares_first()) {
            return ChannelBackend::run(call, number, deadline);
        }
        team_.begin(fingerprint(call), number, deadline);
        if (!serves(call)) return ChannelBackend::run(call, number, deadline);
        try {
            shm::run(team_, call);
            if (std::holds_alternative<Alloc>(call)) messages_.see(team_.shared());
        } catch (...) {
            team_.withdraw();
            throw;
        }
    }

    void send(const Send& call, const Deadline& deadline) override {
        messages_.send(call, deadline);
    }
    int receive(const Receive& call, const Deadline& deadline) override {
        return messages_.receive(call, deadline);
    }
    void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) override {
        messages_.start(call, deadline, std::move(work));
    }
    void start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work) override {
        messages_.start(call, deadline, std::move(work));
    }

    void abort(const Status& status) noexcept override {
        ChannelBackend::abort(status);
        messages_.abort(status);
    }

    std::unique_ptr<Backend> branch(const Branch& branch) override {
        auto part = channel().branch(branch);
        Meeting meeting = meet(*part, branch.deadline);
        if (meeting.all_see_each_other()) {
            return make(std::move(part), std::move(meeting.here), name_, branch.deadline);
        }
        log(LogLevel::Info, "no shared memory: ", meeting.why);
        return std::make_unique<ChannelBackend>(std::move(part));
    }

private:
    const char* const name_;
    Team team_;
    Messages messages_;  // in the team's memory
};

}  // namespace

std::unique_ptr<Backend> connect(std::unique_ptr<Channel> channel, const Deadline& deadline) {
    Meeting meeting = meet(*channel, deadline);
    if (meeting.all_see_each_other()) {
        return make(std::move(channel), std::move(meeting.here), "shm", deadline);
    }
    await_all_met(*channel, deadline);
    throw Error(TUTTI_ERR_UNSUPPORTED, cat("backend shm joins ranks of one host: ", meeting.why));
}

std::unique_ptr<Backend> make(std::unique_ptr<Channel> channel, Met met, const char* name,
                              const Deadline& deadline) {
    return std::make_unique<ShmBackend>(std::move(channel), std::move(met), name, deadline);
}

}  // namespace tutti::shm
