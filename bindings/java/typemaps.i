// How Java passes what C passes: one Java parameter for each C parameter, and nothing is converted
// on the way. Pointers are addresses (long), numbers keep their 32 or 64 bits, also unsigned ones.
// The layer written by hand lays strings, structs and lists out in native memory (tutti.Arena).

%define ADDRESS_TYPEMAPS(TYPE)
%typemap(jni) TYPE "jlong"
%typemap(jtype) TYPE "long"
%typemap(jstype) TYPE "long"
%typemap(javain) TYPE "$javainput"
%typemap(javaout) TYPE { return $jnicall; }
%typemap(in) TYPE %{ $1 = ($1_ltype)(intptr_t)$input; %}
%typemap(out) TYPE %{ $result = (jlong)(intptr_t)$1; %}
%typemap(constcode) TYPE %{ $result = (jlong)(intptr_t)$value; %}
%typemap(freearg) TYPE ""
%typemap(argout) TYPE ""
%enddef

%define NUMBER_TYPEMAPS(TYPE, JNI, JAVA)
%typemap(jni) TYPE #JNI
%typemap(jtype) TYPE #JAVA
%typemap(jstype) TYPE #JAVA
%typemap(javain) TYPE "$javainput"
%typemap(javaout) TYPE { return $jnicall; }
%typemap(in) TYPE %{ $1 = ($1_ltype)$input; %}
%typemap(out) TYPE %{ $result = (JNI)$1; %}
%enddef

ADDRESS_TYPEMAPS(SWIGTYPE *)
ADDRESS_TYPEMAPS(char *)
ADDRESS_TYPEMAPS(const char *)
NUMBER_TYPEMAPS(int, jint, int)
NUMBER_TYPEMAPS(unsigned int, jint, int)
NUMBER_TYPEMAPS(long, jlong, long)
NUMBER_TYPEMAPS(unsigned long, jlong, long)

%include <stdint.i>
typedef unsigned long size_t;

// Structs are laid out by hand with the numbers below, so they need no classes.
%ignore tutti_error;
%ignore tutti_bucket;
%ignore tutti_buffer;
%ignore tutti_call_options;
%ignore tutti_coalescing_options;
%ignore tutti_destroy_options;
%ignore tutti_group_options;
%ignore tutti_hooks;
%ignore tutti_memory_options;
%ignore tutti_new_group_options;
%ignore tutti_object_item;
%ignore tutti_object_options;
%ignore tutti_operation;
%ignore tutti_p2p_op;
%ignore tutti_power_sgd_options;
%ignore tutti_reduce_op_options;
%ignore tutti_reducer_options;
%ignore tutti_shrink_options;
%ignore tutti_spawn_options;
%ignore tutti_store_call_options;
%ignore tutti_store_options;
%ignore tutti_tcp_store_options;

%include "java/layout.i"

// Touching the raw layer loads the library.
%pragma(java) jniclasscode=%{
  static {
    Library.load();
  }
%}

%javaconst(1);
