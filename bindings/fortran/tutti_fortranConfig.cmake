# tutti::tutti_fortran: the Fortran module tutti and its library.
include(CMakeFindDependencyMacro)
find_dependency(tutti HINTS "${CMAKE_CURRENT_LIST_DIR}/../tutti")
include("${CMAKE_CURRENT_LIST_DIR}/tutti_fortranTargets.cmake")
