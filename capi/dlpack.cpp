// tutti/dlpack.h: a tensor of DLPack as a buffer. The structs and numbers are those of DLPack's
// specification, 0.8 and 1, so its header is not needed. What is foreign is copied before it is
// read, as its types are not ours. The memory that a tensor describes is never touched. Any thread.
#include "tutti/dlpack.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>

#include "guard.hpp"
#include "reduce/reduce.hpp"

namespace tutti::capi::dlpack {

namespace {

struct Version {
    uint32_t major;
    uint32_t minor;
};

struct Device {
    int32_t type;
    int32_t id;
};

struct Dtype {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
};

// DLTensor, with which a DLManagedTensor begins.
struct Tensor {
    std::byte* data;
    Device device;
    int32_t ndim;
    Dtype dtype;
    const int64_t* shape;
    const int64_t* strides;  // in elements; NULL: contiguous, in row-major order
    uint64_t byte_offset;
};

// DLManagedTensorVersioned. In every major version it begins with the first three.
struct Versioned {
    Version version;
    void* manager_context;
    void (*deleter)(Versioned*);
    uint64_t flags;
    Tensor tensor;
};

static_assert(sizeof(Version) == 8 && sizeof(Device) == 8 && sizeof(Dtype) == 4);
static_assert(offsetof(Dtype, bits) == 1 && offsetof(Dtype, lanes) == 2);
static_assert(sizeof(Tensor) == 48 && offsetof(Tensor, device) == 8);
static_assert(offsetof(Tensor, ndim) == 16 && offsetof(Tensor, dtype) == 20);
static_assert(offsetof(Tensor, shape) == 24 && offsetof(Tensor, strides) == 32);
static_assert(offsetof(Tensor, byte_offset) == 40);
static_assert(sizeof(Versioned) == 80 && offsetof(Versioned, manager_context) == 8);
static_assert(offsetof(Versioned, deleter) == 16 && offsetof(Versioned, flags) == 24);
static_assert(offsetof(Versioned, tensor) == 32);

constexpr uint32_t major_version = 1;
constexpr uint64_t read_only = 1;  // a flag

enum : int32_t { Cpu = 1, Cuda = 2, CudaHost = 3, CudaManaged = 13 };
enum : uint8_t { Int = 0, UInt = 1, Float = 2, Bfloat = 4, Complex = 5, Bool = 6 };

// By their numbers.
constexpr const char* device_names[] = {nullptr,      "kDLCPU",         "kDLCUDA",   "kDLCUDAHost",
                                        "kDLOpenCL",  nullptr,          nullptr,     "kDLVulkan",
                                        "kDLMetal",   "kDLVPI",         "kDLROCM",   "kDLROCMHost",
                                        "kDLExtDev",  "kDLCUDAManaged", "kDLOneAPI", "kDLWebGPU",
                                        "kDLHexagon", "kDLMAIA",        "kDLTrn"};
constexpr const char* code_names[] = {"kDLInt",
                                      "kDLUInt",
                                      "kDLFloat",
                                      "kDLOpaqueHandle",
                                      "kDLBfloat",
                                      "kDLComplex",
                                      "kDLBool",
                                      "kDLFloat8_e3m4",
                                      "kDLFloat8_e4m3",
                                      "kDLFloat8_e4m3b11fnuz",
                                      "kDLFloat8_e4m3fn",
                                      "kDLFloat8_e4m3fnuz",
                                      "kDLFloat8_e5m2",
                                      "kDLFloat8_e5m2fnuz",
                                      "kDLFloat8_e8m0fnu",
                                      "kDLFloat6_e2m3fn",
                                      "kDLFloat6_e3m2fn",
                                      "kDLFloat4_e2m1fn"};

constexpr struct {
    uint8_t code;
    uint8_t bits;
    tutti_dtype dtype;
} mappings[] = {
    {Int, 8, TUTTI_INT8},           {UInt, 8, TUTTI_UINT8},           {Int, 16, TUTTI_INT16},
    {UInt, 16, TUTTI_UINT16},       {Int, 32, TUTTI_INT32},           {UInt, 32, TUTTI_UINT32},
    {Int, 64, TUTTI_INT64},         {UInt, 64, TUTTI_UINT64},         {Float, 16, TUTTI_FLOAT16},
    {Bfloat, 16, TUTTI_BFLOAT16},   {Float, 32, TUTTI_FLOAT32},       {Float, 64, TUTTI_FLOAT64},
    {Complex, 64, TUTTI_COMPLEX64}, {Complex, 128, TUTTI_COMPLEX128}, {Bool, 8, TUTTI_BOOL}};

// "kDLROCM", or "99" for a number that has no name here.
std::string name_of(int32_t number, std::span<const char* const> names) {
    const auto index = static_cast<size_t>(number);
    return index < names.size() && names[index] != nullptr ? names[index] : std::to_string(number);
}

template <typename... Pieces>
[[noreturn]] void refuse_field(const Pieces&... pieces) {
    refuse("managed_tensor.dl_tensor.", pieces...);
}

template <typename... Pieces>
[[noreturn]] void lack(const Pieces&... pieces) {
    throw Refusal(TUTTI_ERR_UNSUPPORTED, cat("managed_tensor.", pieces...));
}

tutti_dtype dtype_of(const Dtype& given) {
    for (const auto& known : mappings) {
        if (given.code == known.code && given.bits == known.bits && given.lanes == 1) {
            return known.dtype;
        }
    }
    lack("dl_tensor.dtype is ", name_of(given.code, code_names), " of ", given.bits, " bits and ",
         given.lanes, given.lanes == 1 ? " lane" : " lanes", ", which is no dtype of tutti");
}

void set_device(tutti_buffer& buffer, const Device& device) {
    switch (device.type) {
        case Cpu:
        case CudaHost:  // some libraries number parts of the CPU; its memory is one
            buffer.device_type = TUTTI_CPU;
            return;
        case Cuda:
        case CudaManaged:
            if (device.id < 0) refuse_field("device.device_id is ", device.id);
            buffer.device_type = TUTTI_CUDA;
            buffer.device_index = device.id;
            return;
        default:
            lack("dl_tensor.device.device_type is ", name_of(device.type, device_names),
                 "; buffers are memory of the CPU or of CUDA");
    }
}

std::span<const int64_t> shape_of(const Tensor& tensor) {
    if (tensor.ndim < 0) refuse_field("ndim is ", tensor.ndim);
    if (tensor.ndim == 0) return {};
    if (tensor.shape == nullptr) refuse_field("shape is NULL but ndim is ", tensor.ndim);
    return {tensor.shape, static_cast<size_t>(tensor.ndim)};
}

int64_t count_of(std::span<const int64_t> shape, tutti_dtype dtype) {
    bool is_empty = false;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] < 0) refuse_field("shape[", i, "] is ", shape[i]);
        is_empty = is_empty || shape[i] == 0;
    }
    if (is_empty) return 0;
    const auto most =
        std::numeric_limits<int64_t>::max() / static_cast<int64_t>(element_size(dtype));
    int64_t count = 1;
    for (const int64_t extent : shape) {
        if (count > most / extent) refuse_field("shape has more elements than memory can hold");
        count *= extent;
    }
    return count;
}

// For a tensor that has elements. Along a dimension of extent 1 nobody takes a step.
void check_strides(std::span<const int64_t> shape, const int64_t* strides) {
    if (strides == nullptr) return;
    int64_t contiguous = 1;
    for (size_t i = shape.size(); i-- > 0;) {
        if (shape[i] != 1 && strides[i] != contiguous) {
            refuse_field("strides[", i, "] is ", strides[i], ", but ", contiguous,
                         " in a row-major contiguous tensor; make it contiguous first");
        }
        contiguous *= shape[i];
    }
}

void* first_element(const Tensor& tensor, int64_t count, tutti_dtype dtype) {
    if (tensor.data == nullptr) {
        if (count > 0) refuse_field("data is NULL but the tensor has elements: ", count);
        return nullptr;
    }
    const uint64_t room =
        std::numeric_limits<uintptr_t>::max() - reinterpret_cast<uintptr_t>(tensor.data);
    const uint64_t bytes = static_cast<uint64_t>(count) * element_size(dtype);
    if (bytes > room || tensor.byte_offset > room - bytes) {
        refuse_field("byte_offset is ", tensor.byte_offset,
                     ", beyond the end of the address space");
    }
    return tensor.data + tensor.byte_offset;
}

tutti_buffer buffer_of(const Tensor& tensor) {
    tutti_buffer buffer{};
    buffer.dtype = dtype_of(tensor.dtype);
    set_device(buffer, tensor.device);
    const auto shape = shape_of(tensor);
    buffer.count = count_of(shape, buffer.dtype);
    if (buffer.count > 0) check_strides(shape, tensor.strides);
    buffer.data = first_element(tensor, buffer.count, buffer.dtype);
    return buffer;
}

template <typename Struct>
Struct copy_of(const void* foreign) {
    if (foreign == nullptr) refuse("managed_tensor is NULL");
    Struct copy;
    std::memcpy(&copy, foreign, sizeof copy);
    return copy;
}

Versioned versioned_at(const void* foreign) {
    const auto version = copy_of<Version>(foreign);
    if (version.major != major_version) {
        lack("version is ", version.major, ".", version.minor, "; tutti reads DLPack ",
             major_version);
    }
    return copy_of<Versioned>(foreign);
}

}  // namespace

}  // namespace tutti::capi::dlpack

namespace capi = tutti::capi;

extern "C" {

tutti_status tutti_buffer_from_dlpack(const void* managed_tensor, tutti_buffer* out_buffer,
                                      tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const auto tensor = capi::dlpack::copy_of<capi::dlpack::Tensor>(managed_tensor);
        capi::need_output(out_buffer, "out_buffer");
        *out_buffer = capi::dlpack::buffer_of(tensor);
    });
}

tutti_status tutti_buffer_from_dlpack_versioned(const void* managed_tensor,
                                                tutti_buffer* out_buffer, int32_t* out_read_only,
                                                tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::dlpack::Versioned given = capi::dlpack::versioned_at(managed_tensor);
        capi::need_output(out_buffer, "out_buffer");
        const bool is_read_only = (given.flags & capi::dlpack::read_only) != 0;
        if (is_read_only && out_read_only == nullptr) {
            capi::refuse("managed_tensor is read-only, and out_read_only is NULL");
        }
        *out_buffer = capi::dlpack::buffer_of(given.tensor);
        if (out_read_only != nullptr) *out_read_only = is_read_only ? 1 : 0;
    });
}

}  // extern "C"
