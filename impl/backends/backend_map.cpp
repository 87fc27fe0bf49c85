#include "backend_map.hpp"

#include <algorithm>
#include <iterator>

#include "base/device.hpp"
#include "base/error.hpp"
#include "registry.hpp"

namespace tutti {

namespace {

constexpr tutti_device_type device_types[] = {TUTTI_CPU, TUTTI_CUDA, TUTTI_XPU};

tutti_device_type read_device(const std::string& word, const std::string& map) {
    const auto* const found = std::ranges::find_if(
        device_types, [&](tutti_device_type type) { return word == device_type_name(type); });
    if (found != std::end(device_types)) return *found;
    refuse("backend is \"", map, "\"; there is no type of device \"", word,
           "\", only cpu, cuda and xpu");
}

bool serves(const std::string& name, tutti_device_type device) {
    return capabilities_of(name).devices.has(device);
}

// The CPU's first; a backend of our own for the CPU serves other devices through it.
void add(BackendMap& map, tutti_device_type device, const std::string& name,
         const std::string& text) {
    BackendMap::Entry& cpu = map.entries.front();
    const auto is_same = [device](const auto& entry) { return entry.device == device; };
    const bool is_there =
        device == TUTTI_CPU ? map.has_cpu : std::ranges::any_of(map.entries, is_same);
    if (is_there) {
        refuse("backend is \"", text, "\"; it names ", device_type_name(device), " twice");
    }
    if (device == TUTTI_CPU) {
        map.has_cpu = true;
        cpu.name = name;
    } else {
        map.entries.push_back({device, name});
    }
}

void check_served(BackendMap& map, const std::string& text) {
    const std::string cpu = map.entries.front().name;
    std::erase_if(map.entries, [&](const BackendMap::Entry& entry) {
        if (entry.name.empty() || serves(entry.name, entry.device)) return false;
        if (map.has_cpu && entry.name == cpu && entry.device == TUTTI_CUDA) return true;  // staged
        const char* const name = static_backend_name(entry.name);
        const bool can_stage =
            !map.has_cpu && entry.device == TUTTI_CUDA && serves(entry.name, TUTTI_CPU);
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat("backend is \"", text, "\"; backend \"", name,
                        "\" does not serve devices of type ", device_type_name(entry.device),
                        can_stage ? cat(", but by way of the CPU: \"", name, "\" names it for both")
                                  : std::string()));
    });
}

BackendMap of_one(const std::string& text) {
    BackendMap map;
    const std::string name = resolve_backend(text);
    map.has_cpu = serves(name, TUTTI_CPU);
    if (map.has_cpu) map.entries.front().name = name;
    for (const tutti_device_type device : device_types) {
        if (device != TUTTI_CPU && serves(name, device)) map.entries.push_back({device, name});
    }
    return map;
}

}  // namespace

// Whether one name stands for all.
bool BackendMap::is_bare() const {
    const std::string& last = entries.back().name;
    return std::ranges::all_of(entries, [&](const Entry& entry) {
        return entry.name == last || (!has_cpu && entry.device == TUTTI_CPU);
    });
}

std::string BackendMap::text() const {
    return joined(
        [](const std::string& backend) { return std::string(static_backend_name(backend)); });
}

std::string BackendMap::described() const {
    return joined([](const std::string& backend) {
        return cat(static_backend_name(backend), " lacking ", lacks_of(capabilities_of(backend)));
    });
}

template <typename Word>
std::string BackendMap::joined(Word&& word) const {
    if (is_bare()) return entries.back().name.empty() ? "not given" : word(entries.back().name);
    std::string all;
    for (const auto& [device, backend] : entries) {
        if (device == TUTTI_CPU && !has_cpu) continue;
        all += cat(all.empty() ? "" : ",", device_type_name(device), ":",
                   backend.empty() ? "not given" : word(backend));
    }
    return all;
}

const char* BackendMap::name() const {
    return static_backend_name((has_cpu ? entries.front() : entries.at(1)).name);
}

std::string BackendMap::lacks() const {
    std::string all;
    for (size_t index = 0; index < entries.size(); ++index) {
        const std::string& backend = entries[index].name;
        const auto before = entries.begin() + static_cast<ptrdiff_t>(index);
        const auto is_same = [&](const Entry& entry) { return entry.name == backend; };
        if (backend.empty() || std::any_of(entries.begin(), before, is_same)) continue;
        all += cat("\nbackend ", static_backend_name(backend), " lacks ",
                   lacks_of(capabilities_of(backend)));
    }
    return all;
}

BackendMap resolve_backends(const std::string& text, tutti_device_type bound) {
    BackendMap map = resolve_backends(text);
    if (text.empty() && bound == TUTTI_CUDA && why_not_available("nccl").code == TUTTI_OK) {
        map.entries.push_back({TUTTI_CUDA, "nccl"});
    }
    return map;
}

BackendMap resolve_backends(const std::string& text) {
    if (text.empty()) return {};
    const size_t colon = text.find_first_of(":?,");
    if (colon == text.npos || text[colon] == '?') return of_one(text);
    BackendMap map;
    map.has_cpu = false;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        const std::string item = text.substr(begin, end - begin);
        const size_t middle = item.find(':');
        if (middle == item.npos || middle + 1 == item.size()) {
            refuse("backend is \"", text, "\"; \"", item, "\" is not \"device:backend\"");
        }
        add(map, read_device(item.substr(0, middle), text),
            resolve_backend(item.substr(middle + 1)), text);
        begin = end + 1;
    }
    check_served(map, text);
    return map;
}

}  // namespace tutti
