// From where to where do further connections go?
#include "transport/ways.hpp"

#include <string>
#include <vector>

#include "support/unit.hpp"

namespace {

using namespace tutti;
using Hosts = std::vector<std::string>;

net::Address address(const std::string& host) {
    const auto all = net::numeric_addresses(Hosts{host}, 7);
    assert_int_equal(all.size(), 1);
    return all.front();
}

// "from>to" for each.
Hosts ways(const std::string& from, const std::string& to, const Hosts& own, const Hosts& others,
           size_t count) {
    Hosts all;
    const auto of_this = net::numeric_addresses(own, 0);
    const auto of_that = net::numeric_addresses(others, 7);
    for (const Way& way : further_ways({address(from), address(to)}, of_this, of_that, count)) {
        all.push_back((way.from ? way.from->host() : "") + ">" + way.to.host());
    }
    return all;
}

void each_address_calls_into_its_own_network(void**) {
    const Hosts own{"10.1.0.1", "10.2.0.1", "10.3.0.1"};
    const Hosts others{"10.3.0.2", "10.1.0.2", "10.2.0.2"};
    assert_true(ways("10.1.0.1", "10.1.0.2", own, others, 2) ==
                Hosts({"10.2.0.1>10.2.0.2", "10.3.0.1>10.3.0.2"}));
    assert_true(ways("10.2.0.1", "10.2.0.2", own, others, 4) ==
                Hosts({"10.3.0.1>10.3.0.2", "10.1.0.1>10.1.0.2", "10.2.0.1>10.2.0.2",
                       "10.3.0.1>10.3.0.2"}));
}

void addresses_of_one_network_share_the_other_side(void**) {
    assert_true(ways("10.1.0.1", "10.1.0.8", {"10.1.0.1", "10.1.0.2"}, {"10.1.0.8", "10.1.0.9"},
                     3) == Hosts({"10.1.0.2>10.1.0.9", "10.1.0.1>10.1.0.8", "10.1.0.2>10.1.0.9"}));
}

void without_addresses_all_are_like_the_first(void**) {
    assert_true(ways("10.1.0.1", "10.1.0.2", {}, {"10.9.0.1", "10.1.0.2"}, 2) ==
                Hosts({">10.1.0.2", ">10.1.0.2"}));
}

void kinds_of_addresses_do_not_mix(void**) {
    assert_true(ways("10.1.0.1", "10.1.0.2", {"10.1.0.1", "fd00::1"}, {"10.1.0.2"}, 3) ==
                Hosts({"10.1.0.1>10.1.0.2"}));
    assert_true(ways("fd00:1::1", "fd00:1::2", {"fd00:1::1", "fd00:2::1"},
                     {"10.1.0.2", "fd00:1::2", "fd00:2::2"}, 1) == Hosts({"fd00:2::1>fd00:2::2"}));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(each_address_calls_into_its_own_network),
        TUTTI_TEST(addresses_of_one_network_share_the_other_side),
        TUTTI_TEST(without_addresses_all_are_like_the_first),
        TUTTI_TEST(kinds_of_addresses_do_not_mix),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
