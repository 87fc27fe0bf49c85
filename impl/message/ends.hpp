// The ends that threads wait for: whether all is over, when the time is up, and what happens then.
// Under the lock of the Messages, but for is_over().
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <list>
#include <memory_resource>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "call/message.hpp"
#include "operation.hpp"
#include "progress/helper.hpp"
#include "queues.hpp"

namespace tutti::message {

// The end of a thread's own operation.
class OwnEnd {
public:
    static constexpr bool is_seen_in_lock = true;
    explicit OwnEnd(Operation& operation) : operation_(operation) {}
    // Throws why it cannot start.
    void post(Queues& queues) { operation_.post(queues); }
    [[nodiscard]] bool is_driven(const Queues& queues) const {
        return queues.is_driven(operation_);
    }
    [[nodiscard]] const Operation* operation() const { return &operation_; }
    [[nodiscard]] bool is_over() const { return operation_.done.load(std::memory_order_seq_cst); }
    // When time_out() is due; nothing: it has been called.
    [[nodiscard]] std::optional<Deadline::Clock::time_point> limit() const {
        if (operation_.is_late) return std::nullopt;
        return operation_.deadline.when();
    }
    void time_out(Queues& queues) {
        if (!is_over()) operation_.time_out(queues);
        operation_.is_late = true;
    }

private:
    Operation& operation_;
};

// The end of several operations of its own.
class OwnEnds {
public:
    static constexpr bool is_seen_in_lock = true;
    explicit OwnEnds(const Deadline& deadline) : deadline_(deadline.successor()) {}

    // Before any is posted: from then on none may go before it has ended.
    void add(const Message& message) {
        std::visit([&](const auto& call) { add(call); }, message);
        first_ = operations_.begin();
    }
    // One that cannot start has ended.
    void post(Queues& queues) {
        for (Own& own : operations_) post(operation_of(own), queues);
    }
    [[nodiscard]] bool is_driven(const Queues& queues) const {
        return std::ranges::any_of(
            operations_, [&](const Own& own) { return queues.is_driven(operation_of(own)); });
    }
    [[nodiscard]] BatchEnd end() const {
        size_t index = 0;
        for (const Own& own : operations_) {
            const Status& status = operation_of(own).status;
            if (!status.ok()) return {index, status};
            ++index;
        }
        return {};
    }
    [[nodiscard]] static const Operation* operation() { return nullptr; }
    // Those that have ended stay so.
    [[nodiscard]] bool is_over() const {
        while (first_ != operations_.end()) {
            if (!has_ended(operation_of(*first_))) return false;
            ++first_;
        }
        return true;
    }
    [[nodiscard]] std::optional<Deadline::Clock::time_point> limit() const {
        if (is_late_) return std::nullopt;
        return deadline_.when();
    }
    void time_out(Queues& queues) {
        is_late_ = true;
        for (Own& own : operations_) {
            Operation& one = operation_of(own);
            if (!has_ended(one)) one.time_out(queues);
        }
    }

private:
    using Own = std::variant<Sending, Receiving>;
    static Operation& operation_of(Own& own) {
        return std::visit([](auto& one) -> Operation& { return one; }, own);
    }
    static const Operation& operation_of(const Own& own) {
        return std::visit([](const auto& one) -> const Operation& { return one; }, own);
    }
    static bool has_ended(const Operation& one) { return one.done.load(std::memory_order_seq_cst); }
    template <typename Call>
    void add(const Call& call) {
        using Kind = std::conditional_t<std::is_same_v<Call, Send>, Sending, Receiving>;
        operations_.emplace_back(std::in_place_type<Kind>, call, deadline_, nullptr);
    }
    static void post(Operation& one, Queues& queues) {
        try {
            one.post(queues);
        } catch (...) {
            one.status = current_status();
            one.done.store(true, std::memory_order_release);
        }
    }

    alignas(std::max_align_t) std::array<std::byte, 2048> room_;
    std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
    std::pmr::list<Own> operations_{&memory_};
    mutable std::pmr::list<Own>::const_iterator first_ = operations_.end();
    const Deadline deadline_;
    bool is_late_ = false;
};

// The end of works, whoever moves them, or the time to give up.
class EndOfWorks {
public:
    static constexpr bool is_seen_in_lock = false;
    EndOfWorks(const Helper::IsOver& is_over, const Deadline& deadline)
        : is_over_(is_over), limit_(deadline.when()) {}
    [[nodiscard]] const Operation* operation() const { return nullptr; }
    [[nodiscard]] bool is_over() const { return is_late_ || is_over_(); }
    [[nodiscard]] std::optional<Deadline::Clock::time_point> limit() const {
        if (is_late_) return std::nullopt;
        return limit_;
    }
    void time_out(Queues& /*queues*/) { is_late_ = true; }

private:
    const Helper::IsOver& is_over_;
    const Deadline::Clock::time_point limit_;
    bool is_late_ = false;
};

}  // namespace tutti::message
