// The table of functions over c10d::Store. They run on any thread, without Python's lock, which a
// store that is written in Python takes by itself.
#include "store.hpp"

#include <tutti/ext.h>

#include <cstdio>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "error.hpp"

namespace tutti_torch {
namespace {

using Torch = c10::intrusive_ptr<c10d::Store>;
using Value = std::vector<uint8_t>;

// The handles of one store. A handle of torch's is blocked while a thread waits by it, so each
// call takes one that is free, or a new one.
class Handles {
public:
    explicit Handles(const Torch& store) : first_(store) { free_.push_back(store); }

    Torch take() {
        {
            const std::lock_guard lock(mutex_);
            if (!free_.empty()) {
                Torch one = std::move(free_.back());
                free_.pop_back();
                return one;
            }
        }
        return compat::clone(first_);
    }

    void give_back(Torch one) {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(one));
    }

private:
    const Torch first_;
    std::mutex mutex_;
    std::vector<Torch> free_;
};

// A handle for the time of one call.
class Lease {
public:
    explicit Lease(void* store) : of_(*static_cast<Handles*>(store)), handle_(of_.take()) {}
    ~Lease() { of_.give_back(std::move(handle_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    c10d::Store* operator->() const { return handle_.get(); }

private:
    Handles& of_;
    Torch handle_;
};

std::string text_of(const tutti_slice* slice) {
    return slice->size == 0 ? std::string()
                            : std::string(static_cast<const char*>(slice->data), slice->size);
}

Value value_of(const tutti_slice* slice) {
    const auto* data = static_cast<const uint8_t*>(slice->data);
    return slice->size == 0 ? Value() : Value(data, data + slice->size);
}

std::vector<std::string> texts_of(const tutti_slice* keys, size_t count) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i) texts.push_back(text_of(&keys[i]));
    return texts;
}

tutti_status failed(tutti_status status, const char* text, tutti_error* error) noexcept {
    std::snprintf(error->message, sizeof error->message, "PyTorch's store: %s", text);
    return status;
}

// Runs one call of torch's; what it throws becomes a status.
template <typename Call>
tutti_status ask(void* store, tutti_error* error, Call&& call) noexcept {
    try {
        Lease lease(store);
        call(lease);
        return TUTTI_OK;
    } catch (const c10::DistNetworkError& thrown) {
        return failed(TUTTI_ERR_NETWORK, thrown.what_without_backtrace(), error);
    } catch (const c10::Error& thrown) {
        return failed(TUTTI_ERR_STORE, thrown.what_without_backtrace(), error);
    } catch (const std::exception& thrown) {
        return failed(TUTTI_ERR_STORE, thrown.what(), error);
    }
}

// torch throws the same when the time is up and for other failures. So a wait that throws is late,
// unless its connection broke or the store does not answer afterwards.
bool is_there(const Lease& lease, const std::vector<std::string>& keys, int64_t timeout_ms) {
    if (timeout_ms <= 0) return lease->check(keys);
    try {
        lease->wait(keys, std::chrono::milliseconds(timeout_ms));
        return true;
    } catch (const c10::DistNetworkError&) {
        throw;
    } catch (const std::exception&) {
        return lease->check(keys);
    }
}

tutti_status set(void* store, const tutti_slice* key, const tutti_slice* value,
                 tutti_error* error) {
    return ask(store, error,
               [&](const Lease& lease) { lease->set(text_of(key), value_of(value)); });
}

tutti_status get(void* store, const tutti_slice* key, int64_t timeout_ms, tutti_give_function give,
                 void* to, tutti_error* error) {
    bool found = false;
    const tutti_status status = ask(store, error, [&](const Lease& lease) {
        const std::string name = text_of(key);
        found = is_there(lease, {name}, timeout_ms);
        if (!found) return;
        const Value value = lease->get(name);
        give(to, value.data(), value.size());
    });
    return status == TUTTI_OK && !found ? TUTTI_ERR_TIMEOUT : status;
}

tutti_status add(void* store, const tutti_slice* key, int64_t amount, int64_t* out_sum,
                 tutti_error* error) {
    return ask(store, error,
               [&](const Lease& lease) { *out_sum = lease->add(text_of(key), amount); });
}

tutti_status wait(void* store, const tutti_slice* keys, size_t count, int64_t timeout_ms,
                  tutti_error* error) {
    bool found = false;
    const tutti_status status = ask(store, error, [&](const Lease& lease) {
        found = is_there(lease, texts_of(keys, count), timeout_ms);
    });
    return status == TUTTI_OK && !found ? TUTTI_ERR_TIMEOUT : status;
}

tutti_status check_keys(void* store, const tutti_slice* keys, size_t count, int32_t* out_all,
                        tutti_error* error) {
    return ask(store, error,
               [&](const Lease& lease) { *out_all = lease->check(texts_of(keys, count)) ? 1 : 0; });
}

// torch gives the value afterwards; where the key is missing and something was expected, it gives
// what was expected.
tutti_status compare_set(void* store, const tutti_slice* key, const tutti_slice* expected,
                         const tutti_slice* desired, int32_t* out_was_set, tutti_give_function give,
                         void* to, tutti_error* error) {
    return ask(store, error, [&](const Lease& lease) {
        const std::string name = text_of(key);
        const Value from = value_of(expected);
        const Value aim = value_of(desired);
        const Value now = lease->compareSet(name, from, aim);
        *out_was_set = now == aim ? 1 : 0;
        const bool may_be_missing = now == from && from != aim;
        if (may_be_missing && !lease->check({name})) return;
        give(to, now.data(), now.size());
    });
}

tutti_status delete_key(void* store, const tutti_slice* key, int32_t* out_deleted,
                        tutti_error* error) {
    return ask(store, error,
               [&](const Lease& lease) { *out_deleted = lease->deleteKey(text_of(key)) ? 1 : 0; });
}

tutti_status append(void* store, const tutti_slice* key, const tutti_slice* value,
                    tutti_error* error) {
    return ask(store, error,
               [&](const Lease& lease) { lease->append(text_of(key), value_of(value)); });
}

void close(void* store) {
    delete static_cast<Handles*>(store);
}

}  // namespace

tutti_store* wrap_store(const Torch& store) {
    tutti_store_table table{};
    table.struct_size = sizeof table;
    table.version = TUTTI_EXT_VERSION;
    table.name = "torch";
    table.close = close;
    table.set = set;
    table.get = get;
    table.add = add;
    table.wait = wait;
    table.check = check_keys;
    table.compare_set = compare_set;
    table.delete_key = delete_key;
    table.append = store->hasExtendedApi() ? append : nullptr;
    auto handles = std::make_unique<Handles>(store);
    tutti_store* wrapped = nullptr;
    tutti_error error = no_error();
    check(tutti_store_create_user(&table, handles.get(), &wrapped, &error), error);
    handles.release();
    return wrapped;
}

}  // namespace tutti_torch
