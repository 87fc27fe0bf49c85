#include "completions.hpp"

#include <utility>

namespace tutti::tcp {

namespace {

constexpr int deepest = 16;

}  // namespace

void Completions::add(const std::shared_ptr<TransferListener>& listener, Transfer& transfer) {
    push({listener, &transfer, nullptr});
}

void Completions::then(std::function<void()> act) {
    push({nullptr, nullptr, std::move(act)});
}

void Completions::push(Completion completion) {
    const Lock lock(mutex_);
    waiting_.push_back(std::move(completion));
    has_any_ = true;
}

bool Completions::tell(bool however_deep) noexcept {
    if (!has_any_) return false;
    Lock lock(mutex_);
    const auto self = std::this_thread::get_id();
    const auto outer = teller_;
    if (outer != std::thread::id() && outer != self) return false;
    if (depth_ >= deepest && !however_deep) return false;
    teller_ = self;
    ++depth_;
    while (!waiting_.empty()) {
        {
            const Completion next = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            if (next.act) {
                next.act();
            } else {
                next.listener->transfer_done(*next.transfer);
            }
        }
        lock.lock();
    }
    has_any_ = false;
    --depth_;
    teller_ = outer;
    return true;
}

}  // namespace tutti::tcp
