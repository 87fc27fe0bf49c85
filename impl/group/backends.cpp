#include "backends.hpp"

#include <algorithm>
#include <utility>

#include "base/device.hpp"
#include "base/error.hpp"

namespace tutti {

namespace {

// The library moves these for itself, or ranks of any device have in common.
bool has_no_device(const FlatCall& call) {
    return call.kind == FlatCall::Kind::ByteStrings || call.kind == FlatCall::Kind::Alloc;
}

// Its buffers are in memory of the CPU, if it is on no other device.
bool needs_memory(const FlatCall& call) {
    const bool has_none = call.kind == FlatCall::Kind::Barrier || has_no_device(call);
    return !has_none && (call.kind != FlatCall::Kind::Coalesced ||
                         std::ranges::any_of(call.calls, needs_memory));
}

BackendPlace place_for(tutti_device_type device, const BackendPlace& place) {
    BackendPlace there = place;
    there.is_bound = device != TUTTI_CPU && place.device.type == device;
    there.device = {device, there.is_bound ? place.device.index : 0};
    return there;
}

// A group with ranks of another library has no backend of this one beside its own.
const char* who_has_it(const Capabilities& can) {
    return can.foreign_peers ? "; a group of tutti's ranks alone, over \"tcp\", has it" : "";
}

// Byte strings, objects and memory.
bool moves_bytes(const Capabilities& can) {
    return can.messages && can.byte_messages && can.kinds == Capabilities{}.kinds;
}

}  // namespace

// Not one that the ranks have chosen together, for they may choose another one.
Backend* Backends::find_known(const std::string& name) const {
    const auto found = std::ranges::find(routes_, name, &Route::known_as);
    return found != routes_.end() ? found->backend : nullptr;
}

std::vector<std::string> Backends::that_split(const BackendMap& map) const {
    std::vector<std::string> names;
    for (const auto& [device, name] : map.entries) {
        const Backend* const backend = find_known(name);
        const bool is_new = std::ranges::find(names, name) == names.end();
        if (is_new && backend != nullptr && backend->can_split()) names.push_back(name);
    }
    return names;
}

MadeBackends Backends::split(const BackendMap& map, const GroupSplit& how) {
    MadeBackends made;
    for (const std::string& name : that_split(map)) {
        const auto entry = std::ranges::find(map.entries, name, &BackendMap::Entry::name);
        SplitSteps steps(how.parent, cat(how.key, "/", name), how.deadline);
        BackendSplit one{how.color, std::nullopt, settings_of(name), steps};
        if (how.place) one.place.emplace(place_for(entry->device, *how.place));
        std::unique_ptr<Backend> backend;
        if (split_backend(*find_known(name), one, backend) && backend) {
            made.emplace(name, std::move(backend));
        }
    }
    return made;
}

void Backends::open(BackendMap& map, const BackendPlace& place, MadeBackends made) {
    if (!map.has_cpu) {
        only_others_ = map.name();
        with_cpu_ = cat("cpu:gloo,", device_type_name(map.entries.at(1).device), ":", only_others_);
    }
    for (BackendMap::Entry& entry : map.entries) {
        const auto is_same = [&](const Route& route) { return route.known_as == entry.name; };
        const auto found = std::ranges::find_if(routes_, is_same);
        const bool is_open = found != routes_.end() && !entry.name.empty();
        if (is_open) {
            add(entry.device, *found->backend, nullptr);
        } else {
            const auto ready = made.find(entry.name);
            auto backend = ready != made.end()
                               ? std::move(ready->second)
                               : make_backend(entry.name, place_for(entry.device, place));
            Backend& opened = *backend;
            add(entry.device, opened, std::move(backend));
        }
        if (entry.name.empty()) entry.name = static_backend_name(routes_.back().name);
        routes_.back().known_as = entry.name;
    }
    if (moves_bytes(cpu().can) || cpu().can.foreign_peers) return;
    auto backend = make_backend("", place);
    Backend& opened = *backend;
    beside_ = route_to(TUTTI_CPU, opened, std::move(backend));
    beside_->can_all = true;
}

void Backends::add(tutti_device_type device, Backend& backend, std::unique_ptr<Backend> owned) {
    routes_.push_back(route_to(device, backend, std::move(owned)));
}

Route Backends::route_to(tutti_device_type device, Backend& backend,
                         std::unique_ptr<Backend> owned) const {
    Route route;
    route.device = device;
    route.backend = &backend;
    route.inlined = backend.as_inline();
    route.name = backend.name();
    route.can = backend.capabilities();
    route.can_all = route.can == Capabilities{} && has_buffers(route);
    route.streams = backend.as_stream_calls();
    const bool is_polled = route.inlined != nullptr
                               ? route.inlined->polls_messages()
                               : route.can.completion == Completion::Polled ||
                                     route.can.completion == Completion::Stream;
    if (is_polled) {
        const auto same =
            std::ranges::find(routes_, &backend, [](const Route& other) { return other.backend; });
        route.poller = same != routes_.end() ? same->poller : std::make_shared<Poller>(backend);
    }
    if (route.inlined == nullptr) route.deadlines = Alarm::shared();
    route.owned = std::move(owned);
    return route;
}

// The CPU's backend need not end its calls inline; then it would have to be asked in other ways.
// Peers of another library know nothing of stages.
void Backends::stage(tutti_device_type device, int rank, int ranks) {
    InlineBackend* const cpu_backend = cpu().inlined;
    const bool has_one = std::ranges::find(routes_, device, &Route::device) != routes_.end();
    if (cpu_backend == nullptr || cpu().poller || has_one || cpu().can.foreign_peers) return;
    auto backend = std::make_unique<staged::Staged>(device, *cpu_backend, rank, ranks);
    staged_ = backend.get();
    add(device, *staged_, std::move(backend));
    routes_.back().staged = staged_;
    routes_.back().known_as = cpu().known_as;
}

const char* Backends::name_for(tutti_device_type device) const {
    const auto found = std::ranges::find(routes_, device, &Route::device);
    const bool has_one = found != routes_.end() && has_buffers(*found);
    return has_one ? static_backend_name(found->name) : nullptr;
}

std::string Backends::config() const {
    std::string all;
    for (const Route& route : routes_) {
        if (!has_buffers(route)) continue;
        all += cat(all.empty() ? "" : ",", device_type_name(route.device), ":", route.known_as);
    }
    return all;
}

const Route& Backends::find(const FlatCall& call) const {
    return has_no_device(call) ? of_bytes() : find(device_of(call), call_name(call));
}

const Route& Backends::find(tutti_device_type device, const char* calls) const {
    const auto found = std::ranges::find(routes_, device, &Route::device);
    if (found != routes_.end()) return *found;
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat(calls, ": backend \"", cpu().name, "\" does not serve devices of type ",
                    device_type_name(device)));
}

void Backends::refuse_cpu(const char* calls) const {
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat(calls, ": backend \"", only_others_,
                    "\" does not serve devices of type cpu; \"", with_cpu_, "\" does"));
}

void Backends::check(const Route& route, const FlatCall& call) const {
    if (!only_others_.empty() && route.device == TUTTI_CPU && needs_memory(call)) {
        refuse_cpu(call_name(call));
    }
    const std::string what = beyond(route.can, call);
    if (what.empty()) return;
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat("backend \"", route.name, "\" does not support ", what, who_has_it(route.can)));
}

void Backends::check_messages(tutti_device_type device, bool has_bytes) const {
    const Route& route = has_bytes ? of_bytes() : of_messages(device);
    if (!only_others_.empty() && !has_bytes && device == TUTTI_CPU) refuse_cpu("messages");
    if (!route.can.messages) {
        throw Error(TUTTI_ERR_UNSUPPORTED, cat("backend \"", route.name,
                                               "\" does not support messages between two ranks"));
    }
    if (!has_bytes || route.can.byte_messages) return;
    throw Error(TUTTI_ERR_UNSUPPORTED, cat("backend \"", route.name,
                                           "\" does not support messages whose size the receiver "
                                           "does not know: objects and byte strings",
                                           who_has_it(route.can)));
}

void Backends::check_plain(tutti_device_type device, int tag, int peer, int rank) const {
    const Route& route = of_messages(device);
    if (route.can.tags) return;
    const char* what = nullptr;
    if (tag != 0) what = "tags: tag must be 0";
    if (peer == rank) what = "messages of a rank to itself";
    if (peer == any_source) what = "receives from any rank";
    if (what == nullptr) return;
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat("backend \"", route.name, "\" does not support ", what, "; \"gloo\" does"));
}

template <typename Act>
void Backends::for_each_owned(Act&& act) noexcept {
    for (const Route& route : routes_) {
        if (route.owned) act(*route.owned);
    }
    if (beside_) act(*beside_->owned);
}

bool Backends::cancel(const Work& receive) noexcept {
    bool is_cancelled = false;
    for_each_owned(
        [&](Backend& backend) { is_cancelled = is_cancelled || backend.cancel(receive); });
    return is_cancelled;
}

// Null: it has none.
Backend* Backends::with_memory(tutti_device_type device) const {
    const auto found = std::ranges::find(routes_, device, &Route::device);
    return found != routes_.end() && found->can.memory ? found->backend : nullptr;
}

std::shared_ptr<void> Backends::alloc_memory(const Device& device, size_t bytes) {
    Backend* const backend = with_memory(device.type);
    return backend != nullptr ? backend->alloc_memory(device, bytes) : nullptr;
}

void Backends::share_memory(const Device& device, void* memory, SplitSteps& steps) {
    if (Backend* const backend = with_memory(device.type)) {
        backend->share_memory(device, memory, steps);
    }
}

void Backends::begin_together() noexcept {
    for_each_owned([](Backend& backend) { backend.begin_together(); });
}

void Backends::end_together() noexcept {
    for_each_owned([](Backend& backend) { backend.end_together(); });
}

void Backends::abort(const Status& status) noexcept {
    for_each_owned([&](Backend& backend) { backend.abort(status); });
}

void Backends::abort_messages(const Status& status) noexcept {
    for_each_owned([&](Backend& backend) { backend.abort_messages(status); });
}

void Backends::leave() noexcept {
    for_each_owned([](Backend& backend) { backend.leave(); });
}

void Backends::left(int rank) noexcept {
    for_each_owned([&](Backend& backend) { backend.left(rank); });
}

void Backends::close() noexcept {
    if (beside_) beside_->owned.reset();
    for (auto route = routes_.rbegin(); route != routes_.rend(); ++route) {
        if (!route->owned) continue;
        if (route->poller) route->poller->close();
        route->owned.reset();  // the CPU's last: others may use it
    }
}

}  // namespace tutti
