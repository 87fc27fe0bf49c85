/* Memory of tutti_memory_alloc for the tensors: once for all cells, as much as the largest one
 * takes. */
#include "tutti_bench.h"

enum { PAGE = 4096 };

static void* memory;
static size_t most_inputs, most_outputs;

void want_memory(const cell* of, int rank, int ranks) {
    size_t inputs, outputs;
    if (!uses_tensor(of)) return;
    contents_size(of, rank, ranks, &inputs, &outputs);
    inputs = (inputs + PAGE - 1) / PAGE * PAGE;
    if (inputs > most_inputs) most_inputs = inputs;
    if (outputs > most_outputs) most_outputs = outputs;
}

int take_memory(void) {
    free_contents();
    if (tutti_memory_alloc(TUTTI_GROUP_WORLD, most_inputs + most_outputs, NULL, &memory,
                           &failure) != TUTTI_OK)
        return 0;
    lend_memory(memory, most_inputs, (char*)memory + most_inputs, most_outputs);
    return 1;
}

void give_memory_back(void) {
    free_contents();
    tutti_memory_release(memory);
}
