#include "device.hpp"

#include "error.hpp"

namespace tutti {

const char* device_type_name(tutti_device_type type) {
    switch (type) {
        case TUTTI_CPU:
            return "cpu";
        case TUTTI_CUDA:
            return "cuda";
        case TUTTI_XPU:
            return "xpu";
        default:
            return nullptr;
    }
}

void check_device_type(tutti_device_type type, const Argument& argument) {
    if (type == TUTTI_CPU || type == TUTTI_CUDA) return;
    const char* const name = device_type_name(type);
    if (name == nullptr) refuse(argument.text(), " is ", type, ", no known device type");
    throw Error(TUTTI_ERR_UNSUPPORTED, cat(argument.text(), " is ", type, " (", name,
                                           "): tutti has no backend for these devices"));
}

void check_device(tutti_device_type type, int32_t index, const Argument& owner) {
    check_device_type(type, owner.at("device_type"));
    if (type == TUTTI_CPU && index != 0) {
        refuse(owner.text(), ".device_index is ", index, "; it must be 0 for the CPU");
    }
    if (index < 0) refuse(owner.text(), ".device_index is ", index);
}

}  // namespace tutti
