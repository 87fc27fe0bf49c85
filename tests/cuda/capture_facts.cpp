// The facts of captures that the double of the driver takes for granted. driver_facts.cpp runs
// these.
#include "capture_facts.hpp"

#include "device.hpp"

#include <thread>

using namespace tutti::cuda;
using namespace tutti::cuda::test;

constexpr Result unsupported = Result::StreamCaptureUnsupported;
constexpr CaptureMode modes[] = {CaptureMode::Global, CaptureMode::ThreadLocal,
                                 CaptureMode::Relaxed};

static CaptureStatus status_of(Stream stream) {
    CaptureStatus status{};
    TUTTI_WORKS(cuda.stream_is_capturing(stream, &status));
    return status;
}

static Stream captured(CaptureMode mode, unsigned flags = stream_non_blocking) {
    const Stream stream = new_stream(flags);
    TUTTI_HOLDS(status_of(stream) == CaptureStatus::None);
    TUTTI_WORKS(cuda.begin_capture(stream, mode));
    TUTTI_HOLDS(status_of(stream) == CaptureStatus::Active);
    return stream;
}

// Ends a capture that has come to this; a failed one has no graph.
static void end(Stream stream, Result wanted) {
    const bool failed = wanted == capture_invalidated;
    TUTTI_HOLDS(status_of(stream) == (failed ? CaptureStatus::Invalidated : CaptureStatus::Active));
    Graph graph = nullptr;
    TUTTI_GIVES(wanted, cuda.end_capture(stream, &graph));
    TUTTI_HOLDS((graph != nullptr) == (wanted == Result::Success));
    if (graph != nullptr) TUTTI_WORKS(cuda.graph_destroy(graph));
    TUTTI_HOLDS(status_of(stream) == CaptureStatus::None);
}

static void in_another_thread(void (*act)(Event), Event event) {
    std::thread([=] {
        TUTTI_WORKS(cuda.push_context(context));
        act(event);
    }).join();
}

void capture_forbids_queries_by_its_mode() {
    const Event event = new_event();
    const Stream beside = new_stream();
    TUTTI_WORKS(cuda.event_record(event, beside));
    TUTTI_WORKS(cuda.event_synchronize(event));
    const auto forbidden = [](Event asked) { TUTTI_GIVES(unsupported, cuda.event_query(asked)); };
    const auto allowed = [](Event asked) { TUTTI_WORKS(cuda.event_query(asked)); };
    const auto relaxed = [](Event asked) {
        CaptureMode mode = CaptureMode::Relaxed;
        TUTTI_WORKS(cuda.exchange_capture_mode(&mode));
        TUTTI_HOLDS(mode == CaptureMode::Global);
        TUTTI_WORKS(cuda.event_query(asked));
    };
    for (const CaptureMode mode : modes) {
        const bool free = mode == CaptureMode::Relaxed;
        const Stream stream = captured(mode);
        TUTTI_GIVES(free ? Result::Success : unsupported, cuda.event_query(event));
        end(stream, free ? Result::Success : capture_invalidated);
    }
    const Stream global = captured(CaptureMode::Global);
    in_another_thread(relaxed, event);
    in_another_thread(forbidden, event);
    end(global, capture_invalidated);
    const Stream of_thread = captured(CaptureMode::ThreadLocal);
    in_another_thread(allowed, event);
    end(of_thread, Result::Success);

    const Stream again = captured(CaptureMode::Global);
    DevicePointer memory = 0;
    TUTTI_GIVES(unsupported, cuda.alloc(&memory, bytes));
    end(again, capture_invalidated);
    const Stream third = captured(CaptureMode::Global);
    TUTTI_WORKS(cuda.event_record(event, beside));
    TUTTI_WORKS(cuda.event_destroy(new_event()));
    TUTTI_GIVES(unsupported, cuda.stream_query(beside));
    end(third, capture_invalidated);
}

void captured_streams_and_events_tell_nothing() {
    const Stream stream = captured(CaptureMode::Relaxed);
    TUTTI_GIVES(unsupported, cuda.stream_query(stream));
    end(stream, capture_invalidated);
    TUTTI_WORKS(cuda.begin_capture(stream, CaptureMode::Relaxed));
    TUTTI_GIVES(unsupported, cuda.stream_synchronize(stream));
    end(stream, capture_invalidated);
    TUTTI_WORKS(cuda.begin_capture(stream, CaptureMode::Relaxed));
    TUTTI_GIVES(unsupported, cuda.context_synchronize());
    end(stream, capture_invalidated);
    TUTTI_WORKS(cuda.begin_capture(stream, CaptureMode::Relaxed));
    const Event event = new_event();
    TUTTI_WORKS(cuda.event_record(event, stream));
    TUTTI_GIVES(captured_event, cuda.event_query(event));
    end(stream, capture_invalidated);
}

void event_of_a_capture_is_of_no_use_after_it() {
    const Stream stream = captured(CaptureMode::Global);
    const Event event = new_event();
    TUTTI_WORKS(cuda.event_record(event, stream));
    end(stream, Result::Success);
    TUTTI_GIVES(Result::InvalidValue, cuda.event_query(event));
    TUTTI_GIVES(Result::InvalidValue, cuda.event_synchronize(event));
    TUTTI_GIVES(Result::InvalidValue, cuda.stream_wait_event(new_stream(), event, 0));
    TUTTI_WORKS(cuda.event_record(event, stream));
    TUTTI_WORKS(cuda.event_synchronize(event));
}

void failed_capture_takes_nothing() {
    const Stream stream = captured(CaptureMode::Relaxed);
    const Event event = new_event();
    TUTTI_GIVES(unsupported, cuda.stream_query(stream));
    TUTTI_GIVES(capture_invalidated, cuda.set_async(new_memory(), 1, bytes, stream));
    TUTTI_GIVES(capture_invalidated, cuda.event_record(event, stream));
    TUTTI_GIVES(capture_invalidated, cuda.stream_wait_event(stream, event, 0));
    TUTTI_WORKS(cuda.stream_destroy(stream));
}

void captures_do_not_merge() {
    const Stream first = captured(CaptureMode::Relaxed);
    const Stream second = captured(CaptureMode::Relaxed);
    const Event event = new_event();
    TUTTI_WORKS(cuda.event_record(event, first));
    TUTTI_GIVES(capture_merge, cuda.stream_wait_event(second, event, 0));
    end(first, capture_invalidated);
    end(second, capture_invalidated);
}

void capture_spreads_by_events() {
    const DevicePointer memory = new_memory();
    const Stream stream = captured(CaptureMode::Global);
    const Stream other = new_stream();
    const Event event = new_event();
    TUTTI_WORKS(cuda.event_record(event, stream));
    TUTTI_WORKS(cuda.stream_wait_event(other, event, 0));
    TUTTI_HOLDS(status_of(other) == CaptureStatus::Active);
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, other));
    end(stream, capture_unjoined);
    TUTTI_HOLDS(status_of(other) == CaptureStatus::None);

    TUTTI_WORKS(cuda.begin_capture(stream, CaptureMode::Global));
    TUTTI_WORKS(cuda.event_record(event, stream));
    TUTTI_WORKS(cuda.stream_wait_event(other, event, 0));
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, other));
    TUTTI_WORKS(cuda.event_record(event, other));
    TUTTI_WORKS(cuda.stream_wait_event(stream, event, 0));
    end(stream, Result::Success);
}

void capture_takes_no_event_from_outside() {
    const Event event = new_event();
    TUTTI_WORKS(cuda.event_record(event, new_stream()));
    const Stream stream = captured(CaptureMode::Relaxed);
    TUTTI_GIVES(capture_isolation, cuda.stream_wait_event(stream, event, 0));
    end(stream, capture_invalidated);
}

void default_stream_stays_away_from_a_capture() {
    const DevicePointer memory = new_memory();
    const Stream stream = captured(CaptureMode::Relaxed, 0);
    CaptureStatus status{};
    TUTTI_GIVES(capture_implicit, cuda.stream_is_capturing(legacy_stream, &status));
    TUTTI_HOLDS(status_of(stream) == CaptureStatus::Active);
    TUTTI_GIVES(capture_implicit, cuda.set_async(memory, 1, bytes, legacy_stream));
    end(stream, capture_invalidated);

    const Stream beside = captured(CaptureMode::Global);
    TUTTI_WORKS(cuda.stream_is_capturing(legacy_stream, &status));
    TUTTI_HOLDS(status == CaptureStatus::None);
    TUTTI_WORKS(cuda.set_async(memory, 1, bytes, legacy_stream));
    unsigned char host = 0;
    TUTTI_WORKS(cuda.copy_to_host(&host, memory, 1));
    TUTTI_HOLDS(host == 1);
    const Event event = new_event();
    TUTTI_WORKS(cuda.event_record(event, beside));
    TUTTI_GIVES(capture_implicit, cuda.stream_wait_event(legacy_stream, event, 0));
    end(beside, capture_invalidated);
}

void capture_begins_and_ends_once() {
    TUTTI_GIVES(unsupported, cuda.begin_capture(legacy_stream, CaptureMode::Relaxed));
    Graph graph = nullptr;
    TUTTI_GIVES(illegal_state, cuda.end_capture(new_stream(), &graph));
    const Stream stream = captured(CaptureMode::Relaxed);
    TUTTI_GIVES(illegal_state, cuda.begin_capture(stream, CaptureMode::Relaxed));
    const Stream other = new_stream();
    const Event event = new_event();
    TUTTI_WORKS(cuda.event_record(event, stream));
    TUTTI_WORKS(cuda.stream_wait_event(other, event, 0));
    TUTTI_GIVES(capture_unmatched, cuda.end_capture(other, &graph));
    end(stream, capture_invalidated);
    const Stream destroyed = captured(CaptureMode::Global);
    TUTTI_WORKS(cuda.stream_destroy(destroyed));
    TUTTI_WORKS(cuda.event_query(new_event()));
}
