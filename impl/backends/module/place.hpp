// A place as a table sees it: where a backend is opened, or split to. All of it stays where it is.
#pragma once

#include <string>
#include <utility>

#include "backend/backend_place.hpp"
#include "ext/tables.hpp"
#include "host.hpp"
#include "membership/world.hpp"
#include "store/user_store.hpp"

namespace tutti::ext {

class Place {
public:
    Place(Gather gather, const Instance& instance, const Deadline& deadline, std::string settings)
        : links_{std::move(gather), instance}, settings_(std::move(settings)) {
        raw_.struct_size = sizeof raw_;
        raw_.rank = -1;
        raw_.group = raw_.group_name = "";
        raw_.settings = settings_.c_str();
        raw_.timeout_ms = deadline.poll_ms();
        raw_.host = &host();
        raw_.store_table = &table_of_stores();
        raw_.host_data = &links_;
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    void be_in(const BackendPlace& at, Store* store) {
        group_ = cat(at.membership.identity(), "/", at.device.type);
        group_name_ = at.group_name;
        raw_.rank = at.membership.rank();
        raw_.size = at.membership.size();
        raw_.device_type = at.device.type;
        raw_.device_index = at.device.index;
        raw_.is_bound = at.is_bound ? 1 : 0;
        raw_.group = group_.c_str();
        raw_.group_name = group_name_.c_str();
        raw_.store = store;
    }
    void be_reached_at(const std::string& address, const Routes& routes) {
        address_ = address;
        raw_.address = address_.c_str();
        raw_.first_port = routes.first_port;
        raw_.last_port = routes.last_port;
    }
    [[nodiscard]] const tutti_backend_place* raw() const { return &raw_; }

private:
    PlaceLinks links_;
    const std::string settings_;
    std::string group_, group_name_, address_;
    tutti_backend_place raw_{};
};

}  // namespace tutti::ext
