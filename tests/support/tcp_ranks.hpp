// Two ranks of the transport tcp, both of which the test moves.
#pragma once

#include <sys/socket.h>

#include <array>

#include "tcp_side.hpp"
#include "unit.hpp"

namespace tutti::test {

inline std::array<int, 2> pair() {
    std::array<int, 2> made{};
    assert_int_equal(
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, made.data()), 0);
    return made;
}

struct TcpRanks {
    TcpRanks() : TcpRanks(pair()) {}
    explicit TcpRanks(std::array<int, 2> ends) : here(0, ends[0]), there(1, ends[1]) {}

    void settle() {
        for (bool has_moved = true; has_moved;) {
            has_moved = here.advance();
            has_moved = there.advance() || has_moved;
        }
    }

    TcpSide here, there;
};

}  // namespace tutti::test
