// Are our declarations of NVTX those of NVIDIA's header? The compiler looks at all of it.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <cstdio>
#include <iterator>
#include <type_traits>

#include "erased.hpp"
#include "profile/nvtx.hpp"

namespace tutti::nvtx {

// Functions with handles, structures and enumerations in them, as pointers.
template <typename Ours, typename Theirs>
constexpr bool is_called_alike =
    std::is_same_v<typename Erased<std::remove_pointer_t<Ours>>::type,
                   typename Erased<std::remove_pointer_t<Theirs>>::type>;
static_assert(is_called_alike<DomainCreate, nvtxDomainCreateA_impl_fntype>);
static_assert(is_called_alike<RangePush, nvtxDomainRangePushEx_impl_fntype>);
static_assert(is_called_alike<RangePop, nvtxDomainRangePop_impl_fntype>);
static_assert(is_called_alike<GetTable, NvtxGetExportTableFunc_t>);
static_assert(is_called_alike<decltype(Callbacks::get_functions),
                              decltype(NvtxExportTableCallbacks::GetModuleFunctionTable)>);
static_assert(is_called_alike<decltype(VersionInfo::set_version_of_tool),
                              decltype(NvtxExportTableVersionInfo::SetInjectionNvtxVersion)>);
static_assert(std::is_same_v<Function, NvtxFunctionPointer>);
static_assert(std::is_same_v<Function**, NvtxFunctionTable>);

TUTTI_EQUAL(version, NVTX_VERSION)
TUTTI_EQUAL(sizeof(EventAttributes), sizeof(nvtxEventAttributes_t))
TUTTI_EQUAL(offsetof(EventAttributes, version), offsetof(nvtxEventAttributes_t, version))
TUTTI_EQUAL(offsetof(EventAttributes, size), offsetof(nvtxEventAttributes_t, size))
TUTTI_EQUAL(offsetof(EventAttributes, category), offsetof(nvtxEventAttributes_t, category))
TUTTI_EQUAL(offsetof(EventAttributes, payload), offsetof(nvtxEventAttributes_t, payload))
TUTTI_EQUAL(offsetof(EventAttributes, message_type), offsetof(nvtxEventAttributes_t, messageType))
TUTTI_EQUAL(offsetof(EventAttributes, message), offsetof(nvtxEventAttributes_t, message))
TUTTI_EQUAL(EventAttributes{}.message_type, NVTX_MESSAGE_TYPE_ASCII)
TUTTI_EQUAL(EventAttributes{}.size, NVTX_EVENT_ATTRIB_STRUCT_SIZE)

TUTTI_EQUAL(Module::Core, NVTX_CB_MODULE_CORE)
TUTTI_EQUAL(Module::Cuda, NVTX_CB_MODULE_CUDA)
TUTTI_EQUAL(Module::OpenCl, NVTX_CB_MODULE_OPENCL)
TUTTI_EQUAL(Module::CudaRuntime, NVTX_CB_MODULE_CUDART)
TUTTI_EQUAL(Module::Core2, NVTX_CB_MODULE_CORE2)
TUTTI_EQUAL(Module::Sync, NVTX_CB_MODULE_SYNC)
TUTTI_EQUAL(std::size(functions_of), NVTX_CB_MODULE_SIZE)
TUTTI_EQUAL(functions_of[NVTX_CB_MODULE_CORE], NVTX_CBID_CORE_SIZE)
TUTTI_EQUAL(functions_of[NVTX_CB_MODULE_CUDA], NVTX_CBID_CUDA_SIZE)
TUTTI_EQUAL(functions_of[NVTX_CB_MODULE_OPENCL], NVTX_CBID_OPENCL_SIZE)
TUTTI_EQUAL(functions_of[NVTX_CB_MODULE_CUDART], NVTX_CBID_CUDART_SIZE)
TUTTI_EQUAL(functions_of[NVTX_CB_MODULE_CORE2], NVTX_CBID_CORE2_SIZE)
TUTTI_EQUAL(functions_of[NVTX_CB_MODULE_SYNC], NVTX_CBID_SYNC_SIZE)
TUTTI_EQUAL(range_push, NVTX_CBID_CORE2_DomainRangePushEx)
TUTTI_EQUAL(range_pop, NVTX_CBID_CORE2_DomainRangePop)
TUTTI_EQUAL(domain_create, NVTX_CBID_CORE2_DomainCreateA)

TUTTI_EQUAL(callbacks_table, NVTX_ETID_CALLBACKS)
TUTTI_EQUAL(version_table, NVTX_ETID_VERSIONINFO)
TUTTI_EQUAL(sizeof(Callbacks), sizeof(NvtxExportTableCallbacks))
TUTTI_EQUAL(sizeof(VersionInfo), sizeof(NvtxExportTableVersionInfo))
TUTTI_EQUAL(offsetof(VersionInfo, set_version_of_tool),
            offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion))

}  // namespace tutti::nvtx

int main() {
    std::puts("as in nvToolsExt.h");
    return 0;
}
