// The functions of a table from outside, on the instance of the backend that it has opened.
// Failures are thrown as Errors, in the words of the backend. Any thread, as the table says.
#pragma once

#include <memory>
#include <string>

#include "backend/backend_place.hpp"
#include "backend/capabilities.hpp"
#include "ext/tables.hpp"

namespace tutti::ext {

class TableCalls {
public:
    explicit TableCalls(const tutti_backend_table& table) : table_(table) {}

    [[nodiscard]] const tutti_backend_table& table() const { return table_; }

    // `prefix` begins the message of a failure.
    void open(const std::string& prefix, const tutti_backend_place* place);
    void close() noexcept { table_.close(instance_); }
    [[nodiscard]] bool can_split() const { return table_.split != nullptr; }
    // Opens the instance of `made`, of a new group that this rank is in; null: it is in none.
    // False: not now.
    bool split(const tutti_backend_place* place, int color, TableCalls* made) const;

    void post(tutti_backend_call* call) const;
    // True: something has moved.
    bool test() const noexcept { return table_.test != nullptr && table_.test(instance_) != 0; }
    void check() const;
    // As in the table; -1 if it has no such function.
    [[nodiscard]] int32_t cancel(const tutti_backend_call* call) const noexcept {
        return table_.cancel == nullptr ? -1 : table_.cancel(instance_, call);
    }
    [[nodiscard]] bool can_cancel() const { return table_.cancel != nullptr; }
    void together(bool begins) const noexcept;
    void abort(const Status& status) const noexcept {
        table_.abort(instance_, status.code, status.message.c_str());
    }
    void left(int rank) const noexcept;
    void leave() const noexcept;

    // Null: the backend has no memory now.
    [[nodiscard]] std::shared_ptr<void> alloc_memory(const Device& device, size_t bytes) const;
    [[nodiscard]] bool can_share_memory() const { return table_.share_memory != nullptr; }
    void share_memory(const tutti_backend_place* place, void* memory) const;

private:
    const tutti_backend_table table_;
    void* instance_ = nullptr;
};

}  // namespace tutti::ext
