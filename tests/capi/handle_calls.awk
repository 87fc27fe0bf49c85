# Reads the public headers and writes, for each handle parameter of each function, a C function that
# puts its argument there and says whether it was refused. With `-v table=structs` the same for each
# parameter that is a struct with a struct_size, and the sizes that each such struct had, from the
# lines of sizes_of in the library. Whatever it does not understand ends it with an error, and so
# the build: no function and no struct is forgotten.

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
    if (table == "structs") {
        if (name in named) return named[name]
        if (has_work && name ~ /^out_(object|bytes|group_src)/) return "NULL"
    }
    if (name == "ndim") return "1"
    if (type in sample) return sample[type]
    fail("no value is known for \"" type " " name "\" of " current)
}

# Whether the table is of parameters of this type.
function is_under_test(noun, type) {
    if (table == "structs") return (noun in first_field) && !(noun in not_read)
    return (noun in handle) && type !~ /\*\*$/
}

# One call for each parameter under test; a parameter that is an array of handles gets one of them.
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
        if (!is_under_test(nouns[i], types[i])) {
            nouns[i] = ""
            if (table != "structs") value_of(types[i], names[i])
        }
    }
    functions++
    has_work = parameters ~ /tutti_work\*\* work/
    # It writes the size, and cannot fail.
    if (table == "structs" && name ~ /_init$/ && result == "void") return
    for (i = 1; i <= count; i++) {
        if (nouns[i] == "") continue
        list = ""
        for (j = 1; j <= count; j++) {
            list = list (j > 1 ? ", " : "")
            if (j != i) list = list value_of(types[j], names[j])
            else if (types[j] ~ /const\*$/) list = list "(" nouns[j] "* const*)&bad"
            else list = list "(" nouns[j] "*)bad"
        }
        if (table == "structs") write_sized_call(result, name, names[i], nouns[i], list, i)
        else write_call(result, name, names[i], nouns[i], list, i)
    }
}

function write_sized_call(result, name, argument, noun, list, i) {
    if (result != "tutti_status") fail(name " has a struct with a size and cannot refuse it")
    used[noun]
    printf "static tutti_status %s_%d(void* bad) {\n    prepare();\n    return %s(%s);\n}\n\n",
           name, i, name, list
    rows = rows sprintf("    {\"%s\", \"%s\", &of_%s, %s_%d},\n", name, argument, noun, name, i)
}

# A field, with its semicolon, of the struct that is being read: its name, without type and extents.
function one_field(text) {
    if (match(text, /\(\*[a-z_0-9]+\)/)) text = substr(text, RSTART + 2, RLENGTH - 3)
    else sub(/ *(\[[0-9]+\])? *;.*/, "", text)
    if (!match(text, /[a-z_0-9]+$/)) fail("cannot read the field \"" text "\" of " struct)
    text = substr(text, RSTART)
    if (fields[struct] == "") {
        if (text != "struct_size") return 0
        first_field[struct]
        structs[++struct_count] = struct
    }
    fields[struct] = fields[struct] sprintf("    END_OF(%s, %s),\n", struct, text)
    return 1
}

# The sizes that each struct had, and where its fields end.
function write_structs(   i, name) {
    for (i = 1; i <= struct_count; i++) {
        name = structs[i]
        if (name in not_read) continue
        if (!(name in had)) fail("sizes_of has no line for " name)
        printf "static const size_t sizes_%s[] = {%s};\n", name, had[name]
        printf "static const size_t ends_%s[] = {\n%s};\n", name, fields[name]
        printf "static const sized_struct of_%s = {\n    \"%s\", sizeof(%s), ", name, name, name
        printf "sizes_%s, COUNT(sizes_%s), ends_%s, COUNT(ends_%s)};\n\n", name, name, name, name
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
          " reduce_op reducer power_sgd shrink", options)
    for (i in options) {
        type = "tutti_" options[i] "_options*"
        sample[type] = sample["const " type] = "NULL"
    }
    sample["tutti_hooks*"] = sample["const tutti_hooks*"] = "NULL"

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
    sample["tutti_reducer*"] = "(tutti_reducer*)living.reducer"
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

    # Arguments that are read before a struct must be right where the struct is to be refused.
    if (table == "structs") {
        split("group work bytes mesh reducer", nouns)
        for (i in nouns) {
            type = "tutti_" nouns[i] "*"
            sample[type] = sample["const " type] = "(" type ")living." nouns[i]
        }
        sample["tutti_group* const*"] = "(tutti_group* const*)&living.group"
        sample["tutti_mesh* const*"] = "(tutti_mesh* const*)&living.mesh"
        sample["tutti_work* const*"] = "(tutti_work* const*)&living.work"
        sample["tutti_allgather_callback"] = "gather"
        sample["tutti_reduce_function"] = "reduce"
        named["world_size"] = "1"
        named["coalescing"] = "collecting"
    }

    # Structs with a size that no function reads from a program.
    not_read["tutti_error"]                 # it is written as far as it goes: error_test
    not_read["tutti_backend_capabilities"]  # these are the library's own, which a backend gets
    not_read["tutti_backend_call"]
    not_read["tutti_backend_host"]
    not_read["tutti_backend_place"]
    not_read["tutti_rendezvous"]
    not_read["tutti_operation"]             # the library's own, which a hook gets
    not_read["tutti_module"]                # it comes in a library: ext_test

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
    if (FILENAME !~ /\.h$/) {  # the library's lines of sizes_of
        sizes = sizes " " line
        next
    }
    if (match(line, /^(typedef )?struct tutti_[a-z_0-9]+ \{/)) {
        struct = substr(line, RSTART, RLENGTH - 2)
        sub(/.*struct /, "", struct)
        field = ""
        next
    }
    if (struct != "" && line ~ /^\}/) struct = ""
    if (struct != "") {
        field = field " " line
        if (field ~ /;/ && !one_field(field)) struct = ""
        if (field ~ /;/) field = ""
        next
    }
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
    results[declarations] = result
    all_names[declarations] = trim(name)
    all_parameters[declarations] = trim(parameters)
}

END {
    if (failed) exit 1
    while (match(sizes, /sizes_of<tutti_[a-z_]+>\{ *"tutti_[a-z_]+", *\{[0-9, ]+\}/)) {
        one = substr(sizes, RSTART, RLENGTH - 1)
        sizes = substr(sizes, RSTART + RLENGTH)
        match(one, /"[a-z_]+"/)
        name = substr(one, RSTART + 1, RLENGTH - 2)
        if (index(one, "<" name ">") == 0) fail("sizes_of has another name for " name)
        sub(/.*\{/, "", one)
        had[name] = one
    }
    if (table == "structs") write_structs()
    for (i = 1; i <= declarations; i++) one_function(results[i], all_names[i], all_parameters[i])
    if (functions == 0 || functions != declarations) fail("saw " declarations ", read " functions)
    if (table == "structs") {
        for (i = 1; i <= struct_count; i++) {
            name = structs[i]
            if (!(name in used) && !(name in not_read)) fail("no function reads " name)
        }
        print "static const sized_call sized_calls[] = {\n" rows "};"
    } else {
        print "static const handle_call handle_calls[] = {\n" rows "};"
    }
}
