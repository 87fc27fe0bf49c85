#include "mesh.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/log.hpp"

namespace tutti::gloo_channel {

namespace {

constexpr uint32_t magic = 0x44545554;  // "TUTD"
constexpr uint32_t version = 1;
constexpr int64_t greeting_ms = 2000;  // what a caller may take to say who it is
// What a rank may take to answer before it is sought at another of its addresses.
constexpr int64_t answer_ms = 30'000;

struct Greeting {
    uint32_t magic;
    uint32_t version;
    uint32_t rank;
    control::Token token;  // of the rank that is called
};

class Mesh {
public:
    Mesh(Liveness& liveness, int rank, const Deadline& deadline, int cancel_descriptor)
        : rank_(rank),
          deadline_(deadline),
          cancel_(cancel_descriptor),
          listening_(net::ListenSocket::bind_each(liveness.listening_at(), backlog)) {
        control::Seat seat;
        seat.port = listening_.front().port();
        seat.token = control::random_token();
        own_token_ = seat.token;
        seats_ = liveness.gather(std::move(seat), deadline);
        sockets_.resize(seats_.size());
        addresses_.resize(seats_.size());
    }

    std::vector<Connection> connect() {
        TUTTI_FAULT_POINT("mesh.connect");
        // Nobody waits for an answer before all have called: a call reaches a listening socket
        // whose owner is busy, too.
        for (int peer = 0; peer < rank_; ++peer) call(peer);
        size_t missing = sockets_.size() - static_cast<size_t>(rank_) - 1;
        TUTTI_FAULT_POINT("mesh.answer");
        while (missing > 0) missing -= answer() ? 1 : 0;
        for (int peer = 0; peer < rank_; ++peer) read_answer(peer);
        return connections();
    }

private:
    static constexpr int backlog = 4096;

    net::Socket& socket(int peer) { return sockets_[static_cast<size_t>(peer)]; }
    const control::Seat& seat(int peer) const { return seats_[static_cast<size_t>(peer)]; }

    std::vector<net::Address>& addresses(int peer) { return addresses_[static_cast<size_t>(peer)]; }

    std::vector<Connection> connections() {
        std::vector<Connection> made;
        for (size_t peer = 0; peer < sockets_.size(); ++peer) {
            made.push_back({std::move(sockets_[peer]), seats_[peer].host == seat(rank_).host});
        }
        return made;
    }

    void call(int peer) {
        addresses(peer) = net::numeric_addresses(seat(peer).addresses, seat(peer).port);
        try {
            greet(peer);
        } catch (const Error& error) {
            blame(peer, error);
        }
    }

    void greet(int peer) {
        socket(peer) = net::Socket::connect(addresses(peer), deadline_, cancel_);
        const Greeting greeting{magic, version, static_cast<uint32_t>(rank_), seat(peer).token};
        socket(peer).send_all(std::as_bytes(std::span(&greeting, 1)), deadline_, cancel_);
    }

    // Whoever answers there must be that rank: on another host the same address may lead elsewhere.
    void read_answer(int peer) {
        for (;;) {
            try {
                const bool is_last = addresses(peer).size() <= 1;
                check_answer(peer, is_last ? deadline_
                                           : deadline_.or_earlier(Deadline::after_ms(answer_ms)));
                return;
            } catch (const Error& error) {
                const bool aborted = error.status().code == TUTTI_ERR_ABORTED;
                if (aborted || addresses(peer).size() <= 1) blame(peer, error);
                log(LogLevel::Debug, "gloo: ", error.what());
            }
            const std::string wrong = socket(peer).remote_address();
            std::erase_if(addresses(peer),
                          [&](const net::Address& one) { return one.host() == wrong; });
            try {
                greet(peer);
            } catch (const Error& error) {
                blame(peer, error);
            }
        }
    }

    void check_answer(int peer, const Deadline& deadline) {
        control::Token token{};
        socket(peer).recv_all(std::as_writable_bytes(std::span(token)), deadline, cancel_);
        if (token == own_token_) return;
        throw Error(TUTTI_ERR_NETWORK,
                    cat("whoever answers at ",
                        net::endpoint_text(socket(peer).remote_address(), seat(peer).port),
                        " is not rank ", peer),
                    peer);
    }

    // Takes the next caller; false if it was a stranger.
    bool answer() {
        net::Socket caller = net::ListenSocket::accept(listening_, deadline_, cancel_);
        try {
            Greeting greeting{};
            caller.recv_all(std::as_writable_bytes(std::span(&greeting, 1)),
                            deadline_.or_earlier(Deadline::after_ms(greeting_ms)), cancel_);
            const auto peer = static_cast<int>(greeting.rank);
            if (greeting.magic != magic || greeting.version != version || peer <= rank_ ||
                peer >= static_cast<int>(seats_.size()) || greeting.token != own_token_ ||
                socket(peer).valid()) {
                log(LogLevel::Warning, "gloo: a stranger called from ", caller.remote_address());
                return false;
            }
            caller.send_all(std::as_bytes(std::span(seat(peer).token)), deadline_, cancel_);
            socket(peer) = std::move(caller);
            return true;
        } catch (const Error& error) {
            if (error.status().code == TUTTI_ERR_ABORTED || deadline_.expired()) throw;
            log(LogLevel::Warning, "gloo: a caller gave up: ", error.what());
            return false;
        }
    }

    [[noreturn]] static void blame(int peer, const Error& error) {
        Status status = error.status();
        if (status.code == TUTTI_ERR_ABORTED) throw error;
        status.rank = peer;
        status.message = cat("cannot connect to rank ", peer, ": ", status.message);
        throw Error(status);
    }

    const int rank_;
    const Deadline deadline_;
    const int cancel_;
    std::vector<net::ListenSocket> listening_;
    control::Token own_token_{};
    std::vector<control::Seat> seats_;
    std::vector<std::vector<net::Address>> addresses_;  // of the ranks we call, still to be tried
    std::vector<net::Socket> sockets_;
};

}  // namespace

std::vector<Connection> connect_mesh(Liveness& liveness, int rank, const Deadline& deadline,
                                     int cancel_descriptor) {
    return Mesh(liveness, rank, deadline, cancel_descriptor).connect();
}

}  // namespace tutti::gloo_channel
