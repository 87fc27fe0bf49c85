#include "inline_backend.hpp"

#include "base/error.hpp"

namespace tutti {

const Capabilities& InlineBackend::capabilities() const {
    static constexpr Capabilities everything{};
    return everything;
}

void InlineBackend::post(Request request, std::shared_ptr<Work> work) {
    try {
        run(request.call, request.sequence, request.deadline);
    } catch (...) {
        work->finish(current_status());
        return;
    }
    work->finish({});
}

}  // namespace tutti
