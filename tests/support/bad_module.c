/* libtutti-BAD_NAME.so, a library for tests with one fault, which another definition says.
 * BAD_OPEN: all is well until its last rank opens it; BAD_CROSSED: its name is another one. */
#include <stdio.h>
#include <string.h>
#include <tutti/ext.h>

static tutti_status describe(void* user, const char* settings, tutti_backend_capabilities* out,
                             tutti_error* error) {
    (void)user, (void)settings, (void)error;
    out->completion = TUTTI_COMPLETION_INLINE;
#ifdef BAD_COMPLETION
    out->completion = 77;
#endif
    out->devices = TUTTI_BIT(TUTTI_CPU);
    out->kinds = TUTTI_BIT(TUTTI_CALL_BARRIER);
    return TUTTI_OK;
}

static tutti_status open_it(void* user, const tutti_backend_place* place, void** out_backend,
                            tutti_error* error) {
    (void)user, (void)out_backend;
    if (place->rank == place->size - 1) {
        (void)snprintf(error->message, sizeof error->message, "there is no wire");
        return TUTTI_ERR_NETWORK;
    }
    /* Which never comes to its end. */
    return place->host->all_gather(place, NULL, 0, NULL, error);
}

static void close_it(void* backend) {
    (void)backend;
}

#ifndef BAD_ENTRY
static tutti_status post(void* backend, tutti_backend_call* call, tutti_error* error) {
    (void)backend, (void)call, (void)error;
    return TUTTI_OK;
}
#else
#define post NULL
#endif

static void abort_it(void* backend, tutti_status status, const char* why) {
    (void)backend, (void)status, (void)why;
}

#ifdef BAD_CROSSED
#undef BAD_NAME
#define BAD_NAME "another"
#endif

static const tutti_backend_table table = {
#ifdef BAD_SIZE
    20,
#else
    sizeof(tutti_backend_table),
#endif
    TUTTI_EXT_VERSION,
#ifdef BAD_NAMELESS
    NULL,
#else
    BAD_NAME,
#endif
    NULL,
    describe,
    open_it,
    close_it,
    post,
    NULL,
    abort_it,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL};

static const tutti_module module = {
#ifdef BAD_MODULE_SIZE
    28,
#else
    sizeof(tutti_module),
#endif
#ifdef BAD_VERSION
    7,
#else
    TUTTI_EXT_VERSION,
#endif
    &table, NULL, NULL};

#ifdef BAD_SYMBOL
#define tutti_module_get tutti_module_got
#endif
TUTTI_API const tutti_module* tutti_module_get(uint32_t host_version);
TUTTI_API const tutti_module* tutti_module_get(uint32_t host_version) {
    (void)host_version;
    return &module;
}
