// Calls that receive objects and byte strings: how they start, here and now or as a work, and where
// the results go. Any thread; results are made on the group's own thread if there is a work.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "call/byte_strings.hpp"
#include "group.hpp"
#include "handle.hpp"
#include "issue.hpp"
#include "refusal.hpp"
#include "results.hpp"

namespace tutti::capi {

// Makes handles' objects of what came in from the ranks, in the order of the list.
template <typename Handle>
using Open =
    std::function<std::vector<typename Places<Handle>::Value>(ByteStrings::Received& received)>;

// Where the results of a call go: `count` places at `out`, which is NULL with a work.
template <typename Handle>
struct Destination {
    Handle** out;
    size_t count;
};

// Runs or starts a call that receives: run(timeout, tag) or start(timeout, tag, deliver). open()
// makes handles' objects of what has come.
template <typename Handle, typename Run, typename Start, typename MakeValues>
void issue_receiving(Destination<Handle> to, const tutti_call_options* given, tutti_work** work,
                     Run&& run, Start&& start, MakeValues open) {
    const tutti_call_options options = read_call_options(given, work != nullptr);
    refuse_stream(options);
    if (work == nullptr) {
        Places<Handle> places(to.out, to.count);
        run(options.timeout_ms, tag_of(options));
        places.publish(open());
        return;
    }
    const auto results = std::make_shared<HeldResults<Handle>>(to.count);
    issue_work(options, work, [&] {
        auto started = start(options.timeout_ms, tag_of(options),
                             [results, open = std::move(open)] { results->put(open()); });
        started->set_results(results);
        return started;
    });
}

template <typename Handle>
void issue_byte_strings(Group& group, ByteStrings call, const tutti_call_options* options,
                        tutti_work** work, Destination<Handle> to, Open<Handle> open) {
    call.received = std::make_shared<ByteStrings::Received>();
    auto make_values = [received = call.received, open = std::move(open)] {
        return received->empty() ? std::vector<typename Places<Handle>::Value>{} : open(*received);
    };
    issue_receiving(
        to, options, work,
        [&](int64_t timeout_ms, std::string_view tag) {
            group.run(call, {timeout_ms, nullptr, tag});
        },
        [&](int64_t timeout_ms, std::string_view tag, std::function<void()> deliver) {
            return group.start(call, {timeout_ms, nullptr, tag}, std::move(deliver));
        },
        std::move(make_values));
}

inline void check_root(const Group& group, int root, const char* argument) {
    if (root >= 0 && root < group.size()) return;
    refuse(argument, " is ", root, ", but the group's ranks are 0 to ", group.size() - 1);
}

// A list that only the source of a scatter gives, one for each rank.
inline void check_source_list(const Group& group, const void* list, int64_t count, int source,
                              const char* argument, const char* count_argument) {
    check_root(group, source, "group_src");
    if (group.rank() != source) {
        if (list == nullptr && count == 0) return;
        refuse(argument, " must be NULL and ", count_argument, " 0 on rank ", group.rank(),
               ", which is not group_src");
    }
    if (count != group.size()) {
        refuse(count_argument, " is ", count, ", but the group has ", group.size(), " ranks");
    }
    if (list == nullptr) refuse(argument, " is NULL");
}

// Where the results go: nowhere, to so many places, or to the work.
inline void need_places(const void* out, int64_t given, size_t wanted, const char* out_name,
                        const char* count_name, bool receives, bool has_work) {
    if (!receives) {
        if (out != nullptr) refuse(out_name, " must be NULL on this rank, which receives nothing");
        return;
    }
    if (has_work) {
        if (out != nullptr) {
            refuse(out_name, " must be NULL with a work, from which the results are taken");
        }
        return;
    }
    if (count_name != nullptr && read_count(given, count_name) != wanted) {
        refuse(count_name, " is ", given, ", but the group has ", wanted, " ranks");
    }
    if (out == nullptr && wanted > 0) refuse(out_name, " is NULL");
}

}  // namespace tutti::capi
