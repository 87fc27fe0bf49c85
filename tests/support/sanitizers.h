/* Which sanitizers watch. They are slow, and what they look for shows with less, too: tests that
 * repeat much repeat less under them. gcc tells by macros, clang by features.
 *
 * CMakePresets.json has their options. Without intercept_tls_get_addr=0 the address sanitizer takes
 * the two words before a library's thread-local variables for their size and place. Only an old
 * glibc writes them there; with ours, the search for leaks may read anywhere ("Tracer caught signal
 * 11"). */
#ifndef TUTTI_TESTS_SANITIZERS_H
#define TUTTI_TESTS_SANITIZERS_H

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
enum { THREAD_SANITIZED = 1 };
#else
enum { THREAD_SANITIZED = 0 };
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = THREAD_SANITIZED };
#endif
/* The sanitizer of undefined behaviour opens a pipe to look at an object's type, and takes the type
 * for a wrong one if there is no descriptor. */
#if __has_feature(undefined_behavior_sanitizer)
enum { TYPES_SANITIZED = 1 };
#else
enum { TYPES_SANITIZED = 0 };
#endif

/* For a function that works out what a test gives or expects, on memory of one thread: the thread
 * sanitizer would look at every element. Functions that it calls are watched. */
#if defined(__GNUC__)
#define UNWATCHED __attribute__((no_sanitize("thread")))
#else
#define UNWATCHED
#endif

#endif
