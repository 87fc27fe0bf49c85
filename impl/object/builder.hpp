// Builds an Object, front to back. What does not fit where it is put throws INVALID_ARGUMENT; the
// builder is of no use afterwards. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "limits.hpp"
#include "object.hpp"

namespace tutti {

class Builder {
public:
    struct Most {
        size_t nodes = object_limits::nodes;
        size_t depth = object_limits::nodes;
    };
    // Whether memory is copied, or stays where it is: then it is as it is for the object's life.
    enum class Memory { Copied, Kept };

    Builder() : Builder(Most()) {}
    explicit Builder(const Most& most);

    void nil();
    void boolean(bool value);
    void signed_integer(int64_t value);
    void unsigned_integer(uint64_t value);
    void real(double value);
    // Checked to be UTF-8, and copied.
    void string(std::string_view text);
    // Known to be UTF-8; the second one stays where it is, with a NUL behind it when the object is
    // read.
    void copied_string(std::string_view text);
    void kept_string(std::string_view text);
    void bytes(const void* data, size_t size, Memory memory);
    void timestamp(int64_t seconds, int64_t nanoseconds);
    void array(const Array& array, Memory memory);
    // With a count (of values, of pairs) they end by themselves, else with close().
    static constexpr uint64_t open_ended = std::numeric_limits<uint64_t>::max();
    void list(uint64_t count = open_ended);
    void map(uint64_t count = open_ended);
    void close();

    void item(const tutti_object_item& item, Memory memory);
    void copy(const Object& from, size_t node);

    // The outermost value is there, and nothing is open.
    [[nodiscard]] bool complete() const { return !object_->nodes_.empty() && open_.empty(); }
    [[nodiscard]] bool key_is_due() const;
    [[nodiscard]] bool list_is_open() const;
    // "2 of its lists and maps are open".
    [[nodiscard]] std::string what_is_missing() const;
    // Holds memory that the object lies in.
    void keep(std::shared_ptr<const void> memory) {
        object_->arena_.keep(std::move(memory));
        object_->borrows_ = false;
    }
    std::shared_ptr<const Object> finish();

private:
    struct Open {
        uint32_t node;
        uint64_t count = 0;  // values so far, keys too
        uint64_t left;       // values to come, or open_ended
    };

    void check_place(tutti_object_kind kind) const;
    void scalar(const Node& node);
    void container(tutti_object_kind kind, uint64_t children);
    void value_is_there();
    void close_last();
    void index_list(size_t list);
    void check_keys(size_t map);
    void index_map(size_t map);
    [[noreturn]] void refuse_twice(size_t key) const;

    const Most most_;
    std::unique_ptr<Object> object_;
    std::vector<Open> open_;
};

// Elements of an array; INVALID_ARGUMENT for a dtype, shape or number of dimensions that none has.
uint64_t count_elements(const Array& array);

}  // namespace tutti
