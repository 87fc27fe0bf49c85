# Reads the public headers and writes, for each handle parameter of each function, a C function that
# puts its argument there and says whether it was refused. Whatever it does not understand ends it
# with an error, and so the build: no function is forgotten.

function fail(what) {
    print "handle_calls.awk: " what > "/dev/stderr"
    failed = 1
    exit 1
}

function trim(text) {
    gsub(/^ +| +$/, "", text)
    return text
}

# A value for a parameter that is not the one under test; every pointer leads to real memory.
function value_of(type, name) {
    if (name == "ndim") return "1"
    if (type in sample) return sample[type]
    fail("no value is known for \"" type " " name "\" of " current)
}

# One call for each handle parameter; a parameter that is an array of handles gets one of them.
function one_function(result, name, parameters,   count, part, types, names, nouns, i, j, list) {
    current = name
    count = parameters == "void" ? 0 : split(parameters, part, ",")
    for (i = 1; i <= count; i++) {
        part[i] = trim(part[i])
        if (!match(part[i], /[A-Za-z_0-9]+$/)) fail("cannot read \"" part[i] "\" of " name)
        names[i] = substr(part[i], RSTART)
        types[i] = trim(substr(part[i], 1, RSTART - 1))
        nouns[i] = types[i]
        sub(/^const /, "", nouns[i])
        sub(/\*( const\*)?$/, "", nouns[i])
        if (!(nouns[i] in handle) || types[i] ~ /\*\*$/) {
            nouns[i] = ""
            value_of(types[i], names[i])
        }
    }
    functions++
    for (i = 1; i <= count; i++) {
        if (nouns[i] == "") continue
        list = ""
        for (j = 1; j <= count; j++) {
            list = list (j > 1 ? ", " : "")
            if (j != i) list = list value_of(types[j], names[j])
            else if (types[j] ~ /const\*$/) list = list "(" nouns[j] "* const*)&bad"
            else list = list "(" nouns[j] "*)bad"
        }
        write_call(result, name, names[i], nouns[i], list, i)
    }
}

function write_call(result, name, argument, noun, list, i,   call) {
    if (!(result in check)) fail("the result \"" result "\" of " name " has no null value here")
    call = name "(" list ")"
    printf "static int %s_%d(void* bad) {\n    prepare();\n    %s\n}\n\n", name, i,
           check[result] == "" ? call ";\n    return 1;" : sprintf(check[result], call)
    rows = rows sprintf("    {\"%s\", \"%s\", \"%s\", %s_%d},\n", name, argument, noun, name, i)
}

BEGIN {
    split("tutti_store tutti_group tutti_work tutti_bytes tutti_object tutti_mesh tutti_reducer", nouns)
    for (i in nouns) {
        handle[nouns[i]]
        sample[nouns[i] "**"] = "&out." substr(nouns[i], length("tutti_") + 1)
    }
    split("call coalescing destroy group memory new_group store store_call tcp_store spawn object" \
          " reduce_op reducer power_sgd", options)
    for (i in options) {
        type = "tutti_" options[i] "_options*"
        sample[type] = sample["const " type] = "NULL"
    }

    check["tutti_device_type"] = "return %s == -1;"
    sample["tutti_device_type"] = "TUTTI_CPU"
    check["tutti_status"] = "return refused(%s);"
    check["int32_t"] = "return %s == -1;"
    check["int64_t"] = "return %s == -1;"
    check["size_t"] = "return %s == 0;"
    check["const void*"] = check["const char*"] = "return %s == NULL;"
    check["void"] = ""

    sample["tutti_store*"] = "(tutti_store*)living.store"
    sample["tutti_group*"] = "(tutti_group*)living.group"
    sample["tutti_object*"] = sample["const tutti_object*"] = "(tutti_object*)living.object"
    sample["tutti_error*"] = "&error"
    sample["const char*"] = "\"loopback\""
    sample["const char* const*"] = "&text"
    sample["const void*"] = "text"
    sample["tutti_log_callback"] = sample["tutti_allgather_callback"] = "NULL"
    sample["const void* const*"] = "(const void* const*)&text"
    sample["const size_t*"] = "&one"
    sample["size_t"] = sample["int64_t"] = sample["uint64_t"] = "1"
    sample["double"] = "1.0"
    sample["uint32_t"] = "0"
    sample["int32_t"] = "0"
    sample["tutti_reduce_op"] = "TUTTI_SUM"
    sample["uint64_t*"] = "&out.uint64"
    sample["tutti_work_callback"] = sample["tutti_release_function"] = "NULL"
    sample["const tutti_p2p_op*"] = "&p2p"
    sample["tutti_reduce_op*"] = "&out.op"
    sample["tutti_reduce_function"] = "NULL"
    sample["tutti_dtype"] = "TUTTI_UINT8"
    sample["tutti_status"] = "TUTTI_OK"
    sample["tutti_log_level"] = "TUTTI_LOG_OFF"
    sample["tutti_debug_level"] = "TUTTI_DEBUG_OFF"
    sample["const tutti_buffer*"] = "&buffer"
    sample["tutti_buffer*"] = "&out.buffer"
    sample["tutti_spawn_function"] = sample["tutti_bucket_hook"] = "NULL"
    sample["tutti_bucket*"] = "&out.bucket"
    sample["tutti_compression"] = "TUTTI_COMPRESSION_NONE"
    sample["const tutti_object_item*"] = "&item"
    sample["const int64_t*"] = "&extent"
    sample["tutti_object_item*"] = "&out.item"
    sample["double*"] = "&out.real"
    sample["tutti_dtype*"] = "(tutti_dtype*)&out.int32"
    sample["void*"] = "&out.item"
    sample["const char**"] = "&out.text"
    sample["void**"] = "(void**)&out.text"
    sample["const void**"] = "(const void**)&out.text"
    sample["const int64_t**"] = "(const int64_t**)&out.text"
    sample["int32_t*"] = "&out.int32"
    sample["tutti_device_type*"] = "&out.int32"
    sample["int64_t*"] = "&out.int64"
    sample["size_t*"] = "&out.size"
    sample["tutti_object* const*"] = "(tutti_object* const*)&living.object"
    sample["const int32_t*"] = "&number"

    sample["const tutti_backend_table*"] = sample["const tutti_store_table*"] = "NULL"
    sample["const tutti_rendezvous_table*"] = "NULL"

    print "/* Made from the public headers by handle_calls.awk. */\n"
}

# Comments and preprocessor lines go, declarations are joined up to their semicolon.
{
    line = $0
    while (match(line, /\/\*([^*]|\*[^\/])*\*\//)) {
        line = substr(line, 1, RSTART - 1) " " substr(line, RSTART + RLENGTH)
    }
    if (in_comment) {
        if (!(end = index(line, "*/"))) next
        line = substr(line, end + 2)
        in_comment = 0
    }
    if (start = index(line, "/*")) {
        line = substr(line, 1, start - 1)
        in_comment = 1
    }
    if (line ~ /^ *#/) next
    if (line ~ /TUTTI_API/) {
        if (text != "") fail("unfinished declaration: " text)
        declarations++
        sub(/.*TUTTI_API/, "", line)
        joining = 1
    }
    if (!joining) next
    text = text " " line
    if (text !~ /;/) next
    joining = 0
    gsub(/[ \t\n]+/, " ", text)
    if (!match(text, /tutti_[a-z_0-9]+ *\(/)) fail("no function in: " text)
    name = substr(text, RSTART, RLENGTH - 1)
    result = trim(substr(text, 1, RSTART - 1))
    parameters = substr(text, RSTART + RLENGTH)
    sub(/\) *;.*/, "", parameters)
    text = ""
    one_function(result, trim(name), trim(parameters))
}

END {
    if (failed) exit 1
    if (functions == 0 || functions != declarations) fail("saw " declarations ", read " functions)
    print "static const handle_call handle_calls[] = {\n" rows "};"
}
