// Are the parts of a connection right alone? Its credit, its reader, and the end of both halves.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "support/tcp_ranks.hpp"
#include "support/unit.hpp"
#include "transport/tcp/credit.hpp"
#include "transport/tcp/reader.hpp"

namespace {

using namespace tutti;
using namespace tutti::tcp;
using test::TcpMessage;
using test::TcpRanks;

void half_of_the_window_is_kept_for_collectives(void** /*state*/) {
    Credit credit;
    const size_t half = window_bytes / 2 - sizeof(Head);
    assert_true(credit.covers(half, false));
    assert_false(credit.covers(half + 1, false));
    credit.spend(half);
    assert_false(credit.covers(0, false));
    assert_true(credit.covers(half, true));
    credit.spend(half);
    assert_false(credit.covers(0, true));
}

void no_more_is_granted_than_was_spent(void** /*state*/) {
    Credit credit;
    assert_true(credit.receive(0));
    assert_false(credit.receive(1));
    credit.spend(100);
    assert_false(credit.receive(charge_of(100) + 1));
    assert_true(credit.receive(charge_of(100)));
    assert_false(credit.receive(1));
    credit.spend(100);
    credit.refund_data(100);
    assert_false(credit.receive(charge_of(0) + 1));
    assert_true(credit.receive(charge_of(0)));
    credit.spend(100);
    credit.refund(100);
    assert_false(credit.receive(1));
}

void a_debt_of_half_the_window_is_due(void** /*state*/) {
    Credit credit;
    const uint64_t half = window_bytes / 2 - sizeof(Head);
    assert_false(credit.owe(half - 1));
    assert_true(credit.owe(0));
    assert_int_equal(credit.take_owed(), window_bytes / 2 - 1 + sizeof(Head));
    assert_int_equal(credit.take_owed(), 0);
    assert_true(credit.owe(half));
}

std::vector<Head> some_heads() {
    std::vector<Head> heads;
    for (const uint64_t length : {0, 1, 31, 33, 2049, 0, 5000, 20'000, 7}) {
        Head head{};
        head.length = length;
        head.slot = heads.size();
        head.kind = Kind::Message;
        heads.push_back(head);
    }
    return heads;
}

std::vector<std::byte> bytes_of(const std::vector<Head>& heads) {
    std::vector<std::byte> bytes;
    for (const Head& head : heads) {
        const auto wire = wire_bytes(head);
        bytes.insert(bytes.end(), wire.begin(), wire.end());
        bytes.insert(bytes.end(), head.length, static_cast<std::byte>(head.length));
    }
    return bytes;
}

// Takes all heads that have come; data of the messages in `wanted` go to arrivals.
struct Taker {
    void take() {
        while (!reader.is_inside() || reader.fill()) {
            if (reader.is_inside()) finish(reader.take());
            const auto head = reader.next_head();
            if (!head) break;
            heads.push_back(*head);
            arrivals.push_back(std::make_unique<Arrival>(nullptr, *head, 0));
            Arrival& arrival = *arrivals.back();
            arrival.data = std::make_unique<std::byte[]>(head->length + 1);
            if (head->slot % 2 == 0) {
                reader.begin(*head, &arrival);
            } else {
                reader.begin(*head);
            }
        }
        reader.compact();
    }
    void finish(const Incoming& whole) {
        assert_int_equal(whole.left, 0);
        const std::byte* const data = arrivals.back()->data.get();
        const auto length = whole.head.length;
        const auto wanted = static_cast<std::byte>(whole.head.slot % 2 == 0 ? length : 0);
        assert_true(std::all_of(data, data + length, [&](std::byte one) { return one == wanted; }));
        assert_true(data[length] == std::byte{0});
        ++ended;
    }

    Reader reader;
    std::vector<Head> heads;
    std::vector<std::unique_ptr<Arrival>> arrivals;
    size_t ended = 0;
};

void messages_come_whole_wherever_the_stream_is_cut(void** /*state*/) {
    const auto sent = some_heads();
    const auto bytes = bytes_of(sent);
    for (const size_t piece :
         {size_t{1}, size_t{7}, size_t{32}, size_t{63}, size_t{4096}, size_t{4161}, bytes.size()}) {
        const auto ends = test::pair();
        Taker taker;
        taker.reader.open();
        for (size_t at = 0; at < bytes.size(); at += piece) {
            const size_t count = std::min(piece, bytes.size() - at);
            assert_int_equal(::write(ends[0], bytes.data() + at, count), count);
            for (bool is_empty = false; !is_empty;) {
                const Reader::Read read = taker.reader.read(ends[1]);
                assert_false(read.has_ended);
                assert_int_equal(read.error, 0);
                is_empty = read.is_socket_empty;
                taker.take();
            }
        }
        assert_int_equal(taker.heads.size(), sent.size());
        assert_int_equal(taker.ended, sent.size());
        for (size_t i = 0; i < sent.size(); ++i) {
            assert_memory_equal(&taker.heads[i], &sent[i], sizeof(Head));
        }
        assert_true(taker.reader.is_between_messages());
        ::close(ends[0]);
        assert_true(taker.reader.read(ends[1]).has_ended);
        ::close(ends[1]);
    }
}

void an_end_inside_a_head_or_a_message_is_none_between_messages(void** /*state*/) {
    const auto bytes = bytes_of({some_heads()[3]});
    for (const size_t count : {size_t{5}, sizeof(Head), sizeof(Head) + 5, bytes.size() - 1}) {
        const auto ends = test::pair();
        Taker taker;
        taker.reader.open();
        assert_int_equal(::write(ends[0], bytes.data(), count), count);
        ::close(ends[0]);
        assert_int_equal(taker.reader.read(ends[1]).bytes, count);
        taker.take();
        assert_true(taker.reader.read(ends[1]).has_ended);
        assert_false(taker.reader.is_between_messages());
        ::close(ends[1]);
    }
}

// The request of a message, as long as it has one.
const Request& request_of(const TcpMessage& message) {
    return static_cast<const Request&>(*message.transfer.hold);
}

bool is_in_no_link(const TcpMessage& message) {
    const Request& request = request_of(message);
    return request.link == nullptr && request.frame == nullptr && request.untaken == 0 &&
           request.accepted == nullptr && request.divided == nullptr;
}

// One that waits for its answer, one that is offered, one whose data go, one whose data come.
void a_link_that_closes_releases_all_requests(void** /*state*/) {
    TcpRanks ranks;
    const auto slot = [](uint64_t number) { return Slot::payload(number); };
    TcpMessage unanswered(true, 100), offered(true, eager_bytes + 1);
    ranks.here.post(unanswered, slot(1));
    ranks.here.post(offered, slot(2));
    TcpMessage divided(true, 16 * long_part_bytes), awaited(false, 16 * long_part_bytes);
    ranks.there.post(awaited, slot(3));
    ranks.here.post(divided, slot(3));
    TcpMessage incoming(false, eager_bytes + 1), outgoing(true, eager_bytes + 1);
    ranks.here.post(incoming, slot(4));
    ranks.there.post(outgoing, slot(4));
    ranks.there.advance();
    ranks.here.advance();
    const std::vector<const TcpMessage*> all{&unanswered, &offered,  &divided,
                                             &awaited,    &incoming, &outgoing};
    for (const TcpMessage* const one : all) assert_false(is_in_no_link(*one));
    assert_non_null(request_of(divided).divided);
    assert_non_null(request_of(incoming).accepted);
    for (auto* const side : {&ranks.here, &ranks.there}) side->link().close("the test closes it");
    for (const TcpMessage* const one : all) {
        assert_true(is_in_no_link(*one));
        assert_int_equal(one->ends(), 0);
    }
    assert_string_equal(ranks.here.why_closed.c_str(), "the test closes it");
    assert_false(ranks.here.link().has_output());
    ranks.here.end();
    ranks.there.end();
    for (const TcpMessage* const one : all) assert_int_equal(one->ends(), 1);
}

// The second message has come whole, but the data of the first one will not: no receive may take
// the second in its place.
void what_came_behind_a_lost_offer_is_lost_with_it(void** /*state*/) {
    TcpRanks ranks;
    const Slot slot = Slot::payload(1);
    const Slot other = Slot::payload(2);
    TcpMessage offered(true, eager_bytes + 1), behind(true, 100), whole(true, 100);
    for (TcpMessage* const one : {&offered, &behind}) ranks.there.post(*one, slot);
    ranks.there.post(whole, other);
    while (ranks.there.advance() || ranks.here.advance()) {
    }
    ranks.here.link().close("its process died");
    TcpMessage first(false, eager_bytes + 1), second(false, 100), third(false, 100);
    for (TcpMessage* const one : {&first, &second}) ranks.here.post(*one, slot);
    ranks.here.post(third, other);
    assert_int_equal(first.ends() + second.ends(), 0);
    assert_int_equal(third.ends(), 1);
    assert_true(third.transfer.status.ok());
    ranks.here.end();
    ranks.there.end();
}

void a_closed_link_sends_nothing(void** /*state*/) {
    TcpRanks ranks;
    ranks.here.link().close("");
    TcpMessage late(true, 100);
    ranks.here.post(late, Slot::payload(1));
    ranks.here.say_goodbye();
    assert_true(is_in_no_link(late));
    assert_false(ranks.here.link().has_output());
    ranks.here.end();
    assert_int_equal(late.ends(), 1);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(half_of_the_window_is_kept_for_collectives),
        TUTTI_TEST(no_more_is_granted_than_was_spent),
        TUTTI_TEST(a_debt_of_half_the_window_is_due),
        TUTTI_TEST(messages_come_whole_wherever_the_stream_is_cut),
        TUTTI_TEST(an_end_inside_a_head_or_a_message_is_none_between_messages),
        TUTTI_TEST(a_link_that_closes_releases_all_requests),
        TUTTI_TEST(a_closed_link_sends_nothing),
        TUTTI_TEST(what_came_behind_a_lost_offer_is_lost_with_it),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
