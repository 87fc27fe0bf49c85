// The particulars of the file store: the layout that PyTorch shares, the end of the file, and
// files that are not what they should be.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "net/descriptor.hpp"
#include "store/store.hpp"
#include "support/temporary_folder.hpp"
#include "support/unit.hpp"

namespace {

using tutti::Deadline;
using tutti::make_file_store;
using tutti::test::TemporaryFolder;
using Names = std::vector<std::string>;

Deadline ample() {
    return Deadline::after_ms(60'000);
}
Deadline soon() {
    return Deadline::after_ms(50);
}

std::string record(const std::string& key, const std::string& value) {
    const auto length = [](size_t size) {
        std::string out;
        for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(size >> (8 * i)));
        return out;
    };
    return length(key.size()) + key + length(value.size()) + value;
}

std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

void add_to_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::app) << bytes;
}

bool exists(const std::string& path) {
    return std::filesystem::exists(path);
}

void the_layout_is_that_of_pytorch(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("store");
    {
        const auto store = make_file_store(path, -1);
        store->set("k", "value", ample());
        store->add("n", 5, ample());
        store->add("n", -6, ample());
        store->delete_key("k", ample());
        store->delete_key("k", ample());
    }
    const std::string expected = record("refcount/", "1") + record("/k", "value") +
                                 record("/n", "5") + record("/n", "-1") + record("-/k", "") +
                                 record("cleanup/", "1") + record("refcount/", "0");
    assert_true(contents(path) == expected);
}

void what_pytorch_has_written_is_read(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("store");
    add_to_file(path, record("refcount/", "1") + record("/k", "v1") + record("/gone", "x") +
                          record("-/gone", "") + record("/k", "v2"));
    const auto store = make_file_store(path, 2);
    assert_string_equal(store->get("k", ample()).c_str(), "v2");
    assert_false(store->check(Names{"gone"}, ample()));
    assert_int_equal(store->num_keys(ample()), 1);
    assert_true(contents(path).ends_with(record("refcount/", "2")));
}

void the_last_of_all_removes_the_file(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("store");
    auto first = make_file_store(path, 2);
    first.reset();
    assert_true(exists(path));  // one of two has come and gone
    auto second = make_file_store(path, 2);
    auto third = make_file_store(path, 2);
    second.reset();
    assert_true(exists(path));  // two have gone, one is still there
    third.reset();
    assert_false(exists(path));
}

void without_a_fixed_number_the_file_stays(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("store");
    make_file_store(path, -1)->set("k", "v", ample());
    assert_true(exists(path));
    assert_string_equal(make_file_store(path, -1)->get("k", ample()).c_str(), "v");
}

void a_file_that_was_replaced_is_read_anew(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("store");
    const auto store = make_file_store(path, -1);
    store->set("old", "v", ample());
    std::filesystem::remove(path);
    assert_false(store->check(Names{"old"}, ample()));
    std::thread other([&] { make_file_store(path, -1)->set("new", "v", ample()); });
    store->wait(Names{"new"}, ample());
    other.join();
    assert_false(store->check(Names{"old"}, ample()));
}

void a_barrier_is_that_of_pytorch(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("store");
    const auto store = make_file_store(path, -1);
    TUTTI_EXPECT_ERROR(store->barrier("b", 2, soon()), TUTTI_ERR_TIMEOUT, "\"b\"");
    add_to_file(path, record("/c/num_members", "1"));  // a process of PyTorch has come
    store->barrier("c", 2, ample());
    const std::string expected = record("refcount/", "1") + record("/b/num_members", "1") +
                                 record("/c/num_members", "1") + record("/c/num_members", "2") +
                                 record("/c/last_member", "1");
    assert_true(contents(path) == expected);
    add_to_file(path, record("/b/num_members", "2") + record("/b/last_member", "1"));
    store->barrier("b", 2, ample());
}

void a_queue_leaves_no_keys_behind(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("store");
    const auto store = make_file_store(path, -1);
    const auto other = make_file_store(path, -1);
    store->queue_push("q", "one", ample());
    store->queue_push("q", "two", ample());
    assert_int_equal(other->queue_len("q", ample()), 2);
    assert_int_equal(other->num_keys(ample()), 0);
    assert_string_equal(other->queue_pop("q", false, ample()).c_str(), "one");
    assert_string_equal(store->queue_pop("q", false, ample()).c_str(), "two");
    const std::string end = contents(path);
    const std::string expected =
        record("-entry/1/q", "") + record("-first/q", "") + record("-next/q", "");
    assert_true(end.ends_with(expected));
    store->queue_push("q", "three", ample());
    assert_string_equal(other->queue_pop("q", true, ample()).c_str(), "three");
}

void clones_are_one_handle_to_the_file(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("store");
    auto store = make_file_store(path, 2);
    auto clone = store->clone(ample());
    store.reset();
    clone.reset();
    assert_true(exists(path));  // the other process has not come yet
    store = make_file_store(path, 2);
    clone = store->clone(ample());
    store.reset();
    assert_true(exists(path));
    clone->set("k", "v", ample());
    clone.reset();
    assert_false(exists(path));
}

// The next to get the lock of the file finds another one in its place.
void a_file_that_is_another_each_time_is_given_up(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("store"), next = folder.file("next");
    const auto made_and_locked = [](const std::string& name) {
        tutti::net::Descriptor file(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
        (void)::flock(file.get(), LOCK_EX);
        return file;
    };
    tutti::net::Descriptor locked = made_and_locked(path);
    std::atomic<bool> over = false;
    std::thread replacing([&] {
        while (!over) {
            tutti::net::Descriptor newer = made_and_locked(next);
            std::filesystem::rename(next, path);
            locked = std::move(newer);
        }
    });
    std::string message;
    try {
        make_file_store(path, -1);
    } catch (const tutti::Error& error) {
        message = error.status().message;
    }
    over = true;
    replacing.join();
    assert_true(message.find("somebody replaces it again and again") != std::string::npos);
    assert_true(message.find(path) != std::string::npos);
}

void a_file_that_is_removed_stays_removed_when_a_handle_closes(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("store");
    auto store = make_file_store(path, 1);
    std::filesystem::remove(path);
    store.reset();
    assert_false(exists(path));
}

void a_rank_is_taken_until_its_store_closes(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("store");
    auto zero = make_file_store(path, 3, 0);
    const auto one = make_file_store(path, 3, 1);
    TUTTI_EXPECT_ERROR(make_file_store(path, 3, 0), TUTTI_ERR_INVALID_ARGUMENT,
                       tutti::cat("process ", ::getpid(), " of host "));
    TUTTI_EXPECT_ERROR(make_file_store(path, 3, 0), TUTTI_ERR_INVALID_ARGUMENT,
                       "has come as rank 0 of 3, and this process comes as rank 0 of 3; if that "
                       "one has ended, the file was left behind by an earlier run and must be "
                       "removed");
    TUTTI_EXPECT_ERROR(make_file_store(path, 4, 3), TUTTI_ERR_INVALID_ARGUMENT,
                       "has come as rank 0 of 3, and this process comes as rank 3 of 4");
    assert_int_equal(one->num_keys(ample()), 0);
    zero.reset();
    assert_true(exists(path));
    zero = make_file_store(path, 3, 0);
    assert_int_equal(make_file_store(path, 3)->num_keys(ample()), 0);  // who takes none
}

void ranks_that_are_taken_are_records_that_pytorch_passes_over(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("store");
    make_file_store(path, 2, 1).reset();
    const std::string text = contents(path);
    assert_true(text.starts_with(record("refcount/", "1")));
    const auto claimed = text.find("tutti/ranks");
    assert_true(claimed != std::string::npos);
    assert_true(text.ends_with(record("cleanup/", "1") + record("refcount/", "0") +
                               record("-tutti/ranks", "")));
}

void places_that_cannot_be_used_are_named(void**) {
    const TemporaryFolder folder;
    TUTTI_EXPECT_ERROR(make_file_store(folder.file("no/such/folder"), 1), TUTTI_ERR_STORE,
                       "no/such/folder\": cannot open it: No such file or directory (ENOENT)");
    TUTTI_EXPECT_ERROR(make_file_store(folder.path(), 1), TUTTI_ERR_STORE, "EISDIR");
    TUTTI_EXPECT_ERROR(make_file_store("/dev/null", 1), TUTTI_ERR_STORE, "/dev/null");
    TUTTI_EXPECT_ERROR(make_file_store("", 1), TUTTI_ERR_INVALID_ARGUMENT, "path");
    TUTTI_EXPECT_ERROR(make_file_store(folder.file("x"), 0), TUTTI_ERR_INVALID_ARGUMENT,
                       "world size");
}

void a_file_of_something_else_is_refused_and_left_alone(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("letter");
    const std::string letter = "Dear reader, this is not a store.\n";
    add_to_file(path, letter);
    TUTTI_EXPECT_ERROR(make_file_store(path, 1), TUTTI_ERR_STORE, "no record at byte");
    assert_true(contents(path) == letter);
}

void half_a_record_is_an_error(void**) {
    const TemporaryFolder folder;
    const std::string whole = record("/k", "value");
    for (size_t size = 1; size < whole.size(); ++size) {
        const std::string path = folder.file(std::to_string(size));
        const auto store = make_file_store(path, -1);
        add_to_file(path, whole.substr(0, size));
        TUTTI_EXPECT_ERROR(store->get("k", soon()), TUTTI_ERR_STORE, "no record at byte");
        add_to_file(path, whole.substr(size));
        assert_string_equal(store->get("k", ample()).c_str(), "value");
    }
}

void a_lock_that_is_never_given_up_is_a_timeout(void**) {
    const TemporaryFolder folder;
    const std::string path = folder.file("store");
    const auto store = make_file_store(path, -1);
    const tutti::net::Descriptor other(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    assert_int_equal(::flock(other.get(), LOCK_EX), 0);
    TUTTI_EXPECT_ERROR(store->set("k", "v", soon()), TUTTI_ERR_TIMEOUT, path);
    TUTTI_EXPECT_ERROR(store->get("k", soon()), TUTTI_ERR_TIMEOUT, path);
    assert_int_equal(::flock(other.get(), LOCK_UN), 0);
    store->set("k", "v", ample());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(the_layout_is_that_of_pytorch),
        TUTTI_TEST(what_pytorch_has_written_is_read),
        TUTTI_TEST(the_last_of_all_removes_the_file),
        TUTTI_TEST(without_a_fixed_number_the_file_stays),
        TUTTI_TEST(a_file_that_was_replaced_is_read_anew),
        TUTTI_TEST(a_barrier_is_that_of_pytorch),
        TUTTI_TEST(a_queue_leaves_no_keys_behind),
        TUTTI_TEST(clones_are_one_handle_to_the_file),
        TUTTI_TEST(a_file_that_is_another_each_time_is_given_up),
        TUTTI_TEST(a_file_that_is_removed_stays_removed_when_a_handle_closes),
        TUTTI_TEST(a_rank_is_taken_until_its_store_closes),
        TUTTI_TEST(ranks_that_are_taken_are_records_that_pytorch_passes_over),
        TUTTI_TEST(places_that_cannot_be_used_are_named),
        TUTTI_TEST(a_file_of_something_else_is_refused_and_left_alone),
        TUTTI_TEST(half_a_record_is_an_error),
        TUTTI_TEST(a_lock_that_is_never_given_up_is_a_timeout),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
