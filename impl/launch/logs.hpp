// The folder of a job's log and error files: FOLDER/<job>/attempt_<n>/<local rank>/. Main thread of
// the launcher.
#pragma once

#include <string>

#include "net/descriptor.hpp"
#include "options.hpp"

namespace tutti::launch {

class LogFolder {
public:
    // Makes a temporary folder if the options name none; one that holds no logs is removed at the
    // end. An Error if logs are asked for and there can be none.
    explicit LogFolder(const Options& options);
    ~LogFolder();
    LogFolder(const LogFolder&) = delete;
    LogFolder& operator=(const LogFolder&) = delete;

    // Made by this call, without the files that an earlier job of this name has left there. Empty
    // if there can be no folder.
    [[nodiscard]] std::string folder_of(int attempt, int local_rank) const;
    // Whether a person has not been told of it and may look for it.
    [[nodiscard]] bool is_found_by_luck() const { return temporary_ && keep_; }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
    std::string job_;
    bool temporary_ = false;
    bool keep_ = false;
};

std::string error_file_in(const std::string& folder);
// An Error naming the file if it cannot be made.
net::Descriptor make_log_file(const std::string& path);

}  // namespace tutti::launch
