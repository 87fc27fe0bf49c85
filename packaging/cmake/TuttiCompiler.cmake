# The compiler's options for every target of tutti: the interface target tutti_compiler_options.
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
  find_program(TUTTI_LLD ld.lld)  # many programs with the whole engine in each: much faster
  target_link_options(tutti_compiler_options INTERFACE -fsanitize=${sanitizers}
                      $<$<BOOL:${TUTTI_LLD}>:-fuse-ld=lld>
                      # For programs in C: the library they use is C++.
                      $<$<LINK_LANG_AND_ID:C,Clang>:-fsanitize-link-c++-runtime -lstdc++>)
endif()

# tutti_relative_path(variable folder file): the way from a folder to a file, through no links, which lead elsewhere.
function(tutti_relative_path variable folder file)
  file(REAL_PATH "${folder}" folder)
  file(REAL_PATH "${file}" file)
  file(RELATIVE_PATH path "${folder}" "${file}")
  set(${variable} "${path}" PARENT_SCOPE)
endfunction()

# tutti_compile_together(target): the compiler gets one file for at most a dozen sources of a folder.
# Sources that have COMPILE_OPTIONS of their own stay alone. CMake's unity builds name sources by absolute paths, so a
# compiler cache would know them in one folder only; these files name them by relative paths.
function(tutti_compile_together target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(home ${target} SOURCE_DIR)
  set(folders)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${home}" NORMALIZE)
    get_source_file_property(options "${source}" TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
    cmake_path(GET source EXTENSION LAST_ONLY extension)
    if(options OR NOT extension STREQUAL ".cpp")
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET home PARENT_PATH above)
    file(RELATIVE_PATH name "${above}" "${folder}")
    string(MAKE_C_IDENTIFIER "${name}" name)
    list(APPEND folders "${name}")
    list(APPEND sources_of_${name} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(together "${CMAKE_CURRENT_BINARY_DIR}/${target}_together")
  file(MAKE_DIRECTORY "${together}")
  foreach(name IN LISTS folders)
    list(LENGTH sources_of_${name} count)
    math(EXPR parts "(${count} + 11) / 12")
    foreach(part RANGE 1 ${parts})
      math(EXPR first "(${part} - 1) * ${count} / ${parts}")
      math(EXPR most "${part} * ${count} / ${parts} - ${first}")
      list(SUBLIST sources_of_${name} ${first} ${most} members)
      set(content)
      foreach(source IN LISTS members)
        tutti_relative_path(path "${together}" "${source}")
        string(APPEND content "#include \"${path}\"\n")
        set_source_files_properties("${source}" TARGET_DIRECTORY ${target}
                                    PROPERTIES HEADER_FILE_ONLY TRUE)
      endforeach()
      set(file "${together}/${name}${part}.cpp")
      file(CONFIGURE OUTPUT "${file}" CONTENT "${content}" @ONLY)
      target_sources(${target} PRIVATE "${file}")
    endforeach()
  endforeach()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # what it includes is no header
  endif()
endfunction()
