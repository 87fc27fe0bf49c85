# Where things are installed, for rules that name one folder in another.

# tutti_below_prefix(variable folder): a folder that was given as an absolute path below the prefix, as the relative one:
# it means the same, and what is installed can be moved.
function(tutti_below_prefix variable folder)
  cmake_path(SET prefix NORMALIZE "${CMAKE_INSTALL_PREFIX}/.")
  cmake_path(SET place NORMALIZE "${folder}/.")
  cmake_path(IS_PREFIX prefix "${place}" is_below)
  if(is_below)
    cmake_path(RELATIVE_PATH place BASE_DIRECTORY "${prefix}" OUTPUT_VARIABLE folder)
    string(REGEX REPLACE "(.)/$" "\\1" folder "${folder}")
  endif()
  set(${variable} "${folder}" PARENT_SCOPE)
endfunction()

foreach(folder IN ITEMS BINDIR LIBDIR INCLUDEDIR DATAROOTDIR DATADIR DOCDIR MANDIR)
  tutti_below_prefix(CMAKE_INSTALL_${folder} "${CMAKE_INSTALL_${folder}}")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    set(tutti_stays_where_it_is "${CMAKE_INSTALL_${folder}}")
  endif()
endforeach()

# tutti_way(variable from to here): how what lies in the installed folder FROM, and calls that HERE, reaches the folder
# TO: relative to HERE if both move with the prefix, else by the absolute path.
function(tutti_way variable from to here)
  set(way "${to}")
  cmake_path(ABSOLUTE_PATH way BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" NORMALIZE)
  if(NOT IS_ABSOLUTE "${from}" AND NOT IS_ABSOLUTE "${to}")
    cmake_path(ABSOLUTE_PATH from BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" NORMALIZE)
    cmake_path(RELATIVE_PATH way BASE_DIRECTORY "${from}")
    set(way "${here}/${way}")
  endif()
  string(REGEX REPLACE "(.)/$" "\\1" way "${way}")
  set(${variable} "${way}" PARENT_SCOPE)
endfunction()

# tutti_install_pc(file component name folder...): installs FILE.in, configured, for pkg-config. It says @prefix@ and the
# @name@ of each folder: below ${prefix}, which is found from where the file lies, or absolute. Spaces are masked, as
# pkg-config masks those of the place where it finds the file.
function(tutti_install_pc file component)
  set(folder "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  tutti_way(prefix "${folder}" "" "\${pcfiledir}")
  string(REPLACE " " "\\ " prefix "${prefix}")
  set(folders ${ARGN})
  while(folders)
    list(POP_FRONT folders name place)
    set(${name} "\${prefix}")
    cmake_path(APPEND ${name} "${place}")
    string(REPLACE " " "\\ " ${name} "${${name}}")
  endwhile()
  configure_file("${file}.in" "${file}" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${file}" DESTINATION "${folder}" COMPONENT ${component})
endfunction()
