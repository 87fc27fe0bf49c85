// The functions of streams and events.
#include "capture.hpp"
#include "engine.hpp"
#include "exports.hpp"

#include <algorithm>

namespace tutti::cuda {

// Calls body with the stream of a handle, or says why there is none.
template <class Body>
static Result with_stream(const char* name, Stream handle, const Body& body) {
    return call(name, [&] {
        Result result = Result::Success;
        StreamObject* const stream = stream_of(handle, &result);
        return stream == nullptr ? result : body(*stream);
    });
}

template <class Body>
static Result with_event(const char* name, Event handle, const Body& body) {
    return call(name, [&] {
        Result result = Result::Success;
        EventObject* const event = event_of(handle, &result);
        return event == nullptr ? result : body(*event);
    });
}

static Result create(const char* name, Stream* made, unsigned flags, int priority = 0) {
    return call_in_context(name, [&](ContextObject& context) {
        if (flags > stream_non_blocking) return Result::InvalidValue;
        StreamObject* const stream = make_stream(context, flags != stream_non_blocking, "");
        stream->priority = priority;
        *made = reinterpret_cast<Stream>(stream);
        return Result::Success;
    });
}

Result cuStreamCreate(Stream* stream, unsigned flags) {
    return create("cuStreamCreate", stream, flags);
}

Result cuStreamCreateWithPriority(Stream* stream, unsigned flags, int priority) {
    return create("cuStreamCreateWithPriority", stream, flags,
                  std::clamp(priority, most_urgent, 0));
}

Result cuStreamGetPriority(Stream handle, int* priority) {
    return with_stream("cuStreamGetPriority", handle, [&](StreamObject& stream) {
        *priority = stream.priority;
        return Result::Success;
    });
}

Result cuStreamDestroy_v2(Stream handle) {
    return with_stream("cuStreamDestroy_v2", handle, [](StreamObject& stream) {
        if (stream.legacy) return misuse(Result::InvalidHandle, "the default stream");
        leave_capture(stream);
        stream.alive = false;  // what it holds will be done
        return Result::Success;
    });
}

Result cuStreamGetCtx(Stream handle, Context* context) {
    return with_stream("cuStreamGetCtx", handle, [&](StreamObject& stream) {
        *context = reinterpret_cast<Context>(stream.context);
        return Result::Success;
    });
}

// The state a stream must have for the host to ask about it.
static Result check_asked(const StreamObject& stream) {
    Result result = check_implicit(stream, true);
    if (result == Result::Success) result = check_not_captured(stream);
    if (result == Result::Success) result = check_safe();
    return result;
}

Result cuStreamQuery(Stream handle) {
    return with_stream("cuStreamQuery", handle, [](StreamObject& stream) {
        const Result result = check_asked(stream);
        if (result != Result::Success) return result;
        return query(last_of(stream)) ? Result::Success : Result::NotReady;
    });
}

Result cuStreamSynchronize(Stream handle) {
    return with_stream("cuStreamSynchronize", handle, [](StreamObject& stream) {
        const Result result = check_asked(stream);
        if (result == Result::Success) wait(last_of(stream));
        return result;
    });
}

Result cuCtxSynchronize() {
    return call_in_context("cuCtxSynchronize", [](ContextObject& context) {
        const Result result = check_no_capture(context);
        if (result != Result::Success) return result;
        wait(last_of_all(context));
        return result;
    });
}

Result cuStreamWaitEvent(Stream handle, Event event_handle, unsigned) {
    return with_stream("cuStreamWaitEvent", handle, [&](StreamObject& stream) {
        Result result = Result::Success;
        EventObject* const event = event_of(event_handle, &result);
        return event == nullptr ? result : wait_for(stream, *event);
    });
}

Result cuEventCreate(Event* event, unsigned) {
    return call_in_context("cuEventCreate", [&](ContextObject& context) {
        auto made = std::make_unique<EventObject>();
        made->context = &context;
        made->number = model().events.size() + 1;
        *event = reinterpret_cast<Event>(made.get());
        model().handles.insert(made.get());
        model().events.push_back(std::move(made));
        return Result::Success;
    });
}

Result cuEventDestroy_v2(Event handle) {
    return with_event("cuEventDestroy_v2", handle, [](EventObject& event) {
        event.alive = false;  // who waits for it goes on waiting
        event.record = nullptr;
        return Result::Success;
    });
}

Result cuEventRecord(Event handle, Stream stream_handle) {
    return with_event("cuEventRecord", handle, [&](EventObject& event) {
        Result result = Result::Success;
        StreamObject* const stream = stream_of(stream_handle, &result);
        return stream == nullptr ? result : record(*stream, event);
    });
}

static Result check_asked(EventObject& event) {
    const Result result = check_not_captured(event);
    return result == Result::Success ? check_safe() : result;
}

Result cuEventQuery(Event handle) {
    return with_event("cuEventQuery", handle, [](EventObject& event) {
        const Result result = check_asked(event);
        if (result != Result::Success || event.record == nullptr) return result;
        return query({event.record}) ? Result::Success : Result::NotReady;
    });
}

Result cuEventSynchronize(Event handle) {
    return with_event("cuEventSynchronize", handle, [](EventObject& event) {
        const Result result = check_asked(event);
        if (result == Result::Success && event.record != nullptr) wait({event.record});
        return result;
    });
}

}  // namespace tutti::cuda
