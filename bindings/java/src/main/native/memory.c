/* tutti.raw.Memory: addresses of direct buffers, and copies between arrays and native memory. */
#include <stdint.h>
#include <string.h>

#include "tutti_raw_Memory.h"

JNIEXPORT jlong JNICALL Java_tutti_raw_Memory_address(JNIEnv* env, jclass type, jobject buffer) {
    (void)type;
    return (jlong)(intptr_t)(*env)->GetDirectBufferAddress(env, buffer);
}

JNIEXPORT jobject JNICALL Java_tutti_raw_Memory_view(JNIEnv* env, jclass type, jlong address,
                                                     jlong bytes) {
    (void)type;
    return (*env)->NewDirectByteBuffer(env, (void*)(intptr_t)address, bytes);
}

JNIEXPORT void JNICALL Java_tutti_raw_Memory_copy(JNIEnv* env, jclass type, jlong from, jlong to,
                                                  jlong bytes) {
    (void)env;
    (void)type;
    memmove((void*)(intptr_t)to, (const void*)(intptr_t)from, (size_t)bytes);
}

JNIEXPORT void JNICALL Java_tutti_raw_Memory_get(JNIEnv* env, jclass type, jlong from,
                                                 jbyteArray to, jint offset, jint length) {
    (void)type;
    (*env)->SetByteArrayRegion(env, to, offset, length, (const jbyte*)(intptr_t)from);
}

JNIEXPORT void JNICALL Java_tutti_raw_Memory_put(JNIEnv* env, jclass type, jbyteArray from,
                                                 jint offset, jint length, jlong to) {
    (void)type;
    (*env)->GetByteArrayRegion(env, from, offset, length, (jbyte*)(intptr_t)to);
}

JNIEXPORT jlong JNICALL Java_tutti_raw_Memory_length(JNIEnv* env, jclass type, jlong text) {
    (void)env;
    (void)type;
    return (jlong)strlen((const char*)(intptr_t)text);
}
