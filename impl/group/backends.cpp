#include "backends.hpp"

#include <algorithm>
#include <utility>

#include "base/device.hpp"
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

// The CPU's backend need not end its calls inline; then it would have to be asked in other ways.
void Backends::stage(tutti_device_type device, int rank, int ranks) {
    InlineBackend* const cpu_backend = cpu().inlined;
    const bool has_one = std::ranges::find(routes_, device, &Route::device) != routes_.end();
    if (cpu_backend == nullptr || has_one) return;
    auto backend = std::make_unique<staged::Staged>(device, *cpu_backend, rank, ranks);
    staged_ = backend.get();
    add(device, std::move(backend));
    routes_.back().staged = staged_;
}

const Route& Backends::find(const FlatCall& call) const {
    return has_no_device(call) ? routes_.front() : find(device_of(call), call_name(call));
}

const Route& Backends::find(tutti_device_type device, const char* calls) const {
    const auto found = std::ranges::find(routes_, device, &Route::device);
    if (found != routes_.end()) return *found;
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat(calls, ": backend \"", cpu().name, "\" does not serve devices of type ",
                    device_type_name(device)));
}

void Backends::check(const Route& route, const FlatCall& call) {
    const std::string what = beyond(route.can, call);
    if (what.empty()) return;
    throw Error(TUTTI_ERR_UNSUPPORTED, cat("backend \"", route.name, "\" does not support ", what));
}

void Backends::check_messages(bool has_bytes) const {
    if (!cpu().can.messages) {
        throw Error(TUTTI_ERR_UNSUPPORTED, cat("backend \"", cpu().name,
                                               "\" does not support messages between two ranks"));
    }
    if (!has_bytes || cpu().can.byte_messages) return;
    throw Error(TUTTI_ERR_UNSUPPORTED, cat("backend \"", cpu().name,
                                           "\" does not support messages whose size the receiver "
                                           "does not know: objects and byte strings"));
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
    for (auto route = routes_.rbegin(); route != routes_.rend(); ++route) {
        if (route->poller) route->poller->close();
        route->backend.reset();  // the CPU's last: others may use it
    }
}

}  // namespace tutti
