# world.jl: a rank of a group in which other ranks may speak other languages. Started by tuttirun,
# it goes through all kinds of calls, checks what it receives, and ends with "julia rank R of N: ok".
using Tutti

check(what, right) = right || error("$what is wrong")

"What a rank of any language tells of itself, but for its language."
told_by(member) = Dict("rank" => member, "values" => Any[1, 2.5, true, nothing, "text ü"],
                       "bytes" => UInt8[0x00, 0x01, 0xff],
                       "array" => Int32[0 1 2; 3 4 5] .+ Int32(member))

function check_sum(me, size)
    x = collect((me + 1.0) .* (1:1000))
    allreduce!(x, +)
    check("the sum", x == (size * (size + 1) / 2) .* (1:1000))
end

function check_objects(me, size)
    all = allgather_object(merge(told_by(me), Dict("language" => "julia")))
    check("the number of members", length(all) == size)
    for (i, object) in enumerate(all)
        check("member $(i - 1)'s language", pop!(object, "language") isa String)
        check("what member $(i - 1) told", isequal(object, told_by(i - 1)))
        check("the type of member $(i - 1)'s array", object["array"] isa Matrix{Int32})
    end
end

function check_broadcast(me)
    sent = Any["hello", Dict(1 => -1, 2 => typemax(UInt64)), nothing]
    values = me == 0 ? sent : Vector{Any}(undef, 3)
    bcast_object_list!(values; src = 0)
    check("the broadcast", isequal(values, sent))
end

function check_ring(me, size)
    right, left = mod(me + 1, size), mod(me - 1, size)
    told(member) = Float32[member, member + 0.5, member + 0.25]
    x = zeros(Float32, 3)
    receiving = recv!(x, left; async = true)
    sending = send(told(me), right; async = true)
    waitall((receiving, sending))
    check("the message from rank $left", x == told(left))
end

"Makes a world of the same processes in the opposite order."
function check_reconfigure(me, size)
    handles = reverse!(String.(allgather_bytes(get_reconfigure_handle())))
    reconfigure(1, handles)
    check("the rank in the opposite order", get_rank() == size - 1 - me)
end

"""
As the launcher says; or, with WORLD_PREFIX in the environment, at that prefix of the store, where
ranks of PyTorch's meet.
"""
function meet(act)
    haskey(ENV, "WORLD_PREFIX") || return init_process_group(act)
    number(name) = parse(Int, ENV[name])
    rank, world_size = number("RANK"), number("WORLD_SIZE")
    TCPStore(ENV["MASTER_ADDR"], number("MASTER_PORT"); world_size) do whole
        store = PrefixStore(ENV["WORLD_PREFIX"], whole)
        init_process_group(act; store, rank, world_size)
    end
end

function main()
    meet() do
        me, size = get_rank(), get_world_size()
        check_sum(me, size)
        check_objects(me, size)
        check_broadcast(me)
        greatest = allreduce!(Int64[me], max; async = true)
        check("the maximum", fetch(greatest) == [size - 1])
        check_ring(me, size)
        haskey(ENV, "WORLD_PREFIX") || check_reconfigure(me, size)
        check_sum(get_rank(), size)
        barrier()
        println("julia rank $(get_rank()) of $size: ok")
    end
end

try
    main()
catch failure
    showerror(stderr, failure)
    println(stderr)
    exit(1)
end
