// The state of the driver: contexts, streams, events and operations. One mutex guards all of it,
// and whatever else these files declare; there is no thread but those of the program.
#pragma once

#include "clocks.hpp"
#include "functions.hpp"
#include "memory.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include <sys/types.h>

namespace tutti::cuda {

struct StreamObject;
struct Capture;

// The bytes of an operation in one allocation.
struct Touch {
    std::shared_ptr<Allocation> allocation;
    Extent extent;
};

// An operation of a stream. It is executed in one piece, when all that it needs is done.
struct Operation {
    uint64_t number = 0;  // in the order of the calls, of all streams
    StreamObject* stream = nullptr;
    uint64_t step = 0;  // in the order of the stream
    const char* name = "";
    std::vector<Touch> touches;
    std::vector<std::shared_ptr<Operation>> needs;
    std::function<bool(Operation&)> act;  // false: not yet; none: nothing to do
    Clock known;                          // what the host had observed at the call
    Clock clock;                          // once done: all that is before it, and itself
    unsigned delay = 0;                   // how often a random schedule passes it over
    bool asked = false;                   // a lazy schedule has said "not ready" to somebody
    bool done = false;
};
using OperationPointer = std::shared_ptr<Operation>;

struct ContextObject {
    int device = 0;
    unsigned retained = 0;
    int retentions = 0;  // so far
    StreamObject* legacy = nullptr;
    std::map<uint64_t, StreamObject*> of_threads;  // CU_STREAM_PER_THREAD
};

// Priorities of streams are told, and have no effect.
constexpr int most_urgent = -5;

struct StreamObject {
    size_t number = 0;  // in clocks; never used again
    ContextObject* context = nullptr;
    std::string name;
    bool legacy = false;
    bool blocking = false;  // in order with the legacy stream
    bool alive = true;
    int priority = 0;  // less goes before more
    uint64_t steps = 0;
    Clock clock;  // of what is done
    std::deque<OperationPointer> queue;
    OperationPointer last;  // enqueued, done or not
    std::shared_ptr<Capture> capture;
};

struct EventObject {
    ContextObject* context = nullptr;
    size_t number = 0;
    bool alive = true;
    OperationPointer record;           // the last one, done or not
    std::shared_ptr<Capture> capture;  // if that was captured
    Clock captured;
};

struct Model {
    std::mutex mutex;
    pid_t process = 0;  // that has called cuInit; 0: nobody has
    Result sticky = Result::Success;
    std::vector<std::unique_ptr<ContextObject>> contexts;  // the primary ones, by device
    std::deque<std::unique_ptr<StreamObject>> streams;     // all, by number
    std::deque<std::unique_ptr<EventObject>> events;
    std::unordered_set<const void*> handles;  // of streams and events that ever were
    Clock host;                               // what the program has observed
    uint64_t operations = 0;
};

// Never destroyed: a program may call until its very end.
Model& model();

// The state of this thread.
struct ThreadState {
    explicit ThreadState(uint64_t count) : number(count) {}

    uint64_t number;
    std::vector<ContextObject*> contexts;  // the last is current
    CaptureMode mode = CaptureMode::Global;
    bool inside = false;  // a call of the driver: faults are not the program's
    const char* call = "";
    std::unique_lock<std::mutex>* lock = nullptr;  // of the call
};
ThreadState& this_thread();

// Reports a call that the driver refuses, with this result.
Result misuse(Result result, const std::string& text);

std::string describe(const Operation& operation);  // "cuMemcpyAsync #7 on stream 2 of device 0"
std::string describe(const EventObject& event);

ContextObject* current_context();
// The object that a handle stands for; null, and *result says why, if it is none or needs a
// context.
StreamObject* stream_of(Stream handle, Result* result);
EventObject* event_of(Event handle, Result* result);
ContextObject* context_of(Context handle);
StreamObject* make_stream(ContextObject& context, bool blocking, const std::string& name);

// Every function of the driver: takes the mutex, looks at what it was told to do wrong, and lets
// the streams go on afterwards.
Result call(const char* name, const std::function<Result()>& body);
// The same with a current context.
Result call_in_context(const char* name, const std::function<Result(ContextObject&)>& body);

}  // namespace tutti::cuda
