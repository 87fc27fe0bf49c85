#include "copies.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/open_descriptors.hpp"
#include "recording.hpp"

namespace tutti::trace {

void refuse_record(const std::string& name, const std::string& why) {
    throw BadRecord(cat(name, " is no record that can be read: ", why));
}

RecordFile::RecordFile(const std::string& name)
    : name_(name), number_(open_tracked([&] {
          return ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
      })) {
    if (number_ < 0) throw BadRecord(cat("cannot open ", name, ": ", errno_text(errno)));
}

RecordFile::~RecordFile() {
    close_tracked(number_);
}

Words RecordFile::words() const {
    struct stat facts {};
    if (::fstat(number_, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        refuse_record(name_, "it is no regular file");
    }
    const auto size = static_cast<uint64_t>(std::max<off_t>(facts.st_size, 0));
    Words words(std::min(size, record::file_size(max_entries)) / sizeof(uint64_t));
    auto* const bytes = reinterpret_cast<char*>(words.data());
    const size_t wanted = words.size() * sizeof(uint64_t);
    size_t done = 0;
    while (done < wanted) {
        const ssize_t got = ::pread(number_, bytes + done, wanted - done, static_cast<off_t>(done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += static_cast<size_t>(got);
    }
    words.resize(done / sizeof(uint64_t));
    return words;
}

}  // namespace tutti::trace
