// A C++ program as its people write it: the memory is that of vectors, counts are size_t.
#include <cstdio>
#include <vector>

#include <tutti/tutti.h>

int main() {
    const std::vector<float> input = {1, 2, 3};
    std::vector<float> output(input.size());
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_store* store = nullptr;
    tutti_group* group = nullptr;
    if (tutti_hash_store_create(&store, &error) != TUTTI_OK ||
        tutti_group_create("loopback", store, "vectors", 0, 1, nullptr, &group, &error) !=
            TUTTI_OK) {
        std::printf("%s\n", error.message);
        return 1;
    }
    const tutti_buffer in = TUTTI_BUFFER_INIT(input.data(), input.size(), TUTTI_FLOAT32);
    const tutti_buffer out = TUTTI_BUFFER_INIT(output.data(), output.size(), TUTTI_FLOAT32);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.timeout_ms = 10000;
    const tutti_status status =
        tutti_all_reduce(group, &in, &out, TUTTI_SUM, &options, nullptr, &error);
    if (status != TUTTI_OK) std::printf("%s\n", error.message);
    tutti_group_release(group);
    tutti_store_release(store);
    return status == TUTTI_OK && output == input ? 0 : 1;
}
