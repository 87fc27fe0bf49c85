/* tutti.raw.Callbacks: the functions that C calls, each of which calls the Java method of its name.
 * A thread of the library is attached to the virtual machine as a daemon when it first calls, and
 * leaves it when it ends. */
#include <pthread.h>
#include <stdint.h>

#include <tutti/tutti.h>

#include "tutti_raw_Callbacks.h"

static JavaVM* machine;
static jclass callbacks;
static jmethodID done_method, reduce_method, all_gather_method, hook_method, log_method, release_method,
    operation_method;
static pthread_key_t attached;

static void detach(void* env) {
    (void)env;
    (*machine)->DetachCurrentThread(machine);
}

/* The environment of the calling thread; NULL if the machine takes no more threads. */
static JNIEnv* environment(void) {
    JNIEnv* env = NULL;
    if ((*machine)->GetEnv(machine, (void**)&env, JNI_VERSION_10) == JNI_OK) return env;
    JavaVMAttachArgs arguments = {JNI_VERSION_10, "tutti", NULL};
    if ((*machine)->AttachCurrentThreadAsDaemon(machine, (void**)&env, &arguments) != JNI_OK)
        return NULL;
    pthread_setspecific(attached, env);
    return env;
}

/* The Java methods throw nothing but when the machine itself fails. */
static tutti_status result_of(JNIEnv* env, jint status) {
    if (!(*env)->ExceptionCheck(env)) return status;
    (*env)->ExceptionDescribe(env);
    (*env)->ExceptionClear(env);
    return TUTTI_ERR_BACKEND;
}

static void done(const tutti_error* result, void* user) {
    (void)result;
    JNIEnv* env = environment();
    if (!env) return;
    (*env)->CallStaticVoidMethod(env, callbacks, done_method, (jlong)(intptr_t)user);
    result_of(env, 0);
}

static tutti_status reduce(const void* in, void* inout, int64_t count, tutti_dtype dtype,
                           void* user, tutti_error* error) {
    JNIEnv* env = environment();
    if (!env) return TUTTI_ERR_BACKEND;
    jint status = (*env)->CallStaticIntMethod(
        env, callbacks, reduce_method, (jlong)(intptr_t)user, (jlong)(intptr_t)in,
        (jlong)(intptr_t)inout, (jlong)count, (jint)dtype, (jlong)(intptr_t)error);
    return result_of(env, status);
}

static tutti_status all_gather(const void* input, void* output, size_t size, void* user,
                               tutti_error* error) {
    JNIEnv* env = environment();
    if (!env) return TUTTI_ERR_BACKEND;
    jint status = (*env)->CallStaticIntMethod(
        env, callbacks, all_gather_method, (jlong)(intptr_t)user, (jlong)(intptr_t)input,
        (jlong)(intptr_t)output, (jlong)size, (jlong)(intptr_t)error);
    return result_of(env, status);
}

static tutti_status hook(tutti_group* group, const tutti_bucket* bucket, void* user,
                         tutti_error* error) {
    JNIEnv* env = environment();
    if (!env) return TUTTI_ERR_BACKEND;
    jint status = (*env)->CallStaticIntMethod(
        env, callbacks, hook_method, (jlong)(intptr_t)user, (jlong)(intptr_t)group,
        (jlong)(intptr_t)bucket, (jlong)(intptr_t)error);
    return result_of(env, status);
}

static void log_line(tutti_log_level level, const char* message, void* user) {
    JNIEnv* env = environment();
    if (!env) return;
    (*env)->CallStaticVoidMethod(env, callbacks, log_method, (jlong)(intptr_t)user, (jint)level,
                                 (jlong)(intptr_t)message);
    result_of(env, 0);
}

/* `what` is the number of the hook in tutti.raw.Callbacks. */
static void on_operation(int what, const tutti_operation* operation, const tutti_error* why,
                         void* user) {
    JNIEnv* env = environment();
    if (!env) return;
    (*env)->CallStaticVoidMethod(env, callbacks, operation_method, (jlong)(intptr_t)user,
                                 (jint)what, (jlong)(intptr_t)operation, (jlong)(intptr_t)why);
    result_of(env, 0);
}

static void before(const tutti_operation* operation, void* user) {
    on_operation(0, operation, NULL, user);
}

static void after(const tutti_operation* operation, void* user) {
    on_operation(1, operation, NULL, user);
}

static void aborted(const tutti_operation* operation, const tutti_error* why, void* user) {
    on_operation(2, operation, why, user);
}

/* The registered function is not needed any more: C can no longer call it, or is done with it. */
static void release(void* user) {
    JNIEnv* env = environment();
    if (!env) return;
    (*env)->CallStaticVoidMethod(env, callbacks, release_method, (jlong)(intptr_t)user);
    result_of(env, 0);
}

JNIEXPORT jint JNICALL Java_tutti_raw_Callbacks_bind(JNIEnv* env, jclass type) {
    callbacks = (*env)->NewGlobalRef(env, type);
    if (!callbacks || (*env)->GetJavaVM(env, &machine) != JNI_OK) return -1;
    done_method = (*env)->GetStaticMethodID(env, type, "done", "(J)V");
    if (!done_method) return -1;
    reduce_method = (*env)->GetStaticMethodID(env, type, "reduce", "(JJJJIJ)I");
    if (!reduce_method) return -1;
    all_gather_method = (*env)->GetStaticMethodID(env, type, "allGather", "(JJJJJ)I");
    if (!all_gather_method) return -1;
    hook_method = (*env)->GetStaticMethodID(env, type, "hook", "(JJJJ)I");
    if (!hook_method) return -1;
    log_method = (*env)->GetStaticMethodID(env, type, "log", "(JIJ)V");
    if (!log_method) return -1;
    operation_method = (*env)->GetStaticMethodID(env, type, "operation", "(JIJJ)V");
    if (!operation_method) return -1;
    release_method = (*env)->GetStaticMethodID(env, type, "remove", "(J)V");
    if (!release_method) return -1;
    return pthread_key_create(&attached, detach);
}

JNIEXPORT jlong JNICALL Java_tutti_raw_Callbacks_doneFunction(JNIEnv* env, jclass type) {
    (void)env;
    (void)type;
    return (jlong)(intptr_t)done;
}

JNIEXPORT jlong JNICALL Java_tutti_raw_Callbacks_reduceFunction(JNIEnv* env, jclass type) {
    (void)env;
    (void)type;
    return (jlong)(intptr_t)reduce;
}

JNIEXPORT jlong JNICALL Java_tutti_raw_Callbacks_allGatherFunction(JNIEnv* env, jclass type) {
    (void)env;
    (void)type;
    return (jlong)(intptr_t)all_gather;
}

JNIEXPORT jlong JNICALL Java_tutti_raw_Callbacks_hookFunction(JNIEnv* env, jclass type) {
    (void)env;
    (void)type;
    return (jlong)(intptr_t)hook;
}

JNIEXPORT jlong JNICALL Java_tutti_raw_Callbacks_logFunction(JNIEnv* env, jclass type) {
    (void)env;
    (void)type;
    return (jlong)(intptr_t)log_line;
}

JNIEXPORT jlong JNICALL Java_tutti_raw_Callbacks_releaseFunction(JNIEnv* env, jclass type) {
    (void)env;
    (void)type;
    return (jlong)(intptr_t)release;
}

JNIEXPORT jlong JNICALL Java_tutti_raw_Callbacks_beforeFunction(JNIEnv* env, jclass type) {
    (void)env;
    (void)type;
    return (jlong)(intptr_t)before;
}

JNIEXPORT jlong JNICALL Java_tutti_raw_Callbacks_afterFunction(JNIEnv* env, jclass type) {
    (void)env;
    (void)type;
    return (jlong)(intptr_t)after;
}

JNIEXPORT jlong JNICALL Java_tutti_raw_Callbacks_abortedFunction(JNIEnv* env, jclass type) {
    (void)env;
    (void)type;
    return (jlong)(intptr_t)aborted;
}
