#include "protocol.hpp"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"

namespace tutti::membership {

namespace {

constexpr uint32_t magic = 0x43545554;  // "TUTC"
constexpr uint32_t version = 7;
constexpr size_t max_addresses = 256;  // of a rank; those beyond are not told

template <typename One, typename Type>
concept A = std::same_as<std::remove_const_t<One>, Type>;

// The fields of each type on the wire, in this order: both ways go by the same list.
auto fields(A<Status> auto& it) {
    return std::tie(it.code, it.rank, it.system_errno, it.message);
}
auto fields(A<Failure> auto& it) {
    return std::tie(it.cause, it.first_call);
}
auto fields(A<net::ThreadId> auto& it) {
    return std::tie(it.process, it.thread, it.started, it.numbering);
}
auto fields(A<Stall> auto& it) {
    return std::tie(it.sequence, it.call, it.compares_first, it.text);
}
auto fields(A<StepArrival> auto& it) {
    return std::tie(it.group, it.key, it.participants, it.new_groups, it.payload, it.refusal);
}
auto fields(A<GiveUp> auto& it) {
    return std::tie(it.group, it.key, it.unless_here);
}
auto fields(A<StepCompleted> auto& it) {
    return std::tie(it.group, it.key, it.first_group_id, it.payloads);
}
auto fields(A<StepFailed> auto& it) {
    return std::tie(it.group, it.key, it.cause, it.missing);
}

auto fields(A<Proposal> auto& it) {
    return std::tie(it.group, it.key, it.participants, it.excluded, it.new_groups, it.payload);
}
auto fields(A<Decision> auto& it) {
    return std::tie(it.group, it.key, it.first_group_id, it.members, it.payloads, it.failure,
                    it.missing);
}

class Writer {
public:
    explicit Writer(Kind kind) {
        put(uint32_t{0});
        bytes_.push_back(static_cast<char>(kind));
    }
    void put(std::integral auto number) {
        bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    void put(const std::string& text) {
        put(static_cast<uint32_t>(text.size()));
        bytes_ += text;
    }
    void put(const Token& token) { bytes_.append(token.data(), token.size()); }
    template <typename Each>
    void put(const std::vector<Each>& all) {
        put(static_cast<uint32_t>(all.size()));
        for (const Each& each : all) put(each);
    }
    void put(const Endpoint& endpoint) {
        const size_t count = std::min(endpoint.addresses.size(), max_addresses);
        put(static_cast<uint32_t>(count));
        for (size_t index = 0; index < count; ++index) put(endpoint.addresses[index]);
        put(endpoint.port);
        put(endpoint.host);
        put(endpoint.options);
        put(endpoint.thread);
        put(endpoint.mailbox);
    }
    template <typename Struct>
    void put(const Struct& it) requires requires {
        fields(it);
    }
    {
        std::apply([this](const auto&... field) { (this->put(field), ...); }, fields(it));
    }
    void put_member(const auto& who) {
        put(magic);
        put(version);
        put(who.token);
        put(who.rank);
        put(who.size);
    }
    std::string done() {
        const auto length = static_cast<uint32_t>(bytes_.size() - sizeof(uint32_t));
        std::memcpy(bytes_.data(), &length, sizeof length);
        return std::move(bytes_);
    }

private:
    std::string bytes_;
};

template <typename... Fields>
std::string frame_of(Kind kind, const Fields&... all) {
    Writer writer(kind);
    (writer.put(all), ...);
    return writer.done();
}

class Reader {
public:
    explicit Reader(const Frame& frame) : left_(frame.fields) {}
    template <typename Field>
    Field get() {
        Field field{};
        get(field);
        return field;
    }
    void get(std::integral auto& number) {
        std::memcpy(&number, take(sizeof number), sizeof number);
    }
    void get(bool& flag) {
        const auto value = get<uint8_t>();
        if (value > 1) {
            throw Error(TUTTI_ERR_NETWORK,
                        cat("a control frame says ", int{value}, " for yes or no"));
        }
        flag = value == 1;
    }
    void get(std::string& text) {
        const size_t size = get<uint32_t>();
        text.assign(reinterpret_cast<const char*>(take(size)), size);
    }
    void get(Token& token) { std::memcpy(token.data(), take(token.size()), token.size()); }
    // Each of them takes four bytes or more, so a count that claims too much finds the end.
    template <typename Each>
    void get(std::vector<Each>& all) {
        for (auto left = get<uint32_t>(); left > 0; --left) all.push_back(get<Each>());
    }
    void get(Endpoint& endpoint) {
        const size_t count = get<uint32_t>();
        if (count > max_addresses) {
            throw Error(TUTTI_ERR_NETWORK, cat("a control frame claims ", count, " addresses"));
        }
        while (endpoint.addresses.size() < count) endpoint.addresses.push_back(get<std::string>());
        get(endpoint.port);
        get(endpoint.host);
        get(endpoint.options);
        get(endpoint.thread);
        get(endpoint.mailbox);
    }
    template <typename Struct>
    void get(Struct& it) requires requires {
        fields(it);
    }
    {
        std::apply([this](auto&... field) { (this->get(field), ...); }, fields(it));
    }
    void get_member(auto& who, bool kind_fits) {
        if (!kind_fits || get<uint32_t>() != magic || get<uint32_t>() != version) {
            throw Error(TUTTI_ERR_NETWORK,
                        "a control connection does not begin with a handshake or hello");
        }
        get(who.token);
        get(who.rank);
        get(who.size);
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

template <typename Content>
OfGroup<Content> of_group(const Frame& frame) {
    Reader reader(frame);
    const auto group = reader.get<uint32_t>();
    return {group, reader.get<Content>()};
}

}  // namespace

Token random_token() {
    return random_value<Token>();
}

std::string encode(const Handshake& handshake) {
    Writer writer(Kind::Handshake);
    writer.put_member(handshake);
    return writer.done();
}

std::string encode_inquiry(const Handshake& of) {
    Writer writer(Kind::Inquire);
    writer.put_member(of);
    return writer.done();
}

std::string encode(const Hello& hello) {
    Writer writer(Kind::Hello);
    writer.put_member(hello);
    writer.put(hello.endpoint);
    writer.put(hello.has_slept);
    return writer.done();
}

std::string encode(const std::vector<Endpoint>& roster) {
    return frame_of(Kind::Roster, roster);
}

std::string encode(Kind kind) {
    return frame_of(kind);
}

std::string encode(Kind kind, int rank) {
    return frame_of(kind, rank);
}

std::string encode(Kind kind, const std::string& text) {
    return frame_of(kind, text);
}

std::string encode(Kind kind, const Status& status) {
    return frame_of(kind, status);
}

std::string encode(Kind kind, uint32_t group, const Failure& failure) {
    return frame_of(kind, group, failure);
}

std::string encode(Kind kind, uint32_t group, const std::vector<int>& ranks) {
    return frame_of(kind, group, ranks);
}

std::string encode_watch(const std::vector<int>& ranks) {
    return frame_of(Kind::Watch, ranks);
}

std::string encode(uint32_t group, const Stall& stall) {
    return frame_of(Kind::Stalled, group, stall);
}

std::string encode(const StepArrival& arrival) {
    return frame_of(Kind::Arrive, arrival);
}

std::string encode(const GiveUp& give_up) {
    return frame_of(Kind::GiveUp, give_up);
}

std::string encode(const StepCompleted& completed) {
    return frame_of(Kind::StepCompleted, completed);
}

std::string encode(const StepFailed& failed) {
    return frame_of(Kind::StepFailed, failed);
}

std::string encode(const Proposal& proposal) {
    return frame_of(Kind::Propose, proposal);
}

std::string encode(const Decision& decision) {
    return frame_of(Kind::Decided, decision);
}

Handshake decode_handshake(const Frame& frame) {
    Handshake handshake;
    Reader(frame).get_member(handshake, frame.kind == Kind::Handshake);
    return handshake;
}

Handshake decode_inquiry(const Frame& frame) {
    Handshake of;
    Reader(frame).get_member(of, frame.kind == Kind::Inquire);
    return of;
}

Hello decode_hello(const Frame& frame) {
    Reader reader(frame);
    Hello hello;
    reader.get_member(hello, frame.kind == Kind::Hello);
    reader.get(hello.endpoint);
    reader.get(hello.has_slept);
    return hello;
}

std::vector<Endpoint> decode_roster(const Frame& frame) {
    return Reader(frame).get<std::vector<Endpoint>>();
}

int decode_rank(const Frame& frame) {
    return Reader(frame).get<int>();
}

std::vector<int> decode_watch(const Frame& frame) {
    return Reader(frame).get<std::vector<int>>();
}

std::string decode_text(const Frame& frame) {
    return Reader(frame).get<std::string>();
}

Status decode_status(const Frame& frame) {
    return Reader(frame).get<Status>();
}

OfGroup<Failure> decode_failure(const Frame& frame) {
    return of_group<Failure>(frame);
}

OfGroup<std::vector<int>> decode_ranks(const Frame& frame) {
    return of_group<std::vector<int>>(frame);
}

OfGroup<Stall> decode_stall(const Frame& frame) {
    return of_group<Stall>(frame);
}

StepArrival decode_arrival(const Frame& frame) {
    return Reader(frame).get<StepArrival>();
}

GiveUp decode_give_up(const Frame& frame) {
    return Reader(frame).get<GiveUp>();
}

StepCompleted decode_step_completed(const Frame& frame) {
    return Reader(frame).get<StepCompleted>();
}

StepFailed decode_step_failed(const Frame& frame) {
    return Reader(frame).get<StepFailed>();
}

Proposal decode_proposal(const Frame& frame) {
    return Reader(frame).get<Proposal>();
}

Decision decode_decision(const Frame& frame) {
    return Reader(frame).get<Decision>();
}

Kind frame_kind(const std::string& frame) {
    return static_cast<Kind>(frame.at(sizeof(uint32_t)));
}

void FrameReader::feed(std::span<const std::byte> bytes,
                       const std::function<bool(const Frame&)>& use) {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    size_t at = 0;
    while (pending_.size() - at >= sizeof(uint32_t)) {
        uint32_t length = 0;
        std::memcpy(&length, pending_.data() + at, sizeof length);
        if (length == 0 || length > longest_) {
            throw Error(TUTTI_ERR_NETWORK, cat("a control frame claims ", length, " bytes"));
        }
        if (pending_.size() - at - sizeof length < length) break;
        const std::span<const std::byte> frame(pending_.data() + at + sizeof length, length);
        at += sizeof length + length;
        if (!use({static_cast<Kind>(frame[0]), frame.subspan(1)})) return;
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(at));
}

size_t FrameReader::missing() const {
    uint32_t length = 0;
    if (pending_.size() < sizeof length) return sizeof length - pending_.size();
    std::memcpy(&length, pending_.data(), sizeof length);
    return sizeof length + length - pending_.size();
}

}  // namespace tutti::membership
