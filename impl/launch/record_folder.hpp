// The folder of the ranks' flight recorders on this node: the one that TUTTI_RECORD_DIR names,
// which stays; else a new one in the user's run-time folder, which goes with a job that ends well.
// Main thread of the launcher.
#pragma once

#include <string>

namespace tutti::launch {

class RecordFolder {
public:
    RecordFolder();
    ~RecordFolder();
    RecordFolder(const RecordFolder&) = delete;
    RecordFolder& operator=(const RecordFolder&) = delete;

    // Empty: there can be none.
    [[nodiscard]] const std::string& path() const { return path_; }
    // A folder of this process is there after it, if it has any record. Whether that is so.
    bool keep();

private:
    std::string path_;
    bool keep_ = true;
};

}  // namespace tutti::launch
