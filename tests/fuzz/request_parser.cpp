// The parser of the store's requests: a stream means the same however it is cut, what was read says
// again what was sent, and memory grows with what has come alone.
// Input: a byte n, n lengths of pieces, the stream.
#include "store/request_parser.hpp"

#include <optional>

#include "base/error.hpp"
#include "input.hpp"

namespace {

using tutti::protocol::Query;
using tutti::protocol::Request;
using tutti::protocol::RequestParser;
using tutti::protocol::Writer;
using Bytes = std::span<const std::byte>;

struct Outcome {
    std::vector<Request> requests;
    bool refused = false;
};

Outcome parse(Bytes stream, Bytes cuts) {
    Outcome outcome;
    RequestParser parser;
    try {
        tutti::fuzz::in_pieces(stream, cuts, [&](Bytes piece) {
            while (auto request = parser.next(piece))
                outcome.requests.push_back(std::move(*request));
            FUZZ_EXPECT(piece.empty());
        });
    } catch (const tutti::Error&) {
        outcome.refused = true;
    }
    return outcome;
}

bool has_count(Query query) {
    return query == Query::Check || query == Query::Wait || query == Query::MultiGet ||
           query == Query::MultiSet;
}

bool has_number(Query query) {
    return query == Query::Add || query == Query::Barrier;
}

bool has_short_number(Query query) {
    return query == Query::Validate || query == Query::Ping;
}

std::string encode(const Request& request) {
    Writer writer(request.query);
    if (has_count(request.query)) writer.count(request.keys.size());
    if (request.query == Query::MultiSet) {
        FUZZ_EXPECT(request.keys.size() == request.values.size());
        for (size_t i = 0; i < request.keys.size(); ++i)
            writer.bytes(request.keys[i]).bytes(request.values[i]);
    } else {
        for (const std::string& key : request.keys) writer.bytes(key);
        for (const std::string& value : request.values) writer.bytes(value);
    }
    if (has_number(request.query)) writer.number(request.number);
    if (has_short_number(request.query)) writer.number32(static_cast<uint32_t>(request.number));
    return writer.take();
}

bool same(const Request& one, const Request& other) {
    return one.query == other.query && one.keys == other.keys && one.values == other.values &&
           one.number == other.number;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    tutti::fuzz::Input input(data, size);
    const Bytes cuts = input.bytes(input.byte());
    const Bytes stream = input.rest();
    const Outcome whole = parse(stream, {});
    const Outcome cut = parse(stream, cuts);
    FUZZ_EXPECT(whole.refused == cut.refused);
    FUZZ_EXPECT(std::equal(whole.requests.begin(), whole.requests.end(), cut.requests.begin(),
                           cut.requests.end(), same));
    std::string said;
    for (const Request& request : whole.requests) said += encode(request);
    FUZZ_EXPECT(said.size() <= stream.size());
    FUZZ_EXPECT(std::equal(said.begin(), said.end(), reinterpret_cast<const char*>(stream.data())));
    return 0;
}
