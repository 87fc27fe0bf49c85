// The ranks' output on its way to the launcher's own: read from pipes, cut into lines, prefixed,
// written whole and in order. Never blocks, so that a slow terminal delays no signal. Main thread
// of the launcher.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "net/descriptor.hpp"

namespace tutti::launch {

// "File too large (EFBIG): this process may make files of 1 KiB (ulimit -f)" for an errno of write.
std::string write_fault_text(int number);

class LineReader;

// One queue for standard output and standard error: a line is never cut by another, and the order
// between the two is kept. A line may be shown before it is complete; whatever else goes to the
// same place then ends it first.
class LineWriter {
public:
    // Whole lines.
    void push(int descriptor, std::string_view text) { push(descriptor, text, nullptr, false); }
    // Text that belongs to the line of a reader, which it ends or leaves open.
    void push(int descriptor, std::string_view text, const LineReader* owner, bool leaves_open);
    // Whether the last that went to that place is an open line of this reader.
    [[nodiscard]] bool is_open(const LineReader* owner) const;

    [[nodiscard]] bool empty() const { return blocks_.empty(); }
    // While it is full, nothing should be read that makes new lines.
    [[nodiscard]] bool full() const { return bytes_ >= max_bytes; }
    // Where the next bytes go; only if not empty.
    [[nodiscard]] int descriptor() const { return blocks_.front().descriptor; }
    // Writes what goes without blocking; what a reader that is gone should have had is dropped.
    void write_some();
    void clear();

    struct Fault {
        int descriptor;
        int number;  // errno
    };
    // The first write that failed: what should have been written is lost.
    [[nodiscard]] const std::optional<Fault>& fault() const { return fault_; }

private:
    static constexpr size_t max_bytes = size_t{1} << 20;

    struct Block {
        int descriptor;
        std::string text;
        size_t written = 0;
    };
    struct OpenLine {
        int descriptor;
        const LineReader* owner;
    };

    void append(int descriptor, std::string_view text);

    std::deque<Block> blocks_;
    size_t bytes_ = 0;
    std::optional<Fault> fault_;
    std::vector<OpenLine> open_;  // one for each place
};

// One stream of one rank.
class LineReader {
public:
    static constexpr int nowhere = -1;

    // The lines go to `target`, or nowhere.
    LineReader(net::Descriptor source, int target, std::string prefix)
        : source_(std::move(source)), target_(target), prefix_(std::move(prefix)) {}

    void read_from(net::Descriptor source) { source_ = std::move(source); }
    // The bytes that are read go, as they are, to this file too.
    void log_to(net::Descriptor file, std::string name) {
        log_ = std::move(file);
        log_name_ = std::move(name);
    }
    // Remembers so many lines, cut to `bytes` each.
    void keep_last(size_t lines, size_t bytes) {
        kept_lines_ = lines;
        kept_bytes_ = bytes;
    }
    [[nodiscard]] const std::deque<std::string>& last_lines() const { return last_lines_; }

    [[nodiscard]] bool open() const { return source_.valid(); }
    [[nodiscard]] int descriptor() const { return source_.get(); }
    // Hands on the complete lines of what can be read now; at the end of the stream also the rest.
    // Bytes read; 0 when there are none now or no more at all.
    size_t read_some(LineWriter& writer);
    // Hands on what is in the pipe now.
    void read_all(LineWriter& writer);
    // The same, and closes it: its owner has ended.
    void drain(LineWriter& writer);

    // When what has come of a line that is not complete (a question, a progress bar) is to be
    // shown.
    [[nodiscard]] const Deadline& due() const { return due_; }
    void show_beginning(LineWriter& writer);

private:
    // A longer line is handed on in pieces of this size, each a line of its own.
    static constexpr size_t max_line = size_t{1} << 20;
    // Programs write a line in pieces as well, and no other should come between them.
    static constexpr int64_t patience_ms = 1000;

    void take(std::string_view text, LineWriter& writer);
    [[nodiscard]] std::string with_prefixes(std::string_view text);
    void hand_on(std::string_view text, bool is_end, LineWriter& writer);
    void write_log(std::string_view text, LineWriter& writer);
    void push_line(LineWriter& writer);
    void close(LineWriter& writer);

    net::Descriptor source_;
    int target_;
    std::string prefix_;
    std::string line_;       // not complete yet
    size_t shown_ = 0;       // so many bytes of it are shown
    bool is_shown_ = false;  // anything of it
    bool at_margin_ = true;  // what is shown next begins at the left
    Deadline due_ = Deadline::never();
    net::Descriptor log_;
    std::string log_name_;
    size_t kept_lines_ = 0;
    size_t kept_bytes_ = 0;
    std::deque<std::string> last_lines_;
};

}  // namespace tutti::launch
