// The part of NVTX's interface between programs and tools that tutti uses, declared here: ranges
// need no header of NVIDIA's. tests/unit/profile compares it with that header where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::nvtx {

constexpr uint32_t version = 3;

// The tool's own.
struct Domain;

// nvtxEventAttributes_t, with a text.
struct EventAttributes {
    uint16_t version = nvtx::version;
    uint16_t size = sizeof(EventAttributes);
    uint32_t category = 0;
    int32_t color_type = 0;
    uint32_t color = 0;
    int32_t payload_type = 0;
    int32_t reserved = 0;
    uint64_t payload = 0;
    int32_t message_type = 1;  // NVTX_MESSAGE_TYPE_ASCII
    const char* message = nullptr;
};

// The functions of a tool that are called.
using DomainCreate = Domain*(const char* name);
using RangePush = int(Domain* domain, const EventAttributes* attributes);
using RangePop = int(Domain* domain);

// NvtxCallbackModule: the tables that a tool fills.
enum class Module : int { Core = 1, Cuda = 2, OpenCl = 3, CudaRuntime = 4, Core2 = 5, Sync = 6 };
constexpr unsigned max_functions = 16;
// By module: the places in its table, the first of which is not used.
constexpr unsigned functions_of[] = {0, 16, 9, 15, 7, 16, 7};

// NvtxCallbackIdCore2.
constexpr unsigned range_push = 4, range_pop = 5, domain_create = 12;

// The tables that a program exports, by their numbers, NvtxExportTableID.
constexpr uint32_t callbacks_table = 1, version_table = 3;
using Function = void (*)();
struct Callbacks {
    size_t struct_size = sizeof(Callbacks);
    int (*get_functions)(Module module, Function*** out_table, unsigned* out_size);
};
struct VersionInfo {
    size_t struct_size = sizeof(VersionInfo);
    uint32_t version = nvtx::version;
    uint32_t reserved = 0;
    void (*set_version_of_tool)(uint32_t version);
};

// The one symbol of a tool; 0: it refuses.
using GetTable = const void*(uint32_t table);
using Initialize = int(GetTable* get_table);
constexpr const char* initialize_symbol = "InitializeInjectionNvtx2";
constexpr const char* path_variable =
    sizeof(void*) == 4 ? "NVTX_INJECTION32_PATH" : "NVTX_INJECTION64_PATH";

}  // namespace tutti::nvtx
