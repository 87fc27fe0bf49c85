// Gloo's event loop, one for the process: made with the first group over Gloo, gone with the last.
// Any thread.
#pragma once

#include <memory>

#include <gloo/transport/tcp/device.h>

namespace tutti::gloo_channel {

class Device {
public:
    static std::shared_ptr<Device> shared();
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    [[nodiscard]] const std::shared_ptr<::gloo::transport::tcp::Device>& gloo() const {
        return gloo_;
    }

    // While it lives, Gloo's loop turns without resting: each connection that is closed waits for a
    // turn.
    class Hurry {
    public:
        explicit Hurry(Device& device);
        ~Hurry();
        Hurry(const Hurry&) = delete;
        Hurry& operator=(const Hurry&) = delete;

    private:
        Device& device_;
    };

private:
    class Spin;
    Device();

    std::shared_ptr<::gloo::transport::tcp::Device> gloo_;
    std::unique_ptr<Spin> spin_;
};

}  // namespace tutti::gloo_channel
