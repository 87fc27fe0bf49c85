// Ranks that send each other messages, all driven from one thread: nothing here waits but end().
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <new>
#include <vector>

#include "message/lanes/lanes.hpp"
#include "message/messages.hpp"
#include "message/rings/rings.hpp"
#include "message/tags/tags.hpp"
#include "reduce/reduce.hpp"
#include "support/seed.h"
#include "unit/algorithm/patterns.hpp"
#include "unit/transport/ranks.hpp"
#include "work/work.hpp"

namespace tutti::test {

constexpr int64_t for_ever = -1;

// The same for all of a program.
inline uint32_t seed() {
    static const uint32_t chosen = test_seed();
    return chosen;
}

// The thread that waits for every second one helps; the mover moves the others, and those that are
// asked for.
class LetterWork final : public Work {
public:
    explicit LetterWork(const std::shared_ptr<message::Messages>& messages) {
        static std::atomic<unsigned> made{0};
        if (made.fetch_add(1) % 2 == 0) messages_ = messages;
    }

protected:
    void help(const IsOver& is_over, const Deadline& deadline) const override {
        if (const auto messages = messages_.lock()) messages->help(is_over, deadline);
    }
    void look() const noexcept override {
        if (const auto messages = messages_.lock()) static_cast<void>(messages->advance());
    }
    void hurry() const noexcept override {
        if (const auto messages = messages_.lock()) messages->hurry();
    }

private:
    std::weak_ptr<message::Messages> messages_;
};

// A message under way and its memory, which goes with it: it must have ended before.
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

// An engine that reaches all ranks by the channel but those neighbours that it has rings with.
inline std::shared_ptr<message::Messages> messages_of(Channel& channel,
                                                      const message::Neighbours& neighbours) {
    const int rank = channel.rank();
    auto messages = std::make_shared<message::Messages>(message::Messages::Setting{
        rank, channel.size(), [&channel](int peer) { return channel.membership().trouble(peer); },
        neighbours.doorbell_of(rank), neighbours.spins, true, channel.driver()});
    const message::Rings rings(*messages, neighbours, rank);
    const auto add = channel.tagged() != nullptr ? message::Tags::add_to : message::Lanes::add_to;
    add(*messages, channel, [&](int peer) { return neighbours.has(peer); });
    return messages;
}

// The rings of a group's ranks, at the same place for all of them, so that the thread sanitizer
// sees what they do with it.
class RingMemory {
public:
    // Without `process` they do not read each other's other memory.
    explicit RingMemory(int ranks, int32_t process) : bytes_(message::rings_bytes(ranks)) {
        for (int rank = 0; rank < ranks; ++rank) {
            void* const rings = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (rings == MAP_FAILED) throw std::bad_alloc();
            all_.ranks.push_back({rank, rings, process});
        }
    }
    ~RingMemory() {
        for (const auto& one : all_.ranks) ::munmap(one.memory, bytes_);
    }
    RingMemory(const RingMemory&) = delete;
    RingMemory& operator=(const RingMemory&) = delete;
    [[nodiscard]] void* of(int rank) const { return all_.ranks[static_cast<size_t>(rank)].memory; }
    [[nodiscard]] const message::Neighbours& all() const { return all_; }
    // As that rank sees it where only ranks are neighbours that follow each other.
    [[nodiscard]] message::Neighbours next_to(int rank) const {
        message::Neighbours some = all_;
        for (auto& one : some.ranks) {
            if (std::abs(one.rank - rank) > 1) one.memory = nullptr;
        }
        return some;
    }

private:
    const size_t bytes_;
    message::Neighbours all_;
};

// The ranks of a group with their messages; at the end all leave, and nothing lives on.
class PostOffice {
public:
    explicit PostOffice(int size)
        : memory_(size, way() == "shm" ? 0 : ::getpid()), channels_(connect_all(size)) {
        for (const auto& channel : channels_) {
            messages_.push_back(
                messages_of(channel->channel(), neighbours_of(channel->channel().rank())));
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

    Channel& channel(int rank) { return channels_[static_cast<size_t>(rank)]->channel(); }
    message::Messages& messages(int rank) { return *messages_[static_cast<size_t>(rank)]; }

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
        Letter letter{std::move(data), new_work(from)};
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
        Letter letter{std::vector<std::byte>(bytes, untouched), new_work(at)};
        const auto count = static_cast<int64_t>(bytes / element_size(dtype));
        messages(at).start(Receive{{letter.data.data(), count, dtype}, from, tag},
                           Deadline::after_ms(timeout_ms), letter.work);
        return letter;
    }

    static constexpr std::byte untouched{0xEE};

private:
    // "shm": all by rings; "shm_direct": all by rings, and data are read where they are; "mixed":
    // ranks that follow each other by rings, the others over the channel, which is loopback, or
    // tcp as "mixed_tcp". Else all over that.
    static const std::string& way() { return channel_name(); }
    [[nodiscard]] message::Neighbours neighbours_of(int rank) const {
        if (way().starts_with("shm")) return memory_.all();
        if (way().starts_with("mixed")) return memory_.next_to(rank);
        return {};
    }

    [[nodiscard]] std::shared_ptr<Work> new_work(int rank) const {
        return std::make_shared<LetterWork>(messages_[static_cast<size_t>(rank)]);
    }

    RingMemory memory_;
    ChannelRanks channels_;
    std::vector<std::shared_ptr<message::Messages>> messages_;
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
