// Helpers that the functions of tutti/store.h share. Any thread.
#pragma once

#include "handle.hpp"
#include "options.hpp"
#include "store/store.hpp"
#include "tutti/store.h"

namespace tutti::capi {

using StorePin = Pin<tutti_store>;

inline int64_t effective_timeout(int64_t timeout_ms, int64_t default_ms) {
    return timeout_ms == TUTTI_DEFAULT_TIMEOUT ? default_ms : timeout_ms;
}

// How long one call on a handle may wait: up to its timeout, or until the handle is interrupted.
class CallLimit {
public:
    CallLimit(const StorePin& store, int64_t timeout_ms)
        : timeout_ms_(effective_timeout(timeout_ms, store->timeout_ms())),
          interruption_(store->interruption()),
          limit_(Deadline::after_ms(timeout_ms_), interruption_.get()) {}
    CallLimit(const StorePin& store, const tutti_store_call_options* options)
        : CallLimit(store, read_options(options).timeout_ms) {}

    operator const WaitLimit&() const { return limit_; }
    // -1: no limit.
    [[nodiscard]] int64_t timeout_ms() const { return timeout_ms_; }

private:
    const int64_t timeout_ms_;
    std::shared_ptr<Interruption> interruption_;
    WaitLimit limit_;
};

inline tutti_bytes* hand_out_bytes(std::string value) {
    return hand_out<tutti_bytes>(std::make_shared<const std::string>(std::move(value)));
}

}  // namespace tutti::capi
