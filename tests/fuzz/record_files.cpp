// The records of two ranks, with damages: each is refused with a sentence, or every report of it is
// made. Input: words of 8 bytes that are written into one of the files, behind two bytes each: the
// place, and in the highest bit which file.
#include <cstring>
#include <string>
#include <vector>

#include "input.hpp"
#include "record/format.hpp"
#include "trace/reports.hpp"
#include "trace/torch.hpp"

namespace {

using namespace tutti;

constexpr uint64_t entries = 16;
constexpr size_t words = record::file_size(entries) / sizeof(uint64_t);
constexpr uint64_t second = 1'000'000'000;
constexpr uint64_t now = 1'700'000'000 * second;
using File = std::vector<uint64_t>;

uint64_t& word(File& file, size_t offset) {
    return file[offset / sizeof(uint64_t)];
}

File record_of(uint64_t rank) {
    File file(words);
    word(file, offsetof(record::Head, magic)) = record::magic;
    word(file, offsetof(record::Head, version)) = record::version;
    word(file, offsetof(record::Head, entries)) = entries;
    word(file, offsetof(record::Head, rank)) = rank;
    word(file, offsetof(record::Head, world_size)) = 2;
    word(file, offsetof(record::Head, next)) = 5;
    for (const size_t moment : {offsetof(record::Head, opened), offsetof(record::Head, later)}) {
        word(file, moment) = word(file, moment + sizeof(uint64_t)) = now;
    }
    const size_t slot = sizeof(record::Head) + sizeof(record::GroupSlot);
    word(file, slot + offsetof(record::GroupSlot, state)) = record::group_state::live;
    word(file, slot + offsetof(record::GroupSlot, rank_and_size)) = uint64_t{2} << 32 | rank;
    word(file, slot + offsetof(record::GroupSlot, first_and_step)) = uint64_t{1} << 32;
    constexpr uint64_t kinds[] = {0, 1, 1, static_cast<uint64_t>(record::Kind::Receive), 8};
    for (uint64_t id = 1; id < 5; ++id) {
        uint64_t* const entry = &word(file, record::file_size(id));
        entry[record::field::id_and_state] =
            id << 8 | (id < 3 ? record::state::completed : record::state::started);
        entry[record::field::created] = now - (9 - id) * second;
        entry[record::field::completed] = id < 3 ? now - (8 - id) * second : 0;
        entry[record::field::sequence] = id == 3 ? 0 : id;
        entry[record::field::group_and_terms] = 1 | kinds[id] << 16;
    }
    return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr size_t damage = sizeof(uint16_t) + sizeof(uint64_t);
    File files[] = {record_of(0), record_of(1)};
    for (size_t at = 0; at + damage <= size; at += damage) {
        uint16_t place = 0;
        std::memcpy(&place, data + at, sizeof place);
        File& file = files[place >> 15];
        std::memcpy(&file[(place & 0x7fff) % words], data + at + sizeof place, sizeof(uint64_t));
    }
    const trace::Clock clock{.boot = 1, .host = "host", .realtime = static_cast<int64_t>(now)};
    std::vector<trace::Recording> recordings;
    for (const File& file : files) {
        try {
            recordings.push_back(trace::parse_recording(file.data(), file.size() * sizeof(uint64_t),
                                                        "a file", clock));
        } catch (const trace::BadRecord& error) {
            FUZZ_EXPECT(!std::string(error.what()).empty());
        }
    }
    const trace::Job job = trace::make_job(std::move(recordings), {});
    const auto troubles = trace::diagnose(job);
    for (const trace::Trouble& trouble : troubles) {
        FUZZ_EXPECT(trouble.sentence.find('\n') == std::string::npos);
    }
    size_t written = trace::troubles_json(job, troubles).size();
    written += trace::table_text(job, 5).size() + trace::timeline_text(job, 5).size();
    written += trace::stragglers_text(job).size() + trace::perfetto_json(job).size();
    for (const trace::Member& member : job.members) {
        written += trace::torch_json(member.record).size();
        written += trace::torch_pickle(member.record).size();
    }
    return written == 0 ? -1 : 0;
}
