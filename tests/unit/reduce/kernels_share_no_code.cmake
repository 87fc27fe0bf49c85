# Fails if an object of the kernels (OBJECTS) defines a weak symbol: an inline function that the
# linker may put in place of everybody's, with instructions that not every processor has.
if(NOT OBJECTS MATCHES "kernels_baseline")
  message(FATAL_ERROR "no kernels among the objects: ${OBJECTS}")
endif()
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND "${NM}" --defined-only "${object}" OUTPUT_VARIABLE symbols
                  COMMAND_ERROR_IS_FATAL ANY)
  if(NOT symbols MATCHES "kernels_")
    message(FATAL_ERROR "${object} has no table of kernels")
  endif()
  string(REGEX MATCHALL "[0-9a-f]+ [Ww] [^\n]*" shared "${symbols}")
  if(shared)
    message(FATAL_ERROR "${object} shares code: ${shared}")
  endif()
endforeach()
