// Streams over uv_tcp_t. Loop thread only. SIGPIPE is blocked there, so a write to a closed peer is
// an error like others.
#include "stream.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.hpp"
#include "base/open_descriptors.hpp"
#include "descriptor.hpp"
#include "handle.hpp"
#include "line.hpp"

namespace tutti::net {
namespace {

struct WriteRequest {
    uv_write_t request{};
    std::string bytes;
};

// libuv counts a buffer in 32 bits.
constexpr size_t largest_buffer = size_t{1} << 30;

uv_buf_t buffer_at(std::string& bytes, size_t done) {
    return uv_buf_init(bytes.data() + done,
                       static_cast<unsigned>(std::min(largest_buffer, bytes.size() - done)));
}

}  // namespace

struct Stream::Core : Handle, Watched {
    uv_tcp_t tcp{};
    Loop* loop = nullptr;
    Events events;
    bool deaf = false;  // the peer takes nothing more; what it sent before is still read
    bool paused = false;
    bool writing = false;
    size_t room = SIZE_MAX;  // for what comes, until it pauses
    std::string behind;      // to be written when the write under way is done

    [[nodiscard]] bool is_dead() const noexcept override {
        uv_os_fd_t fd = -1;
        const auto* const handle = reinterpret_cast<const uv_handle_t*>(&tcp);
        return open() && !paused && uv_fileno(handle, &fd) == 0 && net::is_dead(fd);
    }

    [[nodiscard]] bool is_over() const noexcept override { return !open(); }

    void end_dead() noexcept override { end(UV_ETIMEDOUT); }

    static Core& of(void* data) { return *static_cast<Core*>(static_cast<Handle*>(data)); }

    uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&tcp); }

    void pause() noexcept {
        paused = true;
        uv_read_stop(stream());
    }

    void read() {
        paused = false;
        uv_read_start(
            stream(),
            [](uv_handle_t* handle, size_t, uv_buf_t* buffer) {
                const Core& core = of(handle->data);
                const std::span<std::byte> memory = core.loop->read_buffer();
                *buffer = uv_buf_init(reinterpret_cast<char*>(memory.data()),
                                      static_cast<unsigned>(std::min(memory.size(), core.room)));
            },
            [](uv_stream_t* handle, ssize_t count, const uv_buf_t* buffer) {
                Core& core = of(handle->data);
                if (count < 0) {
                    core.end(static_cast<int>(count));
                } else if (count > 0 && core.open()) {
                    if (core.room != SIZE_MAX) core.room -= static_cast<size_t>(count);
                    if (core.room == 0) core.pause();
                    core.events.data({reinterpret_cast<const std::byte*>(buffer->base),
                                      static_cast<size_t>(count)});
                }
            });
    }

    void end(int result) noexcept {
        if (!open()) return;
        close();
        if (result == UV_EOF)
            events.closed({TUTTI_ERR_NETWORK, -1, 0, "the peer closed the connection"});
        else
            events.closed(
                system_error(TUTTI_ERR_NETWORK, "the connection broke", -result).status());
    }

    // One write is under way at a time and what comes meanwhile gathers behind it: a request of
    // libuv's for each of a million small messages would cost far more than they do.
    void queue(std::string bytes, size_t done) {
        if (writing)
            behind += std::string_view(bytes).substr(done);
        else
            start_write(std::move(bytes), done);
    }

    void start_write(std::string bytes, size_t done) {
        auto write = std::make_unique<WriteRequest>();
        write->bytes = std::move(bytes);
        write->request.data = write.get();
        std::vector<uv_buf_t> buffers;
        for (; done < write->bytes.size(); done += buffers.back().len)
            buffers.push_back(buffer_at(write->bytes, done));
        const int result = uv_write(&write->request, stream(), buffers.data(),
                                    static_cast<unsigned>(buffers.size()), written);
        writing = result == 0;
        if (writing)
            (void)write.release();  // the callback deletes it
        else
            deaf = true;  // what follows would not fit to what is missing
    }

    static void written(uv_write_t* request, int status) noexcept {
        Core& core = of(request->handle->data);
        delete static_cast<WriteRequest*>(request->data);
        core.writing = false;
        if (status < 0) core.deaf = true;
        std::string next = std::exchange(core.behind, {});
        if (!core.deaf && !next.empty()) core.start_write(std::move(next), 0);
    }
};

std::unique_ptr<Stream> Stream::adopt(Loop& loop, int fd, Events events) {
    TUTTI_ASSERT(loop.on_thread());
    Descriptor descriptor(fd);
    auto core = std::make_shared<Core>();
    core->loop = &loop;
    core->events = std::move(events);
    {
        const Opening opening;  // with its first stream a loop opens a descriptor
        check_uv(uv_tcp_init(loop.native(), &core->tcp), "adopting a connection");
    }
    Handle::keep(core, &core->tcp);
    auto stream = std::unique_ptr<Stream>(new Stream(core));
    check_uv(uv_tcp_open(&core->tcp, fd), "adopting a connection");
    (void)descriptor.release();
    (void)uv_tcp_nodelay(&core->tcp, 1);
    keep_alive(fd);
    loop.watch(core);
    core->read();
    return stream;
}

Stream::~Stream() {
    close();
}

void Stream::write(std::string bytes) {
    if (!core_->open() || core_->deaf) return;
    size_t done = 0;
    while (done < bytes.size() && !core_->writing) {
        const uv_buf_t buffer = buffer_at(bytes, done);
        const int sent = uv_try_write(core_->stream(), &buffer, 1);
        if (sent < 0 && sent != UV_EAGAIN) core_->deaf = true;
        if (sent < 0) break;
        done += static_cast<size_t>(sent);
    }
    if (!core_->deaf && done < bytes.size()) core_->queue(std::move(bytes), done);
}

size_t Stream::queued() const {
    if (!core_->open()) return 0;
    return uv_stream_get_write_queue_size(core_->stream()) + core_->behind.size();
}

void Stream::read_at_most(size_t bytes) {
    core_->room = bytes;
}

void Stream::pause_reading() {
    if (core_->open()) core_->pause();
}

void Stream::resume_reading() {
    core_->room = SIZE_MAX;
    if (core_->open()) core_->read();
}

void Stream::close() {
    core_->close();
}

int Stream::release() {
    uv_os_fd_t here = -1;
    check_uv(uv_fileno(reinterpret_cast<uv_handle_t*>(&core_->tcp), &here),
             "releasing a connection");
    Descriptor descriptor(open_tracked([&] { return ::fcntl(here, F_DUPFD_CLOEXEC, 0); }));
    if (!descriptor.valid()) {
        const int number = errno;
        throw system_error(TUTTI_ERR_OUT_OF_MEMORY, "dup", number);
    }
    close();
    return descriptor.release();
}

}  // namespace tutti::net
