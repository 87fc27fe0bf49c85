/* Calls in the default group whose results are checked, for ranks that go on after deaths. A wrong
 * result ends the process with 9. Public headers only; C99. One thread. */
#ifndef TUTTI_FAULTS_CHECKED_CALLS_H
#define TUTTI_FAULTS_CHECKED_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <tutti/tutti.h>

/* The most ranks that the default group may have. */
enum { MOST_MEMBERS = 8 };

/* Where the data of the calls lie: on a device if `alloc` is set, before the first call. */
typedef struct data_place {
    void* (*alloc)(size_t bytes);
    void (*copy_in)(void* device, const void* host, size_t bytes);
    void (*copy_out)(void* host, const void* device, size_t bytes);
    tutti_device_type device_type;
    int32_t device_index;
} data_place;
extern data_place checked_data;

typedef enum checked_call {
    SMALL_SUM,
    LARGE_SUM,
    SUM_IN_NEW_GROUP,
    MESSAGES,
    BARRIER,
    BROADCAST,
    CHECKED_CALLS /* how many there are */
} checked_call;

tutti_status make_checked_call(checked_call which, tutti_error* error);

/* The members of the default group, by their ranks in the first one, as one number. */
uint64_t members_number(void);
/* All ranks must have the same members; `own` is members_number(). */
tutti_status compare_members(uint64_t own, tutti_error* error);

void check(int is_right);

#endif
