#include "null_backend.hpp"

#include <map>
#include <memory>
#include <utility>

#include "backend/inline_backend.hpp"
#include "backend/registry.hpp"
#include "base/error.hpp"
#include "null_hub.hpp"

namespace tutti::test {

namespace {

thread_local bool is_older = false;

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

// What a rank of any null backend is.
struct Place {
    const char* name;
    std::shared_ptr<NullHub> hub;
    int rank;
    Capabilities can;
};

Place come(const char* name, Completion completion, Membership& membership,
           const Deadline& deadline) {
    // An inline one needs a thread that ends its collectives as well.
    const auto ends = completion == Completion::Polled ? completion : Completion::Callback;
    auto hub = hub_of(cat(name, " ", membership.identity()), membership.size(), ends);
    membership.all_gather(name, "", deadline);  // or a rank that comes and goes would take it away
    return {name, std::move(hub), membership.rank(), null_capabilities(completion)};
}

class NullBackend : public Backend {
public:
    explicit NullBackend(Place place) : at_(std::move(place)) {}

    [[nodiscard]] const char* name() const override { return at_.name; }
    [[nodiscard]] const Capabilities& capabilities() const override { return at_.can; }
    void post(Request request, std::shared_ptr<Work> work) override {
        at_.hub->post(at_.rank, std::move(request), std::move(work));
    }
    bool test() noexcept override { return at_.hub->test(at_.rank); }
    void abort(const Status& status) noexcept override { at_.hub->end(at_.rank, status); }
    void left(int rank) noexcept override { at_.hub->leave(rank); }

private:
    const Place at_;
};

class NullInlineBackend : public InlineBackend {
public:
    explicit NullInlineBackend(Place place) : at_(std::move(place)) {}

    [[nodiscard]] const char* name() const override { return at_.name; }
    [[nodiscard]] const Capabilities& capabilities() const override { return at_.can; }
    void run(const FlatCall& call, uint64_t sequence, const Deadline& deadline) override {
        const auto work = std::make_shared<Work>();
        at_.hub->post(at_.rank, {call, sequence, deadline}, work);
        if (!work->wait(deadline)) {
            abort(
                {TUTTI_ERR_TIMEOUT, -1, 0, cat("timed out after ", deadline.timeout_ms(), " ms")});
            work->wait(Deadline::never());
        }
        if (const Status status = *work->status(); !status.ok()) throw Error(status);
    }
    void abort(const Status& status) noexcept override { at_.hub->end(at_.rank, status); }
    void left(int rank) noexcept override { at_.hub->leave(rank); }

private:
    const Place at_;
};

class NullWrongBackend final : public NullInlineBackend {
public:
    using NullInlineBackend::NullInlineBackend;
    void run(const FlatCall& call, uint64_t sequence, const Deadline& deadline) override {
        if (call.kind != FlatCall::Kind::AllReduce) {
            return NullInlineBackend::run(call, sequence, deadline);
        }
        if (call.dtype == TUTTI_INT8) throw Error(TUTTI_ERR_BACKEND, "this one always fails");
        NullInlineBackend::run(call, sequence, deadline);
        const Bytes output = call.output();
        if (call.dtype == TUTTI_FLOAT16 && !output.empty()) output.front() ^= std::byte{1};
    }
};

std::unique_ptr<Backend> open_null(Membership& membership, const Deadline& deadline) {
    return std::make_unique<NullBackend>(come("null", Completion::Callback, membership, deadline));
}

std::unique_ptr<Backend> open_polled(Membership& membership, const Deadline& deadline) {
    return std::make_unique<NullBackend>(
        come("null_polled", Completion::Polled, membership, deadline));
}

std::unique_ptr<Backend> open_inline(Membership& membership, const Deadline& deadline) {
    return std::make_unique<NullInlineBackend>(
        come("null_inline", Completion::Inline, membership, deadline));
}

std::unique_ptr<Backend> open_wrong(Membership& membership, const Deadline& deadline) {
    return std::make_unique<NullWrongBackend>(
        come("null_wrong", Completion::Inline, membership, deadline));
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
    if (completion == Completion::Inline) {
        can.kinds = can.kinds.without(NumberSet::of(CallKind::Coalesced));
        if (is_older) can.kinds = can.kinds.without(NumberSet::of(CallKind::Reduce));
    }
    can.dtypes = NumberSet::all().without(NumberSet::of(TUTTI_BFLOAT16, TUTTI_COMPLEX128));
    can.ops = NumberSet::of(TUTTI_SUM, TUTTI_AVG, TUTTI_PRODUCT, TUTTI_MIN, TUTTI_MAX);
    can.user_functions = false;
    can.reproducible = false;
    can.messages = false;
    return can;
}

void use_older_null_inline() {
    is_older = true;
}

void register_null_backends() {
    const auto inline_can = [] { return null_capabilities(Completion::Inline); };
    register_backend("null", open_null, [] { return null_capabilities(Completion::Callback); });
    register_backend("null_polled", open_polled,
                     [] { return null_capabilities(Completion::Polled); });
    register_backend("null_inline", open_inline, inline_can);
    register_backend("null_wrong", open_wrong, inline_can);
}

}  // namespace tutti::test
