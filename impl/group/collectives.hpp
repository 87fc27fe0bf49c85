// The collectives of a group: each is checked, takes its turn and its number, and goes to the
// backend of its buffers' device, on the caller's thread or in the background. Any thread; they
// take effect in the order in which they arrive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "call/call.hpp"
#include "call/flat.hpp"
#include "call/lower.hpp"
#include "core.hpp"
#include "memory/held_memory.hpp"
#include "work/work.hpp"

namespace tutti {

// How a collective is issued, beside what it is.
struct Terms {
    Terms(int64_t timeout, void* on_stream = nullptr, std::string_view name = {})
        : timeout_ms(timeout), stream(on_stream), tag(name) {}
    int64_t timeout_ms;  // 0: the group's; -1: never
    void* stream;        // of the buffers' device; null: the default one, and the call waits for it
    std::string_view tag;       // what the program calls it, for errors and records
    bool may_post_here = true;  // on the caller's thread; else always on one of the group
};

class Collectives {
public:
    // A processor that no rank of this host needs may run the group's own thread.
    Collectives(GroupCore& group, bool has_spare_processor)
        : group_(group), has_spare_processor_(has_spare_processor) {}

    // Takes the call apart, if it is one of this group and its backends. Throws INVALID_ARGUMENT
    // and UNSUPPORTED.
    template <IsCollective Call>
    [[nodiscard]] FlatCall check_and_lower(Call& call) const {
        check(call, group_.identity.rank, group_.identity.size);
        FlatCall flat = lower(std::move(call), group_.identity.rank, group_.identity.size);
        admit(flat);
        return flat;
    }
    // Throws if the group cannot have coalesced calls, or has failed.
    void check_coalescing() const;

    // Of checked calls: see Group.
    void run(FlatCall call, const Terms& terms);
    std::shared_ptr<Work> start(FlatCall call, const Terms& terms, std::function<void()> deliver);
    void monitored_barrier(bool wait_all_ranks, int64_t timeout_ms);

private:
    // Checks the call against the group's own terms and its backend's.
    void admit(FlatCall& call) const {
        if (group_.identity.reproducible) {
            call.op.make_reproducible();  // the calls of a Coalesced are made so one by one
        } else if (call.kind == FlatCall::Kind::AllReduceAddends) {
            refuse_addends();
        }
        group_.identity.check_bound(call.device, "the buffers are on");
        group_.backends.check(call);
    }
    [[noreturn]] void refuse_addends() const;
    void run_posted(const Route& route, FlatCall call, const Terms& terms, MemoryUse use);

    GroupCore& group_;
    const bool has_spare_processor_;
};

}  // namespace tutti
