// Does every frame come out as it went in, and is every malformed one an Error and nothing worse?
#include "membership/protocol.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "membership/invitation.hpp"
#include "support/seed.h"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace tutti::membership;

// A frame that owns its bytes.
struct Whole {
    Kind kind{};
    std::vector<std::byte> fields;
    [[nodiscard]] Frame frame() const { return {kind, fields}; }
};

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::vector<Whole> read_all(FrameReader& reader, std::span<const std::byte> bytes) {
    std::vector<Whole> frames;
    reader.feed(bytes, [&](const Frame& frame) {
        frames.push_back({frame.kind, {frame.fields.begin(), frame.fields.end()}});
        return true;
    });
    return frames;
}

Whole read_one(const std::string& text) {
    FrameReader reader;
    auto frames = read_all(reader, bytes_of(text));
    assert_int_equal(frames.size(), 1);
    return std::move(frames[0]);
}

Token token(char fill) {
    Token token;
    token.fill(fill);
    return token;
}

const Endpoint here{{"10.0.0.1"}, 65535, "0123456789abcdef", "backend is shm"};
const Endpoint there{{"fe80::1", "10.0.0.2", "::1"}, 1, "x", ""};
const Status sample{TUTTI_ERR_PEER_LOST, -1, 104, "rank 3 died (reset)"};

void expect_same(const Endpoint& one, const Endpoint& other) {
    assert_true(one.addresses == other.addresses);
    assert_string_equal(one.host.c_str(), other.host.c_str());
    assert_int_equal(one.port, other.port);
    assert_string_equal(one.options.c_str(), other.options.c_str());
}

void a_knock_comes_out_as_it_went_in(void**) {
    const Handshake knock =
        decode_handshake(read_one(encode(Handshake{token('t'), -1, INT32_MAX})).frame());
    assert_true(knock.token == token('t'));
    assert_int_equal(knock.rank, -1);
    assert_int_equal(knock.size, INT32_MAX);
}

// If a host has more addresses than ranks try, the best ones go.
void an_endpoint_has_no_more_addresses_than_a_frame_may_claim(void**) {
    Endpoint many = here;
    for (int i = 0; i < 300; ++i) many.addresses.push_back(cat("10.0.1.", i));
    const auto endpoint = decode_hello(read_one(encode(Hello{{}, 0, 1, many})).frame()).endpoint;
    assert_int_equal(endpoint.addresses.size(), 256);
    assert_true(
        std::equal(endpoint.addresses.begin(), endpoint.addresses.end(), many.addresses.begin()));
    Whole whole = read_one(encode(Hello{{}, 0, 1, here}));
    const uint32_t claimed = 257;
    std::memcpy(whole.fields.data() + 32, &claimed, sizeof claimed);
    TUTTI_EXPECT_ERROR(decode_hello(whole.frame()), TUTTI_ERR_NETWORK, "claims 257 addresses");
}

void hello_comes_out_as_it_went_in(void**) {
    const Hello hello = decode_hello(read_one(encode(Hello{token('t'), 3, 4, here})).frame());
    assert_true(hello.token == token('t'));
    assert_int_equal(hello.rank, 3);
    assert_int_equal(hello.size, 4);
    expect_same(hello.endpoint, here);
    const Hello odd = decode_hello(read_one(encode(Hello{{}, -1, INT32_MIN, {}})).frame());
    assert_int_equal(odd.rank, -1);
    assert_int_equal(odd.size, INT32_MIN);
    expect_same(odd.endpoint, Endpoint{});
}

void a_roster_comes_out_as_it_went_in(void**) {
    const auto roster = decode_roster(read_one(encode({here, there, Endpoint{}})).frame());
    assert_int_equal(roster.size(), 3);
    expect_same(roster[0], here);
    expect_same(roster[1], there);
    expect_same(roster[2], Endpoint{});
    assert_int_equal(decode_roster(read_one(encode(std::vector<Endpoint>{})).frame()).size(), 0);
}

void frames_of_one_field_come_out_as_they_went_in(void**) {
    for (const Kind kind : {Kind::Ping, Kind::Closing, Kind::QueryMissing, Kind::Welcome}) {
        const Whole whole = read_one(encode(kind));
        assert_int_equal(static_cast<int>(whole.kind), static_cast<int>(kind));
        assert_int_equal(whole.fields.size(), 0);
    }
    for (const auto& ranks :
         std::vector<std::vector<int>>{{}, {0}, {1, -1, INT32_MAX, INT32_MIN}}) {
        const auto left = decode_ranks(read_one(encode(Kind::Left, 7, ranks)).frame());
        assert_int_equal(left.group, 7);
        assert_true(left.content == ranks);
    }
    for (const std::string& text :
         {std::string(), std::string("1, 3"), std::string(100'000, 'x'), std::string("a\0b", 3)}) {
        const Whole whole = read_one(encode(Kind::Missing, text));
        assert_int_equal(static_cast<int>(whole.kind), static_cast<int>(Kind::Missing));
        assert_true(decode_text(whole.frame()) == text);
    }
}

void a_status_comes_out_as_it_went_in(void**) {
    for (const Kind kind : {Kind::Suspect, Kind::Lost}) {
        const Whole whole = read_one(encode(kind, sample));
        assert_int_equal(static_cast<int>(whole.kind), static_cast<int>(kind));
        const Status status = decode_status(whole.frame());
        assert_int_equal(status.code, sample.code);
        assert_int_equal(status.rank, -1);
        assert_int_equal(status.system_errno, 104);
        assert_string_equal(status.message.c_str(), sample.message.c_str());
    }
    for (const Kind kind : {Kind::Report, Kind::Verdict}) {
        const Failure given{sample, UINT64_MAX};
        const auto [group, failure] =
            decode_failure(read_one(encode(kind, UINT32_MAX, given)).frame());
        assert_int_equal(group, UINT32_MAX);
        assert_string_equal(failure.cause.message.c_str(), sample.message.c_str());
        assert_true(failure.first_call == UINT64_MAX);
    }
}

void a_step_comes_out_as_it_went_in(void**) {
    const std::string payload("a\0b", 3);
    const StepArrival arrival = decode_arrival(
        read_one(encode(StepArrival{3, "split/1", {0, 2}, 5, payload, sample})).frame());
    assert_int_equal(arrival.group, 3);
    assert_string_equal(arrival.key.c_str(), "split/1");
    assert_true(arrival.participants == (std::vector<int>{0, 2}));
    assert_int_equal(arrival.new_groups, 5);
    assert_true(arrival.payload == payload);
    assert_string_equal(arrival.refusal.message.c_str(), sample.message.c_str());
    const GiveUp give_up = decode_give_up(read_one(encode(GiveUp{1, "x", -1})).frame());
    assert_int_equal(give_up.group, 1);
    assert_int_equal(give_up.unless_here, -1);
    const StepCompleted completed =
        decode_step_completed(read_one(encode(StepCompleted{2, "x", 9, {payload, ""}})).frame());
    assert_int_equal(completed.first_group_id, 9);
    assert_true(completed.payloads == (std::vector<std::string>{payload, ""}));
    const StepFailed failed =
        decode_step_failed(read_one(encode(StepFailed{2, "x", sample, {4, 5}})).frame());
    assert_string_equal(failed.cause.message.c_str(), sample.message.c_str());
    assert_true(failed.missing == (std::vector<int>{4, 5}));
}

void a_stall_comes_out_as_it_went_in(void**) {
    for (const uint64_t number : {uint64_t{0}, uint64_t{1} << 32, UINT64_MAX}) {
        for (const bool compares_first : {false, true}) {
            const Stall stall{number, std::string("\0b", 2), compares_first, "barrier #1"};
            const Whole whole = read_one(encode(6, stall));
            assert_int_equal(static_cast<int>(whole.kind), static_cast<int>(Kind::Stalled));
            assert_true(decode_stall(whole.frame()).content == stall);
            assert_int_equal(decode_stall(whole.frame()).group, 6);
        }
    }
}

template <typename Decode>
void expect_every_cut_to_fail(const std::string& text, Decode&& decode) {
    const Whole whole = read_one(text);
    decode(whole.frame());
    for (size_t size = 0; size < whole.fields.size(); ++size) {
        // Its own allocation, so that a read beyond it shows.
        const Whole cut{
            whole.kind,
            {whole.fields.begin(), whole.fields.begin() + static_cast<std::ptrdiff_t>(size)}};
        TUTTI_EXPECT_ERROR(decode(cut.frame()), TUTTI_ERR_NETWORK, "control");
    }
}

void a_frame_cut_anywhere_is_an_error(void**) {
    expect_every_cut_to_fail(encode(Handshake{token('t'), 3, 4}), decode_handshake);
    expect_every_cut_to_fail(encode(Hello{token('t'), 3, 4, here}), decode_hello);
    expect_every_cut_to_fail(encode({here, there}), decode_roster);
    expect_every_cut_to_fail(encode(Kind::Left, 7, std::vector<int>{1, 2}), decode_ranks);
    expect_every_cut_to_fail(encode(StepArrival{1, "k", {0, 1}, 1, "w", sample}), decode_arrival);
    expect_every_cut_to_fail(encode(GiveUp{1, "k", 2}), decode_give_up);
    expect_every_cut_to_fail(encode(StepCompleted{1, "k", 2, {"a", "b"}}), decode_step_completed);
    expect_every_cut_to_fail(encode(StepFailed{1, "k", sample, {1}}), decode_step_failed);
    expect_every_cut_to_fail(encode(Kind::Refused, std::string("no")), decode_text);
    expect_every_cut_to_fail(encode(Kind::Lost, sample), decode_status);
    expect_every_cut_to_fail(encode(1, Stall{7, "b", true, "barrier #7"}), decode_stall);
}

void a_yes_or_no_that_is_neither_is_an_error(void**) {
    const Stall stall{7, "b", true, "barrier #7"};
    Whole whole = read_one(encode(1, stall));
    // The text and its length are behind it.
    const size_t at = whole.fields.size() - sizeof(uint32_t) - stall.text.size() - 1;
    assert_int_equal(std::to_integer<int>(whole.fields[at]), 1);
    whole.fields[at] = std::byte{2};
    TUTTI_EXPECT_ERROR(decode_stall(whole.frame()), TUTTI_ERR_NETWORK, "yes or no");
}

void a_hello_of_another_protocol_is_an_error(void**) {
    const Whole hello = read_one(encode(Hello{token('t'), 0, 1, here}));
    for (const size_t at : {size_t{0}, size_t{3}, size_t{4}}) {  // magic, version
        Whole other = hello;
        other.fields[at] ^= std::byte{1};
        TUTTI_EXPECT_ERROR(decode_hello(other.frame()), TUTTI_ERR_NETWORK, "hello");
    }
    TUTTI_EXPECT_ERROR(decode_hello(Frame{Kind::Ping, hello.fields}), TUTTI_ERR_NETWORK, "hello");
}

void a_length_within_a_frame_that_is_too_large_is_an_error(void**) {
    Whole text = read_one(encode(Kind::Missing, std::string("12")));
    Whole roster = read_one(encode({here}));
    for (const uint32_t length : {3U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
        std::memcpy(text.fields.data(), &length, sizeof length);
        TUTTI_EXPECT_ERROR(decode_text(text.frame()), TUTTI_ERR_NETWORK, "ends before");
        std::memcpy(roster.fields.data(), &length, sizeof length);
        TUTTI_EXPECT_ERROR(decode_roster(roster.frame()), TUTTI_ERR_NETWORK, "ends before");
    }
}

void a_frame_longer_than_any_is_an_error_at_once(void**) {
    for (const uint32_t length : {0U, 64U * 1024 * 1024 + 1, 0x80000000U, 0xFFFFFFFFU}) {
        FrameReader reader;
        std::string head(sizeof length, '\0');
        std::memcpy(head.data(), &length, sizeof length);
        TUTTI_EXPECT_ERROR(read_all(reader, bytes_of(head)), TUTTI_ERR_NETWORK,
                           cat("claims ", length, " bytes"));
    }
}

std::string stream_of_frames() {
    return encode(Kind::Ping) + encode(Hello{token('t'), 3, 4, here}) +
           encode(Kind::Missing, std::string(3'000, 'm')) + encode(Kind::Ping) +
           encode({here, there}) + encode(Kind::Verdict, 0, Failure{sample, 1}) +
           encode(Kind::Left, 0, std::vector<int>{1});
}

const std::vector<Kind> kinds_of_the_stream{Kind::Ping,   Kind::Hello,   Kind::Missing, Kind::Ping,
                                            Kind::Roster, Kind::Verdict, Kind::Left};

void frames_are_found_however_the_stream_is_cut(void**) {
    const std::string text = stream_of_frames();
    for (const size_t piece :
         {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{1000}, text.size()}) {
        FrameReader reader;
        std::vector<Whole> frames;
        for (size_t at = 0; at < text.size(); at += piece) {
            for (auto& whole :
                 read_all(reader, bytes_of(text).subspan(at, std::min(piece, text.size() - at)))) {
                frames.push_back(std::move(whole));
            }
        }
        assert_int_equal(frames.size(), kinds_of_the_stream.size());
        for (size_t index = 0; index < frames.size(); ++index) {
            assert_int_equal(static_cast<int>(frames[index].kind),
                             static_cast<int>(kinds_of_the_stream[index]));
        }
        assert_int_equal(decode_hello(frames[1].frame()).rank, 3);
        assert_int_equal(decode_text(frames[2].frame()).size(), 3'000);
        expect_same(decode_roster(frames[4].frame())[1], there);
        assert_int_equal(decode_ranks(frames[6].frame()).content.front(), 1);
    }
}

// Who reads no more than is missing leaves the next frame where it is.
void a_reader_says_what_the_frame_under_way_needs(void**) {
    const std::string text = encode(Kind::Missing, std::string(300, 'm'));
    for (const size_t piece : {size_t{1}, size_t{3}, text.size()}) {
        FrameReader reader;
        size_t at = 0;
        for (bool is_read = false; !is_read;) {
            const size_t wanted = std::min(piece, reader.missing());
            assert_in_range(wanted, 1, text.size() - at);
            is_read = !read_all(reader, bytes_of(text).subspan(at, wanted)).empty();
            at += wanted;
        }
        assert_int_equal(at, text.size());
    }
}

void a_reader_stops_when_it_is_told_to(void**) {
    const std::string text = stream_of_frames();
    FrameReader reader;
    int frames = 0;
    reader.feed(bytes_of(text), [&](const Frame&) { return ++frames < 3; });
    assert_int_equal(frames, 3);
}

// Whatever comes, it is a value or an Error.
void noise_is_never_more_than_an_error(void**) {
    const uint32_t seed = test_seed();
    print_message("seed %u\n", seed);
    std::mt19937 random(seed);
    const std::string text = stream_of_frames();
    for (int turn = 0; turn < 3'000; ++turn) {
        std::string noise = text;
        for (uint32_t change = random() % 8 + 1; change > 0; --change) {
            noise[random() % noise.size()] = static_cast<char>(random());
        }
        try {
            FrameReader reader;
            for (const Whole& whole : read_all(reader, bytes_of(noise))) {
                const auto attempt = [&](auto&& decode) {
                    try {
                        decode(whole.frame());
                    } catch (const Error& error) {
                        assert_int_equal(error.status().code, TUTTI_ERR_NETWORK);
                    }
                };
                attempt(decode_handshake);
                attempt(decode_hello);
                attempt(decode_roster);
                attempt(decode_ranks);
                attempt(decode_arrival);
                attempt(decode_step_completed);
                attempt(decode_step_failed);
                attempt(decode_give_up);
                attempt(decode_failure);
                attempt(decode_text);
                attempt(decode_status);
                attempt(decode_stall);
            }
        } catch (const Error& error) {
            assert_int_equal(error.status().code, TUTTI_ERR_NETWORK);
        }
    }
}

void tokens_differ(void**) {
    assert_false(random_token() == random_token());
    assert_false(random_token() == Token{});
}

void an_invitation_comes_out_as_it_went_in(void**) {
    Invitation invitation;
    invitation.port = 65535;
    invitation.token = random_token();
    invitation.host = "0123456789abcdef";
    invitation.addresses = {"10.0.0.1", "fe80::1", "::1"};
    const auto parsed = Invitation::parse(invitation.text());
    assert_int_equal(parsed.port, 65535);
    assert_true(parsed.token == invitation.token);
    assert_string_equal(parsed.host.c_str(), invitation.host.c_str());
    assert_true(parsed.addresses == invitation.addresses);
}

void what_is_no_invitation_is_an_error_of_the_store(void**) {
    Invitation invitation;
    invitation.port = 1;
    invitation.token = random_token();
    invitation.host = "h";
    invitation.addresses = {"10.0.0.1"};
    const std::string text = invitation.text();
    const std::string hex = text.substr(2, 32);
    for (const std::string& wrong :
         {std::string(), std::string("x"), std::string("1"), std::string("1 2"), text.substr(2),
          "0 " + hex + " h 10.0.0.1", "65536 " + hex + " h 10.0.0.1", "x " + hex + " h 10.0.0.1",
          "1 " + hex.substr(1) + " h 10.0.0.1", "1 " + hex + "00 h 10.0.0.1",
          "1 zz" + hex.substr(2) + " h 10.0.0.1", "1 " + hex, "1 " + hex + " ", "1 " + hex + " h",
          "1 " + hex + " h ", "1 " + hex + "  10.0.0.1"}) {
        TUTTI_EXPECT_ERROR(Invitation::parse(wrong), TUTTI_ERR_STORE, "");
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_knock_comes_out_as_it_went_in),
        TUTTI_TEST(an_endpoint_has_no_more_addresses_than_a_frame_may_claim),
        TUTTI_TEST(hello_comes_out_as_it_went_in),
        TUTTI_TEST(a_roster_comes_out_as_it_went_in),
        TUTTI_TEST(frames_of_one_field_come_out_as_they_went_in),
        TUTTI_TEST(a_status_comes_out_as_it_went_in),
        TUTTI_TEST(a_step_comes_out_as_it_went_in),
        TUTTI_TEST(a_stall_comes_out_as_it_went_in),
        TUTTI_TEST(a_frame_cut_anywhere_is_an_error),
        TUTTI_TEST(a_yes_or_no_that_is_neither_is_an_error),
        TUTTI_TEST(a_hello_of_another_protocol_is_an_error),
        TUTTI_TEST(a_length_within_a_frame_that_is_too_large_is_an_error),
        TUTTI_TEST(a_frame_longer_than_any_is_an_error_at_once),
        TUTTI_TEST(frames_are_found_however_the_stream_is_cut),
        TUTTI_TEST(a_reader_says_what_the_frame_under_way_needs),
        TUTTI_TEST(a_reader_stops_when_it_is_told_to),
        TUTTI_TEST(noise_is_never_more_than_an_error),
        TUTTI_TEST(tokens_differ),
        TUTTI_TEST(an_invitation_comes_out_as_it_went_in),
        TUTTI_TEST(what_is_no_invitation_is_an_error_of_the_store),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
