#include "observers.hpp"

#include <algorithm>
#include <utility>

#include "base/function_call.hpp"
#include "base/mutex.hpp"

namespace tutti::record {

namespace {

struct All {
    Mutex mutex;
    std::shared_ptr<const Observers> list TUTTI_GUARDED_BY(mutex) =
        std::make_shared<const Observers>();
};

// Outlives all threads.
All& all() {
    static auto& one = *new All;
    return one;
}

std::atomic<uint64_t> last_id{0};

// A function of the program's that is called about an operation. It hears of none of its own.
class HookCall {
public:
    HookCall() : before_(std::exchange(is_in_one, true)) {}
    ~HookCall() { is_in_one = before_; }
    HookCall(const HookCall&) = delete;
    HookCall& operator=(const HookCall&) = delete;

    static inline thread_local constinit bool is_in_one = false;

private:
    const bool before_;
    const FunctionCall inside_{"hook"};
};

}  // namespace

void add_observer(std::shared_ptr<Observer> observer) {
    const Lock lock(all().mutex);
    auto list = std::make_shared<Observers>(*all().list);
    list->push_back(std::move(observer));
    observer_count = static_cast<int>(list->size());
    all().list = std::move(list);
}

void remove_observer(const Observer& observer) noexcept {
    std::shared_ptr<const Observers> before;  // ends without the lock
    const Lock lock(all().mutex);
    auto list = std::make_shared<Observers>(*all().list);
    std::erase_if(*list, [&](const auto& one) { return one.get() == &observer; });
    observer_count = static_cast<int>(list->size());
    before = std::exchange(all().list, std::move(list));
}

Watched::Watched(Operation operation) : operation_(std::move(operation)) {
    if (observer_count.load() == 0 || HookCall::is_in_one) return;
    operation_.id = ++last_id;
    const Lock lock(all().mutex);
    observers_ = all().list;
}

Watched::~Watched() {
    end({TUTTI_ERR_ABORTED, -1, 0, "it was given up"});
}

void Watched::begin(uint64_t sequence) {
    if (!observers_) return;
    operation_.sequence = sequence;
    const HookCall inside;
    while (begun_ < observers_->size()) (*observers_)[begun_++]->before(operation_);
}

void Watched::end(const Status& status) noexcept {
    if (!observers_) return;
    const auto watching = std::exchange(observers_, nullptr);
    const HookCall inside;
    // In the other order, as calls nest.
    for (size_t i = begun_; i > 0; --i) {
        Observer& one = *(*watching)[i - 1];
        status.ok() ? one.after(operation_) : one.aborted(operation_, status);
    }
}

}  // namespace tutti::record
