# The libraries are where the system's loader looks.
const built_library = ""
const built_helper = ""
"The helper, by the name that its loader knows."
const libtutti_julia = "libtutti_julia.so.0"
