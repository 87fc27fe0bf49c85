/* libtutti_julia: what stands between threads of tutti and Julia, whose code runs on Julia's own
 * threads alone. A thread that has something to tell leaves it here and wakes Julia's event loop
 * by uv_async_send; Julia takes what is there, one event at a time (src/events.jl). A thread that
 * needs an answer waits for it. And calls of tutti that may block are made on threads from here,
 * so that Julia's tasks go on meanwhile.
 * Nothing in here knows Julia's data: it sees numbers that Julia gave, and C memory. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

#define API __attribute__((visibility("default")))

enum { WORK_DONE = 1, CALL_RETURNED = 2, LOG_LINE = 3, REDUCE = 4, ALLGATHER = 5, HOOK = 6, OPERATION = 7 };
enum { MAX_WORDS = 12 };

/* Julia reads this; as the struct of this name in src/events.jl. */
struct event {
    uint32_t kind;
    int32_t number;    /* the status; of LOG_LINE: the level; of REDUCE: the dtype; of OPERATION:
                          which hook */
    uint64_t id;       /* what Julia gave */
    const void* input; /* WORK_DONE: the failure, LOG_LINE: the text, OPERATION: a copy; Julia frees
                          them */
    void* output;      /* OPERATION: a copy of the failure, which Julia frees */
    int64_t count;
    struct post* answer; /* REDUCE, ALLGATHER, HOOK: where the answer goes */
};

struct post {
    struct event event;
    struct post* next;
    tutti_status status;
    tutti_error* error; /* receives the text of a failure */
    int answered;
};

struct call {
    struct post post; /* first: freed as a post */
    void* function;
    uintptr_t words[MAX_WORDS];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answers = PTHREAD_COND_INITIALIZER;
static struct post *first, *last; /* guarded by mutex, as all of these */
static int (*wake)(void*);
static void* loop_handle;

/* Leaves a post; 0 if Julia has ended, and nobody will take it. With the mutex held. */
static int leave(struct post* post) {
    if (!wake) return 0;
    post->next = NULL;
    if (last) {
        last->next = post;
    } else {
        first = post;
    }
    last = post;
    wake(loop_handle);
    return 1;
}

static void leave_or_free(struct post* post) {
    pthread_mutex_lock(&mutex);
    int left = leave(post);
    pthread_mutex_unlock(&mutex);
    if (!left) free(post);
}

/* Leaves a question and waits for what Julia answers. */
static tutti_status ask(struct event event, tutti_error* error) {
    struct post post = {.event = event, .status = TUTTI_ERR_ABORTED, .error = error};
    post.event.answer = &post;
    pthread_mutex_lock(&mutex);
    if (leave(&post)) {
        while (!post.answered) pthread_cond_wait(&answers, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    return post.status;
}

/* From now on `send(handle)`, which is uv_async_send, tells Julia that there is something. */
API void tutti_julia_start(int (*send)(void*), void* handle) {
    pthread_mutex_lock(&mutex);
    wake = send;
    loop_handle = handle;
    pthread_mutex_unlock(&mutex);
}

/* Julia ends: nobody is told anything any more, and who waits for an answer goes on without. */
API void tutti_julia_stop(void) {
    pthread_mutex_lock(&mutex);
    wake = NULL;
    while (first) {
        struct post* post = first;
        first = post->next;
        if (post->event.answer) {
            post->answered = 1;
        } else {
            free(post);
        }
    }
    last = NULL;
    pthread_cond_broadcast(&answers);
    pthread_mutex_unlock(&mutex);
}

/* Takes the next event; 0 if there is none. */
API int32_t tutti_julia_take(struct event* out) {
    pthread_mutex_lock(&mutex);
    struct post* post = first;
    if (post) {
        first = post->next;
        if (!first) last = NULL;
        *out = post->event;
    }
    pthread_mutex_unlock(&mutex);
    if (post && !post->event.answer) free(post);
    return post != NULL;
}

API void tutti_julia_answer(struct post* post, tutti_status status, const char* text) {
    pthread_mutex_lock(&mutex);
    post->status = status;
    if (status && post->error)
        snprintf(post->error->message, sizeof post->error->message, "%s", text);
    post->answered = 1;
    pthread_cond_broadcast(&answers);
    pthread_mutex_unlock(&mutex);
}

static void work_done(const tutti_error* result, void* user) {
    struct post* post = user;
    post->event.number = result->status;
    if (result->status) {
        tutti_error* copy = malloc(sizeof *copy);
        if (copy) *copy = *result;
        post->event.input = copy;
    }
    leave_or_free(post);
}

/* Julia will be told of the end of a work. */
API tutti_status tutti_julia_expect(tutti_work* work, uint64_t id, tutti_error* error) {
    struct post* post = calloc(1, sizeof *post);
    if (!post) return TUTTI_ERR_OUT_OF_MEMORY;
    post->event.kind = WORK_DONE;
    post->event.id = id;
    tutti_status status = tutti_work_then(work, work_done, post, NULL, error);
    if (status) free(post);
    return status;
}

/* A tutti_log_callback. */
API void tutti_julia_log(tutti_log_level level, const char* message, void* user) {
    struct post* post = calloc(1, sizeof *post);
    char* text = strdup(message);
    if (!post || !text) {
        free(post);
        free(text);
        return;
    }
    post->event = (struct event){
        .kind = LOG_LINE, .number = (int32_t)level, .id = (uintptr_t)user, .input = text};
    leave_or_free(post);
}

/* Puts a text where there is room for it, which then begins behind it. */
static const char* put_text(char** room, const char* text) {
    char* copy = *room;
    size_t size = strlen(text) + 1;
    memcpy(copy, text, size);
    *room += size;
    return copy;
}

static const tutti_buffer* put_buffers(tutti_buffer** room, const tutti_buffer* buffers,
                                       int64_t count) {
    tutti_buffer* copy = *room;
    if (count) memcpy(copy, buffers, (size_t)count * sizeof *copy);
    *room += count;
    return copy;
}

/* An operation with its lists and texts, in one block; NULL if there is no memory. */
static tutti_operation* copy_of(const tutti_operation* operation) {
    size_t buffers =
        (size_t)(operation->input_count + operation->output_count) * sizeof(tutti_buffer);
    size_t texts = strlen(operation->name) + strlen(operation->group_name) +
                   strlen(operation->tag_name) + 3;
    tutti_operation* copy = malloc(sizeof *copy + buffers + texts);
    if (!copy) return NULL;
    tutti_buffer* lists = (tutti_buffer*)(copy + 1);
    *copy = *operation;
    copy->inputs = put_buffers(&lists, operation->inputs, operation->input_count);
    copy->outputs = put_buffers(&lists, operation->outputs, operation->output_count);
    char* room = (char*)lists;
    copy->name = put_text(&room, operation->name);
    copy->group_name = put_text(&room, operation->group_name);
    copy->tag_name = put_text(&room, operation->tag_name);
    return copy;
}

/* Leaves what a hook hears. Nobody waits for Julia: the thread may be Julia's own. */
static void leave_operation(int32_t number, const tutti_operation* operation,
                            const tutti_error* why, void* user) {
    struct post* post = calloc(1, sizeof *post);
    tutti_operation* copy = copy_of(operation);
    tutti_error* failure = why ? malloc(sizeof *failure) : NULL;
    if (!post || !copy || (why && !failure)) {
        free(post);
        free(copy);
        free(failure);
        return;
    }
    if (why) *failure = *why;
    post->event = (struct event){.kind = OPERATION,
                                 .number = number,
                                 .id = (uintptr_t)user,
                                 .input = copy,
                                 .output = failure};
    leave_or_free(post);
}

/* A tutti_operation_hook, as the next one. */
API void tutti_julia_before(const tutti_operation* operation, void* user) {
    leave_operation(0, operation, NULL, user);
}

API void tutti_julia_after(const tutti_operation* operation, void* user) {
    leave_operation(1, operation, NULL, user);
}

/* A tutti_abort_hook. */
API void tutti_julia_aborted(const tutti_operation* operation, const tutti_error* why,
                             void* user) {
    leave_operation(2, operation, why, user);
}

/* A tutti_reduce_function. */
API tutti_status tutti_julia_reduce(const void* in, void* inout, int64_t count, tutti_dtype dtype,
                                    void* user, tutti_error* error) {
    return ask((struct event){.kind = REDUCE,
                              .number = (int32_t)dtype,
                              .id = (uintptr_t)user,
                              .input = in,
                              .output = inout,
                              .count = count},
               error);
}

/* A tutti_allgather_callback. */
API tutti_status tutti_julia_allgather(const void* input, void* output, size_t size, void* user,
                                       tutti_error* error) {
    return ask((struct event){.kind = ALLGATHER,
                              .id = (uintptr_t)user,
                              .input = input,
                              .output = output,
                              .count = (int64_t)size},
               error);
}

/* A tutti_bucket_hook; Julia takes the bucket's address as the input's. */
API tutti_status tutti_julia_hook(tutti_group* group, const tutti_bucket* bucket, void* user,
                                  tutti_error* error) {
    return ask((struct event){.kind = HOOK, .id = (uintptr_t)user, .input = bucket, .output = group},
               error);
}

/* Calls a function of the C API with words as arguments. Platforms pass integers and pointers
 * alike, each in a register or in 8 bytes of the stack, and a callee leaves alone what it was
 * given too much; so one type stands for all. */
static tutti_status invoke(void* function, const uintptr_t* w) {
    typedef tutti_status (*any)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
    any call;
    memcpy(&call, &function, sizeof call);
    return call(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11]);
}

static void* run_call(void* memory) {
    struct call* call = memory;
    call->post.event.number = invoke(call->function, call->words);
    leave_or_free(&call->post);
    return NULL;
}

/* Calls a function on a thread of its own; Julia is told of its end. 0, or an errno. */
API int32_t tutti_julia_call(void* function, const uintptr_t* words, size_t count, uint64_t id) {
    struct call* call = calloc(1, sizeof *call);
    if (!call || count > MAX_WORDS) {
        free(call);
        return ENOMEM;
    }
    call->post.event.kind = CALL_RETURNED;
    call->post.event.id = id;
    call->function = function;
    memcpy(call->words, words, count * sizeof *words);

    /* Signals are for Julia's threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int failed = pthread_create(&thread, &detached, run_call, call);
    pthread_attr_destroy(&detached);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) free(call);
    return failed;
}
