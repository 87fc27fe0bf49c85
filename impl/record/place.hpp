// Where the file of a rank's flight recorder is: in the folder that TUTTI_RECORD_DIR names, which
// tuttirun sets for its job; else in the user's run-time folder, from which files of processes that
// ended long ago are removed. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tutti::record {

constexpr const char* folder_variable = "TUTTI_RECORD_DIR";
constexpr const char* suffix = ".ring";

// $XDG_RUNTIME_DIR/tutti, else /dev/shm/tutti-UID: made if it is missing. Nothing if there is none
// that belongs to this user alone.
std::optional<std::string> run_time_folder();

struct Place {
    std::string path;
    bool is_the_users = false;  // in the user's run-time folder
};
// A path that no file has. Throws what says why there is none.
Place new_place();

// Removes what processes left in the run-time folder that ended over a day ago, and the oldest of
// what is left if there is much.
void clean(const std::string& folder) noexcept;

}  // namespace tutti::record
