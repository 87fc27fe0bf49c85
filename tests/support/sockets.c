/* The facts of TCP sockets in /proc; see sockets.h. */
#include "sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Calls `use` for each line of this machine's TCP tables: the inode, the ports, the state. */
typedef void (*use_socket)(void* user, unsigned long inode, int local, int remote, int state);
static void read_sockets(use_socket use, void* user) {
    static const char* const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    for (size_t table = 0; table < 2; ++table) {
        FILE* file = fopen(tables[table], "re");
        char line[512];
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            unsigned local, remote, state;
            unsigned long inode;
            if (sscanf(line, " %*d: %*x:%x %*x:%x %x %*x:%*x %*x:%*x %*x %*u %*u %lu", &local,
                       &remote, &state, &inode) == 4) {
                use(user, inode, (int)local, (int)remote, (int)state);
            }
        }
        if (file != NULL) fclose(file);
    }
}

enum { ESTABLISHED = 1, LISTENING = 10 };

typedef struct search {
    unsigned long inode;
    int32_t port;
    int found;
} search;

static void note_listening(void* user, unsigned long inode, int local, int remote, int state) {
    search* wanted = (search*)user;
    (void)remote;
    if (inode == wanted->inode && state == LISTENING) wanted->port = local;
}

static void note_connection(void* user, unsigned long inode, int local, int remote, int state) {
    search* wanted = (search*)user;
    (void)inode, (void)local;
    if (remote == wanted->port && state == ESTABLISHED) ++wanted->found;
}

int listening_ports(pid_t pid, int32_t* ports, int most) {
    char path[64], name[320], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR* folder = opendir(path);
    int count = 0;
    if (folder == NULL) return 0;
    for (struct dirent* entry; (entry = readdir(folder)) != NULL && count < most;) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        const ssize_t length = readlink(name, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = '\0';
        search wanted = {0, 0, 0};
        if (sscanf(target, "socket:[%lu]", &wanted.inode) != 1) continue;
        read_sockets(note_listening, &wanted);
        if (wanted.port != 0) ports[count++] = wanted.port;
    }
    closedir(folder);
    return count;
}

int connections_to(int32_t port) {
    search wanted = {0, port, 0};
    read_sockets(note_connection, &wanted);
    return wanted.found;
}

struct sockaddr_in loopback_address(int32_t port) {
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}
