#include "fate.h"

#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { LEAVES = 3, MOST_SOCKETS = 256 };

static struct {
    char how[8], where[16];
    int nth, passed;
    long delay_us;
} fate;
static volatile sig_atomic_t is_due;
static sem_t cut_is_due;

int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* One write, so that lines of several ranks in one pipe stay whole. */
void tell(const char* format, ...) {
    char line[512];
    va_list rest;
    int length = snprintf(line, sizeof line, "%s ", getenv("RANK"));
    va_start(rest, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, rest);
    va_end(rest);
    if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
    line[length++] = '\n';
    if (write(STDOUT_FILENO, line, (size_t)length) < 0) _exit(LEAVES);
}

static int connected_sockets(int* found) {
    int count = 0;
    DIR* const folder = opendir("/proc/self/fd");
    if (folder == NULL) return 0;
    for (const struct dirent* entry; (entry = readdir(folder)) != NULL && count < MOST_SOCKETS;) {
        const int one = atoi(entry->d_name);
        struct sockaddr_storage peer;
        socklen_t size = sizeof peer;
        if (entry->d_name[0] == '.' || getpeername(one, (struct sockaddr*)&peer, &size) != 0)
            continue;
        if (peer.ss_family == AF_INET || peer.ss_family == AF_INET6) found[count++] = one;
    }
    closedir(folder);
    return count;
}

/* Which one is chance: the order of the folder says nothing of what they are for. */
static void* cut(void* unused) {
    int sockets[MOST_SOCKETS];
    while (sem_wait(&cut_is_due) != 0) {
    }
    const int count = connected_sockets(sockets);
    const int64_t now = now_ns();
    tell("struck %lld cut, one of %d", (long long)now, count); /* the rank may be ruled out next */
    if (count > 0) shutdown(sockets[now / 1000 % count], SHUT_RDWR);
    return unused;
}

static void strike(int signal_number) {
    (void)signal_number;
    if (strcmp(fate.how, "cut") == 0) {
        sem_post(&cut_is_due);
        return;
    }
    if (strcmp(fate.how, "exit") == 0) {
        is_due = 1;
        return;
    }
    tell("struck %lld %s", (long long)now_ns(), fate.how);
    if (strcmp(fate.how, "kill") == 0) raise(SIGKILL);
    if (strcmp(fate.how, "quit") == 0) _exit(LEAVES);
    raise(SIGSTOP);
}

int fate_read(const char* words) {
    if (sscanf(words, "%7s %15s %d %ld", fate.how, fate.where, &fate.nth, &fate.delay_us) != 4)
        return 0;
    sem_init(&cut_is_due, 0, 0);
    if (strcmp(fate.how, "cut") == 0) {
        sigset_t alarm, before;
        pthread_t thread;
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        pthread_sigmask(SIG_BLOCK, &alarm, &before);
        if (pthread_create(&thread, NULL, cut, NULL) != 0) return 0;
        pthread_detach(thread);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    return signal(SIGALRM, strike) != SIG_ERR;
}

void fate_pass(const char* where) {
    if (is_due) {
        tell("struck %lld exit", (long long)now_ns());
        exit(LEAVES);
    }
    if (fate.nth == 0 || (strcmp(fate.where, "any") != 0 && strcmp(fate.where, where) != 0)) return;
    if (++fate.passed != fate.nth) return;
    const struct itimerval clock = {{0, 0}, {fate.delay_us / 1000000, fate.delay_us % 1000000}};
    if (fate.delay_us == 0) {
        raise(SIGALRM);
    } else {
        setitimer(ITIMER_REAL, &clock, NULL);
    }
}
