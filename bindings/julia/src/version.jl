# version.jl: facts about the library that is loaded, and the debug level.

"The version of the loaded library."
function version()
    number = Raw.tutti_version()
    VersionNumber(number ÷ 10000, number ÷ 100 % 100, number % 100)
end

"The version of the loaded library as it says it, \"0.1.0\"."
version_string() = unsafe_string(Raw.tutti_version_string())

"Whether a group can be made with the backend of this name."
is_backend_available(name::AbstractString) = Raw.tutti_is_backend_available(name) == 1

"Does nothing if a group can be made with the backend of this name, else throws why not."
check_backend_available(name::AbstractString) = call(Raw.tutti_check_backend_available, name)

"The backend that torch would choose for a device, \"cpu\" or \"cuda:1\"; `nothing` for others."
get_default_backend_for_device(device::AbstractString) =
    text_or_nothing(Raw.tutti_get_default_backend_for_device(device))

"Whether torchrun, or tuttirun, started this process."
is_torchelastic_launched() = Raw.tutti_is_torchelastic_launched() == 1

"Bytes of one element of a type; 0 for a type the library does not know."
dtype_size(type::Type) =
    dtype(type) === nothing ? 0 : Int(Raw.tutti_dtype_size(dtype(type)))

const debug_levels = (:off, :info, :detail)

"How much is checked and told: `:off`, `:info` or `:detail`."
get_debug_level() = debug_levels[Raw.tutti_get_debug_level() + 1]

"""
    set_debug_level(level)

Sets the debug level of this process: `:detail` has groups made from then on compare what their
ranks call before each collective.
"""
function set_debug_level(level::Symbol)
    number = findfirst(==(level), debug_levels)
    number === nothing && throw(ArgumentError("level is :$level, not one of $debug_levels"))
    call(Raw.tutti_set_debug_level, number - 1)
end

"Sets the debug level to what `TORCH_DISTRIBUTED_DEBUG` says."
set_debug_level_from_env() = call(Raw.tutti_set_debug_level_from_env)

"""
    settings()

All settings of the library: a dictionary from names to dictionaries with `"value"`, `"source"`
(`"default"`, `"environment"`, `"call"`, or `"unknown"` for a variable that begins with `TUTTI_` and
is none), and `"default"`, `"variable"` or `"nearest"` where they apply.
"""
function settings()
    slot = object_slot()
    call(Raw.tutti_get_settings, slot)
    closing(value, Object(slot[]))
end
