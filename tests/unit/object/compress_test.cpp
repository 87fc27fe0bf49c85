// Compressed messages: when it pays, that nothing is lost, and what a stranger may send instead.
#include "object/compress.hpp"

#include "values.hpp"

namespace {

using tutti::Builder;
using tutti::Decompressor;
using tutti::ObjectSettings;
using tutti::OwnedBytes;
using tutti::test::bytes_of;
using tutti::test::make;
using tutti::test::ObjectPtr;
using tutti::test::raw;
using tutti::test::read;
using tutti::test::same;

class Text : public tutti::Sink {
public:
    void write(std::span<const std::byte> piece) override {
        text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    std::string text;
};

using Share = tutti::Compressor::Share;

std::string compress(const std::string& content, size_t piece = SIZE_MAX,
                     Share share = Share::All) {
    Text out;
    tutti::Compressor compressor(1, content.size(), out, share);
    for (size_t at = 0; at < content.size(); at += std::min(piece, content.size() - at)) {
        compressor.write(bytes_of(content).subspan(at, std::min(piece, content.size() - at)));
    }
    compressor.finish();
    return out.text;
}

std::string decompress(const std::string& frame, size_t limit, size_t piece = SIZE_MAX) {
    Decompressor decompressor(limit);
    for (size_t at = 0; at < frame.size(); at += std::min(piece, frame.size() - at)) {
        decompressor.write(bytes_of(frame).subspan(at, std::min(piece, frame.size() - at)));
    }
    const OwnedBytes message = decompressor.finish();
    return {reinterpret_cast<const char*>(message.block.data()), message.size};
}

std::string noise(size_t size, uint64_t seed = 1) {
    std::mt19937_64 engine(seed);
    std::string made(size, '\0');
    for (char& byte : made) byte = static_cast<char>(engine());
    return made;
}

std::string words(size_t size) {
    std::string made;
    for (uint64_t i = 1; made.size() < size; ++i) made += std::to_string(i * i) + " ranks ";
    made.resize(size);
    return made;
}

ObjectPtr bytes_object(const std::string& data) {
    return make([&](Builder& builder) {
        builder.list(2);
        builder.bytes(data.data(), data.size(), Builder::Memory::Copied);
        builder.string("end");
    });
}

ObjectSettings compressing() {
    ObjectSettings settings;
    settings.compress = true;
    return settings;
}

void content_comes_back_however_it_is_cut(void** /*state*/) {
    for (const std::string& content :
         {std::string(), std::string("x"), words(100'000), noise(300'000),
          std::string(5'000'000, '\0'), words(6'000'000)}) {
        for (const size_t piece : {size_t{1000}, size_t{131072}, SIZE_MAX}) {
            const std::string frame = compress(content, piece);
            assert_true(decompress(frame, content.size(), 18) == content);
            assert_true(decompress(frame, content.size(), piece) == content);
            assert_true(decompress(frame, SIZE_MAX / 2, piece) == content);
        }
    }
}

void content_of_which_some_parts_are_compressed_comes_back(void** /*state*/) {
    for (const size_t size : {size_t{0}, size_t{5'000'000}, size_t{9} << 20}) {
        const std::string content = words(size);
        const size_t whole = compress(content).size();
        for (const size_t piece : {size_t{1000}, size_t{3'000'000}, SIZE_MAX}) {
            const std::string frame = compress(content, piece, Share::SomeParts);
            assert_true(decompress(frame, content.size(), 18) == content);
            assert_true(decompress(frame, content.size()) == content);
            if (size == 0) continue;
            assert_true(frame.size() > 2 * whole);
            assert_true(frame.size() < size - size / 10);
        }
    }
}

// Between ranks that share memory.
void where_bytes_cost_nothing_they_are_compressed_for_those_who_give_a_level(void** /*state*/) {
    ObjectSettings shared = compressing();
    shared.same_memory = true;
    const ObjectPtr large = bytes_object(words(600'000));
    assert_false(tutti::is_compressed(bytes_of(tutti::pack(*large, shared))));
    shared.level = 1;
    assert_true(tutti::is_compressed(bytes_of(tutti::pack(*large, shared))));
}

// Between ranks of one host.
void where_bytes_cost_little_some_parts_are_compressed(void** /*state*/) {
    ObjectSettings near = compressing();
    near.same_host = true;
    ObjectSettings with_level = near;
    with_level.level = 1;
    const ObjectPtr large = bytes_object(words(6'000'000));
    const std::string message = tutti::pack(*large, near);
    assert_true(tutti::is_compressed(bytes_of(message)));
    assert_true(same(large, read(message)));
    const std::string whole = tutti::pack(*large, compressing());
    assert_true(message.size() > 2 * whole.size());
    assert_true(message.size() < 5'400'000);
    // A level that is given counts, and short values are compressed in no time.
    assert_true(tutti::pack(*large, with_level) == whole);
    const ObjectPtr small = bytes_object(words(200'000));
    assert_true(tutti::pack(*small, near) == tutti::pack(*small, compressing()));
    const ObjectPtr random = bytes_object(noise(6'000'000));
    assert_true(tutti::pack(*random, near) == tutti::pack(*random, {}));
}

void what_shrinks_is_compressed(void** /*state*/) {
    for (const size_t size : {size_t{5000}, size_t{200'000}, size_t{3'000'000}}) {
        const ObjectPtr text = bytes_object(words(size));
        const std::string message = tutti::pack(*text, compressing());
        assert_true(tutti::is_compressed(bytes_of(message)));
        assert_true(message.size() < size / 2);
        assert_true(same(text, read(message)));
        assert_false(tutti::is_compressed(bytes_of(tutti::pack(*text, {}))));
    }
}

void what_does_not_shrink_is_sent_as_it_is(void** /*state*/) {
    for (const size_t size : {size_t{5000}, size_t{200'000}, size_t{3'000'000}}) {
        const ObjectPtr random = bytes_object(noise(size));
        assert_true(tutti::pack(*random, compressing()) == tutti::pack(*random, {}));
    }
}

void the_threshold_and_the_limit_decide(void** /*state*/) {
    const ObjectPtr text = bytes_object(words(5000));
    const size_t size = tutti::pack(*text, {}).size();
    ObjectSettings settings = compressing();
    settings.threshold = size;
    assert_true(tutti::pack(*text, settings).size() < size);
    settings.threshold = size + 1;
    assert_int_equal(tutti::pack(*text, settings).size(), size);
    settings.threshold = 1;
    settings.decompressed_bytes = size - 1;  // the other side would refuse it
    assert_int_equal(tutti::pack(*text, settings).size(), size);
}

void the_sample_sees_all_of_a_value(void** /*state*/) {
    // A beginning that shrinks does not speak for a whole that does not, nor the other way round.
    const auto pair = [](const std::string& first, const std::string& second) {
        return make([&](Builder& builder) {
            builder.list(2);
            builder.bytes(first.data(), first.size(), Builder::Memory::Copied);
            builder.bytes(second.data(), second.size(), Builder::Memory::Copied);
        });
    };
    const ObjectPtr mostly_noise = pair(words(100'000), noise(3'000'000));
    assert_false(tutti::is_compressed(bytes_of(tutti::pack(*mostly_noise, compressing()))));
    const ObjectPtr mostly_words = pair(noise(100'000), words(3'000'000));
    assert_true(tutti::is_compressed(bytes_of(tutti::pack(*mostly_words, compressing()))));
}

void expect_refusal(const std::string& frame, size_t limit, const char* why) {
    TUTTI_EXPECT_ERROR(decompress(frame, limit), TUTTI_ERR_INVALID_ARGUMENT, why);
}

void broken_frames_are_refused(void** /*state*/) {
    const std::string content = words(50'000);
    const std::string frame = compress(content);
    for (size_t size = 5; size < frame.size(); size += 97) {
        expect_refusal(frame.substr(0, size), content.size(), "");
    }
    expect_refusal(frame.substr(0, frame.size() - 1), content.size(), "ends too early, at byte");
    expect_refusal(frame.substr(0, 4) + "\x1f", content.size(), "at byte 0: it has no header");
    expect_refusal(frame + "x", content.size(), "and 1 more follow");
    expect_refusal(frame + frame, content.size(), "more follow");
    std::string wrong_sum = frame;
    wrong_sum.back() = static_cast<char>(wrong_sum.back() ^ 1);
    expect_refusal(wrong_sum, content.size(), "cannot be decompressed at byte");
    size_t refused = 0;
    for (size_t at = 0; at < frame.size(); at += 61) {
        std::string changed = frame;
        changed[at] = static_cast<char>(changed[at] ^ 0x10);
        try {
            assert_true(decompress(changed, content.size()) == content);
        } catch (const tutti::Error& error) {
            assert_int_equal(error.status().code, TUTTI_ERR_INVALID_ARGUMENT);
            ++refused;
        }
    }
    assert_true(refused > 10);
}

void bombs_are_refused_before_they_go_off(void** /*state*/) {
    const std::string bomb = compress(std::string(100'000'000, '\0'));
    assert_true(bomb.size() < 20'000);
    expect_refusal(bomb, 1'000'000, "should hold 100000000 bytes, and the limit is 1000000");
    // The same frame without its content's size: byte 4 says that there is one, of 4 bytes, behind
    // the window in byte 5.
    assert_int_equal(bomb[4] & 0xff, 0x84);
    const std::string silent = bomb.substr(0, 4) + raw({0x04, bomb[5]}) + bomb.substr(10);
    expect_refusal(silent, 1'000'000, "holds more than 1000000 bytes, the limit");
    // One that promises what it does not hold takes no memory for it.
    const std::string liar = compress("x");
    expect_refusal(
        liar.substr(0, 4) + raw({0xe0 | (liar[4] & 0x1f), 0, 0, 0, 0, 1, 0, 0, 0}) + liar.substr(6),
        size_t{1} << 40, "cannot be decompressed at byte");
}

void frames_that_want_too_much_window_are_refused(void** /*state*/) {
    // Window descriptor 18 << 3: 2^28 bytes.
    expect_refusal(raw({0x28, 0xb5, 0x2f, 0xfd, 0x04, 18 << 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
                   size_t{1} << 40, "cannot be decompressed at byte");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(content_comes_back_however_it_is_cut),
        TUTTI_TEST(content_of_which_some_parts_are_compressed_comes_back),
        TUTTI_TEST(where_bytes_cost_little_some_parts_are_compressed),
        TUTTI_TEST(where_bytes_cost_nothing_they_are_compressed_for_those_who_give_a_level),
        TUTTI_TEST(what_shrinks_is_compressed),
        TUTTI_TEST(what_does_not_shrink_is_sent_as_it_is),
        TUTTI_TEST(the_threshold_and_the_limit_decide),
        TUTTI_TEST(the_sample_sees_all_of_a_value),
        TUTTI_TEST(broken_frames_are_refused),
        TUTTI_TEST(bombs_are_refused_before_they_go_off),
        TUTTI_TEST(frames_that_want_too_much_window_are_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
