# NVIDIA's driver interface, for programs that call it: CudaDriver::CudaDriver. From the CUDA Toolkit,
# whose stub of the driver is enough to link. CUDA_HOME may say where that is. tutti itself needs none of it.
find_path(CUDA_DRIVER_INCLUDE_DIR cuda.h HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES include)
find_file(CUDA_DRIVER_LIBRARY libcuda.so HINTS "${CUDA_DRIVER_INCLUDE_DIR}/.." ENV CUDA_HOME
          PATH_SUFFIXES lib64/stubs lib/stubs targets/x86_64-linux/lib/stubs targets/sbsa-linux/lib/stubs)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudaDriver REQUIRED_VARS CUDA_DRIVER_LIBRARY CUDA_DRIVER_INCLUDE_DIR)
mark_as_advanced(CUDA_DRIVER_INCLUDE_DIR CUDA_DRIVER_LIBRARY)
if(CudaDriver_FOUND AND NOT TARGET CudaDriver::CudaDriver)
  add_library(CudaDriver::CudaDriver SHARED IMPORTED)
  set_target_properties(CudaDriver::CudaDriver PROPERTIES IMPORTED_LOCATION "${CUDA_DRIVER_LIBRARY}"
                        IMPORTED_SONAME libcuda.so.1
                        INTERFACE_INCLUDE_DIRECTORIES "${CUDA_DRIVER_INCLUDE_DIR}")
endif()
