/* How and when a rank of the campaign dies, stops, leaves or loses a connection, by itself: in the
 * midst of a call, a chosen time after it began. Public headers only; C99. The main thread. */
#ifndef TUTTI_FAULTS_FATE_H
#define TUTTI_FAULTS_FATE_H

#include <stdint.h>

/* "HOW WHERE NTH MICROSECONDS". When the rank begins the NTH (from 1) thing of the kind WHERE, or
 * of any kind, it has so many microseconds. HOW:
 *   kill   SIGKILL
 *   stop   SIGSTOP
 *   exit   exit(3), between two calls: the next one that begins after that time
 *   quit   _exit(3)
 *   cut    one of its TCP connections is shut down, both ways
 * Says "struck HOW" then. False if the words are others. */
int fate_read(const char* words);
/* The rank begins something. */
void fate_pass(const char* where);

/* A line "RANK WHAT NANOSECONDS ..." on the standard output, at once; any thread, and handlers of
 * signals. */
void tell(const char* format, ...) __attribute__((format(printf, 1, 2)));
int64_t now_ns(void);

#endif
