// Captures: the calls they note, forbid and are invalidated by.
#include "capture.hpp"

#include "engine.hpp"
#include "exports.hpp"

#include <algorithm>

namespace tutti::cuda {

namespace {

std::vector<std::shared_ptr<Capture>>& captures() {  // those under way
    static auto* const all = new std::vector<std::shared_ptr<Capture>>;
    return *all;
}

bool under_way(const std::shared_ptr<Capture>& capture) {
    return std::count(captures().begin(), captures().end(), capture) != 0;
}

void end(const std::shared_ptr<Capture>& capture) {
    for (const auto& [member, clock] : capture->members) member->capture = nullptr;
    std::erase(captures(), capture);
}

bool forbids(const Capture& capture) {
    const ThreadState& thread = this_thread();
    if (thread.mode == CaptureMode::Relaxed) return false;
    if (capture.thread == thread.number && capture.mode != CaptureMode::Relaxed) return true;
    return capture.mode == CaptureMode::Global && thread.mode == CaptureMode::Global;
}

// Whether all that others of the capture do comes before the end of its origin.
bool joined(const Capture& capture) {
    const Clock& known = capture.members.at(capture.origin);
    return std::all_of(capture.steps.begin(), capture.steps.end(), [&](const auto& step) {
        return step.first == capture.origin || step.second <= known.of(step.first->number);
    });
}

}  // namespace

Result check_safe() {
    bool safe = true;
    for (const auto& capture : captures()) {
        if (!forbids(*capture)) continue;
        capture->invalidated = true;
        safe = false;
    }
    if (safe) return Result::Success;
    return misuse(Result::StreamCaptureUnsupported, "a capture under way forbids it");
}

Result check_implicit(const StreamObject& stream, bool invalidates) {
    if (!stream.legacy) return Result::Success;
    bool right = true;
    for (const auto& capture : captures())
        for (const auto& [member, clock] : capture->members)
            if (member->blocking && member->context == stream.context) {
                capture->invalidated |= invalidates;
                right = false;
            }
    if (right) return Result::Success;
    return misuse(capture_implicit, "the default stream, while one in order with it is captured");
}

Result check_no_capture(const ContextObject& context) {
    bool right = true;
    for (const auto& capture : captures())
        if (capture->origin->context == &context) {
            capture->invalidated = true;
            right = false;
        }
    if (right) return Result::Success;
    return misuse(Result::StreamCaptureUnsupported, "a stream of the context is captured");
}

Result check_not_captured(const StreamObject& stream) {
    if (stream.capture == nullptr) return Result::Success;
    stream.capture->invalidated = true;
    return misuse(Result::StreamCaptureUnsupported, stream.name + " is captured");
}

Result check_not_captured(EventObject& event) {
    if (event.capture == nullptr) return Result::Success;
    if (!under_way(event.capture) || event.capture->invalidated)
        return misuse(Result::InvalidValue, describe(event) + " is of a capture that is over");
    event.capture->invalidated = true;
    return misuse(captured_event, describe(event) + " was recorded in a capture");
}

void leave_capture(StreamObject& stream) {
    if (stream.capture == nullptr) return;
    stream.capture->invalidated = true;
    end(std::shared_ptr(stream.capture));
}

Result submit(StreamObject& stream, Operation operation, OperationPointer* enqueued) {
    const Result implicit = check_implicit(stream, true);
    if (implicit != Result::Success) return implicit;
    if (stream.capture == nullptr) {
        const OperationPointer made = enqueue(stream, std::move(operation));
        if (enqueued != nullptr) *enqueued = made;
        return Result::Success;
    }
    Capture& capture = *stream.capture;
    if (capture.invalidated) return misuse(capture_invalidated, "its capture failed");
    capture.members[&stream].reach(stream.number, ++capture.steps[&stream]);
    return Result::Success;
}

Result record(StreamObject& stream, EventObject& event) {
    if (event.context != stream.context)
        return misuse(Result::InvalidHandle, describe(event) + " and " + stream.name);
    if (stream.capture == nullptr) {
        Operation operation;
        operation.name = "cuEventRecord";
        const Result result = submit(stream, std::move(operation), &event.record);
        if (result == Result::Success) event.capture = nullptr;
        return result;
    }
    if (stream.capture->invalidated) return misuse(capture_invalidated, "its capture failed");
    event.capture = stream.capture;
    event.captured = stream.capture->members[&stream];
    return Result::Success;
}

static Result join(StreamObject& stream, EventObject& event) {
    const std::shared_ptr<Capture> capture = event.capture;
    if (stream.legacy) {
        capture->invalidated = true;
        return misuse(capture_implicit, "the default stream cannot be captured");
    }
    if (stream.capture != nullptr && stream.capture != capture) {
        stream.capture->invalidated = capture->invalidated = true;
        return misuse(capture_merge, stream.name + " is in another capture than the event");
    }
    stream.capture = capture;
    capture->members[&stream].join(event.captured);
    return Result::Success;
}

Result wait_for(StreamObject& stream, EventObject& event) {
    const Result implicit = check_implicit(stream, true);
    if (implicit != Result::Success) return implicit;
    if (stream.capture != nullptr && stream.capture->invalidated)
        return misuse(capture_invalidated, "its capture failed");
    if (event.capture != nullptr && under_way(event.capture)) return join(stream, event);
    if (event.capture != nullptr)
        return misuse(Result::InvalidValue, describe(event) + " is of a capture that is over");
    if (stream.capture != nullptr) {
        stream.capture->invalidated = true;
        return misuse(capture_isolation, describe(event) + " is not of the capture");
    }
    if (event.record == nullptr) return Result::Success;
    Operation operation;
    operation.name = "cuStreamWaitEvent";
    operation.needs.push_back(event.record);
    return submit(stream, std::move(operation));
}

Result cuThreadExchangeStreamCaptureMode(CaptureMode* mode) {
    return call("cuThreadExchangeStreamCaptureMode", [&] {
        std::swap(*mode, this_thread().mode);
        return Result::Success;
    });
}

Result cuStreamIsCapturing(Stream handle, CaptureStatus* status) {
    return call("cuStreamIsCapturing", [&] {
        Result result = Result::Success;
        const StreamObject* const stream = stream_of(handle, &result);
        if (stream != nullptr) result = check_implicit(*stream, false);
        if (result != Result::Success) return result;
        *status = stream->capture == nullptr     ? CaptureStatus::None
                  : stream->capture->invalidated ? CaptureStatus::Invalidated
                                                 : CaptureStatus::Active;
        return result;
    });
}

Result cuStreamBeginCapture_v2(Stream handle, CaptureMode mode) {
    return call("cuStreamBeginCapture_v2", [&] {
        Result result = Result::Success;
        StreamObject* const stream = stream_of(handle, &result);
        if (stream == nullptr) return result;
        if (stream->legacy) return misuse(Result::StreamCaptureUnsupported, "the default stream");
        if (stream->capture != nullptr)
            return misuse(illegal_state, stream->name + " is captured already");
        auto capture = std::make_shared<Capture>();
        capture->mode = mode;
        capture->thread = this_thread().number;
        capture->origin = stream;
        capture->members[stream];
        stream->capture = capture;
        captures().push_back(capture);
        return result;
    });
}

static Result end_of(StreamObject& stream, Graph* graph) {
    *graph = nullptr;
    const std::shared_ptr<Capture> capture = stream.capture;
    if (capture == nullptr) return misuse(illegal_state, stream.name + " is not captured");
    if (capture->origin != &stream) {
        capture->invalidated = true;
        return misuse(capture_unmatched, "the capture began on " + capture->origin->name);
    }
    end(capture);
    if (capture->mode != CaptureMode::Relaxed && capture->thread != this_thread().number)
        return misuse(capture_wrong_thread, "another thread began the capture");
    if (capture->invalidated) return misuse(capture_invalidated, "the capture failed");
    if (!joined(*capture)) return misuse(capture_unjoined, "not all streams were joined");
    static int graphs[1];  // no graph can be launched: one is as good as another
    *graph = reinterpret_cast<Graph>(graphs);
    return Result::Success;
}

Result cuStreamEndCapture(Stream handle, Graph* graph) {
    return call("cuStreamEndCapture", [&] {
        Result result = Result::Success;
        StreamObject* const stream = stream_of(handle, &result);
        return stream == nullptr ? result : end_of(*stream, graph);
    });
}

Result cuGraphDestroy(Graph) {
    return Result::Success;
}

}  // namespace tutti::cuda
