# The tests of the Java binding, by JUnit 5; with TUTTI_LONG_TESTS also under the checks of
# -Xcheck:jni, by Maven, and their comments by javadoc.
set(junit_folder /usr/share/java)
set(junit_jars junit-jupiter-api junit-jupiter-engine junit-jupiter-params junit-platform-commons
    junit-platform-console junit-platform-engine junit-platform-launcher junit-platform-reporting
    opentest4j apiguardian-api picocli)
list(TRANSFORM junit_jars REPLACE "(.+)" "${junit_folder}/\\1.jar")
foreach(junit_jar IN LISTS junit_jars)
  if(NOT EXISTS "${junit_jar}")
    tutti_language_is_missing(java "${junit_jar}")
    return()
  endif()
endforeach()
list(JOIN junit_jars ":" junit)

set(test_classes "${CMAKE_CURRENT_BINARY_DIR}/test-classes")
add_custom_command(
  OUTPUT "${test_classes}.stamp"
  COMMAND "${CMAKE_COMMAND}" -E rm -rf "${test_classes}"
  COMMAND "${Java_JAVAC_EXECUTABLE}" ${javac_options} -Xlint:-path --release 17 -d "${test_classes}"
          -cp "${jar}:${junit}" ${test_sources}
  COMMAND "${CMAKE_COMMAND}" -E touch "${test_classes}.stamp"
  DEPENDS ${test_sources} "${jar}" VERBATIM)
add_custom_target(tutti_java_tests ALL DEPENDS "${test_classes}.stamp")
add_dependencies(tutti_java_tests tutti_java_jar)

# Programs of ranks: World, of the group of all languages, and Bench.
set(programs "${CMAKE_CURRENT_BINARY_DIR}/programs")
add_custom_command(
  OUTPUT "${programs}.stamp"
  COMMAND "${Java_JAVAC_EXECUTABLE}" ${javac_options} --release 17 -d "${programs}" -cp "${jar}"
          "${CMAKE_CURRENT_SOURCE_DIR}/World.java" "${CMAKE_CURRENT_SOURCE_DIR}/Bench.java"
  COMMAND "${CMAKE_COMMAND}" -E touch "${programs}.stamp"
  DEPENDS World.java Bench.java "${jar}" VERBATIM)
add_custom_target(tutti_java_programs ALL DEPENDS "${programs}.stamp")
add_dependencies(tutti_java_programs tutti_java_jar)

# java_test(NAME TIMEOUT COMMAND...)
function(java_test name timeout)
  add_test(NAME java_${name} COMMAND ${ARGN})
  # Names of files are tried that are not ASCII, which Java writes by the locale.
  set_tests_properties(java_${name} PROPERTIES LABELS bindings TIMEOUT ${timeout} ENVIRONMENT LC_ALL=C.UTF-8)
endfunction()

set(class_path "${jar}:${test_classes}:${junit}")
set(console org.junit.platform.console.ConsoleLauncher --disable-banner --disable-ansi-colors
    --details=summary --fail-if-no-tests --scan-class-path "${test_classes}")
string(REPLACE ";" "|" one_argument "${console}")
java_test(unit 600 "${Java_JAVA_EXECUTABLE}" -ea -cp "${class_path}" ${console})
if(TUTTI_LONG_TESTS)
  java_test(unit_checked 900 "${CMAKE_COMMAND}" -D "java=${Java_JAVA_EXECUTABLE}"
            -D "class_path=${class_path}" -D "console=${one_argument}"
            -P "${CMAKE_CURRENT_SOURCE_DIR}/src/test/checked.cmake")

  # The Maven project builds and passes, offline, with Debian's plugins.
  find_program(TUTTI_MAVEN mvn)
  set(maven_repository /usr/share/maven-repo)
  if(TUTTI_MAVEN AND EXISTS "${maven_repository}/org/apache/maven/plugins/maven-jar-plugin")
    java_test(maven 600 "${CMAKE_COMMAND}" -E chdir "${maven}" "${TUTTI_MAVEN}" -q -o -B
              "-Dmaven.repo.local=${maven_repository}" package)
  else()
    java_test(maven 60 sh -c "echo 'skipped: there is no Maven of Debian here'; exit 77")
    set_tests_properties(java_maven PROPERTIES SKIP_RETURN_CODE 77)
  endif()

  # The comments are sound: links lead somewhere, tags name what is there.
  java_test(javadoc 120 "${Java_JAVADOC_EXECUTABLE}" -quiet -Xdoclint:all,-missing -Werror
            -encoding UTF-8 -d "${CMAKE_CURRENT_BINARY_DIR}/javadoc" -exclude tutti.raw
            -sourcepath "${CMAKE_CURRENT_SOURCE_DIR}/src/main/java:${raw}" -subpackages tutti)
else()
  set_property(TEST java_unit APPEND PROPERTY ENVIRONMENT TUTTI_STORM=10000)
endif()

tutti_on_devices(java "${Java_JAVA_EXECUTABLE}" -ea -cp "${class_path}" org.junit.platform.console.ConsoleLauncher
                 --disable-banner --details=summary --fail-if-no-tests --select-class tutti.DeviceTest)

# The raw layer is what the headers are.
java_test(raw_layer 60 "${TUTTI_PYTHON}" -B
          "${CMAKE_CURRENT_SOURCE_DIR}/src/test/python/raw_layer.py" "${raw}/tutti/raw"
          "${TUTTI_TREE}" "${PROJECT_SOURCE_DIR}/include" "${TUTTI_GENERATOR}")
tutti_coverage(java "${raw}/tutti/raw/Raw.java" "${CMAKE_CURRENT_SOURCE_DIR}/src/main/java/tutti")

java_test(readme 120 "${TUTTI_PYTHON}" -B
          "${TUTTI_GENERATOR}/readme.py" java "${CMAKE_CURRENT_SOURCE_DIR}/README.md"
          "${PROJECT_SOURCE_DIR}/examples/java/AllReduce.java"
          "${Java_JAVAC_EXECUTABLE}" "${jar}")

if(NOT TARGET tuttirun)
  return()
endif()
foreach(ranks IN ITEMS 1 2 5)
  java_test(world_${ranks} 120 tuttirun --nproc-per-node ${ranks}
            "${Java_JAVA_EXECUTABLE}" -Xcheck:jni -cp "${jar}:${programs}" World)
  string(REPEAT "java rank [0-9] of ${ranks}: ok.*" ${ranks} every_rank)
  set_tests_properties(java_world_${ranks} PROPERTIES PASS_REGULAR_EXPRESSION "${every_rank}"
                       FAIL_REGULAR_EXPRESSION "WARNING")
endforeach()
