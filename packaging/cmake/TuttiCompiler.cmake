# What every target of tutti is compiled with: the interface target tutti_compiler_options.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(TUTTI_CCACHE ccache)
if(TUTTI_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${TUTTI_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TUTTI_CCACHE}")
endif()

add_library(tutti_compiler_options INTERFACE)
target_compile_options(tutti_compiler_options INTERFACE -Wall -Wextra -Wshadow -Wconversion
                       -Wno-sign-conversion $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>
                       # g++ 12 sees overlaps in the library's own string code that are not there.
                       $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
                       -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(TUTTI_WARNINGS_AS_ERRORS)
  target_compile_options(tutti_compiler_options INTERFACE -Werror)
endif()
if(TUTTI_SANITIZE)
  list(JOIN TUTTI_SANITIZE "," sanitizers)
  target_compile_options(tutti_compiler_options INTERFACE -fsanitize=${sanitizers}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tutti_compiler_options INTERFACE -fsanitize=${sanitizers}
                      # For programs in C: the library they use is C++.
                      $<$<LINK_LANG_AND_ID:C,Clang>:-fsanitize-link-c++-runtime -lstdc++>)
endif()

# tutti_compile_together(target PROPERTY VALUE...): CMake's unity build, as these properties say.
function(tutti_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # what it includes is no header
  endif()
endfunction()
