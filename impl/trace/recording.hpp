// The record of one process, read from its file or from the memory of a ring that is being written:
// plain values, with times in nanoseconds since 1970. Nothing in a file is trusted. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "call/fingerprint.hpp"
#include "clock.hpp"
#include "record/format.hpp"

namespace tutti::trace {

struct Call {
    uint64_t id = 0;
    uint8_t kind = 0;   // CallKind or record::Kind
    uint8_t state = 0;  // record::state
    uint8_t flags = 0;
    uint8_t dtype = 0;
    uint8_t op = 0;
    uint8_t device = 0;
    uint16_t group = 0;  // its slot
    uint64_t sequence = 0;
    int64_t count = 0;
    uint64_t input_bytes = 0;
    uint64_t output_bytes = 0;
    int32_t peer = -1;  // or the root
    int32_t tag = 0;
    int64_t timeout_ms = -1;
    uint32_t thread = 0;
    uint32_t layout = 0;
    int64_t created = 0;
    int64_t started = 0;    // 0: not yet
    int64_t completed = 0;  // 0: not yet
    std::string text;

    [[nodiscard]] bool is(record::Kind other) const { return kind == static_cast<uint8_t>(other); }
    [[nodiscard]] bool is_collective() const {
        return kind < static_cast<uint8_t>(record::Kind::Send);
    }
    [[nodiscard]] bool is_message() const {
        return is(record::Kind::Send) || is(record::Kind::Receive);
    }
    [[nodiscard]] bool is_open() const {
        return state == record::state::scheduled || state == record::state::started;
    }
    [[nodiscard]] bool has_failed() const { return state >= record::state::failed; }
    [[nodiscard]] int status() const { return has_failed() ? state - record::state::failed : 0; }
    [[nodiscard]] bool is_in_background() const {
        return (flags & record::flag::in_background) != 0;
    }
    [[nodiscard]] Fingerprint fingerprint() const;
};

struct Group {
    bool is_known = false;
    bool has_ended = false;
    int rank = -1;
    int size = 0;
    uint64_t members = 0;
    std::vector<int> ranks;  // in the first group, by rank; -1: unknown
    int64_t made = 0;
    int64_t ended = 0;
    uint64_t last_enqueued = 0;
    uint64_t last_completed = 0;
    std::string name;
    std::string backend;
};

enum class ProcessState { Unknown, Running, Stopped, Traced, Ended };

struct Recording {
    std::string file;
    std::string host;
    std::string program;
    uint64_t boot = 0;
    uint64_t pid = 0;
    int rank = -1;
    int world_size = 0;
    uint64_t restarts = 0;
    bool has_exited = false;  // by itself: by exit(), or by the end of main
    bool is_complete = true;  // no call has been overwritten yet
    ProcessState process = ProcessState::Unknown;
    int64_t opened = 0;
    int64_t taken = 0;          // when it was read
    std::vector<Group> groups;  // by slot
    std::vector<Call> calls;    // in the order in which they began

    [[nodiscard]] const Group& group_of(const Call& call) const { return groups[call.group]; }
    // The latest time in it.
    [[nodiscard]] int64_t last_sign() const;
};

// Says what is wrong with a file.
class BadRecord : public std::runtime_error {
public:
    using runtime_error::runtime_error;
};

// Throws BadRecord.
Recording read_recording(const std::string& file, const Clock& clock);
// From a file's content, as it was at one moment.
Recording parse_recording(const void* bytes, size_t size, const std::string& name,
                          const Clock& clock);
// From this process itself, whose threads may be writing. Throws BadRecord if there is none.
Recording own_recording(const Clock& clock);

}  // namespace tutti::trace
