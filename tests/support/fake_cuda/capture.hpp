// Captures of streams: what is called is noted and never executed. Needs the model's mutex.
#pragma once

#include "model.hpp"

namespace tutti::cuda {

struct Capture {
    CaptureMode mode = CaptureMode::Global;
    uint64_t thread = 0;  // that began it
    StreamObject* origin = nullptr;
    bool invalidated = false;
    std::map<StreamObject*, Clock> members;  // with what each of them has joined
    std::map<StreamObject*, uint64_t> steps;
};

// Whether this thread may call what the modes of captures forbid, such as queries of events. Those
// captures that forbid it are invalidated.
Result check_safe();
// The default stream may not be used beside a capture of a stream that is in order with it.
Result check_implicit(const StreamObject& stream, bool invalidates);
// Waiting for all of a context, or for a stream that is captured, is never possible.
Result check_no_capture(const ContextObject& context);
Result check_not_captured(const StreamObject& stream);

// The end of a function that works on a stream: the operation is enqueued, or noted.
Result submit(StreamObject& stream, Operation operation, OperationPointer* enqueued = nullptr);
Result record(StreamObject& stream, EventObject& event);
Result wait_for(StreamObject& stream, EventObject& event);

// An event that was recorded in a capture says nothing to the host.
Result check_not_captured(EventObject& event);
// The stream ceases to be: so does its capture.
void leave_capture(StreamObject& stream);

}  // namespace tutti::cuda
