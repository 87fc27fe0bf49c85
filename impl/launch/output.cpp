// Lines from pipes to the terminal. Main thread of the launcher; never blocks.
#include "output.hpp"

#include <poll.h>
#include <sys/ioctl.h>
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

}  // namespace

std::string write_fault_text(int number) {
    const std::string limit = limit_text(number);
    return limit.empty() ? errno_text(number) : cat(errno_text(number), ": ", limit);
}

void LineWriter::push(int descriptor, std::string_view text) {
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
    constexpr int most_writes = 64;  // signals are waiting, too
    for (int count = 0; count < most_writes && !empty(); ++count) {
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

void LineReader::drain(LineWriter& writer) {
    // What is there now and no more: a process that has left the group may still write.
    int waiting = 0;
    if (open()) ::ioctl(source_.get(), FIONREAD, &waiting);
    for (auto left = static_cast<size_t>(std::max(waiting, 0)); left > 0;) {
        const size_t size = read_some(writer);
        if (size == 0) break;
        left -= std::min(left, size);
    }
    close(writer);
}

void LineReader::take(std::string_view text, LineWriter& writer) {
    while (!text.empty()) {
        const size_t end = text.find('\n');
        const size_t room = longest_line - line_.size();
        const size_t size = std::min({end, text.size(), room});
        line_.append(text.substr(0, size));
        text.remove_prefix(size);
        if (size == end) {
            text.remove_prefix(1);
            push_line(writer);
        } else if (line_.size() == longest_line && !text.empty()) {
            push_line(writer);
        }
    }
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
        last_lines_.push_back(line_.substr(0, kept_bytes_));
    }
    line_ += '\n';
    if (target_ != nowhere) writer.push(target_, prefix_ + line_);
    line_.clear();
}

void LineReader::close(LineWriter& writer) {
    if (!line_.empty()) push_line(writer);
    source_.reset();
    log_.reset();
}

}  // namespace tutti::launch
