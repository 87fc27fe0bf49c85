# writable.jl: which arrays an operation may write to. The others are refused before anything is sent.

"Matrices of which a part is fixed, or follows from the rest."
const StructuredMatrix = Union{
    Symmetric, Hermitian, LinearAlgebra.AbstractTriangular, Diagonal, Bidiagonal, Tridiagonal,
    SymTridiagonal, UpperHessenberg}

"Whether each element of an array can be set, to anything."
is_writable(::Union{Array, BitArray, Base.RefValue}) = true
is_writable(::Union{AbstractRange, StructuredMatrix, Base.CodeUnits}) = false
is_writable(x::Rearranged) = is_writable(parent(x))
is_writable(x::AbstractArray) =
    is_on_device(x) || !isbitstype(eltype(x)) || takes_its_elements(x)

"Whether an array of which nothing is known takes the elements that it has already."
function takes_its_elements(x)
    try
        copyto!(x, Array(x))
        true
    catch exception
        exception isa InterruptException && rethrow()
        false
    end
end

"Lends an array that the operation writes to."
function lend_output(x::Memory, name; options...)
    is_writable(x) || throw(ArgumentError(
        "$name is a $(described(x)), whose elements cannot be written one by one"))
    lend(x, name; options...)
end
lend_output(x, name; options...) = lend(x, name; options...)

described(x::AbstractRange) = "range"
described(x) = string(nameof(typeof(x)))
described(x::Rearranged) = string(nameof(typeof(x)), " of a ", described(parent(x)))
