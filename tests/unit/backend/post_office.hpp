// Ranks that send each other messages, all driven from one thread: nothing here waits but end().
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "backend/message/point_to_point.hpp"
#include "backend/shm/mailbox.hpp"
#include "backend/shm/messages.hpp"
#include "patterns.hpp"
#include "ranks.hpp"
#include "reduce/reduce.hpp"
#include "work/work.hpp"

namespace tutti::test {

constexpr int64_t for_ever = -1;

// TUTTI_TEST_SEED, or another one each time.
inline uint32_t seed() {
    static const uint32_t chosen = [] {
        const char* given = std::getenv("TUTTI_TEST_SEED");
        return given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10))
                                : std::random_device()();
    }();
    return chosen;
}

// A message under way and its memory. The memory goes with it.
struct Letter {
    std::vector<std::byte> data;
    std::shared_ptr<Work> work;

    // How it ended; fails the test if it does not.
    [[nodiscard]] Status end() const {
        require(work->wait(ample()), "the message did not end");
        return *work->status();
    }
    [[nodiscard]] bool holds(std::byte value) const {
        return same(data, std::vector<std::byte>(data.size(), value));
    }
};

// Both ways of sending messages.
class Messenger {
public:
    virtual ~Messenger() = default;
    virtual void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) = 0;
    virtual void start(const Receive& call, const Deadline& deadline,
                       std::shared_ptr<Work> work) = 0;
    virtual void abort(const Status& status) = 0;
    virtual void close() = 0;
};

class ChannelMessenger final : public Messenger {
public:
    explicit ChannelMessenger(Channel& channel)
        : engine_(std::make_shared<PointToPoint>(channel)) {}
    void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) override {
        engine_->start(call, deadline, std::move(work));
    }
    void start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work) override {
        engine_->start(call, deadline, std::move(work));
    }
    void abort(const Status& status) override { engine_->abort(status); }
    void close() override { engine_->close(); }

private:
    const std::shared_ptr<PointToPoint> engine_;
};

class ShmMessenger final : public Messenger {
public:
    ShmMessenger(const std::vector<shm::MailPlace>& mails, const Channel& channel)
        : engine_(mails, shm::Way::BySize, 0, channel) {}
    void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) override {
        engine_.start(call, deadline, std::move(work));
    }
    void start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work) override {
        engine_.start(call, deadline, std::move(work));
    }
    void abort(const Status& status) override { engine_.abort(status); }
    void close() override {}

private:
    shm::Messages engine_;
};

// The mail of a group's ranks, at the same place for all of them, so that the thread sanitizer sees
// what they do with it.
class Mails {
public:
    // Without `process` they do not read each other's other memory.
    explicit Mails(int ranks, int32_t process) : bytes_(shm::mail_bytes(ranks)) {
        for (int rank = 0; rank < ranks; ++rank) {
            void* const mail = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (mail == MAP_FAILED) throw std::bad_alloc();
            all_.push_back({mail, process});
        }
    }
    ~Mails() {
        for (const shm::MailPlace& mail : all_) ::munmap(mail.memory, bytes_);
    }
    Mails(const Mails&) = delete;
    Mails& operator=(const Mails&) = delete;
    [[nodiscard]] const std::vector<shm::MailPlace>& all() const { return all_; }

private:
    const size_t bytes_;
    std::vector<shm::MailPlace> all_;
};

// The ranks of a group with their messages; at the end all leave, and nothing lives on.
class PostOffice {
public:
    explicit PostOffice(int size)
        : mails_(size, channel_name() == "shm" ? 0 : ::getpid()), channels_(connect_all(size)) {
        for (const auto& channel : channels_) {
            if (channel_name().starts_with("shm")) {
                messages_.push_back(std::make_unique<ShmMessenger>(mails_.all(), *channel));
            } else {
                messages_.push_back(std::make_unique<ChannelMessenger>(*channel));
            }
        }
    }
    ~PostOffice() {
        for (const auto& channel : channels_) {
            if (channel) channel->leave();
        }
        for (size_t rank = 0; rank < channels_.size(); ++rank) close(static_cast<int>(rank));
    }
    PostOffice(const PostOffice&) = delete;
    PostOffice& operator=(const PostOffice&) = delete;

    Channel& channel(int rank) { return *channels_[static_cast<size_t>(rank)]; }
    Messenger& messages(int rank) { return *messages_[static_cast<size_t>(rank)]; }

    // As the destruction of a backend does.
    void abort(int rank, const Status& status) {
        channel(rank).abort(status);
        messages(rank).abort(status);
    }
    void close(int rank) {
        auto& mine = messages_[static_cast<size_t>(rank)];
        if (!mine) return;
        abort(rank, {TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
        mine->close();
        mine.reset();
        channels_[static_cast<size_t>(rank)].reset();
    }

    Letter send(int from, int to, int tag, std::vector<std::byte> data,
                int64_t timeout_ms = for_ever, tutti_dtype dtype = TUTTI_UINT8) {
        Letter letter{std::move(data), std::make_shared<Work>()};
        const auto count = static_cast<int64_t>(letter.data.size() / element_size(dtype));
        messages(from).start(Send{{letter.data.data(), count, dtype}, to, tag},
                             Deadline::after_ms(timeout_ms), letter.work);
        return letter;
    }
    // `bytes` of one value, which says which message it is.
    Letter send(int from, int to, int tag, size_t bytes, int value, int64_t timeout_ms = for_ever) {
        return send(from, to, tag, std::vector<std::byte>(bytes, std::byte(value)), timeout_ms);
    }
    Letter receive(int at, int from, int tag, size_t bytes, int64_t timeout_ms = for_ever,
                   tutti_dtype dtype = TUTTI_UINT8) {
        Letter letter{std::vector<std::byte>(bytes, untouched), std::make_shared<Work>()};
        const auto count = static_cast<int64_t>(bytes / element_size(dtype));
        messages(at).start(Receive{{letter.data.data(), count, dtype}, from, tag},
                           Deadline::after_ms(timeout_ms), letter.work);
        return letter;
    }

    static constexpr std::byte untouched{0xEE};

private:
    Mails mails_;
    Channels channels_;
    std::vector<std::unique_ptr<Messenger>> messages_;
};

// The message that was sent, and no other.
inline void expect_arrived(const Letter& letter, int value, int source, const std::string& what) {
    const Status status = letter.end();
    require(status.ok(), cat(what, ": ", status.message));
    require(letter.holds(std::byte(value)),
            cat(what, ": expected ", value, ", got ",
                letter.data.empty() ? -1 : static_cast<int>(letter.data[0])));
    require(letter.work->source_rank() == source, cat(what, ": from ", letter.work->source_rank()));
}

inline void expect_gone(const Letter& letter, const std::string& what) {
    const Status status = letter.end();
    require(status.ok(), cat(what, ": ", status.message));
}

inline void expect_failed(const Letter& letter, tutti_status code, const std::string& fragment,
                          const std::string& what) {
    const Status status = letter.end();
    require(status.code == code && status.message.find(fragment) != std::string::npos,
            cat(what, ": status ", status.code, ", ", status.message));
}

}  // namespace tutti::test
