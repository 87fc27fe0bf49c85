// Makes the connections of one group: Gloo's device, and a pair for each other rank. Runs on the
// thread that opens the group.
#pragma once

#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <tutti/ext.h>

#include <memory>
#include <string>

#include "failure.hpp"

namespace tutti::gloo_module {

struct Settings {
    bool has_pytorch_peers = false;  // ranks of the group may be PyTorch's
    std::string interface_name{};    // "": one is chosen
};

// Throws INVALID_ARGUMENT for a setting that is not known.
[[nodiscard]] Settings read_settings(const char* text);

struct Connection {
    // The context is destroyed before the device.
    std::shared_ptr<gloo::transport::Device> device;
    std::shared_ptr<gloo::transport::Context> context;
};

// Meets the other ranks: by the host, or, where ranks are PyTorch's, under PyTorch's keys in the
// group's store. Returns when all connections are made. Throws Failure.
[[nodiscard]] Connection connect(const tutti_backend_place& place, const Settings& settings);

}  // namespace tutti::gloo_module
