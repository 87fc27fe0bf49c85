// The parser of the store protocol: requests cut anywhere, limits, and bytes that mean nothing.
#include "store/request_parser.hpp"

#include <random>

#include "support/seed.h"
#include "support/unit.hpp"

namespace {

using tutti::protocol::Query;
using tutti::protocol::Request;
using tutti::protocol::RequestParser;
using tutti::protocol::Writer;

constexpr tutti::StoreLimits limits;

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::vector<Request> parse(RequestParser& parser, std::string_view text) {
    std::vector<Request> requests;
    std::span<const std::byte> input = bytes_of(text);
    while (auto request = parser.next(input)) requests.push_back(std::move(*request));
    assert_true(input.empty());
    return requests;
}

// One of each, and what they say.
std::string all_requests() {
    std::string bytes = Writer(Query::Validate).number32(0x3C85F7CE).take();
    bytes += Writer(Query::Set).bytes("/k").bytes("value").take();
    bytes += Writer(Query::CompareSet).bytes("/k").bytes("old").bytes("").take();
    bytes += Writer(Query::Get).bytes("/k").take();
    bytes += Writer(Query::Add).bytes("/n").number(-5).take();
    bytes += Writer(Query::Check).count(0).take();
    bytes += Writer(Query::Wait).count(2).bytes("/a").bytes("").take();
    bytes += Writer(Query::CountKeys).take();
    bytes += Writer(Query::DeleteKey).bytes("/k").take();
    bytes += Writer(Query::Append).bytes("/k").bytes(std::string(300, 'x')).take();
    bytes += Writer(Query::MultiGet).count(1).bytes("/a").take();
    bytes += Writer(Query::MultiSet).count(2).bytes("/a").bytes("1").bytes("/b").bytes("").take();
    bytes += Writer(Query::CancelWait).take();
    bytes += Writer(Query::Ping).number32(77).take();
    bytes += Writer(Query::QueuePush).bytes("/q").bytes("entry").take();
    bytes += Writer(Query::QueuePop).bytes("/q").take();
    bytes += Writer(Query::QueueLen).bytes("/q").take();
    bytes += Writer(Query::ListKeys).take();
    bytes += Writer(Query::Barrier).bytes("/b").number(4).take();
    return bytes;
}

void assert_all_requests(const std::vector<Request>& requests) {
    using Strings = std::vector<std::string>;
    assert_int_equal(requests.size(), 19);
    for (size_t i = 0; i < requests.size(); ++i)
        assert_int_equal(static_cast<size_t>(requests[i].query), i);
    assert_int_equal(requests[0].number, 0x3C85F7CE);
    assert_true((requests[1].keys == Strings{"/k"} && requests[1].values == Strings{"value"}));
    assert_true((requests[2].keys == Strings{"/k"} && requests[2].values == Strings{"old", ""}));
    assert_true((requests[3].keys == Strings{"/k"}));
    assert_true((requests[4].keys == Strings{"/n"} && requests[4].number == -5));
    assert_true(requests[5].keys.empty());
    assert_true((requests[6].keys == Strings{"/a", ""}));
    assert_true((requests[8].keys == Strings{"/k"}));
    assert_true((requests[9].values == Strings{std::string(300, 'x')}));
    assert_true((requests[10].keys == Strings{"/a"}));
    assert_true((requests[11].keys == Strings{"/a", "/b"}));
    assert_true((requests[11].values == Strings{"1", ""}));
    assert_int_equal(requests[13].number, 77);
    assert_true((requests[14].keys == Strings{"/q"} && requests[14].values == Strings{"entry"}));
    assert_true((requests[15].keys == Strings{"/q"} && requests[16].keys == Strings{"/q"}));
    assert_true((requests[18].keys == Strings{"/b"} && requests[18].number == 4));
}

void all_requests_are_read_from_one_piece(void**) {
    RequestParser parser;
    assert_all_requests(parse(parser, all_requests()));
}

void requests_may_be_cut_at_any_byte(void**) {
    const std::string bytes = all_requests();
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
        RequestParser parser;
        std::vector<Request> requests = parse(parser, std::string_view(bytes).substr(0, cut));
        for (Request& request : parse(parser, std::string_view(bytes).substr(cut)))
            requests.push_back(std::move(request));
        assert_all_requests(requests);
    }
}

void requests_may_come_byte_by_byte(void**) {
    RequestParser parser;
    std::vector<Request> requests;
    for (const char byte : all_requests())
        for (Request& request : parse(parser, {&byte, 1})) requests.push_back(std::move(request));
    assert_all_requests(requests);
}

void unknown_queries_are_refused(void**) {
    for (int query = 19; query < 256; ++query) {
        RequestParser parser;
        const char byte = static_cast<char>(query);
        TUTTI_EXPECT_ERROR(parse(parser, {&byte, 1}), TUTTI_ERR_STORE,
                           tutti::cat("query ", query, " is unknown"));
    }
}

void what_exceeds_a_limit_is_refused_before_its_bytes_come(void**) {
    const auto refuse = [](std::string bytes, const char* why, tutti::StoreLimits given = {}) {
        RequestParser parser(given);
        TUTTI_EXPECT_ERROR(parse(parser, bytes), TUTTI_ERR_STORE, why);
    };
    refuse(Writer(Query::Get).count(limits.key_bytes + 2).take(), "too long");
    refuse(Writer(Query::Get).number(-1).take(), "too long");
    refuse(Writer(Query::Set).bytes("/k").count(limits.value_bytes + 1).take(), "too long");
    refuse(Writer(Query::CompareSet)
               .bytes("/k")
               .bytes(std::string(200'000, 'x'))
               .count(limits.value_bytes)
               .take(),
           "too large");
    refuse(Writer(Query::Wait).count(limits.keys_per_request + 1).take(), "too many");
    refuse(Writer(Query::MultiSet).number(-1).take(), "too many");
    const tutti::StoreLimits small = {.key_bytes = 3, .value_bytes = 5, .keys_per_request = 2};
    refuse(Writer(Query::Get).bytes("/kkkk").take(), "at most 4 ", small);
    refuse(Writer(Query::Get).count(129).take(), "at most 128 ", small);
    refuse(Writer(Query::QueuePush).bytes("/kkk").count(6).take(), "at most 5 ", small);
    refuse(Writer(Query::Check).count(3).take(), "at most 2 ", small);
}

void what_is_just_within_a_limit_is_read(void**) {
    RequestParser parser;
    const std::string key(limits.key_bytes + 1, 'k');
    assert_true(parse(parser, Writer(Query::Get).bytes(key).take()).at(0).keys.at(0) == key);
    Writer writer(Query::Wait);
    writer.count(limits.keys_per_request);
    for (size_t i = 0; i < limits.keys_per_request; ++i) writer.bytes("");
    assert_int_equal(parse(parser, writer.take()).at(0).keys.size(), limits.keys_per_request);
}

void what_a_half_request_holds_is_known(void**) {
    RequestParser parser;
    assert_int_equal(parser.held_bytes(), 0);
    parse(parser, Writer(Query::Set).bytes("/k").count(100'000).take() + std::string(60'000, 'x'));
    assert_in_range(parser.held_bytes(), 60'000, 61'000);
    assert_int_equal(parse(parser, std::string(40'000, 'x')).size(), 1);
    assert_int_equal(parser.held_bytes(), 0);
}

// Whatever comes, the parser reads it or refuses it; the sanitizers watch.
void random_bytes_do_no_harm(void**) {
    const uint32_t seed = test_seed();
    print_message("seed %u\n", seed);
    std::mt19937 random(seed);
    const std::string valid = all_requests();
    int refused = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string bytes = valid;
        for (unsigned changes = random() % 4; changes > 0; --changes)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        RequestParser parser;
        try {
            for (size_t at = 0; at < bytes.size();) {
                const size_t size = std::min<size_t>(random() % 40, bytes.size() - at);
                parse(parser, std::string_view(bytes).substr(at, size));
                at += size;
            }
        } catch (const tutti::Error&) {
            ++refused;
        }
    }
    assert_true(refused > 0 && refused < 3000);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(all_requests_are_read_from_one_piece),
        TUTTI_TEST(requests_may_be_cut_at_any_byte),
        TUTTI_TEST(requests_may_come_byte_by_byte),
        TUTTI_TEST(unknown_queries_are_refused),
        TUTTI_TEST(what_exceeds_a_limit_is_refused_before_its_bytes_come),
        TUTTI_TEST(what_is_just_within_a_limit_is_read),
        TUTTI_TEST(what_a_half_request_holds_is_known),
        TUTTI_TEST(random_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
