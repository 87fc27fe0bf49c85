/* Data on a device; see conformance.h. They come there, and are read, by copies on the stream of
 * the call, from and to a second place on the device: a call that does not wait for its stream, or
 * whose results the stream does not wait for, reads or leaves what was there before. */
#include <stdio.h>
#include <string.h>

#include "conformance.h"
#include "support/cuda.h"

int device_is_here(void) {
    char why[300];
    if (cuda_devices(why, sizeof why) > 0) return 1;
    printf("skipped: %s\n", why);
    return 0;
}

void device_begin(attempt* me) {
    char why[300];
    me->device_index = me->rank->rank % cuda_devices(why, sizeof why);
    cuda_use(me->device_index);
    me->on_device = (char*)cuda_alloc(me->room);
    me->beside = (char*)cuda_alloc(me->room);
    me->stream = cuda_make_stream();
    cuda_fill(me->on_device, 0, me->room, NULL);
    cuda_wait(NULL);
}

void device_end(attempt* me) {
    cuda_wait(me->stream);
    cuda_end_stream(me->stream);
    cuda_free(me->beside);
    cuda_free(me->on_device);
}

void device_choose_stream(attempt* me, size_t turn) {
    me->options.stream = turn % 2 == 0 ? me->stream : NULL;
}

void device_write(attempt* me, const char* image, size_t bytes) {
    const size_t at = (size_t)(image - me->arena);
    cuda_copy_in(me->beside + at, image, bytes);
    cuda_copy(me->on_device + at, me->beside + at, bytes, me->options.stream);
}

/* Without a stream the results are there when the call, or its work, is done. */
void device_read(attempt* me) {
    if (me->options.stream != NULL) {
        cuda_copy(me->beside, me->on_device, me->used, me->options.stream);
        cuda_wait(me->options.stream);
        cuda_copy_out(me->arena, me->beside, me->used);
    } else {
        cuda_copy_out(me->arena, me->on_device, me->used);
    }
}
