#include "answer.hpp"

#include <algorithm>
#include <span>

#include "base/error.hpp"

namespace tutti::membership {

void read_answer(net::Socket& socket, const Deadline& deadline,
                 const std::function<void(const Frame&)>& use) {
    FrameReader frames;
    bool has_come = false;
    std::byte bytes[512];
    while (!has_come) {
        const size_t wanted = std::min(frames.missing(), sizeof bytes);
        const size_t count = socket.recv_some(std::span(bytes, wanted), deadline);
        if (count == 0) {
            throw Error(TUTTI_ERR_NETWORK, cat(socket.remote_address(), " closed the connection"));
        }
        frames.feed(std::span(bytes, count), [&](const Frame& frame) {
            has_come = true;
            use(frame);
            return false;
        });
    }
}

}  // namespace tutti::membership
