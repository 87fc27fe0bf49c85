/* What the Fortran layer remembers between calls: the last failure of each thread, and the groups
 * whose calls are being gathered. Any thread. */
#include "state.h"

#include <pthread.h>
#include <stdlib.h>

static _Thread_local tutti_error last = TUTTI_ERROR_INIT;

void tutti_fortran_note(const tutti_error* error) {
    last = *error;
}

void tutti_fortran_noted(tutti_error* error) {
    *error = last;
}

/* A group whose calls are being gathered. */
typedef struct gathering {
    intptr_t group;
    struct gathering* next;
} gathering;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static gathering* first;

/* The link that leads to the group's entry, or the last one. The caller holds the mutex. */
static gathering** find(intptr_t group) {
    gathering** link = &first;
    while (*link != NULL && (*link)->group != group) link = &(*link)->next;
    return link;
}

int32_t tutti_fortran_set_gathering(intptr_t group, int32_t on) {
    gathering** link;
    gathering* found;
    int32_t before;
    pthread_mutex_lock(&mutex);
    link = find(group);
    found = *link;
    before = found != NULL;
    if (on && !before && (found = malloc(sizeof *found)) != NULL) {
        found->group = group;
        found->next = NULL;
        *link = found;
    } else if (on && !before) {
        before = -1;
    } else if (!on && before) {
        *link = found->next;
        free(found);
    }
    pthread_mutex_unlock(&mutex);
    return before;
}

int32_t tutti_fortran_is_gathering(intptr_t group) {
    int32_t is;
    pthread_mutex_lock(&mutex);
    is = *find(group) != NULL;
    pthread_mutex_unlock(&mutex);
    return is;
}
