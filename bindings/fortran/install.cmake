# The installed files: the library, its modules, what pkg-config and CMake need to find them.
include(CMakePackageConfigHelpers)
# Programs that know where this library is need not know where libtutti.so is.
set_target_properties(tutti_fortran PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS tutti_fortran EXPORT tutti_fortran
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT fortran)
install(DIRECTORY "${modules}/" DESTINATION "${modules_folder}" COMPONENT fortran
        FILES_MATCHING PATTERN "*.mod")

tutti_install_pc(tutti-fortran.pc fortran libdir "${CMAKE_INSTALL_LIBDIR}" moduledir "${modules_folder}")

# find_package(tutti_fortran) brings tutti::tutti_fortran.
set(config "${CMAKE_INSTALL_LIBDIR}/cmake/tutti_fortran")
install(EXPORT tutti_fortran NAMESPACE tutti:: FILE tutti_fortranTargets.cmake
        DESTINATION "${config}" COMPONENT fortran)
write_basic_package_version_file(tutti_fortranConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES tutti_fortranConfig.cmake
              "${CMAKE_CURRENT_BINARY_DIR}/tutti_fortranConfigVersion.cmake"
        DESTINATION "${config}" COMPONENT fortran)

install(FILES README.md "${CMAKE_CURRENT_BINARY_DIR}/calls.md"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/tutti/fortran" COMPONENT fortran)
