#include "identity.hpp"

#include "base/error.hpp"

namespace tutti {

std::string GroupIdentity::label() const {
    return cat("group \"", name, "\" (rank ", rank, " of ", size, ")");
}

Device GroupIdentity::bound_device_for(const Device& wanted) const {
    if (wanted.type == TUTTI_CPU) return bound;
    check_bound(wanted, "options.device_type and device_index name");
    return wanted;
}

void GroupIdentity::check_bound_to_one(const Device& device, const char* what) const {
    if (device.type == TUTTI_CPU || bound.type == TUTTI_CPU) return;
    refuse(what, " ", describe(device), ", and ", label(), " is bound to ", describe(bound));
}

void GroupIdentity::refuse_wait(const char* operation, const char* function) const {
    refuse(operation, " on ", label(), " is called in the ", function,
           " of a call of this group, and each would wait for the other");
}

}  // namespace tutti
