#include "hold.hpp"

#include "base/error.hpp"

namespace tutti {

void hold(const Work& work, void* stream) {
    work.wait_enqueued();
    if (const auto status = work.status(); status && !status->ok()) throw Error(*status);
    if (stream == nullptr) return;  // the work is on it
    if (const auto end = work.stream_end()) end->hold(stream);
}

}  // namespace tutti
