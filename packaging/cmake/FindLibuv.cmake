# libuv, as the target Libuv::Libuv.
find_path(LIBUV_INCLUDE_DIR uv.h)
find_library(LIBUV_LIBRARY uv)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libuv REQUIRED_VARS LIBUV_LIBRARY LIBUV_INCLUDE_DIR)
if(Libuv_FOUND AND NOT TARGET Libuv::Libuv)
  add_library(Libuv::Libuv UNKNOWN IMPORTED)
  set_target_properties(Libuv::Libuv PROPERTIES IMPORTED_LOCATION "${LIBUV_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${LIBUV_INCLUDE_DIR}")
endif()
