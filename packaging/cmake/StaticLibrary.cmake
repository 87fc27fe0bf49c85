# Makes a static library of objects and libraries: one object with the names that a version script lists; all others are
# its own, so that they meet nothing of the same name in a program.
#   cmake -Dlinker= -Dobjcopy= -Dar= -Dmap= -Darchive= -Dobjects= -Dlibraries= -P StaticLibrary.cmake
file(STRINGS "${map}" lines REGEX "^ *tutti_[a-z0-9_]+;$")
list(TRANSFORM lines REPLACE "^ *(.+);$" "\\1")
string(REGEX REPLACE "[ ;]+" "\n" names "${lines}")
file(WRITE "${archive}.names" "${names}\n")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
set(whole "${archive}.o")
run("${linker}" -r --force-group-allocation -u tutti_gloo_log -o "${whole}" ${objects} --start-group ${libraries} --end-group)
run("${objcopy}" "--keep-global-symbols=${archive}.names" "${whole}")
file(REMOVE "${archive}")
run("${ar}" rcsD "${archive}" "${whole}")
file(REMOVE "${whole}" "${archive}.names")
