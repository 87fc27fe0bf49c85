// Does a backend's description say of each call whether it is in or out, and can a backend be added
// by name?
#include "backend/capabilities.hpp"

#include "call/lower.hpp"
#include "membership/threads.hpp"

#include "backends/registry.hpp"
#include "support/collective.hpp"
#include "support/null/null.hpp"
#include "support/unit.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

constexpr Capabilities everything{};

View view_of(tutti_dtype dtype) {
    return {nullptr, 0, dtype};
}

// On rank 0 of one.
FlatCall flat(Collective call) {
    return lower(std::move(call), 0, 1);
}

std::string beyond_null(Collective call) {
    return beyond(null_capabilities("null"), flat(std::move(call)));
}

void a_set_has_what_was_put_into_it(void**) {
    const NumberSet set = NumberSet::of(CallKind::Broadcast, CallKind::Alloc, 63);
    assert_true(set.has(CallKind::Broadcast) && set.has(CallKind::Alloc) && set.has(63));
    assert_false(set.has(CallKind::AllReduce));
    for (const uint64_t far : {uint64_t{64}, uint64_t{128}, UINT64_MAX}) {
        assert_false(set.has(far));
        assert_false(NumberSet::all().has(far));
    }
    assert_false(NumberSet::of().has(0));
    assert_false(NumberSet::all().without(set).has(CallKind::Alloc));
    assert_true(NumberSet::all().without(set).has(CallKind::AllReduce));
}

void nothing_is_beyond_everything(void**) {
    const View view = view_of(TUTTI_BFLOAT16);
    ReduceOp exact = TUTTI_SUM;
    exact.make_reproducible();
    for (const Collective& call :
         {Collective(Barrier{}), Collective(Gather{view, {view}, 0}),
          Collective(AllReduce{view, view, exact}), Collective(Coalesced{})}) {
        assert_string_equal(beyond(everything, flat(call)).c_str(), "");
    }
}

void what_is_beyond_is_named(void**) {
    const View words = view_of(TUTTI_BFLOAT16);
    const View reals = view_of(TUTTI_FLOAT32);
    ReduceOp exact = TUTTI_SUM;
    exact.make_reproducible();
    assert_string_equal(beyond_null(Barrier{}).c_str(), "");
    assert_string_equal(beyond_null(AllReduce{reals, reals, TUTTI_SUM}).c_str(), "");
    assert_string_equal(beyond_null(Gather{words, {words}, 0}).c_str(), "gather");
    assert_string_equal(beyond_null(Broadcast{words, 0}).c_str(), "broadcast of bfloat16");
    assert_string_equal(beyond_null(AllGather{words, {words}}).c_str(), "all_gather of bfloat16");
    assert_string_equal(beyond_null(AllReduce{reals, reals, TUTTI_BXOR}).c_str(),
                        "all_reduce with BXOR");
    assert_string_equal(beyond_null(AllReduce{reals, reals, exact}).c_str(),
                        "reproducible all_reduce of float32 with SUM");
}

void ops_that_programs_make_have_flags_of_their_own(void**) {
    const View reals = view_of(TUTTI_FLOAT64);
    UserFunction function;
    function.name = "my max";
    const tutti_reduce_op made = ReduceOp::make(function);
    const double two = 2;
    const tutti_reduce_op scaled = ReduceOp::make(Factor(&two, TUTTI_FLOAT64));
    Capabilities can;
    assert_string_equal(beyond(can, flat(AllReduce{reals, reals, made})).c_str(), "");
    assert_string_equal(beyond(can, flat(AllReduce{reals, reals, scaled})).c_str(), "");
    can.user_functions = false;
    can.ops = can.ops.without(NumberSet::of(TUTTI_PREMUL_SUM));
    assert_string_equal(beyond(can, flat(AllReduce{reals, reals, made})).c_str(),
                        "all_reduce with \"my max\"");
    assert_string_equal(beyond(can, flat(AllReduce{reals, reals, scaled})).c_str(),
                        "all_reduce with PREMUL_SUM");
    ReduceOp::release(made);
    ReduceOp::release(scaled);
}

void each_call_of_a_coalesced_one_counts(void**) {
    const View words = view_of(TUTTI_BFLOAT16);
    assert_string_equal(beyond_null(Coalesced{{flat(Barrier{})}}).c_str(), "");
    assert_string_equal(
        beyond_null(Coalesced{{flat(Barrier{}), flat(Broadcast{words, 0})}}).c_str(),
        "broadcast of bfloat16");
    Capabilities can;
    can.kinds = can.kinds.without(NumberSet::of(CallKind::Coalesced));
    assert_string_equal(beyond(can, flat(Coalesced{})).c_str(), "coalesced");
}

void what_is_lacking_is_in_words(void**) {
    assert_string_equal(lacks_of(everything).c_str(), "nothing");
    Capabilities can;
    can.kinds = can.kinds.without(NumberSet::of(CallKind::Gather, CallKind::Alloc));
    can.dtypes = can.dtypes.without(NumberSet::of(TUTTI_BOOL));
    can.ops = can.ops.without(NumberSet::of(TUTTI_SUM, TUTTI_PREMUL_SUM));
    can.user_functions = can.reproducible = can.messages = false;
    can.devices = NumberSet::of(1, 63);
    assert_string_equal(
        lacks_of(can).c_str(),
        "gather,memory_alloc,bool,SUM,PREMUL_SUM,functions,reproducible,messages,device_0,"
        "+device_1,+device_63");
    can = {};
    can.completion = Completion::Stream;
    assert_string_equal(lacks_of(can).c_str(), "nothing");
}

void a_backend_is_added_by_name(void**) {
    assert_true(why_not_available("Null").ok());
    assert_true(why_not_available("gloo").ok());
    assert_string_equal(resolve_backend("NULL").c_str(), "null");
    assert_string_equal(static_backend_name(resolve_backend("null_polled")), "null_polled");
    TUTTI_EXPECT_ERROR(resolve_backend("pigeon"), TUTTI_ERR_UNSUPPORTED,
                       "\"pigeon\"; this build knows: ");
    TUTTI_EXPECT_ERROR(resolve_backend("pigeon"), TUTTI_ERR_UNSUPPORTED,
                       "libtutti-pigeon.so: cannot");
    TUTTI_EXPECT_ERROR(resolve_backend("null?swift=1"), TUTTI_ERR_INVALID_ARGUMENT,
                       "backend is \"null?swift=1\"; null has no such setting");
    TUTTI_EXPECT_ERROR(register_backend("Gloo", nullptr, nullptr), TUTTI_ERR_INVALID_ARGUMENT,
                       "there is a backend \"gloo\" already");
    Membership alone(world_of_one(), 0, {0});
    const auto one = make_backend("null", {alone, Deadline::never()});
    assert_true(one->as_inline() == nullptr && !one->capabilities().messages);
    const auto other = make_backend("gloo", {alone, Deadline::never()});
    assert_true(other->as_inline() != nullptr && other->capabilities() == everything);
}

}  // namespace

int main() {
    find_null_backends();
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_set_has_what_was_put_into_it),
        TUTTI_TEST(nothing_is_beyond_everything),
        TUTTI_TEST(what_is_beyond_is_named),
        TUTTI_TEST(ops_that_programs_make_have_flags_of_their_own),
        TUTTI_TEST(each_call_of_a_coalesced_one_counts),
        TUTTI_TEST(what_is_lacking_is_in_words),
        TUTTI_TEST(a_backend_is_added_by_name),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
