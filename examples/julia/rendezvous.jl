# Processes meet at a store, with no group: each takes a number, leaves a note for the next one, and
# reads the note of the one before. Start it with
#     tuttirun --nproc-per-node 4 julia rendezvous.jl
using Tutti

count = parse(Int, ENV["WORLD_SIZE"])
TCPStore(ENV["MASTER_ADDR"], parse(Int, ENV["MASTER_PORT"]); timeout = 60) do server
    store = PrefixStore("rendezvous", server)
    me = add!(store, "arrivals") - 1
    store["note/$me"] = "greetings from number $me"
    before = mod(me - 1, count)
    println("number $me of $count read: ", get(store, "note/$before", String))

    add!(store, "read", me)
    barrier(store, "all have read", count)
    me == 0 && println("sum of all numbers: ", add!(store, "read", 0))
end
