#include "protocol.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace tutti::control {

namespace {

constexpr uint32_t magic = 0x43545554;  // "TUTC"
constexpr uint32_t version = 1;
constexpr size_t longest_frame = 64 * 1024 * 1024;  // a roster of half a million ranks
constexpr size_t most_addresses = 256;              // of a rank; those beyond are not told

class Writer {
public:
    explicit Writer(Kind kind) {
        number(0);
        bytes_.push_back(static_cast<char>(kind));
    }
    Writer& number(uint32_t value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
        return *this;
    }
    Writer& text(const std::string& value) {
        number(static_cast<uint32_t>(value.size()));
        bytes_ += value;
        return *this;
    }
    Writer& token(const Token& value) {
        bytes_.append(value.data(), value.size());
        return *this;
    }
    Writer& seat(const Seat& seat) {
        const size_t count = std::min(seat.addresses.size(), most_addresses);
        number(static_cast<uint32_t>(count));
        for (size_t index = 0; index < count; ++index) text(seat.addresses[index]);
        return number(static_cast<uint32_t>(seat.port)).token(seat.token).text(seat.host);
    }
    Writer& member(const Token& its_token, int rank, int size) {
        number(magic).number(version).token(its_token);
        return number(static_cast<uint32_t>(rank)).number(static_cast<uint32_t>(size));
    }
    std::string done() {
        const auto length = static_cast<uint32_t>(bytes_.size() - sizeof(uint32_t));
        std::memcpy(bytes_.data(), &length, sizeof length);
        return std::move(bytes_);
    }

private:
    std::string bytes_;
};

class Reader {
public:
    explicit Reader(const Frame& frame) : left_(frame.fields) {}
    uint32_t number() {
        uint32_t value = 0;
        std::memcpy(&value, take(sizeof value), sizeof value);
        return value;
    }
    int signed_number() { return static_cast<int>(number()); }
    std::string text() {
        const size_t size = number();
        return {reinterpret_cast<const char*>(take(size)), size};
    }
    Token token() {
        Token value;
        std::memcpy(value.data(), take(value.size()), value.size());
        return value;
    }
    Seat seat() {
        Seat seat;
        const size_t count = number();
        if (count > most_addresses) {
            throw Error(TUTTI_ERR_NETWORK, cat("a control frame claims ", count, " addresses"));
        }
        while (seat.addresses.size() < count) seat.addresses.push_back(text());
        seat.port = signed_number();
        seat.token = token();
        seat.host = text();
        return seat;
    }
    template <typename Member>
    void member(Member& who, bool kind_fits) {
        if (!kind_fits || number() != magic || number() != version) {
            throw Error(TUTTI_ERR_NETWORK,
                        "a control connection opens with something else than a knock and hello");
        }
        who.token = token();
        who.rank = signed_number();
        who.size = signed_number();
    }

private:
    const std::byte* take(size_t size) {
        if (size > left_.size()) {
            throw Error(TUTTI_ERR_NETWORK, "a control frame ends before its fields do");
        }
        const std::byte* const at = left_.data();
        left_ = left_.subspan(size);
        return at;
    }
    std::span<const std::byte> left_;
};

}  // namespace

Token random_token() {
    Token token;
    if (getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
        throw Error(TUTTI_ERR_BACKEND, cat("getrandom: ", errno_text(errno)), -1, errno);
    }
    return token;
}

std::string encode(const Knock& knock) {
    return Writer(Kind::Knock).member(knock.token, knock.rank, knock.size).done();
}

std::string encode(const Hello& hello) {
    return Writer(Kind::Hello).member(hello.token, hello.rank, hello.size).seat(hello.seat).done();
}

std::string encode(const std::vector<Seat>& roster) {
    Writer writer(Kind::Roster);
    writer.number(static_cast<uint32_t>(roster.size()));
    for (const Seat& seat : roster) writer.seat(seat);
    return writer.done();
}

std::string encode(Kind kind) {
    return Writer(kind).done();
}

std::string encode(Kind kind, int rank) {
    return Writer(kind).number(static_cast<uint32_t>(rank)).done();
}

std::string encode(Kind kind, const std::string& text) {
    return Writer(kind).text(text).done();
}

std::string encode(Kind kind, const Status& status) {
    return Writer(kind)
        .number(static_cast<uint32_t>(status.code))
        .number(static_cast<uint32_t>(status.rank))
        .number(static_cast<uint32_t>(status.system_errno))
        .text(status.message)
        .done();
}

std::string encode(const Stall& stall) {
    return Writer(Kind::Stalled)
        .number(static_cast<uint32_t>(stall.number))
        .number(static_cast<uint32_t>(stall.number >> 32))
        .text(stall.call)
        .done();
}

Knock decode_knock(const Frame& frame) {
    Reader reader(frame);
    Knock knock;
    reader.member(knock, frame.kind == Kind::Knock);
    return knock;
}

Hello decode_hello(const Frame& frame) {
    Reader reader(frame);
    Hello hello;
    reader.member(hello, frame.kind == Kind::Hello);
    hello.seat = reader.seat();
    return hello;
}

std::vector<Seat> decode_roster(const Frame& frame) {
    Reader reader(frame);
    std::vector<Seat> roster;
    for (uint32_t left = reader.number(); left > 0; --left) roster.push_back(reader.seat());
    return roster;
}

int decode_rank(const Frame& frame) {
    return Reader(frame).signed_number();
}

std::string decode_text(const Frame& frame) {
    return Reader(frame).text();
}

Status decode_status(const Frame& frame) {
    Reader reader(frame);
    Status status;
    status.code = reader.signed_number();
    status.rank = reader.signed_number();
    status.system_errno = reader.signed_number();
    status.message = reader.text();
    return status;
}

Stall decode_stall(const Frame& frame) {
    Reader reader(frame);
    Stall stall;
    stall.number = reader.number();
    stall.number |= static_cast<uint64_t>(reader.number()) << 32;
    stall.call = reader.text();
    return stall;
}

void FrameReader::feed(std::span<const std::byte> bytes,
                       const std::function<bool(const Frame&)>& use) {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    size_t at = 0;
    while (pending_.size() - at >= sizeof(uint32_t)) {
        uint32_t length = 0;
        std::memcpy(&length, pending_.data() + at, sizeof length);
        if (length == 0 || length > longest_frame) {
            throw Error(TUTTI_ERR_NETWORK, cat("a control frame claims ", length, " bytes"));
        }
        if (pending_.size() - at - sizeof length < length) break;
        const std::span<const std::byte> frame(pending_.data() + at + sizeof length, length);
        at += sizeof length + length;
        if (!use({static_cast<Kind>(frame[0]), frame.subspan(1)})) return;
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace tutti::control
