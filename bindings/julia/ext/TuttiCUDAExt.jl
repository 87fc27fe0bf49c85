# TuttiCUDAExt.jl: where CUDA.jl's arrays are. Loaded by Julia 1.9 and later when both packages are.
module TuttiCUDAExt

using CUDA: CUDA, CuArray
using Tutti: Tutti

Tutti.device(x::CuArray) = Tutti.CudaDevice(CUDA.deviceid(CUDA.device(x)))

end
