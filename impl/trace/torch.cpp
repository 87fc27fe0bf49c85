#include "torch.hpp"

#include <map>

#include "base/text.hpp"
#include "dump_writer.hpp"
#include "torch_calls.hpp"

namespace tutti::trace {

namespace {

bool is_dumped(const Call& call, const Recording& recording, const TorchOptions& options) {
    if (options.only_active && !call.is_open()) return false;
    if (!recording.group_of(call).is_known) return false;
    if (call.is_message()) return true;
    return call.is_collective() && call.sequence != 0 && torch_name(call) != nullptr;
}

std::string ranks_of_group(const Group& group) {
    std::string text = "[";
    for (const int rank : group.ranks) {
        if (rank >= 0) text += cat(text.size() > 1 ? ", " : "", rank);
    }
    return text + "]";
}

// The latest group of each name.
std::map<std::string, const Group*> groups_by_name(const Recording& recording) {
    std::map<std::string, const Group*> groups;
    for (const Group& group : recording.groups) {
        if (!group.is_known) continue;
        const Group*& at = groups[group.name];
        if (at == nullptr || at->made <= group.made) at = &group;
    }
    return groups;
}

class Dump {
public:
    Dump(const Recording& recording, const TorchOptions& options, DumpWriter& to)
        : recording_(recording), options_(options), to_(to) {}

    std::string write() {
        to_.begin_dict();
        put("version", "2.10");
        put("comm_lib_version", "tutti");
        put("host_name", recording_.host);
        put("rank", int64_t{recording_.rank});
        to_.key("pg_config");
        write_groups([&](const Group& group) {
            put("name", group.name);
            put("desc", description_of(group, recording_));
            put("ranks", ranks_of_group(group));
        });
        to_.key("pg_status");
        write_groups([&](const Group& group) {
            put("last_enqueued_collective", static_cast<int64_t>(group.last_enqueued));
            put("last_started_collective", static_cast<int64_t>(group.last_enqueued));
            put("last_completed_collective", static_cast<int64_t>(group.last_completed));
        });
        to_.key("entries");
        to_.begin_list();
        for (const Call& call : recording_.calls) {
            if (is_dumped(call, recording_, options_)) write_entry(call);
        }
        to_.end_list();
        to_.end_dict();
        return to_.take();
    }

private:
    void put(std::string_view name, std::string_view value) {
        to_.key(name);
        to_.text(value);
    }
    void put(std::string_view name, int64_t value) {
        to_.key(name);
        to_.number(value);
    }
    void put_flag(std::string_view name, bool value) {
        to_.key(name);
        to_.boolean(value);
    }
    void put_time(std::string_view name, int64_t value) {
        to_.key(name);
        if (value == 0) return to_.none();
        to_.number(value);
    }
    template <typename Write>
    void write_groups(Write&& write) {
        to_.begin_dict();
        for (const auto& [name, group] : groups_by_name(recording_)) {
            to_.key(name);
            to_.begin_dict();
            write(*group);
            to_.end_dict();
        }
        to_.end_dict();
    }
    void put_sizes(const std::string& side, uint64_t count, const char* dtype) {
        to_.key(side + "_sizes");
        to_.begin_list();
        to_.begin_list();
        to_.number(static_cast<int64_t>(count & INT64_MAX));
        to_.end_list();
        to_.end_list();
        to_.key(side + "_dtypes");
        to_.begin_list();
        to_.text(dtype);
        to_.end_list();
    }
    void write_entry(const Call& call) {
        const Group& group = recording_.group_of(call);
        const Sizes sizes = sizes_of(call, group);
        const char* const dtype = torch_dtype(call);
        uint64_t& messages = messages_[call.group];
        if (call.is_message()) ++messages;
        to_.begin_dict();
        // The analyzer compares ranks by it, and expects the same calls under the same numbers.
        put("record_id", recording_.is_complete ? written_ : static_cast<int64_t>(call.id));
        ++written_;
        put("pg_id", int64_t{call.group});
        to_.key("process_group");
        to_.begin_list();
        to_.text(group.name);
        to_.text(description_of(group, recording_));
        to_.end_list();
        put("collective_seq_id", static_cast<int64_t>(call.sequence));
        put("p2p_seq_id", static_cast<int64_t>(messages));
        put("op_id", static_cast<int64_t>(call.is_message() ? messages : call.sequence));
        put("profiling_name", profiling_name(call, group));
        put_time("time_created_ns", call.created);
        put_sizes("input", sizes.input, dtype);
        put_sizes("output", sizes.output, dtype);
        put("state", torch_state(call));
        put_time("time_discovered_started_ns", call.started);
        put_time("time_discovered_completed_ns", call.completed);
        if (call.completed != 0) {
            constexpr double millisecond = 1e6;
            to_.key("duration_ms");
            to_.real(static_cast<double>(call.completed - call.started) / millisecond);
        }
        put_flag("retired", !call.is_open());
        put("timeout_ms", call.timeout_ms);
        put_flag("is_p2p", call.is_message());
        to_.key("frames");
        to_.begin_list();
        to_.end_list();
        put("thread_id", cat(call.thread));
        put("thread_name", "");
        to_.end_dict();
    }

    const Recording& recording_;
    const TorchOptions& options_;
    DumpWriter& to_;
    int64_t written_ = 0;
    std::map<uint16_t, uint64_t> messages_;
};

}  // namespace

std::string torch_json(const Recording& recording, const TorchOptions& options) {
    JsonWriter writer;
    return Dump(recording, options, writer).write() + "\n";
}

std::string torch_pickle(const Recording& recording, const TorchOptions& options) {
    PickleWriter writer;
    return Dump(recording, options, writer).write();
}

}  // namespace tutti::trace
