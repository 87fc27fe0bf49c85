# Arrays and streams of devices: what is refused without one, and sums on one where there is one.
using Libdl: Libdl

"A pointer that is not for the CPU, as CUDA.jl's CuPtr."
primitive type PtrOnDevice{T} 64 end
Base.UInt(pointer::PtrOnDevice) = reinterpret(UInt, pointer)

"An array as CUDA.jl's, of which nothing but its place is known."
mutable struct ArrayOnDevice{T, N} <: DenseArray{T, N}
    address::UInt
    lengths::NTuple{N, Int}
end
ArrayOnDevice{T}(address, lengths...) where {T} =
    ArrayOnDevice{T, length(lengths)}(address, lengths)
Base.size(x::ArrayOnDevice) = x.lengths
Base.pointer(x::ArrayOnDevice{T}) where {T} = reinterpret(PtrOnDevice{T}, x.address)
Base.pointer(x::SubArray{T, N, <:ArrayOnDevice}) where {T, N} =
    reinterpret(PtrOnDevice{T}, parent(x).address + (Base.first_index(x) - 1) * sizeof(T))
Base.elsize(::Type{ArrayOnDevice{T, N}}) where {T, N} = sizeof(T)
Base.getindex(x::ArrayOnDevice, ::Int...) = error("the CPU reads what is on a device")
Base.setindex!(x::ArrayOnDevice, value, ::Int...) = error("the CPU writes what is on a device")
Base.show(io::IO, x::ArrayOnDevice) = summary(io, x)

"One whose type does not say that it is on a device."
struct Lost <: DenseArray{Float32, 1} end
Base.size(::Lost) = (1,)
Base.strides(::Lost) = (1,)
Base.pointer(::Lost) = reinterpret(PtrOnDevice{Float32}, UInt(0x70000000))
Base.getindex(::Lost, ::Int) = 0.0f0
Base.setindex!(::Lost, value, ::Int) = value

Tutti.device(::ArrayOnDevice) = Tutti.CudaDevice(1)

"What has a handle, as CUDA.jl's CuStream."
struct StreamOnDevice
    handle::Ptr{Nothing}
end

const has_driver = haskey(ENV, "TUTTI_CUDA_LIBRARY")
const there = UInt(0x70000000)

@testset "an array says where it is" begin
    x = ArrayOnDevice{Float32}(there, 4, 3)
    buffer = Tutti.buffer(x, :x, true)
    @test UInt(buffer.data) == there && buffer.count == 12
    @test buffer.dtype == Raw.TUTTI_FLOAT32
    @test (buffer.device_type, buffer.device_index) == (Raw.TUTTI_CUDA, 1)
    part = Tutti.lend_output(view(x, :, 2:3), :x; keeps = true).buffer[]
    @test UInt(part.data) == there + 16 && part.count == 8 && part.device_index == 1
    gaps = thrown(() -> Tutti.lend(view(x, 1:2, :), :x; keeps = false))
    @test occursin("x is not dense in the memory of Tutti.CudaDevice(1)", gaps.msg)
    pieces = Tutti.pieces(Tutti.lend(x, :x; keeps = true), 3, :x)
    @test UInt(pieces[3].data) == there + 32 && pieces[3].device_index == 1
    @test Tutti.device([1]) == Tutti.CPU && Tutti.device(view([1], 1:1)) == Tutti.CPU
    @test occursin("x is not in the memory of the CPU", thrown(() -> bcast!(Lost())).msg)
    @test repr(Tutti.CPU) == "Tutti.CPU" && repr(Tutti.XpuDevice(2)) == "Tutti.XpuDevice(2)"
    stream = Ptr{Nothing}(UInt(0x5000))
    @test Tutti.call_options(nothing, StreamOnDevice(stream))[].stream == stream
    @test Tutti.call_options(nothing, stream)[].stream == stream
    @test_throws ArgumentError Tutti.call_options(nothing, 1)
end

"The call is refused, and the message names its argument."
function is_refused(call, name)
    error = thrown(call)
    error isa UnsupportedError && occursin(name, error.message) && occursin("cuda", error.message)
end

has_driver || @testset "without a device every call refuses it" begin
    on_ranks(2) do group
        x, one = ArrayOnDevice{Float32}(there, 2), ArrayOnDevice{Float32}(there, 1)
        list = [one, one]
        @test is_refused(() -> bcast!(x; group = group), "x.")
        @test is_refused(() -> allreduce!(x, +; group = group), ": x.")
        @test is_refused(() -> reduce!(x, +; group = group), ": x.")
        @test is_refused(() -> allreduce!(x, x, max; group = group), "put")
        @test is_refused(() -> allreduce!(x, +; group = group, async = true), ": x.")
        @test is_refused(() -> reduce!(nothing, x, +; dst = 1 - get_rank(group), group = group),
                         "input.")
        @test is_refused(() -> allreduce_addends!(x, [x]; group = group), "put")
        @test is_refused(() -> allgather!(x, one; group = group), "put")
        @test is_refused(() -> allgather!(list; group = group), "output[1]")
        @test is_refused(() -> gather!(x, one; dst = get_rank(group), group = group), "put")
        @test is_refused(() -> scatter!(one, x; src = get_rank(group), group = group), "put")
        @test is_refused(() -> reducescatter!(one, x, +; group = group), "put")
        @test is_refused(() -> reducescatter!(one, list, +; group = group), "put")
        @test is_refused(() -> alltoall!(x, x; group = group), "put")
        @test is_refused(() -> alltoall!(list, list; group = group), "put")
        @test is_refused(() -> bcast_multigpu!([x]; group = group), "buffers[1]")
        @test is_refused(() -> allreduce_multigpu!([x, x], +; group = group), "buffers[1]")
        @test is_refused(() -> reduce_multigpu!([x], +; group = group, async = true), "buffers[1]")
        @test is_refused(() -> allgather_multigpu!(list, [one]; group = group), "put[1]")
        @test is_refused(() -> reducescatter_multigpu!([one], list, +; group = group), "put[1]")
        @test is_refused(() -> send(x, 0; group = group), "x.")
        @test is_refused(() -> recv!(x, 0; group = group, async = true), "x.")
        @test is_refused(() -> batch_isend_irecv([P2POp(send, x, 0)]; group = group), "ops[1]")
        @test is_refused(() -> coalescing(identity; group = group, device = Tutti.CudaDevice(0)),
                         "options")
        @test is_refused(() -> coalescing(all -> bcast!(x; group = all); group = group), "x.")
        @test is_refused(() -> alloc(Float32, 3; group = group, device = Tutti.CudaDevice(0)),
                         "options")
        bound = Tutti.CudaDevice(1)
        @test is_refused(() -> new_group(; group = group, device = bound), "options")
        @test is_refused(() -> init_device_mesh((2,); group = group, device = bound), "options")
        @test get_bound_device(group) == Tutti.CPU
        @test is_refused(() -> Reducer([one]; group = group), "parameters[1]")
        reducer = Reducer([[1.0f0]]; group = group)
        @test is_refused(() -> sync_buffers!(reducer, [one]), "buffers[1]")
        begin_backward!(reducer)
        @test is_refused(() -> mark_ready!(reducer, 1, one), "gradient")
        barrier(; group = group)
    end
end

@testset "a stream is refused with arrays of the CPU" begin
    on_ranks(2) do group
        stream = StreamOnDevice(Ptr{Nothing}(UInt(0x5000)))
        refused(call) = occursin("stream is", thrown(call).message)
        @test refused(() -> allreduce!([1], +; group = group, stream = stream))
        @test refused(() -> allreduce!([1], +; group = group, stream = stream, async = true))
        @test refused(() -> recv!([1]; group = group, stream = stream))
        @test occursin("stream is given",
                       thrown(() -> Reducer([[1.0]]; group = group, stream = stream)).message)
        # A batch, either at once, or by its works.
        @test refused(() -> wait(batch_isend_irecv([P2POp(send, [1], 0)]; group = group,
                                                   stream = stream)[1]))
        @test refused(() -> blocking(() -> barrier(; group = group, stream = stream)))
        work = allreduce!([1], +; group = group, async = true)
        synchronize(work, nothing)
        @test isready(work) && fetch(work) == [2]
        @test has_driver || thrown(() -> synchronize(work, stream)) isa TuttiError
        close(work)
        @test_throws InvalidHandleError synchronize(work, stream)
    end
end

@testset "lists of several GPUs need them, and are as long as they must be" begin
    on_ranks(2) do group
        list(count) = [[1.0f0] for _ in 1:count]
        says(call, what) = occursin(what, sprint(showerror, thrown(call)))
        options = (group = group,)
        for more in (options, (group = group, async = true))
            on_cpu = "buffers[1] is on the CPU"
            @test says(() -> bcast_multigpu!(list(1); src = 1, more...), on_cpu)
            @test says(() -> allreduce_multigpu!(list(2), +; more...), on_cpu)
            @test says(() -> reduce_multigpu!(list(2), +; dst = 1, dst_tensor = 2, more...), on_cpu)
            @test says(() -> allgather_multigpu!(list(2), list(1); more...),
                       "input[1] is on the CPU")
            @test says(() -> reducescatter_multigpu!(list(1), list(2), +; more...),
                       "output[1] is on the CPU")
        end
        @test says(() -> bcast_multigpu!(list(1); src = 2, options...), ": src is 2")
        @test says(() -> reduce_multigpu!(list(1), +; dst = -1, options...), ": dst is -1")
        for wrong in (0, 3, big(2)^70)
            @test says(() -> bcast_multigpu!(list(2); src_tensor = wrong, options...),
                       "src_tensor is $wrong, but")
            @test says(() -> reduce_multigpu!(list(2), +; dst_tensor = wrong, options...),
                       "dst_tensor is $wrong, but")
        end
        @test says(() -> allreduce_multigpu!(list(0), +; options...), "buffers is empty")
        @test says(() -> allreduce_multigpu!([[1], [1, 2]], +; options...),
                   "buffers[2].count is 2, not 1")
        @test says(() -> allgather_multigpu!(list(1), list(1); options...),
                   "length(output) is 1, but must be")
        @test says(() -> reducescatter_multigpu!(list(2), list(2), +; options...),
                   "length(input) is 2, but must be")
        @test says(() -> coalescing(group = group) do together
                       allreduce_multigpu!(list(1), +; group = together)
                   end, "coalescing takes no collectives of several GPUs")
        barrier(; group = group)
    end
end

@testset "an array of alloc on a device" begin
    x = Tutti.DeviceArray{Float64, 2}(Ptr{Float64}(there), (2, 3), Tutti.CudaDevice(0))
    @test size(x) == (2, 3) && Tutti.buffer(x, :x, true).device_type == Raw.TUTTI_CUDA
    @test_throws ArgumentError x[1]
    @test_throws ArgumentError x[1] = 2
    @test occursin("on Tutti.CudaDevice(0)", repr("text/plain", x))
    x.data = C_NULL
    @test_throws InvalidHandleError bcast!(x)
    close(x)
end

driver(name) = Libdl.dlsym(Libdl.dlopen(ENV["TUTTI_CUDA_LIBRARY"]), name)
from_device(to, x) = ccall(driver(:cuMemcpyDtoH_v2), Cint, (Ptr{Cvoid}, UInt, Csize_t), to,
                           UInt(pointer(x)), sizeof(to))
to_device(x, from) = ccall(driver(:cuMemcpyHtoD_v2), Cint, (UInt, Ptr{Cvoid}, Csize_t),
                           UInt(pointer(x)), from, sizeof(from))
on_stream(stream, to, from) =
    ccall(driver(:cuMemcpyAsync), Cint, (UInt, UInt, Csize_t, Ptr{Cvoid}), UInt(pointer(to)),
          UInt(pointer(from)), sizeof(eltype(from)) * length(from), stream.handle)
wait_for(stream) = ccall(driver(:cuStreamSynchronize), Cint, (Ptr{Cvoid},), stream.handle)

function use_context(device = 0)
    context = Ref{Ptr{Cvoid}}()
    ccall(driver(:cuDevicePrimaryCtxRetain), Cint, (Ref{Ptr{Cvoid}}, Cint), context, device)
    ccall(driver(:cuCtxSetCurrent), Cint, (Ptr{Cvoid},), context[])
end

"A stream; one that is not `blocking` does not wait for the default one."
function new_stream(blocking)
    slot = Ref{Ptr{Cvoid}}()
    ccall(driver(:cuStreamCreate), Cint, (Ref{Ptr{Cvoid}}, Cuint), slot, blocking ? 0 : 1) == 0 ||
        error("no stream")
    StreamOnDevice(slot[])
end

has_driver && @testset "sums on a device" begin
    on_ranks(2) do group
        x = alloc(Float32, 1000; group = group, device = Tutti.CudaDevice(0))
        @test use_context() == 0
        values = fill(get_rank(group) + 1.0f0, 1000)
        @test to_device(x, values) == 0
        @test allreduce!(x, +; group = group) === x
        @test from_device(values, x) == 0 && all(==(3), values)
        fetch(bcast!(view(x, 1:10); group = group, async = true))
        @test from_device(values, x) == 0 && all(==(3), values)
        stream = new_stream(true)
        @test allreduce!(x, max; group = group, stream = stream) === x
        work = allreduce!(x, +; group = group, async = true, stream = stream)
        synchronize(work, stream)
        @test wait_for(stream) == 0
        @test from_device(values, x) == 0 && all(==(6), values)
        wait(work)
        bound = new_group(; group = group, device = Tutti.CudaDevice(0))
        @test get_bound_device(bound) == Tutti.CudaDevice(0)
        @test allreduce!(x, max; group = bound) === x
        mesh = init_device_mesh((2,); group = group, device = Tutti.CudaDevice(0))
        @test get_bound_device(get_group(mesh)) == Tutti.CudaDevice(0)
        barrier(; group = group)
        close(x)
    end
end

function device_count()
    count = Ref{Cint}()
    ccall(driver(:cuDeviceGetCount), Cint, (Ref{Cint},), count)
    count[]
end

has_driver && @testset "$ranks ranks with two devices each" for ranks in 1:2
    on_ranks(ranks) do group
        first_device = alloc(Float32, 3, 10; group = group, device = Tutti.CudaDevice(0))
        device_count() < 2 && return
        second_device = alloc(Float32, 3, 10; group = group, device = Tutti.CudaDevice(1))
        memory = (first_device, second_device)
        all_devices = 2 * ranks
        number(device) = 2 * get_rank(group) + device - 1  # among all devices of all ranks
        function new(device, place, value)
            x = view(memory[device], :, place)
            @test use_context(device - 1) == 0 && to_device(x, fill(Float32(value), 3)) == 0
            x
        end
        # An array on each device, and those for each device of all ranks, on each.
        list(value) = [new(device, 1, value(device)) for device in 1:2]
        lists(value) = [new(device, 2 + other, value(device, other))
                        for device in 1:2 for other in 0:(all_devices - 1)]
        function holds(arrays, wanted)
            values = zeros(Float32, 3)
            all(enumerate(arrays)) do (i, x)
                use_context(Tutti.device(x).index) == 0 && from_device(values, x) == 0 &&
                    all(==(wanted(i)), values)
            end
        end
        numbers() = list(number)
        made(call, arguments...; options...) =
            fetch(call(arguments...; group = group, async = true, options...))
        total = all_devices * (all_devices - 1) / 2

        x = numbers()
        @test allreduce_multigpu!(x, +; group = group) === x && holds(x, _ -> total)
        @test holds(made(allreduce_multigpu!, numbers(), AVG), _ -> total / all_devices)
        larger(a, b) = a > b ? a : b
        @test holds(made(allreduce_multigpu!, numbers(), larger), _ -> all_devices - 1)
        x = numbers()
        allreduce_multigpu!(x, larger; group = group)
        @test holds(x, _ -> all_devices - 1)
        for chosen in 0:(all_devices - 1)
            rank, tensor = chosen ÷ 2, chosen % 2 + 1
            x = numbers()
            bcast_multigpu!(x; src = rank, src_tensor = tensor, group = group)
            @test holds(x, _ -> chosen)
            @test holds(made(bcast_multigpu!, numbers(); src = rank, src_tensor = tensor),
                        _ -> chosen)
            wanted(device) = number(device) == chosen ? total : number(device)
            x = numbers()
            reduce_multigpu!(x, +; dst = rank, dst_tensor = tensor, group = group)
            @test holds(x, wanted)
            @test holds(made(reduce_multigpu!, numbers(), +; dst = rank, dst_tensor = tensor),
                        wanted)
        end
        gathered(i) = (i - 1) % all_devices
        output = lists((_, _) -> 9)
        @test allgather_multigpu!(output, numbers(); group = group) === output
        @test holds(output, gathered)
        @test holds(made(allgather_multigpu!, lists((_, _) -> 9), numbers()), gathered)
        parts() = lists((device, other) -> 100 * other + number(device))
        reduced(device) = 100 * all_devices * number(device) + total
        output = list(_ -> 9)
        reducescatter_multigpu!(output, parts(), +; group = group)
        @test holds(output, reduced)
        @test holds(made(reducescatter_multigpu!, list(_ -> 9), parts(), +), reduced)
        if ranks == 1  # with more, this thread would wait for itself
            x = numbers()
            blocking(() -> allreduce_multigpu!(x, +; group = group, timeout = 30))
            @test holds(x, _ -> total)
        end
        swapped = thrown(() -> allreduce_multigpu!(reverse(numbers()), +; group = group))
        @test occursin("all must have the same", swapped.message)
        barrier(; group = group)
        foreach(close, memory)
    end
end

has_driver && @testset "a first call of several GPUs that is interrupted goes on" begin
    is_interrupted = Base.Event()
    on_ranks(2) do group
        x = alloc(Float32, 3; group = group, device = Tutti.CudaDevice(0))
        @test use_context() == 0 && to_device(x, fill(1.0f0, 3)) == 0
        add() = allreduce_multigpu!([x], +; group = group)
        if get_rank(group) == 0
            @test interrupted(add) isa InterruptException
            notify(is_interrupted)
        else
            wait(is_interrupted)
            add()
            values = zeros(Float32, 3)
            @test from_device(values, x) == 0 && all(==(2), values)
        end
        barrier(; group = group)
    end
end

has_driver && @testset "gradients on a device become means" begin
    for has_stream in (false, true)
        on_ranks(2) do group
            rank = get_rank(group)
            place(dims...) = alloc(Float32, dims...; group = group, device = Tutti.CudaDevice(0))
            weights, bias, empty = place(3, 4), place(3), place(0)
            own, computed = place(3), (place(3, 4), place(3))
            @test use_context() == 0
            stream = has_stream ? new_stream(false) : StreamOnDevice(C_NULL)
            function has(x, value)  # once the stream has come so far
                barrier(; group = group)  # it waits for calls of the other task
                values = zeros(Float32, size(x))
                wait_for(stream) == 0 && from_device(values, x) == 0 && all(==(value), values)
            end
            @test to_device(weights, fill(rank + 7.0f0, 3, 4)) == 0
            reducer = Reducer((weights = weights, bias = bias, empty = empty); group = group,
                              bucket_cap_bytes = 8, stream = has_stream ? stream : nothing)
            @test has(weights, 7)
            function pass(; async = false)
                for (i, x) in enumerate(computed)
                    @test to_device(x, fill(Float32(i * (rank + 1)), size(x))) == 0
                end
                begin_backward!(reducer)
                @test on_stream(stream, get_gradient(reducer, 1), computed[1]) == 0
                mark_ready!(reducer, 1)
                @test on_stream(stream, own, computed[2]) == 0
                mark_ready!(reducer, 2, own)
                mark_ready!(reducer, 3)
                finish!(reducer; async = async)
            end
            for _ in 1:2
                pass()
                @test has(get_gradient(reducer, 1), 1.5) && has(own, 3)
            end
            kept = get_gradient(reducer, 1)
            @test kept isa Tutti.DeviceArray{Float32, 2} && size(kept) == (3, 4)
            @test Tutti.device(get_gradient(reducer, 3)) == Tutti.CudaDevice(0)

            streams = Set{Ptr{Cvoid}}()
            set_hook!(reducer) do its, bucket
                push!(streams, bucket.stream)
                allreduce!(bucket.gradients, max; group = its, stream = bucket.stream)
            end
            pass()
            @test has(get_gradient(reducer, 1), 2) && has(own, 4)
            @test length(streams) == 1 && !(C_NULL in streams)
            set_hook!(nothing, reducer)

            work = pass(async = true)
            seen = 0
            while (bucket = next_bucket!(reducer)) !== nothing
                for (parameter, range) in zip(bucket.parameters, bucket.ranges)
                    seen += 1
                    isempty(range) && continue
                    @test has(view(bucket.gradients, range), 1.5 * parameter)
                end
            end
            @test seen == 3
            wait(work)

            @test to_device(own, fill(Float32(rank), 3)) == 0
            count = [rank]
            sync_buffers!(reducer, (own, count); src = 1)
            @test has(own, 1) && count == [1]
            close(kept)  # it is the reducer's
            @test has(get_gradient(reducer, 1), 1.5)
            kept = get_gradient(reducer, 1)
            close(reducer)
            @test_throws InvalidHandleError pointer(kept)
            barrier(; group = group)
            foreach(close, (weights, bias, empty, own, computed...))
        end
    end
end
