/* Memory of tutti_memory_alloc for the tensors: once for all cells, as much as the largest one
 * takes. */
#include "tutti_bench.h"

enum { PAGE = 4096 };

static void* memory;
static size_t max_inputs, max_outputs;

void want_memory(const cell* of, int rank, int ranks) {
    size_t inputs, outputs;
    if (!uses_tensor(of)) return;
    contents_size(of, rank, ranks, &inputs, &outputs);
    inputs = (inputs + PAGE - 1) / PAGE * PAGE;
    if (inputs > max_inputs) max_inputs = inputs;
    if (outputs > max_outputs) max_outputs = outputs;
}

int take_memory(void) {
    free_contents();
    if (tutti_memory_alloc(TUTTI_GROUP_WORLD, max_inputs + max_outputs, NULL, &memory, &failure) !=
        TUTTI_OK)
        return 0;
    lend_memory(memory, max_inputs, (char*)memory + max_inputs, max_outputs);
    return 1;
}

void give_memory_back(void) {
    free_contents();
    tutti_memory_release(memory);
}
