/* A module of another version of tutti, or none: see without_test.c. */
#include <stdint.h>

typedef struct table {
    uint32_t version;
    uint32_t size;
} table;

#ifdef HAS_SYMBOL
__attribute__((visibility("default"))) const table* tutti_device_module(void);
const table* tutti_device_module(void) {
    static const table other = {12345, sizeof(table)};
    return &other;
}
#else
__attribute__((visibility("default"))) int tutti_something_else;
int tutti_something_else = 1;
#endif
