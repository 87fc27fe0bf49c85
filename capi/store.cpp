// The calls on a store of tutti/store.h. Any thread.
#include "store.hpp"

#include "arguments.hpp"
#include "guard.hpp"
#include "reaper.hpp"
#include "record/recorder.hpp"
#include "store/limits.hpp"

namespace capi = tutti::capi;
using capi::CallLimit;
using capi::hand_out_bytes;
using capi::StorePin;

namespace {

// A value that is longer than any store takes is refused before it is copied.
std::string read_value(const void* value, size_t size, const std::string& argument) {
    const auto memory = capi::read_memory(value, size, argument);
    constexpr size_t most = tutti::store_limits::max_value_bytes;
    if (size > most)
        capi::refuse(argument, " has ", size, " bytes; no store takes more than ", most);
    return {reinterpret_cast<const char*>(memory.data()), memory.size()};
}

// The keys that C can name, each with a NUL behind it, and how many they are.
std::pair<std::string, int64_t> join_keys(const std::vector<std::string>& keys) {
    std::pair<std::string, int64_t> joined;
    for (const std::string& key : keys) {
        if (key.find('\0') != std::string::npos) continue;
        joined.first.append(key.c_str(), key.size() + 1);
        ++joined.second;
    }
    return joined;
}

// A call that waits for keys, as the flight recorder has it.
template <typename Wait>
auto recorded(const std::string& key, size_t count, const CallLimit& limit, Wait&& wait) {
    tutti::record::turn_on();
    const tutti::record::Note note{.kind = static_cast<uint8_t>(tutti::record::Kind::StoreWait),
                                   .count = static_cast<int64_t>(count),
                                   .timeout_ms = limit.timeout_ms(),
                                   .text = key};
    return tutti::record::as_call({note, tutti::record::state::started},
                                  [&](tutti::record::Call&) { return wait(); });
}

}  // namespace

extern "C" {

void tutti_store_call_options_init(tutti_store_call_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_store_set(tutti_store* store, const char* key, const void* value, size_t size,
                             tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        pin->set(capi::read_text(key, "key"), read_value(value, size, "value"),
                 pin->default_deadline());
    });
}

tutti_status tutti_store_get(tutti_store* store, const char* key,
                             const tutti_store_call_options* options, tutti_bytes** out_value,
                             tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        const CallLimit limit(pin, options);
        capi::need_output(out_value, "out_value");
        const std::string name = capi::read_text(key, "key");
        *out_value =
            hand_out_bytes(recorded(name, 1, limit, [&] { return pin->get(name, limit); }));
    });
}

tutti_status tutti_store_add(tutti_store* store, const char* key, int64_t amount,
                             int64_t* out_value, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_value, "out_value");
        *out_value = pin->add(capi::read_text(key, "key"), amount, pin->default_deadline());
    });
}

tutti_status tutti_store_append(tutti_store* store, const char* key, const void* value, size_t size,
                                tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        pin->append(capi::read_text(key, "key"), read_value(value, size, "value"),
                    pin->default_deadline());
    });
}

tutti_status tutti_store_check(tutti_store* store, const char* const* keys, int64_t count,
                               int32_t* out_found, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_found, "out_found");
        *out_found = pin->check(capi::read_keys(keys, count), pin->default_deadline()) ? 1 : 0;
    });
}

tutti_status tutti_store_wait(tutti_store* store, const char* const* keys, int64_t count,
                              const tutti_store_call_options* options, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        const CallLimit limit(pin, options);
        const std::vector<std::string> wanted = capi::read_keys(keys, count);
        const std::string first = wanted.empty() ? std::string() : wanted.front();
        recorded(first, wanted.size(), limit, [&] { pin->wait(wanted, limit); });
    });
}

tutti_status tutti_store_compare_set(tutti_store* store, const char* key, const void* expected,
                                     size_t expected_size, const void* desired, size_t desired_size,
                                     tutti_bytes** out_value, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_value, "out_value");
        *out_value = hand_out_bytes(pin->compare_set(
            capi::read_text(key, "key"), read_value(expected, expected_size, "expected"),
            read_value(desired, desired_size, "desired"), pin->default_deadline()));
    });
}

tutti_status tutti_store_delete_key(tutti_store* store, const char* key, int32_t* out_deleted,
                                    tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_deleted, "out_deleted");
        *out_deleted =
            pin->delete_key(capi::read_text(key, "key"), pin->default_deadline()) ? 1 : 0;
    });
}

tutti_status tutti_store_multi_get(tutti_store* store, const char* const* keys, int64_t count,
                                   const tutti_store_call_options* options,
                                   tutti_bytes** out_values, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        const CallLimit limit(pin, options);
        const std::vector<std::string> wanted = capi::read_keys(keys, count);
        capi::need_array(out_values, wanted.size(), "out_values");
        std::vector<std::shared_ptr<const std::string>> values;
        std::vector<capi::Reserved<tutti_bytes>> slots(wanted.size());
        const std::string first = wanted.empty() ? std::string() : wanted.front();
        const auto get_all = [&] { return pin->multi_get(wanted, limit); };
        for (std::string& value : recorded(first, wanted.size(), limit, get_all))
            values.push_back(std::make_shared<const std::string>(std::move(value)));
        for (size_t i = 0; i < values.size(); ++i)
            out_values[i] = slots[i].publish(std::move(values[i]));
    });
}

tutti_status tutti_store_multi_set(tutti_store* store, const char* const* keys,
                                   const void* const* values, const size_t* sizes, int64_t count,
                                   tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        const size_t number = capi::read_count(count, "count");
        capi::need_array(keys, number, "keys");
        capi::need_array(values, number, "values");
        capi::need_array(sizes, number, "sizes");
        std::vector<std::pair<std::string, std::string>> pairs;
        pairs.reserve(number);
        for (size_t i = 0; i < number; ++i) {
            std::string key = capi::read_text(keys[i], capi::indexed("keys", i));
            pairs.emplace_back(std::move(key),
                               read_value(values[i], sizes[i], capi::indexed("values", i)));
        }
        pin->multi_set(pairs, pin->default_deadline());
    });
}

tutti_status tutti_store_num_keys(tutti_store* store, int64_t* out_count, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_count, "out_count");
        *out_count = pin->num_keys(pin->default_deadline());
    });
}

tutti_status tutti_store_queue_push(tutti_store* store, const char* key, const void* value,
                                    size_t size, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        pin->queue_push(capi::read_text(key, "key"), read_value(value, size, "value"),
                        pin->default_deadline());
    });
}

tutti_status tutti_store_queue_pop(tutti_store* store, const char* key, int32_t block,
                                   const tutti_store_call_options* options, tutti_bytes** out_value,
                                   tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        const CallLimit limit(pin, options);
        const std::string name = capi::read_text(key, "key");
        capi::check_flag(static_cast<uint32_t>(block), "block");
        capi::need_output(out_value, "out_value");
        capi::Reserved<tutti_bytes> slot;  // before a value is taken that could not be given back
        *out_value = slot.publish(std::make_shared<const std::string>(
            recorded(name, 1, limit, [&] { return pin->queue_pop(name, block == 1, limit); })));
    });
}

tutti_status tutti_store_queue_len(tutti_store* store, const char* key, int64_t* out_length,
                                   tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_length, "out_length");
        *out_length = pin->queue_len(capi::read_text(key, "key"), pin->default_deadline());
    });
}

tutti_status tutti_store_list_keys(tutti_store* store, tutti_bytes** out_keys, int64_t* out_count,
                                   tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_keys, "out_keys");
        capi::need_output(out_count, "out_count");
        auto [keys, count] = join_keys(pin->list_keys(pin->default_deadline()));
        *out_keys = hand_out_bytes(std::move(keys));
        *out_count = count;
    });
}

tutti_status tutti_store_barrier(tutti_store* store, const char* key, int32_t world_size,
                                 const tutti_store_call_options* options, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        const CallLimit limit(pin, options);
        const std::string name = capi::read_text(key, "key");
        if (world_size < 1) capi::refuse("world_size is ", world_size, "; it must be 1 or more");
        recorded(name, 1, limit, [&] { pin->barrier(name, world_size, limit); });
    });
}

tutti_status tutti_store_flush(tutti_store* store, const tutti_store_call_options* options,
                               tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        pin->flush(CallLimit(pin, options));
    });
}

tutti_status tutti_store_interrupt(tutti_store* store, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        pin->interrupt();
    });
}

tutti_status tutti_store_has_extended_api(tutti_store* store, int32_t* out_has,
                                          tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_has, "out_has");
        *out_has = pin->has_extended_api() ? 1 : 0;
    });
}

tutti_status tutti_store_set_timeout(tutti_store* store, int64_t timeout_ms, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        if (timeout_ms == 0 || timeout_ms < -1) {
            capi::refuse("timeout_ms is ", timeout_ms,
                         "; it must be above 0, or TUTTI_NO_TIMEOUT (-1)");
        }
        pin->set_timeout_ms(timeout_ms);
    });
}

tutti_status tutti_store_get_timeout(tutti_store* store, int64_t* out_timeout_ms,
                                     tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_timeout_ms, "out_timeout_ms");
        *out_timeout_ms = pin->timeout_ms();
    });
}

void tutti_store_release(tutti_store* store) {
    if (!capi::forked()) capi::release(store);
}

}  // extern "C"
