# library.jl: the two libraries, which are loaded when the package is, and where their functions are.
# Calls go to these addresses alone. A call by name would be bound by Julia's own loader, which takes
# what the system's loader sees, and opens it so that it meets another unwinder than it started with.

const helper_entries = [Raw.Entry(name, C_NULL) for name in
                        (:tutti_julia_start, :tutti_julia_stop, :tutti_julia_take,
                         :tutti_julia_answer, :tutti_julia_expect, :tutti_julia_call,
                         :tutti_julia_log, :tutti_julia_reduce, :tutti_julia_allgather,
                         :tutti_julia_hook, :tutti_julia_before, :tutti_julia_after,
                         :tutti_julia_aborted)]

const helper_start, helper_stop, helper_take, helper_answer, helper_expect, helper_call,
    helper_log, helper_reduce, helper_allgather, helper_hook, helper_before, helper_after,
    helper_aborted = helper_entries

"Opens a library: the file that the environment names, else the built one, else what the loader finds."
function open_library(variable, built, name)
    path = get(ENV, variable, isfile(built) ? built : name)
    Libdl.dlopen(path, Libdl.RTLD_NOW | Libdl.RTLD_GLOBAL)
end

"Finds the functions of a library, which must have all of them."
function find_entries(entries, library)
    for entry in entries
        entry.address = Libdl.dlsym(library, entry.name; throw_error = false)
    end
    missing_ones = [entry.name for entry in entries if entry.address == C_NULL]
    isempty(missing_ones) && return
    error("$(Libdl.dlpath(library)) is of another version than the package Tutti: it lacks ",
          join(missing_ones, ", ", " and "))
end

"Loads both libraries; the helper takes the library that is there then."
function load_libraries()
    find_entries(Raw.entries, open_library("TUTTI_LIBRARY", built_library, Raw.libtutti))
    find_entries(helper_entries,
                 open_library("TUTTI_JULIA_LIBRARY", built_helper, libtutti_julia))
end
