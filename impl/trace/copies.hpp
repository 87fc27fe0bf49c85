// Copies of a record's words, from its file or from memory. Any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "printable.hpp"
#include "record/format.hpp"

namespace tutti::trace {

constexpr uint64_t max_entries = uint64_t{1} << 22;

using Words = std::vector<uint64_t>;

// Three copies of the words, one after the other: a call is whole in the second if it was the same
// call in the first and in the third.
struct Copies {
    std::array<Words, 3> of;
    [[nodiscard]] size_t size() const {
        return std::min({of[0].size(), of[1].size(), of[2].size()}) * sizeof(uint64_t);
    }
};

// A look at a structure of the file in a copy.
class View {
public:
    View(const Words& words, size_t offset) : words_(&words), offset_(offset) {}
    [[nodiscard]] uint64_t word(size_t at) const { return (*words_)[(offset_ + at) / 8]; }
    [[nodiscard]] std::string text(size_t at, size_t size) const {
        const auto* const begin = reinterpret_cast<const char*>(words_->data()) + offset_ + at;
        return printable({begin, strnlen(begin, size)});
    }

private:
    const Words* words_;
    size_t offset_;
};

// Throws BadRecord, with the file's name.
[[noreturn]] void refuse_record(const std::string& name, const std::string& why);

// A file that is read, not mapped: it may become shorter meanwhile.
class RecordFile {
public:
    // Throws BadRecord.
    explicit RecordFile(const std::string& name);
    ~RecordFile();
    RecordFile(const RecordFile&) = delete;
    RecordFile& operator=(const RecordFile&) = delete;

    [[nodiscard]] Words words() const;

private:
    std::string name_;
    int number_;
};

}  // namespace tutti::trace
