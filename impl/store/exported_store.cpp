// A store of ours, as the table that backends from outside get. Any thread.
#include <algorithm>

#include "user_store.hpp"

namespace tutti {

namespace {

Store& store_of(void* store) {
    return *static_cast<Store*>(store);
}

std::string text_of(const tutti_slice& slice) {
    return {static_cast<const char*>(slice.data), slice.data == nullptr ? 0 : slice.size};
}

// The time is for keys to come; an answer of the store's server takes its own.
Deadline limit_of(Store& store, Store::Keys keys, int64_t timeout_ms) {
    constexpr int64_t answer_ms = 1'000;
    const bool is_short = timeout_ms < answer_ms;
    const bool is_there = is_short && store.check(keys, store.default_deadline());
    return is_there ? store.default_deadline() : Deadline::after_ms(timeout_ms);
}

std::vector<std::string> texts_of(const tutti_slice* slices, size_t count) {
    std::vector<std::string> texts;
    for (size_t index = 0; index < count; ++index) texts.push_back(text_of(slices[index]));
    return texts;
}

tutti_status set(void* store, const tutti_slice* key, const tutti_slice* value,
                 tutti_error* error) {
    return ext::guard(error, [&] {
        Store& ours = store_of(store);
        ours.set(text_of(*key), text_of(*value), ours.default_deadline());
    });
}

tutti_status get(void* store, const tutti_slice* key, int64_t timeout_ms, tutti_give_function give,
                 void* to, tutti_error* error) {
    return ext::guard(error, [&] {
        const std::string name = text_of(*key);
        const Deadline until = limit_of(store_of(store), Store::Keys(&name, 1), timeout_ms);
        const std::string value = store_of(store).get(name, until);
        give(to, value.data(), value.size());
    });
}

tutti_status add(void* store, const tutti_slice* key, int64_t amount, int64_t* out_sum,
                 tutti_error* error) {
    return ext::guard(error, [&] {
        Store& ours = store_of(store);
        *out_sum = ours.add(text_of(*key), amount, ours.default_deadline());
    });
}

tutti_status wait(void* store, const tutti_slice* keys, size_t count, int64_t timeout_ms,
                  tutti_error* error) {
    return ext::guard(error, [&] {
        const auto names = texts_of(keys, count);
        store_of(store).wait(names, limit_of(store_of(store), names, timeout_ms));
    });
}

tutti_status check(void* store, const tutti_slice* keys, size_t count, int32_t* out_all,
                   tutti_error* error) {
    return ext::guard(error, [&] {
        Store& ours = store_of(store);
        *out_all = ours.check(texts_of(keys, count), ours.default_deadline()) ? 1 : 0;
    });
}

// The engine's stores do not tell whether they set it: if the value is `desired` afterwards, it may
// have been so before.
tutti_status compare_set(void* store, const tutti_slice* key, const tutti_slice* expected,
                         const tutti_slice* desired, int32_t* out_was_set, tutti_give_function give,
                         void* to, tutti_error* error) {
    return ext::guard(error, [&] {
        Store& ours = store_of(store);
        const std::string wanted = text_of(*desired);
        const std::string value =
            ours.compare_set(text_of(*key), text_of(*expected), wanted, ours.default_deadline());
        *out_was_set = value == wanted ? 1 : 0;
        give(to, value.data(), value.size());
    });
}

tutti_status delete_key(void* store, const tutti_slice* key, int32_t* out_deleted,
                        tutti_error* error) {
    return ext::guard(error, [&] {
        Store& ours = store_of(store);
        *out_deleted = ours.delete_key(text_of(*key), ours.default_deadline()) ? 1 : 0;
    });
}

}  // namespace

const tutti_store_table& table_of_stores() {
    static constexpr tutti_store_table table{
        .struct_size = sizeof(tutti_store_table),
        .version = TUTTI_EXT_VERSION,
        .name = "tutti",
        .user = nullptr,
        .open = nullptr,
        .close = nullptr,
        .set = set,
        .get = get,
        .add = add,
        .wait = wait,
        .check = check,
        .compare_set = compare_set,
        .delete_key = delete_key,
        .append = nullptr,
        .list_keys = nullptr,
    };
    return table;
}

}  // namespace tutti
