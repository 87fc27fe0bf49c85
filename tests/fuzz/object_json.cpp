// The JSON printer: what it prints of any value is JSON, and no longer than the limit allows.
// Input: a byte of indent, a byte of the limit, the message.
#include "object/json.hpp"

#include <vector>

#include "base/error.hpp"
#include "base/utf8.hpp"
#include "input.hpp"
#include "object/decode.hpp"

namespace {

using tutti::Builder;
using Bytes = std::span<const std::byte>;

// Walks over JSON by its grammar; ends the process where it is broken. No recursion.
class Grammar {
public:
    explicit Grammar(std::string_view text) : text_(text) {}

    void check() {
        value();
        while (!open_.empty()) {
            blank();
            const bool map = open_.back() == '}';
            if (first_ && next() == open_.back()) {
                close();
                continue;
            }
            if (!first_) {
                if (next() == open_.back()) {
                    close();
                    continue;
                }
                expect(',');
                blank();
            }
            if (map) {
                string();
                blank();
                expect(':');
                blank();
            }
            first_ = false;
            value();
        }
        FUZZ_EXPECT(text_.empty());
    }

private:
    [[nodiscard]] char next() const {
        FUZZ_EXPECT(!text_.empty());
        return text_.front();
    }
    void expect(char wanted) {
        FUZZ_EXPECT(next() == wanted);
        text_.remove_prefix(1);
    }
    void blank() {
        while (!text_.empty() && (next() == ' ' || next() == '\n')) text_.remove_prefix(1);
    }
    void close() {
        text_.remove_prefix(1);
        open_.pop_back();
        first_ = false;
    }
    void word(std::string_view wanted) {
        FUZZ_EXPECT(text_.starts_with(wanted));
        text_.remove_prefix(wanted.size());
    }

    void value() {
        switch (next()) {
            case '[':
            case '{':
                open_.push_back(next() == '[' ? ']' : '}');
                text_.remove_prefix(1);
                first_ = true;
                return;
            case '"':
                return string();
            case 'n':
                return word("null");
            case 't':
                return word("true");
            case 'f':
                return word("false");
            default:
                number();
        }
    }

    void string() {
        expect('"');
        while (next() != '"') {
            FUZZ_EXPECT(static_cast<unsigned char>(next()) >= 0x20);
            if (next() == '\\') {
                text_.remove_prefix(1);
                FUZZ_EXPECT(std::string_view("\"\\nrtu").find(next()) != std::string_view::npos);
            }
            text_.remove_prefix(1);
        }
        expect('"');
    }

    void digits() {
        FUZZ_EXPECT(next() >= '0' && next() <= '9');
        while (!text_.empty() && next() >= '0' && next() <= '9') text_.remove_prefix(1);
    }

    void number() {
        if (next() == '-') text_.remove_prefix(1);
        digits();
        if (!text_.empty() && next() == '.') {
            text_.remove_prefix(1);
            digits();
        }
        if (!text_.empty() && next() == 'e') {
            text_.remove_prefix(1);
            FUZZ_EXPECT(next() == '+' || next() == '-');
            text_.remove_prefix(1);
            digits();
        }
    }

    std::string_view text_;
    std::vector<char> open_;
    bool first_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    tutti::fuzz::Input input(data, size);
    tutti::JsonStyle style;
    style.indent = input.byte() % 9;
    style.limit = size_t{input.byte()} * 4;
    const Bytes message = input.rest();
    std::shared_ptr<const tutti::Object> object;
    try {
        object = tutti::decode_borrowed(message, {size_t{1} << 14, 512});
    } catch (const tutti::Error&) {
        return 0;
    }
    const std::string json = tutti::to_json(*object, 0, style);
    FUZZ_EXPECT(!tutti::utf8_fault(json));
    Grammar(json).check();
    // Behind the limit come one value, of which an array's shape is the longest, and the ends of
    // what is open.
    const size_t lines = object->depth() * (object->depth() * style.indent + 32);
    FUZZ_EXPECT(style.limit == 0 || json.size() <= style.limit + 2000 + 2 * lines);
    return 0;
}
