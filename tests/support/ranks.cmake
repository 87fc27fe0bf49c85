# tutti_ranks: ranks as threads, and the results that they should have. C on public headers; it takes no test framework.
include_guard(GLOBAL)
add_library(tutti_ranks STATIC "${PROJECT_SOURCE_DIR}/tests/support/ranks.c"
            "${PROJECT_SOURCE_DIR}/tests/support/elements.c"
            "${PROJECT_SOURCE_DIR}/tests/support/exact.c"
            "${PROJECT_SOURCE_DIR}/tests/support/reference.c")
if(TUTTI_SANITIZE)  # it works out what is expected, by whole numbers of two thousand bits
  set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/support/exact.c" PROPERTIES
                              COMPILE_OPTIONS -fno-sanitize=all)
endif()
target_include_directories(tutti_ranks PUBLIC "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(tutti_ranks PUBLIC tutti::tutti tutti_compiler_options Threads::Threads)
# For pthread.h, mkdtemp and others that C99 alone does not show.
target_compile_definitions(tutti_ranks PUBLIC $<$<COMPILE_LANGUAGE:C>:_XOPEN_SOURCE=700>)
