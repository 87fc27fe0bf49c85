/* A store that is a folder of files, one for each key, for processes of one host, and a way to meet
 * there: of tutti/ext.h alone. A lock on the folder makes each function atomic. Nothing waits here:
 * the host asks again. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tutti/ext.h>
#include <unistd.h>

enum { LONGEST_KEY = 100, LONGEST_NAME = 2 * LONGEST_KEY + 2, LONGEST_NUMBER = 32 };

typedef struct value {
    char* data;
    size_t size;
} value;

static tutti_status fail(tutti_error* error, const char* what) {
    const int why = errno;
    error->system_errno = why;
    (void)snprintf(error->message, sizeof error->message, "%s: %s", what, strerror(why));
    return TUTTI_ERR_STORE;
}

/* The folder, locked until it is closed; -1: it cannot be. A store is its path. */
static int lock(void* store) {
    const int folder = open((const char*)store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (folder >= 0 && flock(folder, LOCK_EX) != 0) {
        if (errno == EINTR) continue;
        (void)close(folder);
        return -1;
    }
    return folder;
}

/* The file of a key: "k" and its bytes in hexadecimal. */
static int name_of(const tutti_slice* key, char* name) {
    const unsigned char* const bytes = (const unsigned char*)key->data;
    if (key->size > LONGEST_KEY) return errno = ENAMETOOLONG, -1;
    name[0] = 'k', name[1] = '\0';
    for (size_t i = 0; i < key->size; ++i) (void)snprintf(name + 1 + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* 1: it is there; 0: it is not; -1: failed. The caller frees what was read. */
static int load(int folder, const char* name, value* out) {
    struct stat about;
    const int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
    out->data = NULL, out->size = 0;
    if (file < 0) return errno == ENOENT ? 0 : -1;
    int how = -1;
    if (fstat(file, &about) == 0) {
        out->size = (size_t)about.st_size;
        out->data = (char*)malloc(out->size + 1);
        size_t have = 0;
        ssize_t got = out->data == NULL ? -1 : 1;
        while (got > 0 && have < out->size) {
            got = read(file, out->data + have, out->size - have);
            have += got > 0 ? (size_t)got : 0;
        }
        how = got < 0 || have < out->size ? -1 : 1;
        if (how == 1) out->data[out->size] = '\0';
    }
    (void)close(file);
    return how;
}

static int save(int folder, const char* name, const void* data, size_t size) {
    const int file = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return -1;
    ssize_t put = 0;
    for (size_t done = 0; done < size && put >= 0; done += (size_t)put) {
        put = write(file, (const char*)data + done, size - done);
    }
    return close(file) == 0 && put >= 0 ? 0 : -1;
}

/* Every function: the lock, the name of a key, and what `act` makes of the file. */
typedef struct request {
    int folder;
    char name[LONGEST_NAME];
    value old;
    int was_there;
} request;

static tutti_status begin(request* of, void* store, const tutti_slice* key, tutti_error* error) {
    memset(of, 0, sizeof *of);
    if ((of->folder = lock(store)) < 0) return fail(error, (const char*)store);
    if (name_of(key, of->name) == 0) {
        of->was_there = load(of->folder, of->name, &of->old);
        if (of->was_there >= 0) return TUTTI_OK;
    }
    const tutti_status status = fail(error, "the file of the key");
    (void)close(of->folder);
    return status;
}

static tutti_status end(request* of, int is_done, tutti_error* error) {
    const tutti_status status = is_done ? TUTTI_OK : fail(error, "writing the key");
    free(of->old.data);
    (void)close(of->folder);
    return status;
}

static tutti_status set(void* store, const tutti_slice* key, const tutti_slice* to,
                        tutti_error* error) {
    request of;
    const tutti_status status = begin(&of, store, key, error);
    if (status != TUTTI_OK) return status;
    return end(&of, save(of.folder, of.name, to->data, to->size) == 0, error);
}

static tutti_status get(void* store, const tutti_slice* key, int64_t timeout_ms,
                        tutti_give_function give, void* to, tutti_error* error) {
    request of;
    const tutti_status status = begin(&of, store, key, error);
    (void)timeout_ms;
    if (status != TUTTI_OK) return status;
    if (of.was_there) give(to, of.old.data, of.old.size);
    (void)end(&of, 1, error);
    return of.was_there ? TUTTI_OK : TUTTI_ERR_TIMEOUT;
}

static tutti_status add(void* store, const tutti_slice* key, int64_t amount, int64_t* out_sum,
                        tutti_error* error) {
    request of;
    char text[LONGEST_NUMBER], *stop = NULL;
    const tutti_status status = begin(&of, store, key, error);
    if (status != TUTTI_OK) return status;
    errno = 0;
    const intmax_t old = of.was_there ? strtoimax(of.old.data, &stop, 10) : 0;
    if (of.was_there && (errno != 0 || stop == of.old.data || *stop != '\0')) errno = EINVAL;
    if (errno == 0 && __builtin_add_overflow((int64_t)old, amount, out_sum)) errno = ERANGE;
    if (errno != 0) return end(&of, 0, error);
    const int length = snprintf(text, sizeof text, "%" PRId64, *out_sum);
    return end(&of, save(of.folder, of.name, text, (size_t)length) == 0, error);
}

static tutti_status check(void* store, const tutti_slice* keys, size_t count, int32_t* out_all,
                          tutti_error* error) {
    tutti_status status = TUTTI_OK;
    *out_all = 1;
    for (size_t i = 0; i < count && *out_all && status == TUTTI_OK; ++i) {
        request of;
        status = begin(&of, store, &keys[i], error);
        if (status != TUTTI_OK) break;
        *out_all = of.was_there;
        (void)end(&of, 1, error);
    }
    return status;
}

static tutti_status wait_for(void* store, const tutti_slice* keys, size_t count, int64_t timeout_ms,
                             tutti_error* error) {
    int32_t all = 0;
    const tutti_status status = check(store, keys, count, &all, error);
    (void)timeout_ms;
    return status == TUTTI_OK && !all ? TUTTI_ERR_TIMEOUT : status;
}

static tutti_status compare_set(void* store, const tutti_slice* key, const tutti_slice* expected,
                                const tutti_slice* desired, int32_t* out_was_set,
                                tutti_give_function give, void* to, tutti_error* error) {
    request of;
    const tutti_status status = begin(&of, store, key, error);
    if (status != TUTTI_OK) return status;
    *out_was_set =
        of.old.size == expected->size &&
        (expected->size == 0 || memcmp(of.old.data, expected->data, expected->size) == 0);
    if (*out_was_set) {
        if (save(of.folder, of.name, desired->data, desired->size) != 0) return end(&of, 0, error);
        give(to, desired->data, desired->size);
    } else if (of.was_there) {
        give(to, of.old.data, of.old.size);
    }
    return end(&of, 1, error);
}

static tutti_status delete_key(void* store, const tutti_slice* key, int32_t* out_deleted,
                               tutti_error* error) {
    request of;
    const tutti_status status = begin(&of, store, key, error);
    if (status != TUTTI_OK) return status;
    *out_deleted = of.was_there;
    return end(&of, !of.was_there || unlinkat(of.folder, of.name, 0) == 0, error);
}

static tutti_status list_keys(void* store, tutti_give_function give, void* to, tutti_error* error) {
    DIR* const folder = opendir((const char*)store);
    if (folder == NULL) return fail(error, (const char*)store);
    for (struct dirent* file = readdir(folder); file != NULL; file = readdir(folder)) {
        char key[LONGEST_KEY];
        size_t size = 0;
        unsigned byte;
        if (file->d_name[0] != 'k') continue;
        while (size < LONGEST_KEY && sscanf(file->d_name + 1 + 2 * size, "%2x", &byte) == 1) {
            key[size++] = (char)byte;
        }
        give(to, key, size);
    }
    (void)closedir(folder);
    return TUTTI_OK;
}

/* The address is the path of a folder, which is made. */
static tutti_status open_folder(void* user, const char* address, int64_t timeout_ms,
                                void** out_store, tutti_error* error) {
    (void)user, (void)timeout_ms;
    if (mkdir(address, 0700) != 0 && errno != EEXIST) return fail(error, address);
    if ((*out_store = strdup(address)) == NULL) return TUTTI_ERR_OUT_OF_MEMORY;
    return TUTTI_OK;
}

static const tutti_store_table table = {sizeof(tutti_store_table),
                                        TUTTI_EXT_VERSION,
                                        "folder",
                                        NULL,
                                        open_folder,
                                        free,
                                        set,
                                        get,
                                        add,
                                        wait_for,
                                        check,
                                        compare_set,
                                        delete_key,
                                        NULL,
                                        list_keys};

/* "folder:///PATH": the processes meet in that folder, which must not be there, or be empty. */
static tutti_status meet(void* user, tutti_rendezvous* at, tutti_error* error) {
    if (at->parameters[0] != '\0') {
        (void)snprintf(error->message, sizeof error->message,
                       "folder has no parameters, not \"%s\"", at->parameters);
        return TUTTI_ERR_INVALID_ARGUMENT;
    }
    at->store_table = &table;
    return open_folder(user, at->address, at->timeout_ms, &at->opened, error);
}

static const tutti_rendezvous_table scheme = {sizeof(tutti_rendezvous_table), TUTTI_EXT_VERSION,
                                              "folder", NULL, meet};
static const tutti_module module = {sizeof(tutti_module), TUTTI_EXT_VERSION, NULL, &table, &scheme};

TUTTI_API const tutti_module* tutti_module_get(uint32_t host_version);
TUTTI_API const tutti_module* tutti_module_get(uint32_t host_version) {
    (void)host_version;
    return &module;
}
