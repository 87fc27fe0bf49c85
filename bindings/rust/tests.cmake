# The tests of the Rust binding: cargo's own tests, its documentation, what must not compile,
# the raw layer against the headers, and programs of several ranks.
add_custom_target(
  rust_tests ALL
  COMMAND ${cargo} test --quiet --no-run --jobs 2 --manifest-path "${crate}/Cargo.toml"
  USES_TERMINAL
  COMMENT "Rust: the tests")
add_dependencies(rust_tests rust_programs)

tutti_coverage(rust "${crate}/sys/src/lib.rs" "${crate}/src")
add_test(NAME rust_cargo_test
         COMMAND ${cargo} test --jobs 2 --manifest-path "${crate}/Cargo.toml")
tutti_on_devices(rust ${cargo} test --test devices --manifest-path "${crate}/Cargo.toml")
set_tests_properties(rust_cargo_test PROPERTIES TIMEOUT 600 LABELS bindings)
set_tests_properties(rust_cargo_test rust_on_devices PROPERTIES RESOURCE_LOCK cargo)
if(TUTTI_LONG_TESTS)
  add_test(NAME rust_doc
           COMMAND "${CMAKE_COMMAND}" -E env "RUSTDOCFLAGS=-D warnings" ${cargo} doc --no-deps
                   --jobs 2 --manifest-path "${crate}/Cargo.toml")
  add_test(NAME rust_must_not_compile
           COMMAND "${TUTTI_PYTHON}" -B
                   "${CMAKE_CURRENT_SOURCE_DIR}/tests/must_not_compile.py" "${crate}"
                   "${CMAKE_CURRENT_BINARY_DIR}/target")
  set_tests_properties(rust_doc rust_must_not_compile PROPERTIES TIMEOUT 600 LABELS bindings)
  set_tests_properties(rust_doc PROPERTIES RESOURCE_LOCK cargo)
endif()

# rust_ranks_test(NAME RANKS LINE PROGRAM...): each rank prints a line like this one.
function(rust_ranks_test name ranks line)
  add_test(NAME ${name} COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/tests/ranks" ${ranks} "${line}"
                                "$<TARGET_FILE:tuttirun>" ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS bindings)
endfunction()

foreach(ranks IN ITEMS 1 2 5)
  rust_ranks_test(rust_world_${ranks} ${ranks} "rust rank R of N: ok"
                  "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/rust_world")
endforeach()
rust_ranks_test(rust_bench 2 "" "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/rust_bench" --short)
