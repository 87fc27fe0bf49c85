#include "record_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "record/place.hpp"

namespace tutti::launch {

RecordFolder::RecordFolder() {
    if (auto given = environment(record::folder_variable)) {
        path_ = std::filesystem::absolute(*given).string();
        return;
    }
    const auto folder = record::run_time_folder();
    if (!folder) return;
    record::clean(*folder);
    std::string path = cat(*folder, "/job-", getpid());
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);  // of a job that had this number
    constexpr mode_t of_the_user = 0700;
    if (mkdir(path.c_str(), of_the_user) != 0) {
        log(LogLevel::Info, "tuttirun: ", path, ": ", errno_text(errno));
        return;
    }
    path_ = std::move(path);
    keep_ = false;
}

bool RecordFolder::keep() {
    std::error_code fault;
    if (keep_ || std::filesystem::is_empty(path_, fault) || fault) return false;
    keep_ = true;
    return true;
}

RecordFolder::~RecordFolder() {
    std::error_code ignored;
    if (!keep_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace tutti::launch
