/* An unwinder of the host's own, as libunwind is one in Julia. It is libgcc's, in a library of
 * another name, where CMakeLists.txt calls its functions own_... What only the unwinder at work may
 * be asked ends the process if it is asked while another one works. */
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

#define API __attribute__((visibility("default")))

typedef struct _Unwind_Context context;
typedef struct _Unwind_Exception exception;

static __thread int at_work;

static void must_be_at_work(const char* name) {
    if (at_work) return;
    fprintf(stderr, "other_unwinder: %s is asked while another unwinder works\n", name);
    abort();
}

/* WORKS(NAME, PARAMETERS, ARGUMENTS): comes back only if nobody caught. */
#define WORKS(name, parameters, arguments)              \
    extern _Unwind_Reason_Code own##name parameters;    \
    API _Unwind_Reason_Code name parameters {           \
        at_work = 1;                                    \
        _Unwind_Reason_Code code = own##name arguments; \
        at_work = 0;                                    \
        return code;                                    \
    }
WORKS(_Unwind_RaiseException, (exception * e), (e))
WORKS(_Unwind_Resume_or_Rethrow, (exception * e), (e))
WORKS(_Unwind_ForcedUnwind, (exception * e, _Unwind_Stop_Fn stop, void* argument),
      (e, stop, argument))

extern void own_Unwind_Resume(exception* e);
API void _Unwind_Resume(exception* e) {
    at_work = 1;
    own_Unwind_Resume(e);
    abort();
}

/* ANSWERS(RESULT, NAME, PARAMETERS, ARGUMENTS): a question of a personality function. */
#define ANSWERS(result, name, parameters, arguments) \
    extern result own##name parameters;              \
    API result name parameters {                     \
        must_be_at_work(#name);                      \
        return own##name arguments;                  \
    }
ANSWERS(_Unwind_Word, _Unwind_GetGR, (context * c, int i), (c, i))
ANSWERS(_Unwind_Ptr, _Unwind_GetIP, (context * c), (c))
ANSWERS(_Unwind_Ptr, _Unwind_GetIPInfo, (context * c, int* before), (c, before))
ANSWERS(_Unwind_Word, _Unwind_GetCFA, (context * c), (c))
ANSWERS(void*, _Unwind_GetLanguageSpecificData, (context * c), (c))
ANSWERS(_Unwind_Ptr, _Unwind_GetRegionStart, (context * c), (c))
ANSWERS(_Unwind_Ptr, _Unwind_GetDataRelBase, (context * c), (c))
ANSWERS(_Unwind_Ptr, _Unwind_GetTextRelBase, (context * c), (c))

extern void own_Unwind_SetGR(context* c, int i, _Unwind_Word value);
API void _Unwind_SetGR(context* c, int i, _Unwind_Word value) {
    must_be_at_work("_Unwind_SetGR");
    own_Unwind_SetGR(c, i, value);
}

/* The last question before the frame goes on, and the work is done. */
extern void own_Unwind_SetIP(context* c, _Unwind_Ptr value);
API void _Unwind_SetIP(context* c, _Unwind_Ptr value) {
    must_be_at_work("_Unwind_SetIP");
    own_Unwind_SetIP(c, value);
    at_work = 0;
}

extern void own_Unwind_DeleteException(exception* e);
API void _Unwind_DeleteException(exception* e) {
    own_Unwind_DeleteException(e);
}
