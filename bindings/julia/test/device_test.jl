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

has_driver && @testset "sums on a device" begin
    driver = Libdl.dlopen(ENV["TUTTI_CUDA_LIBRARY"])
    read(to, x) = ccall(Libdl.dlsym(driver, :cuMemcpyDtoH_v2), Cint, (Ptr{Cvoid}, UInt, Csize_t),
                        to, UInt(pointer(x)), sizeof(to))
    write(x, from) = ccall(Libdl.dlsym(driver, :cuMemcpyHtoD_v2), Cint, (UInt, Ptr{Cvoid}, Csize_t),
                           UInt(pointer(x)), from, sizeof(from))
    function use_context()
        context = Ref{Ptr{Cvoid}}()
        ccall(Libdl.dlsym(driver, :cuDevicePrimaryCtxRetain), Cint, (Ref{Ptr{Cvoid}}, Cint),
              context, 0)
        ccall(Libdl.dlsym(driver, :cuCtxSetCurrent), Cint, (Ptr{Cvoid},), context[])
    end
    on_ranks(2) do group
        x = alloc(Float32, 1000; group = group, device = Tutti.CudaDevice(0))
        @test use_context() == 0
        values = fill(get_rank(group) + 1.0f0, 1000)
        @test write(x, values) == 0
        @test allreduce!(x, +; group = group) === x
        @test read(values, x) == 0 && all(==(3), values)
        fetch(bcast!(view(x, 1:10); group = group, async = true))
        @test read(values, x) == 0 && all(==(3), values)
        slot = Ref{Ptr{Cvoid}}()
        create = Libdl.dlsym(driver, :cuStreamCreate)
        @test ccall(create, Cint, (Ref{Ptr{Cvoid}}, Cuint), slot, 0) == 0
        stream = StreamOnDevice(slot[])
        wait_for_stream() = ccall(Libdl.dlsym(driver, :cuStreamSynchronize), Cint, (Ptr{Cvoid},),
                                  stream.handle)
        @test allreduce!(x, max; group = group, stream = stream) === x
        work = allreduce!(x, +; group = group, async = true, stream = stream)
        synchronize(work, stream)
        @test wait_for_stream() == 0
        @test read(values, x) == 0 && all(==(6), values)
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
