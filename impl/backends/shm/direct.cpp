#include "direct.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/plain.hpp"
#include "pieces.hpp"

namespace tutti::shm {

namespace {

// The place of no data: there is nothing to read.
constexpr Place anywhere = UINT64_MAX;

}  // namespace

void DirectRead::post(const Shown& shown) {
    copy(team_.stage(step_, sizeof shown), wire_bytes(shown));
    team_.post(step_);
}

void DirectRead::show(ConstBytes data, ConstBytes result) {
    const Shared& shared = team_.shared();
    Shown shown{reinterpret_cast<uint64_t>(data.data()), anywhere, 0};
    if (!data.empty()) shown.data = shared.place_of(data);
    if (!result.empty()) shown.result = shared.place_of(result);
    post(shown);
}

void DirectRead::show_nothing() {
    post({0, 0, 0});
}

DirectRead::Reach DirectRead::look(int peer) {
    Shown& there = shown_[static_cast<size_t>(peer)];
    std::memcpy(&there, team_.await(peer, step_, sizeof there).data(), sizeof there);
    if (there.data != 0) return Reach::Seen;
    return copies_ && there.address != 0 ? Reach::Copied : Reach::None;
}

DirectRead::Reach DirectRead::find(int peer) {
    return found(look(peer));
}

DirectRead::Reach DirectRead::found(Reach reach) {
    reach_ = reach;
    if (reach != Reach::None) {
        team_.log_algorithm(op_, bytes_, reach == Reach::Seen ? "shared" : "direct");
    }
    return reach;
}

DirectRead::Reach DirectRead::find_all() {
    Reach reach = Reach::Seen;
    sees_results_ = true;
    for (int peer = 0; peer < team_.size(); ++peer) {
        reach = std::min(reach, look(peer));
        const Shown& there = shown(peer);
        sees_results_ = sees_results_ && there.result != 0;
        is_in_place_ = is_in_place_ || there.data == there.result;
    }
    const bool is_rewritten = is_in_place_ && bytes_ < shared_in_place_from(team_.size());
    return found(reach == Reach::Seen && is_rewritten ? Reach::None : reach);
}

ConstBytes DirectRead::see_at(int peer, Place place, size_t offset, size_t bytes) const {
    if (bytes == 0) return {};
    const ConstBytes there = team_.shared().find(peer, place);
    if (offset > there.size() || bytes > there.size() - offset) {
        const int owner = team_.group_rank(peer);
        throw Error(TUTTI_ERR_BACKEND, cat("rank ", owner, " shows data where it has no memory"),
                    owner);
    }
    return there.subspan(offset, bytes);
}

ConstBytes DirectRead::see(int peer, size_t offset, size_t bytes) const {
    return see_at(peer, shown(peer).data, offset, bytes);
}

ConstBytes DirectRead::see_result(int peer, size_t offset, size_t bytes) const {
    return see_at(peer, shown(peer).result, offset, bytes);
}

void DirectRead::read(int peer, size_t offset, Bytes into, Stores stores) const {
    if (shown(peer).data != 0) return copy_data(into, see(peer, offset, into.size()), stores);
    if (read_memory(team_.process(peer), shown(peer).address + offset, into)) return;
    const int why = errno;
    // Its process has ended, or its call has failed and its memory may be gone.
    if (why == ESRCH || !team_.is_still_posted(peer, step_)) team_.await_trouble(peer);
    const int owner = team_.group_rank(peer);
    throw Error(TUTTI_ERR_BACKEND,
                cat("the system does not let this rank read the data of rank ", owner,
                    "; with TUTTI_SHM_ALGORITHMS it need not"),
                owner, why);
}

void DirectRead::finish() {
    const uint64_t done = team_.take(1);
    (void)team_.stage(done, 0);
    team_.post(done);
    team_.finish(done, 0);
}

void DirectRead::finish_unread() {
    const uint64_t done = team_.take(1);
    for (int peer = 0; peer < team_.size(); ++peer) {
        if (peer != team_.rank()) team_.await(peer, done);
    }
    team_.finish(done, 0);
}

void DirectRead::finish_together() {
    const uint64_t done = team_.take(1);
    (void)team_.stage(done, 0);
    team_.post(done);
    team_.await_all(done);
    team_.finish(done, 0);
}

}  // namespace tutti::shm
