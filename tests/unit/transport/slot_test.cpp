// Do streams of messages that are under way at one time have different names, also where several
// groups share a connection?
#include <set>

#include "support/unit.hpp"
#include "transport/channel.hpp"
#include "transport/gloo/wire.hpp"

namespace {

using namespace tutti;
using gloo_channel::WireSlot;

void every_stream_has_its_own_name_on_a_shared_line(void**) {
    std::set<uint64_t> names;
    size_t streams = 0;
    const auto add = [&](Slot slot) {
        for (const uint32_t group : {0u, 1u, 77u, WireSlot::max_groups - 1}) {
            names.insert(WireSlot(slot, group).value());
            assert_int_equal(WireSlot(slot, group).group(), group);
            assert_true(!WireSlot(slot, group).is_control());
            ++streams;
        }
    };
    for (const uint64_t number : {0u, 1u, 2u, 1u << 20}) {
        for (const uint32_t step : {0u, 1u, 2u, 255u, Slot::max_steps - 1}) {
            add(Slot::collective(number, step));
        }
        add(Slot::payload(number));
    }
    for (const int tag : {0, 1, 2, 1 << 20, 2147483647}) add(Slot::announcement(tag));
    assert_int_equal(names.size(), streams);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(every_stream_has_its_own_name_on_a_shared_line),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
