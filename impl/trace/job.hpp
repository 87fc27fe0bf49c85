// All records of a job together: the latest of each rank, and the groups with the members' places
// in them. Any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_status.hpp"
#include "recording.hpp"

namespace tutti::trace {

// How a rank's process ended, as its launcher knows it.
struct Ending {
    int rank = -1;
    ExitStatus status;
};

struct Member {
    int rank = -1;
    bool has_record = false;
    Recording record;  // empty without one
    std::optional<ExitStatus> ending;

    [[nodiscard]] bool has_ended() const {
        return ending.has_value() || record.process == ProcessState::Ended;
    }
    // It neither runs nor will go on by itself.
    [[nodiscard]] bool is_held() const {
        return has_ended() || record.process == ProcessState::Stopped ||
               record.process == ProcessState::Traced;
    }
};

// A rank of a group.
struct Seat {
    size_t member = 0;  // of the job
    uint16_t slot = 0;  // in its record
    bool has_group = false;
};

struct JobGroup {
    std::string name;
    std::vector<Seat> seats;  // by rank
};

struct Job {
    std::vector<Member> members;  // by rank; each rank of the world has one
    std::vector<JobGroup> groups;
    std::vector<std::string> remarks;  // on files that cannot be read
    int64_t now = 0;                   // of this moment; on another host, the last sign of any rank
};

Job make_job(std::vector<Recording> recordings, const std::vector<Ending>& endings);

// The record files in a folder, or those files themselves.
std::vector<std::string> record_files(const std::vector<std::string>& folders_or_files);
// Throws nothing for files that cannot be read: they are among the remarks.
Job read_job(const std::vector<std::string>& files, const std::vector<Ending>& endings);

// The place of this user's newest job: its folder, or files of programs that no launcher has
// started. Empty: there is none.
std::vector<std::string> newest_job();

}  // namespace tutti::trace
