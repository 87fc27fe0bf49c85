#include "null_backend.hpp"

#include <map>
#include <memory>
#include <utility>

#include "backend/registry.hpp"
#include "base/error.hpp"
#include "null_hub.hpp"

namespace tutti::test {

namespace {

// The hubs of this process, by the identity of their groups: the first rank that comes makes it.
std::shared_ptr<NullHub> hub_of(const std::string& group, int size, Completion completion) {
    static Mutex mutex;
    static std::map<std::string, std::weak_ptr<NullHub>> hubs;
    const Lock lock(mutex);
    auto& there = hubs[group];
    auto hub = there.lock();
    if (!hub) there = hub = std::make_shared<NullHub>(group, size, completion);
    return hub;
}

class NullBackend : public Backend {
public:
    NullBackend(const char* name, std::shared_ptr<NullHub> hub, int rank, Completion completion)
        : name_(name), hub_(std::move(hub)), rank_(rank), can_(null_capabilities(completion)) {}

    [[nodiscard]] const char* name() const override { return name_; }
    [[nodiscard]] const Capabilities& capabilities() const override { return can_; }
    void post(Request request, std::shared_ptr<Work> work) override {
        hub_->post(rank_, std::move(request), std::move(work));
    }
    bool test() noexcept override { return hub_->test(rank_); }
    void abort(const Status& status) noexcept override { hub_->end(rank_, status); }
    void left(int rank) noexcept override { hub_->leave(rank); }

private:
    const char* const name_;
    const std::shared_ptr<NullHub> hub_;
    const int rank_;
    const Capabilities can_;
};

template <Completion completion>
std::unique_ptr<Backend> open_null(Membership& membership, const Deadline& deadline) {
    constexpr const char* name = completion == Completion::Polled ? "null_polled" : "null";
    auto hub = hub_of(cat(name, " ", membership.identity()), membership.size(), completion);
    membership.tell_all(name, "", deadline);  // or a rank that comes and goes would take it away
    return std::make_unique<NullBackend>(name, std::move(hub), membership.rank(), completion);
}

}  // namespace

Capabilities null_capabilities(Completion completion) {
    Capabilities can;
    can.completion = completion;
    can.devices = NumberSet::of(TUTTI_CPU, null_device);
    can.kinds =
        NumberSet::of(CallKind::Broadcast, CallKind::AllReduce, CallKind::Barrier, CallKind::Reduce,
                      CallKind::AllGather, CallKind::AllGatherIntoTensor,
                      CallKind::ReduceScatterTensor, CallKind::AllToAllSingle, CallKind::Coalesced);
    can.dtypes = NumberSet::all().without(NumberSet::of(TUTTI_BFLOAT16, TUTTI_COMPLEX128));
    can.ops = NumberSet::of(TUTTI_SUM, TUTTI_AVG, TUTTI_PRODUCT, TUTTI_MIN, TUTTI_MAX);
    can.user_functions = false;
    can.reproducible = false;
    can.messages = false;
    return can;
}

void register_null_backends() {
    register_backend("null", open_null<Completion::Callback>);
    register_backend("null_polled", open_null<Completion::Polled>);
}

}  // namespace tutti::test
