// Folders and files. Main thread of the launcher.
#include "logs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace tutti::launch {

namespace {

[[noreturn]] void cannot_make(const std::string& path, int fault) {
    throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat("cannot make \"", path, "\": ", errno_text(fault)),
                -1, fault);
}

std::string make_temporary_folder() {
    auto path = cat(environment("TMPDIR").value_or("/tmp"), "/tuttirun.XXXXXX");
    if (::mkdtemp(path.data()) == nullptr) cannot_make(path, errno);
    return path;
}

}  // namespace

LogFolder::LogFolder(const Options& options)
    : path_(options.log_dir),
      job_(options.run_id),
      keep_(!options.redirects.empty() || !options.tee.empty()) {
    if (!path_.empty()) {
        path_ = std::filesystem::absolute(path_).string();
        return;
    }
    temporary_ = true;
    try {
        path_ = make_temporary_folder();
    } catch (const Error&) {
        if (keep_) throw;  // without logs, all that is missing are the error files
    }
}

LogFolder::~LogFolder() {
    std::error_code fault;
    if (temporary_ && !keep_ && !path_.empty()) std::filesystem::remove_all(path_, fault);
}

std::string LogFolder::folder_of(int attempt, int local_rank) const {
    if (path_.empty()) return "";
    const auto folder = cat(path_, "/", job_, "/attempt_", attempt, "/", local_rank);
    std::error_code fault;
    std::filesystem::create_directories(folder, fault);
    if (fault) cannot_make(folder, fault.value());
    for (const char* file : {"stdout.log", "stderr.log", "error.json"}) {
        std::filesystem::remove(cat(folder, "/", file), fault);
    }
    return folder;
}

std::string error_file_in(const std::string& folder) {
    return folder + "/error.json";
}

net::Descriptor make_log_file(const std::string& path) {
    constexpr mode_t mode = 0666;
    net::Descriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, mode));
    if (!file.valid()) cannot_make(path, errno);
    return file;
}

}  // namespace tutti::launch
