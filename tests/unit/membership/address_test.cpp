// Are addresses of another host tried in the order that works, and none that cannot?
#include "membership/address.hpp"

#include <cstdlib>

#include "net/interfaces.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace tutti::membership;
using Addresses = std::vector<std::string>;

void expect(const Addresses& got, const Addresses& wanted) {
    std::string text;
    for (const auto& one : got) text += cat(one, " ");
    if (got != wanted) fail_msg("%s", text.c_str());
}

void what_a_host_gives_is_tried_in_its_order(void**) {
    expect(seen_from_here({"10.0.0.1", "10.1.0.1"}, {}), {"10.0.0.1", "10.1.0.1"});
    expect(seen_from_here({"10.0.0.1", "10.0.0.1"}, {}), {"10.0.0.1"});
    expect(seen_from_here({}, {}), {});
}

void a_loopback_address_is_the_way_to_its_host(void**) {
    const Addresses given{"127.0.0.1", "10.0.0.1", "172.17.0.1"};
    expect(seen_from_here(given, {.same_host = true, .route = "10.0.0.1", .usual_route = ""}),
           given);
    expect(seen_from_here(given, {.same_host = false, .route = "203.0.113.7", .usual_route = ""}),
           {"203.0.113.7", "10.0.0.1", "172.17.0.1"});
    expect(seen_from_here(given, {}), {"10.0.0.1", "172.17.0.1"});
    expect(seen_from_here({"::1", "127.0.1.1"}, {}), {});
}

void a_way_that_may_lead_elsewhere_is_not_taken(void**) {
    const View view{.same_host = false, .route = "10.9.9.9", .usual_route = ""};
    expect(seen_from_here({"10.0.0.1"}, view), {"10.0.0.1"});
    expect(seen_from_here({"10.0.0.1", "10.9.9.9"}, view), {"10.9.9.9", "10.0.0.1"});
}

void the_family_that_worked_before_goes_first(void**) {
    const Addresses given{"fd00::1", "10.0.0.1", "fd00::2"};
    expect(seen_from_here(given, {.same_host = false, .route = "", .usual_route = "10.0.0.9"}),
           {"10.0.0.1", "fd00::1", "fd00::2"});
    expect(seen_from_here(given, {.same_host = false, .route = "", .usual_route = "fd00::9"}),
           {"fd00::1", "fd00::2", "10.0.0.1"});
}

void an_address_that_is_also_ours_goes_last(void**) {
    const Addresses own{"172.17.0.1", "10.0.0.2"};
    const Addresses given{"172.17.0.1", "10.0.0.1"};
    expect(seen_from_here(given, {.same_host = false, .route = "", .usual_route = "", .own = own}),
           {"10.0.0.1", "172.17.0.1"});
    expect(seen_from_here(given, {.same_host = true, .route = "", .usual_route = "", .own = own}),
           given);
}

void a_link_local_address_gets_the_interface_that_led_there(void**) {
    const Addresses given{"fe80::1", "febf::1", "fec0::1"};
    expect(seen_from_here(given, {.same_host = false, .route = "", .usual_route = "fe80::9%eth7"}),
           {"fe80::1%eth7", "febf::1%eth7", "fec0::1"});
    Addresses everywhere;
    for (const auto& name : net::link_local_interfaces()) everywhere.push_back("fe80::1%" + name);
    expect(seen_from_here({"fe80::1"}, {}), everywhere);
    expect(without_interfaces({"fe80::1%eth0", "10.0.0.1"}), {"fe80::1", "10.0.0.1"});
}

void who_listens_beyond_loopback_listens_everywhere(void**) {
    expect(listening_at({"10.0.0.1", "fd00::1"}), {"10.0.0.1", "fd00::1"});
    expect(listening_at({"127.0.0.1"}), {"127.0.0.1"});
    expect(listening_at({"10.0.0.1", "127.0.0.1"}), {});
    expect(listening_at({"fe80::1"}), {});
    expect(listening_at({"fe80::1%eth0"}), {"fe80::1%eth0"});
}

void the_way_to_the_store_tells_where_a_rank_is_reached(void**) {
    const auto all = net::addresses_of_this_host();
    expect(addresses_by_route(std::nullopt), all);
    auto by_loopback = addresses_by_route("127.0.0.1");
    assert_string_equal(by_loopback.front().c_str(), "127.0.0.1");
    assert_int_equal(by_loopback.size(), all.size());
    for (const auto& one : all) {
        if (is_loopback(one)) continue;
        assert_string_equal(addresses_by_route(one).front().c_str(), one.c_str());
    }
    expect(addresses_by_route("192.0.2.1"),
           {"192.0.2.1"});  // of no interface that is here any more
}

void interfaces_of_the_environment_win(void**) {
    ::unsetenv("TUTTI_SOCKET_IFNAME");
    ::unsetenv("GLOO_SOCKET_IFNAME");
    assert_false(addresses_by_environment().has_value());
    ::setenv("GLOO_SOCKET_IFNAME", "lo", 1);
    const auto loopback = addresses_by_environment().value();
    assert_true(!loopback.empty() && is_loopback(loopback.front()));
    ::setenv("TUTTI_SOCKET_IFNAME", "lo,lo", 1);
    expect(addresses_by_environment().value(), loopback);
    for (const char* wrong : {"none0", "lo,none0", "lo,", ",lo", "lo, lo", "LO"}) {
        ::setenv("TUTTI_SOCKET_IFNAME", wrong, 1);
        TUTTI_EXPECT_ERROR(addresses_by_environment(), TUTTI_ERR_INVALID_ARGUMENT,
                           cat("environment variable TUTTI_SOCKET_IFNAME is \"", wrong, "\""));
    }
    ::unsetenv("TUTTI_SOCKET_IFNAME");
    ::setenv("GLOO_SOCKET_IFNAME", "none0", 1);
    TUTTI_EXPECT_ERROR(addresses_by_environment(), TUTTI_ERR_INVALID_ARGUMENT,
                       "GLOO_SOCKET_IFNAME is \"none0\", and \"none0\" is no interface");
    ::unsetenv("GLOO_SOCKET_IFNAME");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(what_a_host_gives_is_tried_in_its_order),
        TUTTI_TEST(a_loopback_address_is_the_way_to_its_host),
        TUTTI_TEST(a_way_that_may_lead_elsewhere_is_not_taken),
        TUTTI_TEST(the_family_that_worked_before_goes_first),
        TUTTI_TEST(an_address_that_is_also_ours_goes_last),
        TUTTI_TEST(a_link_local_address_gets_the_interface_that_led_there),
        TUTTI_TEST(who_listens_beyond_loopback_listens_everywhere),
        TUTTI_TEST(the_way_to_the_store_tells_where_a_rank_is_reached),
        TUTTI_TEST(interfaces_of_the_environment_win),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
