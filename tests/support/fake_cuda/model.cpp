// Handles, threads, and what every call of the driver begins and ends with.
#include "model.hpp"

#include "engine.hpp"
#include "failures.hpp"
#include "report.hpp"

#include <unistd.h>
#include <atomic>
#include <cstring>

namespace tutti::cuda {

Model& model() {
    static auto* const made = new Model;
    return *made;
}

ThreadState& this_thread() {
    static std::atomic<uint64_t> count = 0;
    static thread_local ThreadState state(++count);
    return state;
}

Result misuse(Result result, const std::string& text) {
    if (settings().strict)
        report("MISUSE", std::string(this_thread().call) + ": " + text + " (error " +
                             std::to_string(static_cast<int>(result)) + ")");
    return result;
}

std::string describe(const Operation& operation) {
    return std::string(operation.name) + " #" + std::to_string(operation.number) + " on " +
           operation.stream->name;
}

std::string describe(const EventObject& event) {
    return "event " + std::to_string(event.number) + " of device " +
           std::to_string(event.context->device);
}

ContextObject* current_context() {
    const auto& stack = this_thread().contexts;
    return stack.empty() ? nullptr : stack.back();
}

StreamObject* make_stream(ContextObject& context, bool blocking, const std::string& name) {
    auto made = std::make_unique<StreamObject>();
    made->number = model().streams.size();
    made->context = &context;
    made->blocking = blocking;
    made->name = (name.empty() ? "stream " + std::to_string(made->number) : name) + " of device " +
                 std::to_string(context.device);
    model().handles.insert(made.get());
    model().streams.push_back(std::move(made));
    return model().streams.back().get();
}

static StreamObject* default_stream(Stream handle, Result* result) {
    ContextObject* const context = current_context();
    if (context == nullptr) {
        *result = misuse(Result::InvalidContext, "a default stream, and no context is current");
        return nullptr;
    }
    if (handle != stream_per_thread) return context->legacy;
    const uint64_t thread = this_thread().number;
    StreamObject*& of_thread = context->of_threads[thread];
    if (of_thread == nullptr)
        of_thread =
            make_stream(*context, true, "the default stream of thread " + std::to_string(thread));
    return of_thread;
}

// Whether this was handed out as a handle, and has not been destroyed.
template <class Object>
static Object* alive(const void* handle, const char* kind, Result* result) {
    if (model().handles.count(handle) == 0) {
        *result = misuse(Result::InvalidHandle, std::string("this is no ") + kind);
        return nullptr;
    }
    auto* const object = static_cast<Object*>(const_cast<void*>(handle));
    if (object->alive) return object;
    report("DEAD", std::string(this_thread().call) + ": " + kind + " " +
                       std::to_string(object->number) + " was destroyed");
    *result = Result::InvalidHandle;
    return nullptr;
}

StreamObject* stream_of(Stream handle, Result* result) {
    if (handle == nullptr || handle == legacy_stream_by_name || handle == stream_per_thread)
        return default_stream(handle, result);
    return alive<StreamObject>(handle, "stream", result);
}

EventObject* event_of(Event handle, Result* result) {
    return alive<EventObject>(handle, "event", result);
}

ContextObject* context_of(Context handle) {
    for (const auto& context : model().contexts)
        if (static_cast<const void*>(context.get()) == handle && context->retained > 0)
            return context.get();
    return nullptr;
}

static bool may_be_first(const char* name) {
    return std::strcmp(name, "cuInit") == 0 || std::strcmp(name, "cuDriverGetVersion") == 0;
}

static bool works_in_a_context(const char* name) {
    for (const char* kind : {"cuStream", "cuEvent", "cuMem"})
        if (std::strncmp(name, kind, std::strlen(kind)) == 0) return true;
    return false;
}

static Result refused(const char* name) {
    if (model().process == 0 && !may_be_first(name))
        return settings().devices == 0 ? Result::NotInitialized
                                       : misuse(Result::NotInitialized, "before cuInit");
    if (model().sticky != Result::Success) return model().sticky;
    if (const Result injected = injected_failure(name); injected != Result::Success)
        return injected;
    if (settings().always_context && works_in_a_context(name) && current_context() == nullptr)
        return misuse(Result::InvalidContext, "no context is current");
    return Result::Success;
}

Result call(const char* name, const std::function<Result()>& body) {
    // A forked child has no driver, and perhaps a mutex that nobody will unlock.
    if (model().process != 0 && model().process != getpid()) return Result::NotInitialized;
    ThreadState& thread = this_thread();
    std::unique_lock lock(model().mutex);
    thread.call = name;
    thread.lock = &lock;
    thread.inside = true;
    protect_again();
    Result result = refused(name);
    if (result == Result::Success) result = body();
    if (model().process != 0) go_on();
    thread.inside = false;
    return result;
}

Result call_in_context(const char* name, const std::function<Result(ContextObject&)>& body) {
    return call(name, [&] {
        ContextObject* const context = current_context();
        if (context == nullptr) return misuse(Result::InvalidContext, "no context is current");
        return body(*context);
    });
}

}  // namespace tutti::cuda
