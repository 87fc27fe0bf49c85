// Do the ranks' lines arrive whole, prefixed and in order, and does nothing block or pile up? One
// thread.
#include "launch/output.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "support/unit.hpp"

namespace {

using tutti::launch::LineReader;
using tutti::launch::LineWriter;
using tutti::net::Descriptor;

constexpr size_t max_line = size_t{1} << 20;

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        assert_int_equal(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
        reading = Descriptor(ends[0]);
        writing = Descriptor(ends[1]);
    }
    void put(const std::string& text) const {
        assert_int_equal(::write(writing.get(), text.data(), text.size()), text.size());
    }
    [[nodiscard]] std::string take() const {
        std::string text(1 << 16, '\0');
        const auto size = ::read(reading.get(), text.data(), text.size());
        text.resize(size < 0 ? 0 : static_cast<size_t>(size));
        return text;
    }
    Descriptor reading;
    Descriptor writing;
};

// A rank's pipe, and the launcher's own output.
struct Fixture {
    Fixture() : reader(std::move(rank.reading), output.writing.get(), "[rank 7] ") {}
    // The output that has arrived so far.
    std::string arrived() {
        std::string text;
        while (true) {
            writer.write_some();
            const auto piece = output.take();
            if (piece.empty()) return text;
            text += piece;
        }
    }
    Pipe rank;
    Pipe output;
    LineWriter writer;
    LineReader reader;
};

void a_line_waits_until_it_is_complete(void**) {
    Fixture fixture;
    fixture.rank.put("one\ntw");
    fixture.reader.read_some(fixture.writer);
    assert_string_equal(fixture.arrived().c_str(), "[rank 7] one\n");
    fixture.rank.put("o\n\nthree");
    fixture.reader.read_some(fixture.writer);
    assert_string_equal(fixture.arrived().c_str(), "[rank 7] two\n[rank 7] \n");
}

void the_rest_of_a_line_is_handed_on_at_the_end(void**) {
    Fixture fixture;
    fixture.rank.put("one\ntwo");
    fixture.rank.writing.reset();
    while (fixture.reader.open()) fixture.reader.read_some(fixture.writer);
    assert_string_equal(fixture.arrived().c_str(), "[rank 7] one\n[rank 7] two\n");
}

void drain_takes_what_is_there_although_somebody_holds_the_pipe(void**) {
    Fixture fixture;
    fixture.rank.put("one\ntwo");
    fixture.reader.drain(fixture.writer);
    assert_false(fixture.reader.open());
    assert_string_equal(fixture.arrived().c_str(), "[rank 7] one\n[rank 7] two\n");
    fixture.reader.drain(fixture.writer);
    assert_true(fixture.writer.empty());
}

void a_line_without_end_is_handed_on_in_pieces(void**) {
    Fixture fixture;
    const std::string piece(1 << 15, 'x');
    std::string text;
    for (size_t sent = 0; sent < max_line + piece.size(); sent += piece.size()) {
        fixture.rank.put(piece);
        fixture.reader.read_some(fixture.writer);
        text += fixture.arrived();
    }
    fixture.rank.put("\n");
    fixture.reader.read_some(fixture.writer);
    text += fixture.arrived();
    const std::string prefix = "[rank 7] ";
    const auto wanted = prefix + std::string(max_line, 'x') + "\n" + prefix + piece + "\n";
    assert_true(text == wanted);
}

void a_line_of_just_the_longest_length_stays_whole(void**) {
    Fixture fixture;
    const std::string piece(1 << 15, 'x');
    for (size_t sent = 0; sent < max_line; sent += piece.size()) {
        fixture.rank.put(piece);
        fixture.reader.read_some(fixture.writer);
    }
    fixture.rank.put("\nnext\n");
    fixture.reader.read_some(fixture.writer);
    assert_true(fixture.arrived() ==
                "[rank 7] " + std::string(max_line, 'x') + "\n[rank 7] next\n");
}

void lines_for_two_targets_keep_their_order(void**) {
    Fixture fixture;
    const Pipe other;
    const int target = fixture.output.writing.get();
    fixture.writer.push(target, "one\n");
    fixture.writer.push(other.writing.get(), "two\n");
    fixture.writer.push(target, "three\n");
    assert_int_equal(fixture.writer.descriptor(), target);
    fixture.writer.write_some();
    assert_true(fixture.writer.empty());
    assert_string_equal(fixture.output.take().c_str(), "one\nthree\n");
    assert_string_equal(other.take().c_str(), "two\n");
}

void a_reader_that_does_not_read_blocks_nothing_and_nothing_is_lost(void**) {
    Fixture fixture;
    const std::string line = std::string(999, 'x') + "\n";
    size_t pushed = 0;
    for (; !fixture.writer.full(); ++pushed) {
        fixture.writer.push(fixture.output.writing.get(), line);
    }
    // Blocking, as the launcher's own output is.
    assert_int_equal(::fcntl(fixture.output.writing.get(), F_SETFL, 0), 0);
    for (int count = 0; count < 100; ++count) fixture.writer.write_some();
    assert_false(fixture.writer.empty());
    size_t bytes = fixture.arrived().size();
    while (!fixture.writer.empty()) bytes += fixture.arrived().size();
    assert_int_equal(bytes, pushed * line.size());
}

void output_for_a_reader_that_is_gone_is_dropped(void**) {
    ::signal(SIGPIPE, SIG_IGN);
    Fixture fixture;
    const Pipe other;
    fixture.output.reading.reset();
    fixture.writer.push(fixture.output.writing.get(), "one\n");
    fixture.writer.push(other.writing.get(), "two\n");
    fixture.writer.write_some();
    assert_true(fixture.writer.empty());
    assert_string_equal(other.take().c_str(), "two\n");
    assert_true(fixture.writer.fault().has_value());
    assert_int_equal(fixture.writer.fault()->descriptor, fixture.output.writing.get());
    assert_int_equal(fixture.writer.fault()->number, EPIPE);
}

// A question, and what is written behind its answer.
void the_beginning_of_a_line_is_shown_when_it_is_due(void**) {
    Fixture fixture;
    assert_true(fixture.reader.due().is_never());
    fixture.rank.put("one\nGo on? ");
    fixture.reader.read_some(fixture.writer);
    assert_false(fixture.reader.due().is_never());
    assert_string_equal(fixture.arrived().c_str(), "[rank 7] one\n");
    fixture.reader.show_beginning(fixture.writer);
    assert_true(fixture.reader.due().is_never());
    assert_string_equal(fixture.arrived().c_str(), "[rank 7] Go on? ");
    fixture.rank.put("yes\nnext\n");
    fixture.reader.read_some(fixture.writer);
    assert_true(fixture.reader.due().is_never());
    assert_string_equal(fixture.arrived().c_str(), "yes\n[rank 7] next\n");
    assert_true(fixture.writer.empty());
}

void what_a_carriage_return_overwrites_has_its_prefix_too(void**) {
    Fixture fixture;
    for (const char* step : {"\r1 of 3", "\r2 of 3", "\r3 of 3"}) {
        fixture.rank.put(step);
        fixture.reader.read_some(fixture.writer);
        fixture.reader.show_beginning(fixture.writer);
    }
    assert_string_equal(fixture.arrived().c_str(),
                        "\r[rank 7] 1 of 3\r[rank 7] 2 of 3\r[rank 7] 3 of 3");
    fixture.rank.put("\nas on Windows\r\n");
    fixture.reader.read_some(fixture.writer);
    assert_string_equal(fixture.arrived().c_str(), "\n[rank 7] as on Windows\r\n");
    // The other custom: the return behind the text.
    fixture.rank.put("1 of 2\r");
    fixture.reader.read_some(fixture.writer);
    fixture.reader.show_beginning(fixture.writer);
    fixture.rank.put("2 of 2\r");
    fixture.reader.drain(fixture.writer);
    assert_string_equal(fixture.arrived().c_str(), "[rank 7] 1 of 2\r[rank 7] 2 of 2\r\n");
}

void a_line_that_is_shown_in_part_is_ended_before_another(void**) {
    Fixture fixture;
    Pipe rank;
    LineReader other(std::move(rank.reading), fixture.output.writing.get(), "[rank 8] ");
    fixture.rank.put("one");
    fixture.reader.read_some(fixture.writer);
    fixture.reader.show_beginning(fixture.writer);
    rank.put("other\n");
    other.read_some(fixture.writer);
    assert_string_equal(fixture.arrived().c_str(), "[rank 7] one\n[rank 8] other\n");
    fixture.rank.put("\n");  // its line is ended already
    fixture.reader.read_some(fixture.writer);
    assert_string_equal(fixture.arrived().c_str(), "");
    fixture.rank.put("two");
    fixture.reader.read_some(fixture.writer);
    fixture.reader.show_beginning(fixture.writer);
    fixture.writer.push(fixture.output.writing.get(), "tuttirun: so\n");
    fixture.rank.put(" three\n\n");
    fixture.reader.read_some(fixture.writer);
    assert_string_equal(fixture.arrived().c_str(),
                        "[rank 7] two\ntuttirun: so\n[rank 7]  three\n[rank 7] \n");
}

void a_line_that_is_shown_in_part_is_ended_at_the_end(void**) {
    Fixture fixture;
    fixture.rank.put("100 %");
    fixture.reader.read_some(fixture.writer);
    fixture.reader.show_beginning(fixture.writer);
    fixture.reader.drain(fixture.writer);
    assert_string_equal(fixture.arrived().c_str(), "[rank 7] 100 %\n");
}

void no_character_is_shown_in_part(void**) {
    const std::string characters = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
    Fixture fixture;
    std::string shown;
    for (const char byte : characters) {
        fixture.rank.put(std::string(1, byte));
        fixture.reader.read_some(fixture.writer);
        fixture.reader.show_beginning(fixture.writer);
        const std::string piece = fixture.arrived();
        if (piece.empty()) continue;
        shown += piece + "|";
    }
    assert_string_equal(shown.c_str(), "[rank 7] a|\xc3\xa9|\xe2\x82\xac|\xf0\x9f\x98\x80|");
}

void no_character_of_a_long_line_is_cut(void**) {
    Fixture fixture;
    std::string line = "x";  // so that the longest length ends within a character
    while (line.size() < max_line + 100) line += "\xe2\x82\xac";
    std::string text;
    for (size_t sent = 0; sent < line.size(); sent += 10'000) {
        fixture.rank.put(line.substr(sent, 10'000));
        fixture.reader.read_some(fixture.writer);
        text += fixture.arrived();
    }
    fixture.reader.drain(fixture.writer);
    text += fixture.arrived();
    const size_t first = max_line - (max_line - 1) % 3;
    assert_true(text ==
                "[rank 7] " + line.substr(0, first) + "\n[rank 7] " + line.substr(first) + "\n");
}

void a_line_that_is_remembered_is_not_cut_in_a_character(void**) {
    Fixture fixture;
    fixture.reader.keep_last(2, 3);
    fixture.rank.put("ab\xc3\xa9\n");
    fixture.reader.read_some(fixture.writer);
    assert_true(fixture.reader.last_lines() == std::deque<std::string>({"ab"}));
}

void the_last_lines_are_remembered_and_cut(void**) {
    Fixture fixture;
    fixture.reader.keep_last(2, 3);
    fixture.rank.put("one\ntwo\nthree\nfo");
    fixture.reader.read_some(fixture.writer);
    assert_true(fixture.reader.last_lines() == std::deque<std::string>({"two", "thr"}));
    fixture.reader.drain(fixture.writer);
    assert_true(fixture.reader.last_lines() == std::deque<std::string>({"thr", "fo"}));
}

void a_log_gets_what_was_written_whether_or_not_it_is_shown(void**) {
    Fixture fixture;
    Pipe log;
    Pipe rank;
    LineReader hidden(std::move(rank.reading), LineReader::nowhere, "[rank 7] ");
    hidden.log_to(std::move(log.writing), "log");
    rank.put("one\n\ntw");
    hidden.drain(fixture.writer);
    assert_true(fixture.writer.empty());
    assert_string_equal(log.take().c_str(), "one\n\ntw");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_line_waits_until_it_is_complete),
        TUTTI_TEST(the_rest_of_a_line_is_handed_on_at_the_end),
        TUTTI_TEST(drain_takes_what_is_there_although_somebody_holds_the_pipe),
        TUTTI_TEST(a_line_without_end_is_handed_on_in_pieces),
        TUTTI_TEST(a_line_of_just_the_longest_length_stays_whole),
        TUTTI_TEST(lines_for_two_targets_keep_their_order),
        TUTTI_TEST(a_reader_that_does_not_read_blocks_nothing_and_nothing_is_lost),
        TUTTI_TEST(output_for_a_reader_that_is_gone_is_dropped),
        TUTTI_TEST(the_beginning_of_a_line_is_shown_when_it_is_due),
        TUTTI_TEST(what_a_carriage_return_overwrites_has_its_prefix_too),
        TUTTI_TEST(a_line_that_is_shown_in_part_is_ended_before_another),
        TUTTI_TEST(a_line_that_is_shown_in_part_is_ended_at_the_end),
        TUTTI_TEST(no_character_is_shown_in_part),
        TUTTI_TEST(no_character_of_a_long_line_is_cut),
        TUTTI_TEST(a_line_that_is_remembered_is_not_cut_in_a_character),
        TUTTI_TEST(the_last_lines_are_remembered_and_cut),
        TUTTI_TEST(a_log_gets_what_was_written_whether_or_not_it_is_shown),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
