# CUDA where there is a compiler for it; without one the CPU build is complete and says what it lacks.
set(TOFSTREAM_HAVE_CUDA OFF)
if(TOFSTREAM_CUDA)
  if(NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER AND NOT TOFSTREAM_SANITIZE)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)  # an installed folder then needs nothing but the driver
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25.1 does not know nvcc's C++20
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    string(APPEND CMAKE_CUDA_FLAGS " --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter")
    set(TOFSTREAM_HAVE_CUDA ON)
    # A kernel of many registers is compiled in a third of the time so, and runs slowly.
    if(TOFSTREAM_CUDA_COMPILE_ONLY AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      string(APPEND CMAKE_CUDA_FLAGS " --Ofast-compile=max")
      string(REPLACE "-O3" "-O0" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")  # what calls them
      set(TOFSTREAM_CUDA_KIND " compiled for no GPU to run")
    endif()
  endif()
endif()
message(STATUS "tofstream: CUDA ${TOFSTREAM_HAVE_CUDA}${TOFSTREAM_CUDA_KIND}")
# SPDX-License-Identifier: Apache-2.0
