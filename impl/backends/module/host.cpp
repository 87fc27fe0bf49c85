#include "host.hpp"

#include <cstring>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/open_descriptors.hpp"
#include "reduce/reduce.hpp"

namespace tutti::ext {

namespace {

struct Kept {
    std::shared_ptr<PostedCall> call;
    std::shared_ptr<Instance> owner;
};

struct Calls {
    Mutex mutex;
    std::unordered_map<const tutti_backend_call*, Kept> kept TUTTI_GUARDED_BY(mutex);
    std::vector<Kept> given_up TUTTI_GUARDED_BY(mutex);  // for good
};

// Never destroyed: backends have threads of their own.
Calls& calls() {
    static Calls& all = *new Calls;
    return all;
}

Kept find_kept(const tutti_backend_call* raw) noexcept {
    const Lock lock(calls().mutex);
    const auto found = calls().kept.find(raw);
    return found == calls().kept.end() ? Kept{} : found->second;
}

Kept take(const tutti_backend_call* raw) noexcept {
    const Lock lock(calls().mutex);
    const auto found = calls().kept.find(raw);
    if (found == calls().kept.end()) return {};
    Kept taken = std::move(found->second);
    calls().kept.erase(found);
    return taken;
}

tutti_status stream(const tutti_backend_call* raw, void** out_stream, tutti_error* error) {
    return guard(error, [&] {
        const Kept kept = find_kept(raw);
        if (!kept.call) throw Error(TUTTI_ERR_INTERNAL, "it has no such call");
        *out_stream = kept.owner->stream(*kept.call);
    });
}

void enqueued(const tutti_backend_call* raw) {
    const Kept kept = find_kept(raw);
    if (kept.call) return kept.owner->enqueued(kept.call);
    log(LogLevel::Error, "a backend has enqueued a call that it does not have");
}

tutti_status all_gather(const tutti_backend_place* place, const void* input, size_t size,
                        void* output, tutti_error* error) {
    return guard(error, [&] {
        const Gather& gather = static_cast<const PlaceLinks*>(place->host_data)->gather;
        const std::string mine(static_cast<const char*>(input), input == nullptr ? 0 : size);
        const auto all = gather(mine);
        for (size_t rank = 0; rank < all.size(); ++rank) {
            if (all[rank].size() != size) {
                throw Error(TUTTI_ERR_MISMATCH,
                            cat("rank ", rank, " gave ", all[rank].size(),
                                " bytes to all_gather, and this rank ", size),
                            static_cast<int>(rank));
            }
            if (size > 0) {
                std::memcpy(static_cast<char*>(output) + rank * size, all[rank].data(), size);
            }
        }
    });
}

tutti_status all_ended(const tutti_backend_place* place, int32_t* out_ended, tutti_error* error) {
    return guard(error, [&] {
        const Instance& instance = static_cast<const PlaceLinks*>(place->host_data)->instance;
        *out_ended = instance.all_ended() ? 1 : 0;
    });
}

void reduce_begin(const tutti_backend_call* raw, const void* input, void* output, int64_t count) {
    begin_reduction(output, input, static_cast<size_t>(count), raw->dtype,
                    PostedCall::of(raw).call().op);
}

tutti_status reduce(const tutti_backend_call* raw, const void* const* inputs, int32_t input_count,
                    void* output, int64_t count, tutti_error* error) {
    const InOperation inside(PostedCall::of(raw).owner());
    return guard(error, [&] {
        reduce_many(output, std::span(inputs, static_cast<size_t>(input_count)),
                    static_cast<size_t>(count), raw->dtype, PostedCall::of(raw).call().op);
    });
}

void reduce_end(const tutti_backend_call* raw, void* data, int64_t count) {
    const PostedCall& posted = PostedCall::of(raw);
    end_reduction(data, static_cast<size_t>(count), raw->dtype, posted.call().op, posted.size());
}

tutti_status tell_mismatch(const tutti_backend_call* raw, int32_t peer, const void* theirs,
                           tutti_error* error) {
    const PostedCall& posted = PostedCall::of(raw);
    Fingerprint print;
    std::memcpy(&print, theirs, sizeof print);
    const Fingerprint& ours = posted.call().fingerprint;
    return guard(
        error, [&] { throw Error(mismatch(peer, print, posted.rank(), ours, posted.sequence())); });
}

// The thread that opens something is the one that ends it.
thread_local std::optional<Opening> opening_here;

void opening(int32_t begins) {
    if (begins != 0) {
        if (!opening_here) opening_here.emplace();
    } else {
        opening_here.reset();
    }
}

void opened(int32_t descriptor) {
    track_open(descriptor);
}

}  // namespace

void finish(const tutti_backend_call* raw, tutti_status code, int32_t source,
            const tutti_error* error) {
    const Kept kept = take(raw);
    if (!kept.call) {
        log(LogLevel::Error, "a backend has finished a call that it does not have");
        return;
    }
    Status status;
    if (code != TUTTI_OK) status = status_of(code, error == nullptr ? empty_error() : *error);
    kept.owner->ending(*kept.call, status);
    kept.call->work()->finish(std::move(status), source);
}

const tutti_backend_host& host() {
    static constexpr tutti_backend_host functions{
        .struct_size = sizeof(tutti_backend_host),
        .version = TUTTI_EXT_VERSION,
        .finish = finish,
        .all_gather = all_gather,
        .reduce_begin = reduce_begin,
        .reduce = reduce,
        .reduce_end = reduce_end,
        .mismatch = tell_mismatch,
        .stream = stream,
        .enqueued = enqueued,
        .all_ended = all_ended,
        .opening = opening,
        .opened = opened,
    };
    return functions;
}

void keep(const std::shared_ptr<PostedCall>& call, const std::shared_ptr<Instance>& owner) {
    const Lock lock(calls().mutex);
    calls().kept.emplace(call->raw(), Kept{call, owner});
}

void forget(const PostedCall& call) noexcept {
    take(const_cast<PostedCall&>(call).raw());
}

std::shared_ptr<PostedCall> find(const tutti_backend_call* raw) noexcept {
    return find_kept(raw).call;
}

std::shared_ptr<PostedCall> find(const Instance& owner, const Work& work) noexcept {
    const Lock lock(calls().mutex);
    for (const auto& [raw, kept] : calls().kept) {
        if (kept.owner.get() == &owner && kept.call->work().get() == &work) return kept.call;
    }
    return nullptr;
}

std::vector<std::shared_ptr<PostedCall>> give_up(const Instance& owner) {
    std::vector<std::shared_ptr<PostedCall>> given_up;
    const Lock lock(calls().mutex);
    for (auto one = calls().kept.begin(); one != calls().kept.end();) {
        if (one->second.owner.get() != &owner) {
            ++one;
            continue;
        }
        given_up.push_back(one->second.call);
        calls().given_up.push_back(std::move(one->second));
        one = calls().kept.erase(one);
    }
    return given_up;
}

}  // namespace tutti::ext
