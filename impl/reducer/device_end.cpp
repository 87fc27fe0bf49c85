#include "device_end.hpp"

#include <utility>

#include "base/error.hpp"
#include "device/waiting.hpp"
#include "device/watcher.hpp"

namespace tutti {

void DeviceWaits::check(const DeviceEnd& end) const {
    if (Status failure = model_.group->end_of_calls(); !failure.ok())
        throw Error(std::move(failure));
    for (const auto& call : end.calls) {
        if (const auto status = call->status(); status && !status->ok()) throw Error(*status);
    }
    if (is_stopping_) throw Error(TUTTI_ERR_ABORTED, "the reducer was released");
}

// Calls that end early let the event pass; so the calls say how they went.
void DeviceWaits::await(const DeviceEnd& end) const {
    if (!end.event) return;
    device::wait_for(*end.event, Deadline::never(), [&] { check(end); });
    for (const auto& call : end.calls) call->wait(Deadline::never());
    check(end);
}

void DeviceWaits::finish_at(const DeviceEnd& end,
                            const std::shared_ptr<Work>& work) const noexcept {
    if (!end.event || !memory_.has_programs_stream()) return work->finish({});
    work->enqueued(end.event);
    const auto left = std::make_shared<std::atomic<size_t>>(end.calls.size() + 1);
    const auto ends = [work, left, group = model_.group](const Status& status) {
        Status failure = status.ok() ? Status{} : group->failure();
        if (failure.ok()) failure = status;
        if (!failure.ok() || --*left == 0) work->finish(std::move(failure));
    };
    try {
        for (const auto& call : end.calls) call->then(ends, Callbacks::of_library());
    } catch (const std::exception&) {
        return work->finish(current_status());
    }
    const bool knows_calls = !end.calls.empty();  // otherwise those of a hook may have failed
    device::Watcher::of_process().add(
        {end.event, [ends, knows_calls, group = model_.group](const Status& passed) {
             ends(passed.ok() && !knows_calls ? group->end_of_calls() : passed);
             return device::EventPointer();
         }});
}

}  // namespace tutti
