// Chrome's trace-event format: each rank is a process, each of its threads a thread. Calls in the
// background may overlap, so they are asynchronous events.
#include <array>
#include <cstdio>
#include <set>

#include "alignment.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "reports.hpp"
#include "words.hpp"

namespace tutti::trace {

namespace {

std::string microseconds(int64_t nanoseconds) {
    constexpr int64_t thousand = 1000;
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%lld.%03lld",
                  static_cast<long long>(nanoseconds / thousand),
                  static_cast<long long>(nanoseconds % thousand));
    return text.data();
}

class Events {
public:
    explicit Events(const Job& job) : job_(job), alignment_(job) {}

    std::string write() {
        for (const Member& member : job_.members) {
            if (member.has_record) add_rank(member);
        }
        return cat("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n", events_, "\n]}\n");
    }

private:
    void add(const std::string& event) {
        if (!events_.empty()) events_ += ",\n";
        events_ += event;
    }
    void add_name(const char* what, const Member& member, uint32_t thread,
                  const std::string& name) {
        add(cat("{\"ph\": \"M\", \"name\": \"", what, "\", \"pid\": ", member.rank,
                ", \"tid\": ", thread, ", \"args\": {\"name\": ", json_text(name), "}}"));
    }
    void add_rank(const Member& member) {
        const Recording& record = member.record;
        add_name("process_name", member, 0,
                 cat("rank ", member.rank, " (process ", record.pid, " on ", record.host, ")"));
        add(cat("{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": ", member.rank,
                ", \"tid\": 0, \"args\": {\"sort_index\": ", member.rank, "}}"));
        std::set<uint32_t> threads;
        for (const Call& call : record.calls) {
            if (threads.insert(call.thread).second) {
                add_name("thread_name", member, call.thread, cat("thread ", call.thread));
            }
            add_call(member, call);
        }
    }
    void add_call(const Member& member, const Call& call) {
        const Group& group = member.record.group_of(call);
        const int64_t end = call.completed != 0 ? call.completed : member.record.taken;
        const std::string what = cat("\"name\": ", json_text(title(call, group)), ", \"cat\": ",
                                     json_text(call.is_collective() ? "collective"
                                               : call.is_message()  ? "message"
                                                                    : "step"),
                                     ", \"pid\": ", member.rank, ", \"tid\": ", call.thread);
        const std::string from = microseconds(alignment_.time(member.record, call.created));
        const std::string args = cat(", \"args\": ", arguments(call, group));
        if (!call.is_in_background()) {
            const int64_t duration = end > call.created ? end - call.created : 0;
            add(cat("{\"ph\": \"X\", ", what, ", \"ts\": ", from,
                    ", \"dur\": ", microseconds(duration), args, "}"));
            return;
        }
        const std::string id = cat(", \"id\": \"", member.rank, ".", call.id, "\"");
        add(cat("{\"ph\": \"b\", ", what, id, ", \"ts\": ", from, args, "}"));
        add(cat("{\"ph\": \"e\", ", what, id, ", \"ts\": ",
                microseconds(alignment_.time(member.record, std::max(end, call.created))), "}"));
    }
    static std::string arguments(const Call& call, const Group& group) {
        std::string text =
            cat("{\"group\": ", json_text(group.name), ", \"state\": ", json_text(state_text(call)),
                ", \"input_bytes\": ", call.input_bytes, ", \"output_bytes\": ", call.output_bytes);
        if (call.is_collective()) {
            text += cat(", \"sequence\": ", call.sequence,
                        ", \"call\": ", json_text(description(call)));
        }
        if (call.started > call.created) {
            text += cat(", \"waited_us\": ", microseconds(call.started - call.created));
        }
        if (!call.text.empty()) text += cat(", \"text\": ", json_text(call.text));
        return text + "}";
    }

    const Job& job_;
    Alignment alignment_;
    std::string events_;
};

}  // namespace

std::string perfetto_json(const Job& job) {
    return Events(job).write();
}

}  // namespace tutti::trace
