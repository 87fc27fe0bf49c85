// Lines from pipes to the terminal. Main thread of the launcher; never blocks.
#include "output.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/resource_limits.hpp"

namespace tutti::launch {

namespace {

bool writable_now(int descriptor) {
    pollfd entry{descriptor, POLLOUT, 0};
    return ::poll(&entry, 1, 0) == 1;
}

// A terminal, or a file, that both lead to.
bool is_same_place(int one, int other) {
    struct stat facts = {};
    struct stat others = {};
    return one == other || (::fstat(one, &facts) == 0 && ::fstat(other, &others) == 0 &&
                            facts.st_dev == others.st_dev && facts.st_ino == others.st_ino);
}

// How much of it there is without a character of UTF-8 at the end that is not all there.
size_t whole_characters(std::string_view text) {
    for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if ((byte & 0xc0) == 0x80) continue;
        const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        return text.size() - (length > back ? back : 0);
    }
    return text.size();
}

}  // namespace

std::string write_fault_text(int number) {
    const std::string limit = limit_text(number);
    return limit.empty() ? errno_text(number) : cat(errno_text(number), ": ", limit);
}

void LineWriter::push(int descriptor, std::string_view text, const LineReader* owner,
                      bool leaves_open) {
    for (const OpenLine& line : open_) {
        if (line.owner != owner && is_same_place(line.descriptor, descriptor)) {
            append(line.descriptor, "\n");
        }
    }
    std::erase_if(open_, [&](const OpenLine& line) {
        return line.owner == owner || is_same_place(line.descriptor, descriptor);
    });
    append(descriptor, text);
    if (leaves_open) open_.push_back({descriptor, owner});
}

bool LineWriter::is_open(const LineReader* owner) const {
    return std::ranges::any_of(open_, [&](const OpenLine& line) { return line.owner == owner; });
}

void LineWriter::append(int descriptor, std::string_view text) {
    constexpr size_t block_size = size_t{1} << 16;
    const bool fits = !blocks_.empty() && blocks_.back().descriptor == descriptor &&
                      blocks_.back().text.size() + text.size() <= block_size;
    if (fits) {
        blocks_.back().text.append(text);
    } else {
        blocks_.push_back({descriptor, std::string(text)});
    }
    bytes_ += text.size();
}

void LineWriter::write_some() {
    // A pipe that is writable takes PIPE_BUF bytes without blocking, and so does a terminal.
    constexpr int max_writes = 64;  // signals are waiting, too
    for (int count = 0; count < max_writes && !empty(); ++count) {
        Block& block = blocks_.front();
        if (!writable_now(block.descriptor)) return;
        const size_t left = block.text.size() - block.written;
        const auto written = ::write(block.descriptor, block.text.data() + block.written,
                                     std::min<size_t>(left, PIPE_BUF));
        if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (written < 0 && !fault_) fault_ = Fault{block.descriptor, errno};
        const size_t done = written < 0 ? left : static_cast<size_t>(written);
        block.written += done;
        bytes_ -= done;
        if (block.written == block.text.size()) blocks_.pop_front();
    }
}

void LineWriter::clear() {
    blocks_.clear();
    bytes_ = 0;
}

size_t LineReader::read_some(LineWriter& writer) {
    std::array<char, 1 << 16> chunk;  // the size of a pipe
    const auto size = ::read(source_.get(), chunk.data(), chunk.size());
    if (size > 0) {
        const std::string_view text(chunk.data(), static_cast<size_t>(size));
        write_log(text, writer);
        take(text, writer);
        return static_cast<size_t>(size);
    }
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) close(writer);
    return 0;
}

void LineReader::read_all(LineWriter& writer) {
    // No more than is there now: somebody may still write.
    int waiting = 0;
    if (open()) ::ioctl(source_.get(), FIONREAD, &waiting);
    for (auto left = static_cast<size_t>(std::max(waiting, 0)); left > 0;) {
        const size_t size = read_some(writer);
        if (size == 0) break;
        left -= std::min(left, size);
    }
}

void LineReader::drain(LineWriter& writer) {
    read_all(writer);
    close(writer);
}

void LineReader::take(std::string_view text, LineWriter& writer) {
    while (!text.empty()) {
        const size_t end = text.find('\n');
        const size_t room = max_line - line_.size();
        const size_t size = std::min({end, text.size(), room});
        line_.append(text.substr(0, size));
        text.remove_prefix(size);
        if (size == end) {
            text.remove_prefix(1);
            push_line(writer);
        } else if (line_.size() == max_line && !text.empty()) {
            const std::string rest = line_.substr(whole_characters(line_));
            line_.resize(line_.size() - rest.size());
            push_line(writer);
            line_ = rest;
        }
    }
    if (line_.size() == shown_) {
        due_ = Deadline::never();
    } else if (due_.is_never()) {
        due_ = Deadline::after_ms(patience_ms);
    }
}

void LineReader::show_beginning(LineWriter& writer) {
    due_ = Deadline::never();
    const size_t end = whole_characters(line_);
    if (end <= shown_) return;
    hand_on(std::string_view(line_).substr(shown_, end - shown_), false, writer);
    shown_ = end;
    // Text that a carriage return has had overwritten is not needed any more.
    const size_t overwritten = line_.size() < 2 ? line_.npos : line_.rfind('\r', line_.size() - 2);
    if (overwritten == line_.npos || overwritten >= shown_) return;
    line_.erase(0, overwritten + 1);
    shown_ -= overwritten + 1;
}

// Whatever a carriage return brings back to the left has the prefix, too.
std::string LineReader::with_prefixes(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const size_t size = std::min(text.find('\r'), text.size());
        if (size > 0) result += cat(at_margin_ ? prefix_ : "", text.substr(0, size));
        at_margin_ = size < text.size() || (at_margin_ && size == 0);
        if (size < text.size()) result += '\r';
        text.remove_prefix(std::min(size + 1, text.size()));
    }
    return result;
}

void LineReader::hand_on(std::string_view text, bool is_end, LineWriter& writer) {
    if (target_ == nowhere) return;
    const bool was_ended = is_shown_ && !writer.is_open(this);  // by what another has said
    if (was_ended) at_margin_ = true;
    const bool is_nothing = is_end && was_ended && text.empty();
    if (!is_nothing) {
        std::string shown = is_end && !is_shown_ && text.empty() ? prefix_ : with_prefixes(text);
        if (is_end) shown += '\n';
        writer.push(target_, shown, this, !is_end);
    }
    is_shown_ = !is_end;
    if (is_end) at_margin_ = true;
}

// A file system that is full takes the log, not the job.
void LineReader::write_log(std::string_view text, LineWriter& writer) {
    while (log_.valid() && !text.empty()) {
        const auto written = ::write(log_.get(), text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            writer.push(STDERR_FILENO, cat("tuttirun: cannot write \"", log_name_, "\": ",
                                           write_fault_text(errno), "; the log ends there\n"));
            log_.reset();
            return;
        }
        text.remove_prefix(static_cast<size_t>(written));
    }
}

void LineReader::push_line(LineWriter& writer) {
    if (kept_lines_ > 0) {
        if (last_lines_.size() == kept_lines_) last_lines_.pop_front();
        last_lines_.emplace_back(cut(line_, kept_bytes_));
    }
    hand_on(std::string_view(line_).substr(shown_), true, writer);
    line_.clear();
    shown_ = 0;
    due_ = Deadline::never();
}

void LineReader::close(LineWriter& writer) {
    if (!line_.empty() || is_shown_) push_line(writer);
    source_.reset();
    log_.reset();
}

}  // namespace tutti::launch
