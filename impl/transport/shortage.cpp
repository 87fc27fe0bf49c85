#include "shortage.hpp"

#include "base/text.hpp"
#include "membership/protocol.hpp"

namespace tutti {

void report_shortage(World& world, const std::map<uint32_t, OwnPart>& groups, const Status& lack) {
    for (const auto& [group, own] : groups) {
        Status cause = lack;
        cause.rank = own.rank;
        if (group != 0) {
            cause.message +=
                cat("; global rank ", world.rank(), " is rank ", own.rank, " of this group");
        }
        world.send(membership::encode(membership::Kind::Report, group, {cause, own.first_call}));
    }
}

}  // namespace tutti
