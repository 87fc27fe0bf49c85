/* A line between two hosts on which everything takes its time: far_line NAMESPACE NAMESPACE
 * MICROSECONDS. Each namespace gets an interface "line"; what one sends the other receives so much
 * later. Says "ready", and goes on until it is killed. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* A packet is as long as the system makes it: with its virtio header, up to 64 KiB. One that is cut
 * for a wire only there costs as much as a short one here. */
enum { MOST_BYTES = 66 << 10, MOST_PACKETS = 2048 };

static void need(int holds, const char* what) {
    if (holds) return;
    perror(what);
    exit(1);
}

/* Packets on their way in one direction, in the order in which they left. */
struct way {
    uint64_t first, last; /* the packets from `first` to below `last`, modulo MOST_PACKETS */
    struct packet {
        int64_t due_ns;
        size_t bytes;
        char data[MOST_BYTES];
    } packets[MOST_PACKETS];
};
static struct way ways[2];

static int64_t now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int make_interface(const char* namespace) {
    char path[256];
    (void)snprintf(path, sizeof path, "/run/netns/%s", namespace);
    const int place = open(path, O_RDONLY | O_CLOEXEC);
    need(place >= 0 && setns(place, CLONE_NEWNET) == 0, path);
    (void)close(place);
    const int line = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    need(line >= 0, "/dev/net/tun");
    struct ifreq wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
    (void)snprintf(wanted.ifr_name, sizeof wanted.ifr_name, "line");
    need(ioctl(line, TUNSETIFF, &wanted) == 0, "TUNSETIFF");
    need(ioctl(line, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) == 0, "TUNSETOFFLOAD");
    return line;
}

/* The packets that the interface sends leave; those without room are lost, as on any line. */
static void take(int from, struct way* way, int64_t delay_ns) {
    for (;;) {
        struct packet* const next = &way->packets[way->last % MOST_PACKETS];
        char lost[MOST_BYTES];
        const int has_room = way->last - way->first < MOST_PACKETS;
        const ssize_t got = read(from, has_room ? next->data : lost, MOST_BYTES);
        if (got < 0) return;
        if (!has_room) continue;
        next->bytes = (size_t)got;
        next->due_ns = now_ns() + delay_ns;
        ++way->last;
    }
}

/* Returns when the next packet is due; -1: none is on its way. */
static int64_t deliver(struct way* way, int to) {
    while (way->first < way->last) {
        const struct packet* const next = &way->packets[way->first % MOST_PACKETS];
        if (next->due_ns > now_ns()) return next->due_ns;
        if (write(to, next->data, next->bytes) < 0 && errno == EINTR) continue;
        ++way->first;
    }
    return -1;
}

int main(int count, char** arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: far_line NAMESPACE NAMESPACE MICROSECONDS\n");
        return 2;
    }
    const int64_t delay_ns = strtoll(arguments[3], NULL, 10) * 1000;
    const int lines[] = {make_interface(arguments[1]), make_interface(arguments[2])};
    (void)prctl(PR_SET_TIMERSLACK, 1000UL);
    printf("ready\n");
    (void)fflush(stdout);
    for (;;) {
        int64_t due_ns = -1;
        for (int from = 0; from < 2; ++from) {
            take(lines[from], &ways[from], delay_ns);
            const int64_t next_ns = deliver(&ways[from], lines[1 - from]);
            if (next_ns >= 0 && (due_ns < 0 || next_ns < due_ns)) due_ns = next_ns;
        }
        struct pollfd sends[] = {{lines[0], POLLIN, 0}, {lines[1], POLLIN, 0}};
        const int64_t left_ns = due_ns < 0 ? 0 : due_ns - now_ns();
        const struct timespec limit = {left_ns / 1000000000, left_ns % 1000000000};
        if (due_ns >= 0 && left_ns <= 0) continue;
        (void)ppoll(sends, 2, due_ns < 0 ? NULL : &limit, NULL);
    }
}
