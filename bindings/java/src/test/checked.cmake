# Runs the tests under -Xcheck:jni, which prints what it finds and goes on: any finding fails.
#     cmake -D java=JAVA -D class_path=PATH -D "console=ARGUMENT|..." -P checked.cmake
string(REPLACE "|" ";" console "${console}")
execute_process(COMMAND "${java}" -ea -Xcheck:jni -cp "${class_path}" ${console}
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(output MATCHES "WARNING[^\n]*JNI|WARNING in native|FATAL ERROR in native")
  message(FATAL_ERROR "-Xcheck:jni found: ${CMAKE_MATCH_0}")
endif()
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the tests ended with ${result}")
endif()
