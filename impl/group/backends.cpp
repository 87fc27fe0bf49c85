#include "backends.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace tutti {

namespace {

// What the library moves for itself, or what ranks of any device have in common.
bool has_no_device(const FlatCall& call) {
    return call.kind == FlatCall::Kind::ByteStrings ||
           call.kind == FlatCall::Kind::MonitoredBarrier || call.kind == FlatCall::Kind::Alloc;
}

}  // namespace

void Backends::add(tutti_device_type device, std::unique_ptr<Backend> backend) {
    Route route;
    route.device = device;
    route.inlined = backend->as_inline();
    route.name = backend->name();
    route.can = backend->capabilities();
    route.can_all = route.can == Capabilities{};
    if (!route.can.devices.has(device)) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat("backend \"", route.name, "\" does not serve devices of type ", device));
    }
    if (route.can.completion == Completion::Polled) {
        route.poller = std::make_shared<Poller>(*backend);
    }
    if (route.inlined == nullptr) route.deadlines = Alarm::shared();
    route.backend = std::move(backend);
    routes_.push_back(std::move(route));
}

const Route& Backends::find(const FlatCall& call) const {
    if (has_no_device(call)) return routes_.front();
    const tutti_device_type device = device_of(call);
    const auto found = std::ranges::find(routes_, device, &Route::device);
    if (found != routes_.end()) return *found;
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat("the group has no backend for devices of type ", device));
}

void Backends::check(const Route& route, const FlatCall& call) {
    const std::string what = beyond(route.can, call);
    if (what.empty()) return;
    throw Error(TUTTI_ERR_UNSUPPORTED, cat("backend \"", route.name, "\" does not support ", what));
}

void Backends::check_messages() const {
    if (cpu().can.messages) return;
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat("backend \"", cpu().name, "\" does not support messages between two ranks"));
}

void Backends::abort(const Status& status) noexcept {
    for (const Route& route : routes_) route.backend->abort(status);
}

void Backends::leave() noexcept {
    for (const Route& route : routes_) route.backend->leave();
}

void Backends::left(int rank) noexcept {
    for (const Route& route : routes_) route.backend->left(rank);
}

void Backends::close() noexcept {
    for (Route& route : routes_) {
        if (route.poller) route.poller->close();
        route.backend.reset();
    }
}

}  // namespace tutti
