#include "stream_calls.hpp"

#include <utility>

#include "base/error.hpp"

namespace tutti {

// What the caller gave is refused here. What fails otherwise fails in the call's turn, where all
// ranks hear of it: else this rank's next call would meet the others' present one.
void StreamCalls::enter(FlatCall& call, void* stream) {
    call.stream = stream;
    try {
        call.begun = begin(call.device, stream);
    } catch (...) {
        Status status = current_status();
        const bool is_refusal =
            status.code == TUTTI_ERR_INVALID_ARGUMENT || status.code == TUTTI_ERR_UNSUPPORTED;
        if (is_refusal) throw;
        call.fault = std::make_shared<const Status>(std::move(status));
    }
}

}  // namespace tutti
