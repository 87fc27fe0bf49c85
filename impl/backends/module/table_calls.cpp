#include "table_calls.hpp"

#include "base/error.hpp"
#include "base/function_call.hpp"
#include "device/driver.hpp"

namespace tutti::ext {

void TableCalls::open(const std::string& prefix, const tutti_backend_place* place) {
    ext::call(prefix, table_.open, table_.user, place, &instance_);
}

bool TableCalls::split(const tutti_backend_place* place, int color, TableCalls* made) const {
    void** const out = made != nullptr ? &made->instance_ : nullptr;
    tutti_error error = empty_error();
    const tutti_status code = table_.split(instance_, place, color, out, &error);
    if (code == TUTTI_ERR_UNSUPPORTED) return false;
    if (code != TUTTI_OK) throw Error(status_of(code, error));
    return true;
}

void TableCalls::post(tutti_backend_call* call) const {
    const FunctionCall inside("backend");
    ext::call("", table_.post, instance_, call);
}

void TableCalls::check() const {
    if (table_.check != nullptr) ext::call("", table_.check, instance_);
}

void TableCalls::together(bool begins) const noexcept {
    if (table_.together != nullptr) table_.together(instance_, begins ? 1 : 0);
}

void TableCalls::left(int rank) const noexcept {
    if (table_.left != nullptr) table_.left(instance_, rank);
}

void TableCalls::leave() const noexcept {
    if (table_.leave != nullptr) table_.leave(instance_);
}

std::shared_ptr<void> TableCalls::alloc_memory(const Device& device, size_t bytes) const {
    void* memory = nullptr;
    tutti_error error = empty_error();
    const tutti_status code = table_.alloc_memory(instance_, device.type, device.index,
                                                  static_cast<int64_t>(bytes), &memory, &error);
    if (code != TUTTI_OK || memory == nullptr) return nullptr;
    device::Driver& driver = device::Driver::of(device.type);
    return {memory, [&driver, free = table_.free_memory, user = table_.user](void* given) {
                driver.free_later(free, user, given);
            }};
}

void TableCalls::share_memory(const tutti_backend_place* place, void* memory) const {
    ext::call("", table_.share_memory, instance_, place, memory);
}

}  // namespace tutti::ext
