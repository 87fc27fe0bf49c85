/* A profiler's library, as NVTX_INJECTION64_PATH names one, built with NVIDIA's header: it keeps
 * the ranges of each thread as text. It asks of the program all that a tool may rely on, and fills
 * every place of every table. A program that is otherwise it refuses, and says why. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define PLACE(table, index, function) *(table)[index] = (NvtxFunctionPointer)(function)

struct nvtxDomainRegistration_st {
    char name[64];
};

static _Thread_local char mine[8192];
static _Thread_local int depth;
static atomic_int all_open, all_pushed;

/* What this thread did since it asked last: "+ domain: text" for each push, "-" for each pop. */
EXPORT const char* nvtx_recorder_take(void) {
    static _Thread_local char taken[sizeof mine];
    memcpy(taken, mine, sizeof mine);
    mine[0] = '\0';
    return taken;
}

/* Ranges of all threads: that are open, and that were opened. */
EXPORT int nvtx_recorder_open(void) {
    return all_open;
}
EXPORT int nvtx_recorder_pushed(void) {
    return all_pushed;
}

static void note(const char* line, const char* more) {
    const size_t used = strlen(mine);
    (void)snprintf(mine + used, sizeof mine - used, "%s%s\n", line, more);
}

static void must(int condition, const char* what) {
    if (condition) return;
    (void)fprintf(stderr, "nvtx_recorder: %s\n", what);
    abort();
}

static nvtxDomainHandle_t NVTX_API create_domain(const char* name) {
    nvtxDomainHandle_t domain = (nvtxDomainHandle_t)calloc(1, sizeof *domain);
    must(domain != NULL, "no memory");
    (void)snprintf(domain->name, sizeof domain->name, "%s", name);
    return domain;
}

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
    char line[80];
    must(domain != NULL && attributes->version == NVTX_VERSION, "another version");
    must(attributes->size == NVTX_EVENT_ATTRIB_STRUCT_SIZE, "another size");
    must(attributes->messageType == NVTX_MESSAGE_TYPE_ASCII, "no text");
    must(attributes->colorType == NVTX_COLOR_UNKNOWN && attributes->category == 0, "a colour");
    must(attributes->payloadType == NVTX_PAYLOAD_UNKNOWN, "a payload");
    (void)snprintf(line, sizeof line, "+ %s: ", domain->name);
    note(line, attributes->message.ascii);
    ++all_open;
    ++all_pushed;
    return depth++;
}

static int NVTX_API pop(nvtxDomainHandle_t domain) {
    must(domain != NULL && depth > 0, "a pop without a push on this thread");
    note("-", "");
    --all_open;
    return --depth;
}

static void nobody_calls_this(void) {
    must(0, "a function that tutti does not use");
}

static const struct {
    NvtxCallbackModule module;
    unsigned size;
} tables[] = {
    {NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_SIZE},     {NVTX_CB_MODULE_CUDA, NVTX_CBID_CUDA_SIZE},
    {NVTX_CB_MODULE_OPENCL, NVTX_CBID_OPENCL_SIZE}, {NVTX_CB_MODULE_CUDART, NVTX_CBID_CUDART_SIZE},
    {NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_SIZE},   {NVTX_CB_MODULE_SYNC, NVTX_CBID_SYNC_SIZE},
};

static int refuse(const char* why) {
    (void)fprintf(stderr, "nvtx_recorder: %s\n", why);
    return 0;
}

static int take_tables(const NvtxExportTableCallbacks* callbacks, NvtxFunctionTable* core2) {
    unsigned all;
    NvtxFunctionTable table;
    unsigned size;
    for (all = 0; all < sizeof tables / sizeof *tables; ++all) {
        unsigned i;
        const NvtxCallbackModule module = tables[all].module;
        if (callbacks->GetModuleFunctionTable(module, &table, &size) != 1) return 0;
        if (size != tables[all].size || table[0] != NULL || table[size] != NULL) return 0;
        for (i = 1; i < size; ++i) PLACE(table, i, nobody_calls_this);
        if (module == NVTX_CB_MODULE_CORE2) *core2 = table;
    }
    return callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_INVALID, &table, &size) == 0 &&
           callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_SIZE, &table, &size) == 0;
}

EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
    const NvtxExportTableCallbacks* const callbacks =
        (const NvtxExportTableCallbacks*)get_table(NVTX_ETID_CALLBACKS);
    const NvtxExportTableVersionInfo* const version =
        (const NvtxExportTableVersionInfo*)get_table(NVTX_ETID_VERSIONINFO);
    const char* const how = getenv("NVTX_RECORDER");
    NvtxFunctionTable core2 = NULL;
    if (how != NULL && strcmp(how, "refuses") == 0) return refuse("as it was told");
    if (callbacks == NULL || callbacks->struct_size < sizeof *callbacks) return refuse("no tables");
    if (version == NULL || version->struct_size < sizeof *version) return refuse("no version");
    if (version->version != NVTX_VERSION) return refuse("another version");
    if (get_table(NVTX_ETID_RESERVED0) != NULL) return refuse("a table that there is not");
    version->SetInjectionNvtxVersion(NVTX_VERSION);
    if (!take_tables(callbacks, &core2)) return refuse("a table is wrong");
    PLACE(core2, NVTX_CBID_CORE2_DomainCreateA, create_domain);
    if (how != NULL && strcmp(how, "lacks") == 0) {
        *core2[NVTX_CBID_CORE2_DomainRangePop] = NULL;
        return 1;
    }
    PLACE(core2, NVTX_CBID_CORE2_DomainRangePushEx, push);
    PLACE(core2, NVTX_CBID_CORE2_DomainRangePop, pop);
    return 1;
}
