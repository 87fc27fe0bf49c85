#include "stream_calls.hpp"

#include <utility>

#include "base/error.hpp"

namespace tutti {

// Wrong arguments are refused here. Other failures end the call in its turn, where all
// ranks hear of them: else this rank's next call would meet the others' present one.
void StreamCalls::enter(FlatCall& call, void* stream, bool waits) {
    call.stream = stream;
    try {
        if (waits) call.place = join(call, stream);
        if (call.place == FlatCall::Place::Beside) call.begun = begin(call.device, stream);
    } catch (...) {
        Status status = current_status();
        const bool is_refusal =
            status.code == TUTTI_ERR_INVALID_ARGUMENT || status.code == TUTTI_ERR_UNSUPPORTED;
        if (is_refusal) throw;
        call.fault = std::make_shared<const Status>(std::move(status));
    }
}

}  // namespace tutti
