// Are our declarations of NCCL those of nccl.h? The compiler looks at all of it.
#include <nccl.h>

#include <cstddef>
#include <cstdio>

#include "erased.hpp"
#include "modules/nccl/abi.hpp"

namespace tutti::nccl {

#define TUTTI_COMPARE(member, symbol, ...)                                                   \
    static_assert(                                                                           \
        std::is_same_v<Erased<decltype(::symbol)>::type, Erased<Result(__VA_ARGS__)>::type>, \
        #symbol " is declared otherwise in nccl.h");
#define TUTTI_COMPARE_TEXT(member, symbol, ...)                                                   \
    static_assert(                                                                                \
        std::is_same_v<Erased<decltype(::symbol)>::type, Erased<const char*(__VA_ARGS__)>::type>, \
        #symbol " is declared otherwise in nccl.h");
TUTTI_NCCL_FUNCTIONS(TUTTI_COMPARE)
TUTTI_NCCL_TEXTS(TUTTI_COMPARE_TEXT)
#if NCCL_VERSION_CODE >= 22803
TUTTI_NCCL_LATER_FUNCTIONS(TUTTI_COMPARE)
#endif

TUTTI_EQUAL(Result::Success, ncclSuccess)
TUTTI_EQUAL(Result::UnhandledCudaError, ncclUnhandledCudaError)
TUTTI_EQUAL(Result::SystemError, ncclSystemError)
TUTTI_EQUAL(Result::InternalError, ncclInternalError)
TUTTI_EQUAL(Result::InvalidArgument, ncclInvalidArgument)
TUTTI_EQUAL(Result::InvalidUsage, ncclInvalidUsage)
TUTTI_EQUAL(Result::RemoteError, ncclRemoteError)
TUTTI_EQUAL(Result::InProgress, ncclInProgress)
TUTTI_EQUAL(DataType::Int8, ncclInt8)
TUTTI_EQUAL(DataType::Uint8, ncclUint8)
TUTTI_EQUAL(DataType::Int32, ncclInt32)
TUTTI_EQUAL(DataType::Uint32, ncclUint32)
TUTTI_EQUAL(DataType::Int64, ncclInt64)
TUTTI_EQUAL(DataType::Uint64, ncclUint64)
TUTTI_EQUAL(DataType::Float16, ncclFloat16)
TUTTI_EQUAL(DataType::Float32, ncclFloat32)
TUTTI_EQUAL(DataType::Float64, ncclFloat64)
TUTTI_EQUAL(DataType::Bfloat16, ncclBfloat16)
TUTTI_EQUAL(RedOp::Sum, ncclSum)
TUTTI_EQUAL(RedOp::Prod, ncclProd)
TUTTI_EQUAL(RedOp::Max, ncclMax)
TUTTI_EQUAL(RedOp::Min, ncclMin)
TUTTI_EQUAL(RedOp::Avg, ncclAvg)
TUTTI_EQUAL(Residence::Device, ncclScalarDevice)
TUTTI_EQUAL(Residence::HostImmediate, ncclScalarHostImmediate)
TUTTI_EQUAL(undefined, NCCL_CONFIG_UNDEF_INT)
TUTTI_EQUAL(no_color, NCCL_SPLIT_NOCOLOR)
TUTTI_EQUAL(sizeof(UniqueId), sizeof(ncclUniqueId))
TUTTI_EQUAL(offsetof(Config, blocking), offsetof(ncclConfig_t, blocking))
TUTTI_EQUAL(offsetof(Config, net_name), offsetof(ncclConfig_t, netName))
TUTTI_EQUAL(offsetof(Config, split_share), offsetof(ncclConfig_t, splitShare))
#if NCCL_VERSION_CODE >= 22800
TUTTI_EQUAL(sizeof(Config), sizeof(ncclConfig_t))
TUTTI_EQUAL(offsetof(Config, traffic_class), offsetof(ncclConfig_t, trafficClass))
TUTTI_EQUAL(offsetof(Config, comm_name), offsetof(ncclConfig_t, commName))
TUTTI_EQUAL(offsetof(Config, collnet_enable), offsetof(ncclConfig_t, collnetEnable))
TUTTI_EQUAL(offsetof(Config, cta_policy), offsetof(ncclConfig_t, CTAPolicy))
TUTTI_EQUAL(offsetof(Config, nvls_ctas), offsetof(ncclConfig_t, nvlsCTAs))
TUTTI_EQUAL(offsetof(Config, channels_per_net_peer), offsetof(ncclConfig_t, nChannelsPerNetPeer))
TUTTI_EQUAL(offsetof(Config, nvlink_centric_sched), offsetof(ncclConfig_t, nvlinkCentricSched))
#endif

}  // namespace tutti::nccl

int main() {
    std::puts("as in nccl.h");
    return 0;
}
