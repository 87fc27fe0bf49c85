// Streams that go on, by schedule.
#include "engine.hpp"

#include "report.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace tutti::cuda {

constexpr size_t long_history = 32;  // from here on it is worth looking what can be forgotten

namespace {

struct Engine {
    std::vector<StreamObject*> busy;        // those that hold something
    std::vector<OperationPointer> pinning;  // touch pinned memory, and nobody has seen their end
    uint64_t random = settings().seed;
};

Engine& engine() {
    static auto* const made = new Engine;
    return *made;
}

uint64_t draw(uint64_t below) {
    uint64_t value = engine().random += 0x9e3779b97f4a7c15u;  // splitmix64
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return (value ^ (value >> 31)) % below;
}

bool all_done(const std::vector<OperationPointer>& operations) {
    return std::all_of(operations.begin(), operations.end(),
                       [](const OperationPointer& operation) { return operation->done; });
}

void observe(const std::vector<OperationPointer>& operations) {
    Clock& host = model().host;
    for (const OperationPointer& operation : operations) host.join(operation->clock);
    std::erase_if(engine().pinning, [&](const OperationPointer& operation) {
        if (!operation->done || operation->step > host.of(operation->stream->number)) return false;
        for (const Touch& touch : operation->touches)
            if (touch.allocation->alive) unpin(*touch.allocation, touch.extent);
        return true;
    });
}

// The knowledge of everything still to come: the host's knowledge at the oldest calls not yet done.
Clock floor_of_all() {
    Clock floor = model().host;
    for (const StreamObject* stream : engine().busy) floor.meet(stream->queue.front()->known);
    return floor;
}

void remember(const Operation& operation) {
    for (const Touch& touch : operation.touches) {
        Allocation& allocation = *touch.allocation;
        allocation.enqueued--;
        if (allocation.history.size() >= long_history) allocation.history.forget(floor_of_all());
        const Extent& extent = touch.extent;
        const std::string text = describe(operation) + (extent.writes ? " writes" : " reads") +
                                 " bytes [" + std::to_string(extent.begin) + ", " +
                                 std::to_string(extent.end) + ")";
        const Access access{extent, operation.stream->number, operation.step, text};
        allocation.history.add(allocation, access, operation.clock);
    }
}

bool ready(const StreamObject& stream) {
    return !stream.queue.empty() && all_done(stream.queue.front()->needs);
}

// Executes the first operation of a stream that is ready. False: it waits for a value.
bool execute(StreamObject& stream) {
    const OperationPointer operation = stream.queue.front();
    operation->clock = stream.clock;
    operation->clock.join(operation->known);
    for (const OperationPointer& need : operation->needs) operation->clock.join(need->clock);
    operation->clock.reach(stream.number, operation->step);
    if (operation->act && !operation->act(*operation)) return false;
    remember(*operation);
    operation->done = true;
    operation->act = nullptr;
    operation->needs.clear();
    stream.clock = operation->clock;
    stream.queue.pop_front();
    if (stream.queue.empty()) std::erase(engine().busy, &stream);
    return true;
}

// The first or last called of the operations that can be executed, but not of these streams.
StreamObject* pick(bool newest, const std::vector<StreamObject*>& stuck) {
    StreamObject* picked = nullptr;
    for (StreamObject* stream : engine().busy) {
        if (!ready(*stream) || std::count(stuck.begin(), stuck.end(), stream) != 0) continue;
        const uint64_t number = stream->queue.front()->number;
        if (picked == nullptr || (number > picked->queue.front()->number) == newest)
            picked = stream;
    }
    return picked;
}

// Executes an operation and what it needs, and nothing else.
void demand(const OperationPointer& operation) {
    while (!operation->done) {
        const OperationPointer front = operation->stream->queue.front();
        for (const OperationPointer& need : std::vector(front->needs)) demand(need);
        if (!ready(*front->stream) || !execute(*front->stream)) return;
    }
}

void random_steps(uint64_t count) {
    while (count-- > 0 && !engine().busy.empty()) {
        StreamObject& stream = *engine().busy[draw(engine().busy.size())];
        if (!ready(stream)) continue;
        Operation& front = *stream.queue.front();
        if (front.delay > 0)
            front.delay--;
        else
            execute(stream);
    }
}

}  // namespace

std::vector<OperationPointer> last_of(const StreamObject& stream) {
    std::vector<OperationPointer> last;
    if (stream.last != nullptr) last.push_back(stream.last);
    if (!stream.legacy) return last;
    for (const auto& other : model().streams)
        if (other->context == stream.context && other->blocking && other->last != nullptr)
            last.push_back(other->last);
    return last;
}

OperationPointer enqueue(StreamObject& stream, Operation operation) {
    auto made = std::make_shared<Operation>(std::move(operation));
    made->number = ++model().operations;
    made->stream = &stream;
    made->step = ++stream.steps;
    made->known = model().host;
    if (settings().schedule == Schedule::Random) made->delay = static_cast<unsigned>(draw(4));
    if (stream.legacy) {
        for (const OperationPointer& other : last_of(stream)) made->needs.push_back(other);
    } else if (stream.blocking && stream.context->legacy->last != nullptr) {
        made->needs.push_back(stream.context->legacy->last);
    }
    bool pins = false;
    for (const Touch& touch : made->touches) {
        touch.allocation->enqueued++;
        pin(*touch.allocation, touch.extent);
        pins |= touch.allocation->pinned && !touch.extent.gate;
    }
    if (pins) engine().pinning.push_back(made);
    if (stream.queue.empty()) engine().busy.push_back(&stream);
    stream.queue.push_back(made);
    stream.last = made;
    return made;
}

void run_all() {
    std::vector<StreamObject*> stuck;
    while (StreamObject* stream = pick(settings().schedule == Schedule::Newest, stuck)) {
        if (execute(*stream))
            stuck.clear();  // it may have opened a gate
        else
            stuck.push_back(stream);
    }
}

void go_on() {
    if (settings().schedule == Schedule::Oldest) run_all();
    if (settings().schedule == Schedule::Random) random_steps(draw(3));
}

// A lazy schedule does nothing at first for a thread that asks, then what that needs. If that
// waits for a value which others are to write, it is their turn.
static void ask(const OperationPointer& operation) {
    if (operation->done || !std::exchange(operation->asked, true)) return;
    demand(operation);
    if (!operation->done) run_all();
}

static bool reached(const std::vector<OperationPointer>& operations) {
    if (settings().schedule == Schedule::Random)
        random_steps(draw(6));
    else if (settings().schedule == Schedule::Lazy)
        for (const OperationPointer& operation : operations) ask(operation);
    else
        run_all();
    return all_done(operations);
}

bool query(const std::vector<OperationPointer>& operations) {
    if (!reached(operations)) return false;
    observe(operations);
    return true;
}

void settle(const std::vector<OperationPointer>& operations) {
    while (true) {
        for (const OperationPointer& operation : operations) operation->asked = true;
        if (settings().schedule == Schedule::Random) random_steps(16);
        if (reached(operations)) return;
        // Others open the gates.
        this_thread().lock->unlock();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        this_thread().lock->lock();
    }
}

void wait(const std::vector<OperationPointer>& operations) {
    settle(operations);
    observe(operations);
}

std::vector<OperationPointer> last_of_all(const ContextObject& context) {
    std::vector<OperationPointer> last;
    for (const auto& stream : model().streams)
        if (stream->context == &context && stream->last != nullptr) last.push_back(stream->last);
    return last;
}

}  // namespace tutti::cuda
