// Collectives of objects and bytes: how their byte strings start, here and now or as a work, and
// how what came in is handed out in the end. Any thread; the handing out also on the group's own.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "call/byte_strings.hpp"
#include "group.hpp"
#include "handle.hpp"
#include "issue.hpp"
#include "refusal.hpp"

namespace tutti::capi {

// What was taken before the operation started, so that handing out cannot fail once some of it is
// done, and where the handles go.
template <typename Handle>
class Places {
public:
    using Value = std::shared_ptr<typename Noun<Handle>::Object>;

    Places(Handle** out, size_t count) : out_(out), slots_(count) {}
    [[nodiscard]] size_t size() const { return slots_.size(); }
    void publish(std::vector<Value> values) noexcept {
        for (size_t i = 0; i < slots_.size(); ++i)
            out_[i] = slots_[i].publish(std::move(values[i]));
    }

private:
    Handle** out_;
    std::vector<Reserved<Handle>> slots_;
};

// Makes handles' objects of what came in from the ranks, in the order of the list.
template <typename Handle>
using Open =
    std::function<std::vector<typename Places<Handle>::Value>(ByteStrings::Received& received)>;

template <typename Handle>
void issue_byte_strings(Group& group, ByteStrings call, int64_t timeout_ms, tutti_work** work,
                        std::shared_ptr<Places<Handle>> places, Open<Handle> open) {
    call.received = std::make_shared<ByteStrings::Received>();
    auto deliver = [received = call.received, places = std::move(places), open = std::move(open)] {
        if (!received->empty()) places->publish(open(*received));
    };
    if (work == nullptr) {
        group.run(call, timeout_ms);
        deliver();
        return;
    }
    Reserved<tutti_work> slot;
    *work = slot.publish(group.start(call, timeout_ms, std::move(deliver)));
}

inline void check_root(const Group& group, int root, const char* argument) {
    if (root >= 0 && root < group.size()) return;
    refuse(argument, " is ", root, ", but the group's ranks are 0 to ", group.size() - 1);
}

// A list that only the source of a scatter gives, one for each rank.
inline void check_source_list(const Group& group, const void* list, size_t count, int source,
                              const char* argument, const char* count_argument) {
    check_root(group, source, "group_src");
    if (group.rank() != source) {
        if (list == nullptr && count == 0) return;
        refuse(argument, " must be NULL and ", count_argument, " 0 on rank ", group.rank(),
               ", which is not group_src");
    }
    if (count != static_cast<size_t>(group.size())) {
        refuse(count_argument, " is ", count, ", but the group has ", group.size(), " ranks");
    }
    if (list == nullptr) refuse(argument, " is NULL");
}

// Where the results go: nowhere, or to so many places.
inline void need_places(const void* out, size_t given, size_t wanted, const char* out_name,
                        const char* count_name, bool receives) {
    if (!receives) {
        if (out != nullptr) refuse(out_name, " must be NULL on this rank, which receives nothing");
        return;
    }
    if (count_name != nullptr && given != wanted) {
        refuse(count_name, " is ", given, ", but the group has ", wanted, " ranks");
    }
    if (out == nullptr && wanted > 0) refuse(out_name, " is NULL");
}

}  // namespace tutti::capi
