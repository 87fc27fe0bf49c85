#include "reconfiguring.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/thread.hpp"
#include "membership/bootstrap.hpp"
#include "ranks.hpp"
#include "served_store.hpp"
#include "votes.hpp"

namespace tutti {

namespace {

const std::string uses_key = "uses";
const std::string list_key = "list";            // at each process: whom it lists
const std::string objection_key = "objection";  // at each process: who lists others
const std::string outcome_key = "outcome";      // at rank 0, for all
constexpr int64_t serve_ms = 10'000;
constexpr int64_t refusal_ms = 200;
constexpr int64_t question_ms = 5000;
constexpr int64_t later_ms = 1000;  // that the others wait for rank 0's outcome
constexpr int64_t look_ms = 100;    // between two looks at what else may have happened

struct OwnPlace {
    std::shared_ptr<Store> store;
    std::string handle;
};

std::string handle_of(const membership::Invitation& place) {
    std::string text = place.text();
    std::ranges::replace(text, ' ', '/');
    return text;
}

membership::Invitation place_of(std::string handle, size_t rank) {
    const std::string given = handle;
    std::ranges::replace(handle, '/', ' ');
    try {
        auto place = membership::Invitation::parse(handle);
        place.rank = static_cast<int>(rank);
        if (handle_of(place) == given) return place;
    } catch (const Error&) {  // as below
    }
    refuse("handles[", rank, "] is \"", given,
           "\", which tutti_get_reconfigure_handle has not given");
}

// Serves until the process ends: the groups that met at it outlast the call.
OwnPlace& own_place() {
    static Mutex mutex;
    static OwnPlace* place = nullptr;
    const Lock lock(mutex);
    if (place == nullptr) {
        ServedStore served = serve_store(Deadline::after_ms(serve_ms));
        place = new OwnPlace{std::move(served.store), handle_of(served.place)};
    }
    return *place;
}

Status lost(int rank, const Status& why) {
    return {TUTTI_ERR_PEER_LOST, rank, 0, cat("rank ", rank, " has ended: ", why.message)};
}

// The first line in which two lists differ.
std::string difference_of(const std::string& list, const std::string& other) {
    std::istringstream lines(list);
    std::istringstream other_lines(other);
    for (size_t index = 0;; ++index) {
        std::string line;
        std::string other_line;
        const bool is_there = static_cast<bool>(std::getline(lines, line));
        const bool other_is_there = static_cast<bool>(std::getline(other_lines, other_line));
        if (is_there && other_is_there && line == other_line) continue;
        const auto shown = [](bool is_shown, const std::string& handle) {
            return is_shown ? cat("\"", handle, "\"") : "not there";
        };
        return cat("the processes list different members: handles[", index, "] is ",
                   shown(is_there, line), " in one call, and ", shown(other_is_there, other_line),
                   " in another");
    }
}

// A question that waits for no rank may take longer than the call's time.
Deadline answer_by() {
    return Deadline::after_ms(question_ms);
}

Deadline next_look() {
    return Deadline::after_ms(look_ms);
}

}  // namespace

std::string reconfigure_handle() {
    return own_place().handle;
}

ListedProcesses::ListedProcesses(const std::vector<std::string>& handles) {
    const std::string own = reconfigure_handle();
    std::unordered_map<std::string, size_t> ranks;
    for (size_t rank = 0; rank < handles.size(); ++rank) {
        places_.push_back(place_of(handles[rank], rank));
        const auto [before, is_new] = ranks.emplace(handles[rank], rank);
        if (!is_new) {
            refuse("handles[", rank, "] is the same as handles[", before->second,
                   "]; each process has one rank");
        }
        text_ += cat(handles[rank], "\n");
    }
    const auto found = ranks.find(own);
    if (found == ranks.end()) refuse("handles does not have this process's own, \"", own, "\"");
    rank_ = static_cast<int>(found->second);
}

ListedMeeting::ListedMeeting(uint64_t id, const ListedProcesses& processes,
                             const Deadline& deadline)
    : prefix_(cat("reconfigure/", id)),
      processes_(processes),
      deadline_(deadline),
      own_(make_prefix_store(prefix_, own_place().store)) {
    if (own_->add(uses_key, 1, deadline_) > 1) {
        refuse("id is ", id, ", which this process has used before; each call takes a new one");
    }
    own_->set(list_key, processes_.text(), deadline_);
    if (processes_.rank() == 0) {
        lead();
    } else {
        follow();
    }
}

ListedMeeting::~ListedMeeting() {
    end_watch();
}

void ListedMeeting::end_watch() {
    if (!watch_.joinable()) return;
    {
        const Lock lock(mutex_);
        is_over_ = true;
    }
    ending_.notify_all();
    watch_.join();
}

std::shared_ptr<Group> ListedMeeting::make_group(GroupOptions options) const {
    options.store = store_;
    options.rank = processes_.rank();
    options.size = processes_.size();
    try {
        return Group::create(options);
    } catch (const Error& error) {
        if (options.rank == 0 || !store_->has_lost_server()) throw;
        throw Error(lost(0, error.status()));
    }
}

std::shared_ptr<Store> ListedMeeting::reach(int rank) const {
    return make_prefix_store(prefix_, find_store(processes_.place(rank), refusal_ms, deadline_));
}

// Rank 0's part. It leaves the outcome for the others.
void ListedMeeting::lead() {
    store_ = own_;
    try {
        others_.resize(static_cast<size_t>(processes_.size()));
        for (int rank = 1; rank < processes_.size(); ++rank) {
            others_[static_cast<size_t>(rank)] = reach(rank);
        }
        wait_for_lists();
        watch_ = start_thread("tutti-meeting", [this] { watch(); });
        own_->set(outcome_key, Vote{}.encode(), answer_by());
    } catch (...) {
        const Status why = current_status();
        end_watch();  // there will be no destructor
        own_->set(outcome_key, Vote{why}.encode(), answer_by());
        throw Error(why);
    }
}

void ListedMeeting::wait_for_lists() {
    std::vector<int> missing = all_ranks(processes_.size());
    missing.erase(missing.begin());
    while (true) {
        std::erase_if(missing, [this](int rank) { return has_come(rank); });
        if (missing.empty()) return;
        look_for_objection();
        if (deadline_.expired()) throw Error(awaited_in_vain(missing, "called"));
        (void)await(list_key, missing.front(), deadline_.or_earlier(next_look()));
    }
}

bool ListedMeeting::has_come(int rank) {
    const auto list = await(list_key, rank, Deadline::at(Deadline::Clock::now()));
    if (list) compare(rank, *list);
    return list.has_value();
}

// The other ranks' part.
void ListedMeeting::follow() {
    store_ = reach(0);
    compare(0, wait_for_rank_0(list_key, deadline_));
    // If the time is up, rank 0 names those for which it has waited.
    const Deadline later =
        deadline_.is_never() ? deadline_
                             : Deadline::at(deadline_.when() + std::chrono::milliseconds(later_ms));
    Status why_not = Vote::decode(wait_for_rank_0(outcome_key, later)).why_not;
    if (!why_not.ok()) throw Error(std::move(why_not));
}

std::string ListedMeeting::wait_for_rank_0(const std::string& key, const Deadline& deadline) {
    while (true) {
        if (auto value = await(key, 0, deadline.or_earlier(next_look()))) return *std::move(value);
        look_for_objection();
        if (!deadline.expired()) continue;
        throw Error(awaited_in_vain(std::vector<int>{0}, "called"));
    }
}

// The value at the store of that process, if it is there or comes in time.
std::optional<std::string> ListedMeeting::await(const std::string& key, int rank,
                                                const Deadline& deadline) {
    Store& store = rank == 0 ? *store_ : *others_[static_cast<size_t>(rank)];
    try {
        if (!deadline.expired()) return store.get(key, deadline);
        if (!store.check(Store::Keys(&key, 1), next_look())) return std::nullopt;
        return store.get(key, answer_by());
    } catch (const Error& error) {
        if (store.has_lost_server()) {
            look_for_objection();  // it may have ended because of that
            throw Error(lost(rank, error.status()));
        }
        if (error.status().code == TUTTI_ERR_TIMEOUT) return std::nullopt;
        throw;
    }
}

// Both sides get an error that shows both lists.
void ListedMeeting::compare(int rank, const std::string& list) {
    if (list == processes_.text()) return;
    const std::string difference = difference_of(processes_.text(), list);
    Store& theirs = rank == 0 ? *store_ : *others_[static_cast<size_t>(rank)];
    theirs.set(objection_key, difference, answer_by());
    throw Error(TUTTI_ERR_MISMATCH, difference, rank);
}

void ListedMeeting::look_for_objection() {
    if (!own_->check(Store::Keys(&objection_key, 1), answer_by())) return;
    throw Error(TUTTI_ERR_MISMATCH, own_->get(objection_key, answer_by()));
}

// On a thread of rank 0: a process that ends now may not have connected to it yet.
void ListedMeeting::watch() noexcept {
    std::vector<int> watched = all_ranks(processes_.size());
    watched.erase(watched.begin());
    Lock lock(mutex_);
    while (!is_over_) {
        (void)ending_.wait(lock, next_look());
        if (is_over_) return;
        lock.unlock();
        std::erase_if(watched, [this](int rank) { return has_ended(rank); });
        lock.lock();
    }
}

bool ListedMeeting::has_ended(int rank) noexcept {
    try {
        (void)await(list_key, rank, Deadline::at(Deadline::Clock::now()));
        return false;
    } catch (...) {
        const Status why = current_status();
        if (why.code != TUTTI_ERR_PEER_LOST) return false;
        membership::tell_failure(*store_, rank, {why.code, rank, 0, "its process has ended"});
        return true;
    }
}

}  // namespace tutti
