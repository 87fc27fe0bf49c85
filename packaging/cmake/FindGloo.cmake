# Gloo, as the target Gloo::Gloo: the static, hidden build with our hooks that packaging/setup
# leaves in its cache, of today's source, hooks and options. TUTTI_GLOO_ROOT names another folder
# of the same layout.
set(TUTTI_GLOO_ROOT "" CACHE PATH "Where Gloo is; empty: what packaging/setup built")

set(gloo_root "${TUTTI_GLOO_ROOT}")
if(NOT gloo_root)
  set(gloo_folder "${CMAKE_CURRENT_LIST_DIR}/../gloo")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${gloo_folder}/source" "${gloo_folder}/options"
                                         "${gloo_folder}/tutti_gloo_hooks.h")
  execute_process(COMMAND bash "${gloo_folder}/build" --find OUTPUT_VARIABLE gloo_root ERROR_VARIABLE gloo_problem
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT gloo_root AND NOT gloo_problem)
    set(gloo_problem "\"${gloo_folder}/build --find\" does not run: it takes bash, or name a TUTTI_GLOO_ROOT")
  endif()
endif()

if(gloo_root)
  set(gloo_problem "${gloo_root} is not complete: run packaging/setup, which builds Gloo")
  set(gloo_files "${gloo_root}/lib/libgloo.a" "${gloo_root}/include/gloo/config.h"
                 "${gloo_root}/include/gloo/common/store.h" "${gloo_root}/LICENSE"
                 "${gloo_root}/include/gloo/transport/context.h"
                 "${gloo_root}/include/gloo/common/memory.h")
  set(Gloo_ready TRUE)
  foreach(file IN LISTS gloo_files)
    if(NOT EXISTS "${file}")
      set(Gloo_ready FALSE)
    endif()
  endforeach()
  if(Gloo_ready)
    # Both came in December 2023 with the wire format of PyTorch 2; Gloo's own version never moves.
    file(STRINGS "${gloo_root}/include/gloo/common/store.h" gloo_istore REGEX "class IStore")
    file(STRINGS "${gloo_root}/include/gloo/transport/context.h" gloo_pairs
         REGEX "createAndConnectAllPairs")
    if(NOT gloo_istore OR NOT gloo_pairs)
      set(Gloo_ready FALSE)
      set(gloo_problem "${gloo_root} is older than December 2023: run packaging/setup, which \
builds one that is new enough")
    endif()
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Gloo REQUIRED_VARS gloo_root Gloo_ready REASON_FAILURE_MESSAGE
                                  "${gloo_problem}")
if(Gloo_FOUND AND NOT TARGET Gloo::Gloo)
  add_library(Gloo::Gloo STATIC IMPORTED)
  set_target_properties(Gloo::Gloo PROPERTIES IMPORTED_LOCATION "${gloo_root}/lib/libgloo.a"
                        INTERFACE_INCLUDE_DIRECTORIES "${gloo_root}/include"
                        INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
