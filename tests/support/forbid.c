/* forbid EPERM|ENOSYS CALL[,CALL...] PROGRAM [ARGUMENT...]: runs it where the system refuses these
   system calls, to it and all processes below: as a filter of a container does (EPERM), or a kernel
   that does not know them (ENOSYS). "forbid calls" lists the calls that it knows by name. Exits
   with 77 where that cannot be had. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_RULES = 80 };

/* The numbers from 424 on are the same for all processors; headers may be older than the call. */
static const struct {
    const char* name;
    unsigned number;
} calls[] = {
    {"clone3", 435},
    {"close_range", 436},
    {"copy_file_range", SYS_copy_file_range},
    {"epoll_pwait2", 441},
    {"eventfd2", SYS_eventfd2},
    {"faccessat2", 439},
    {"fallocate", SYS_fallocate},
    {"futex_waitv", 449},
    {"get_mempolicy", SYS_get_mempolicy},
    {"getcpu", SYS_getcpu},
    {"getrandom", SYS_getrandom},
    {"io_uring_enter", 426},
    {"io_uring_register", 427},
    {"io_uring_setup", 425},
    {"kcmp", SYS_kcmp},
    {"landlock_create_ruleset", 444},
    {"mbind", SYS_mbind},
    {"membarrier", SYS_membarrier},
    {"memfd_create", SYS_memfd_create},
    {"mlock2", SYS_mlock2},
    {"move_pages", SYS_move_pages},
    {"name_to_handle_at", SYS_name_to_handle_at},
    {"openat2", 437},
    {"pidfd_getfd", 438},
    {"pidfd_open", 434},
    {"pidfd_send_signal", 424},
    {"process_madvise", 440},
    {"process_vm_readv", SYS_process_vm_readv},
    {"process_vm_writev", SYS_process_vm_writev},
    {"rseq", SYS_rseq},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"sched_getscheduler", SYS_sched_getscheduler},
    {"sched_setaffinity", SYS_sched_setaffinity},
    {"sched_setscheduler", SYS_sched_setscheduler},
    {"set_mempolicy", SYS_set_mempolicy},
    {"setns", SYS_setns},
    {"signalfd4", SYS_signalfd4},
    {"statx", SYS_statx},
    {"unshare", SYS_unshare},
    {"userfaultfd", SYS_userfaultfd},
};
enum { CALLS = sizeof calls / sizeof *calls };

static int usage(void) {
    fprintf(stderr, "usage: forbid EPERM|ENOSYS CALL[,CALL...] PROGRAM [ARGUMENT...]\n");
    return 2;
}

static const unsigned* number_of(const char* name) {
    for (size_t i = 0; i < CALLS; ++i) {
        if (strcmp(calls[i].name, name) == 0) return &calls[i].number;
    }
    return NULL;
}

int main(int argc, char** argv) {
    struct sock_filter rules[MOST_RULES] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    unsigned short count = 1;
    if (argc == 2 && strcmp(argv[1], "calls") == 0) {
        for (size_t i = 0; i < CALLS; ++i) puts(calls[i].name);
        return 0;
    }
    if (argc < 4) return usage();
    const int is_unknown = strcmp(argv[1], "ENOSYS") == 0;
    if (!is_unknown && strcmp(argv[1], "EPERM") != 0) return usage();
    const unsigned refusal = SECCOMP_RET_ERRNO | (unsigned)(is_unknown ? ENOSYS : EPERM);
    for (char* name = strtok(argv[2], ","); name != NULL; name = strtok(NULL, ",")) {
        const unsigned* number = number_of(name);
        if (number == NULL || count + 3 > MOST_RULES) return usage();
        const struct sock_filter skips = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, *number, 0, 1);
        const struct sock_filter refuses = BPF_STMT(BPF_RET | BPF_K, refusal);
        rules[count++] = skips;
        rules[count++] = refuses;
    }
    const struct sock_filter allows = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    rules[count++] = allows;
    const struct sock_fprog filter = {count, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        perror("skipped: no system call filters here");
        return 77;
    }
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 2;
}
