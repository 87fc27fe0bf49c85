#include "announcements.hpp"

#include <utility>

#include "base/error.hpp"
#include "missing_ranks.hpp"

namespace tutti::membership {

void Announcements::all_have_joined(std::vector<Endpoint> roster) {
    const Lock lock(mutex_);
    roster_ = std::move(roster);
    changed_.notify_all();
}

void Announcements::are_missing(std::string ranks) {
    const Lock lock(mutex_);
    missing_ = std::move(ranks);
    changed_.notify_all();
}

void Announcements::were_refused(std::string who) {
    const Lock lock(mutex_);
    refused_ = std::move(who);
}

void Announcements::failed(const Failure& failure) {
    const Lock lock(mutex_);
    if (!failure.ends_more_than(failure_)) return;
    failure_ = failure;
    changed_.notify_all();
}

void Announcements::said_goodbye() {
    const Lock lock(mutex_);
    has_sent_bye_ = true;
}

void Announcements::on_bye_ack() {
    const Lock lock(mutex_);
    has_bye_ack_ = true;
    changed_.notify_all();
}

bool Announcements::await_all(const Deadline& deadline) {
    Lock lock(mutex_);
    while (!roster_ && failure_.ok()) {
        if (!changed_.wait(lock, deadline)) return roster_ || !failure_.ok();
    }
    return true;
}

void Announcements::await_who_is_missing(const Deadline& deadline) {
    Lock lock(mutex_);
    while (!missing_ && !roster_ && failure_.ok() && changed_.wait(lock, deadline)) {
    }
    if (roster_ || !failure_.ok()) return;
    const std::string who = missing_.value_or("");
    if (who.empty()) throw Error(TUTTI_ERR_TIMEOUT, "timed out waiting for all ranks");
    throw missing_ranks_error(who, refused_);
}

void Announcements::await_bye_ack(const Deadline& deadline) {
    Lock lock(mutex_);
    while (roster_ && has_sent_bye_ && !has_bye_ack_ && changed_.wait(lock, deadline)) {
    }
}

bool Announcements::all_are_known() const {
    const Lock lock(mutex_);
    return roster_.has_value();
}

std::vector<Endpoint> Announcements::endpoints() const {
    const Lock lock(mutex_);
    return roster_.value_or(std::vector<Endpoint>{});
}

std::string Announcements::host_of(int rank) const {
    const Lock lock(mutex_);
    return roster_ ? (*roster_)[static_cast<size_t>(rank)].host : "";
}

Failure Announcements::failure() const {
    const Lock lock(mutex_);
    return failure_;
}

bool Announcements::has_bye_ack() const {
    const Lock lock(mutex_);
    return has_bye_ack_;
}

}  // namespace tutti::membership
