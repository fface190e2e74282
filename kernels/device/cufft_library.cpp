// cuFFT by name: see cufft_library.hpp. The few functions and numbers are declared here as NVIDIA's 'cuFFT API
// Reference' has them (docs.nvidia.com/cuda/cufft), since its header is not part of a small toolkit.
#include "kernels/device/cufft_library.hpp"

#include <stdexcept>
#include <utility>

#ifdef TOFSTREAM_HAVE_CUDA
#include <array>
#include <cstdlib>

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "kernels/device/library_functions.hpp"
#else
#include "kernels/memory/refuse.hpp"
#endif

namespace tofstream {

#ifdef TOFSTREAM_HAVE_CUDA

namespace {

constexpr int cufft_r2c = 0x2a, cufft_c2r = 0x2c, cufft_c2c = 0x29;
constexpr int cufft_forward = -1, cufft_inverse = 1;

/// That of CUDA 13 is libcufft.so.12, of CUDA 12 libcufft.so.11, of CUDA 11 libcufft.so.10: this program's first.
std::vector<std::string> cufft_names() {
  constexpr int own = CUDART_VERSION / 1000 - 1;
  std::vector<std::string> names = {fmt::format("libcufft.so.{}", own)};
  for (const int version : {12, 11, 10})
    if (version != own) names.push_back(fmt::format("libcufft.so.{}", version));
  return names;
}

/// Where a toolkit keeps its libraries, if the system's search does not find them.
std::vector<std::string> cufft_folders() {
  std::vector<std::string> folders = {""};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* folder = std::getenv(variable); folder && *folder)
      folders.push_back(std::string(folder) + "/lib64/");
  folders.emplace_back("/usr/local/cuda/lib64/");
  return folders;
}

void* open_cufft() {
  for (const std::string& name : cufft_names())
    for (const std::string& folder : cufft_folders())
      if (void* library = ::dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  throw std::runtime_error(fmt::format(
      "Fourier transforms on CUDA need NVIDIA's {}, which is not found: install libcufft of the CUDA toolkit, "
      "or name its folder in LD_LIBRARY_PATH; or take a form without them (of a camera's point spread: separable or "
      "table), or backend: cpu",
      cufft_names().front()));
}

/// Its functions. It stays loaded until the program ends.
struct CufftFunctions {
  int (*create)(int* plan);
  int (*destroy)(int plan);
  int (*set_auto_allocation)(int plan, int automatic);
  int (*make_plan)(int plan, int axes, long long* size, long long* in_embedded, long long in_stride,
                   long long in_distance, long long* out_embedded, long long out_stride, long long out_distance,
                   int type, long long batch, std::size_t* work_bytes);
  int (*set_stream)(int plan, Stream stream);
  int (*set_work_area)(int plan, void* work);
  int (*real_to_complex)(int plan, float* in, float* out);
  int (*complex_to_real)(int plan, float* in, float* out);
  int (*complex)(int plan, float* in, float* out, int direction);

  CufftFunctions() {
    const LibraryFunctions library(open_cufft(), "cuFFT", "is it damaged?");
    library.find(create, "cufftCreate");
    library.find(destroy, "cufftDestroy");
    library.find(set_auto_allocation, "cufftSetAutoAllocation");
    library.find(make_plan, "cufftMakePlanMany64");
    library.find(set_stream, "cufftSetStream");
    library.find(set_work_area, "cufftSetWorkArea");
    library.find(real_to_complex, "cufftExecR2C");
    library.find(complex_to_real, "cufftExecC2R");
    library.find(complex, "cufftExecC2C");
  }
};

const CufftFunctions& cufft() {
  static const CufftFunctions functions;
  return functions;
}

const char* cufft_reason(int status) {
  constexpr std::array<const char*, 10> reasons = {
      "success",        "invalid plan",  "out of device memory", "invalid type", "invalid value",
      "internal error", "failed to run", "failed to set up",     "invalid size", "unaligned data"};
  return status >= 0 && status < static_cast<int>(reasons.size()) ? reasons[static_cast<std::size_t>(status)]
                                                                  : "an error without a name";
}

void check_cufft(int status, const char* purpose) {
  if (status != 0)
    throw std::runtime_error(fmt::format("cuFFT: cannot {}: {} ({})", purpose, cufft_reason(status), status));
}

int cufft_type(FftKind kind) {
  return kind == FftKind::real_to_complex ? cufft_r2c : kind == FftKind::complex_to_real ? cufft_c2r : cufft_c2c;
}

/// The side with nothing left open.
FftSide completed_side(FftSide side, std::vector<long long> packed) {
  if (side.embedded.empty()) side.embedded = std::move(packed);
  if (side.distance == 0) {
    side.distance = side.stride;
    for (const long long edge : side.embedded) side.distance *= edge;
  }
  return side;
}

std::vector<long long> half_of(std::vector<long long> size) {
  size.back() = size.back() / 2 + 1;
  return size;
}

}  // namespace

std::string why_no_cufft() {
  if (std::string reason = why_no_cuda(); !reason.empty()) return reason;
  try {
    (void)cufft();
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

CudaFft::CudaFft(const FftShape& shape) : kind_(shape.kind) {
  require_cuda();
  if (shape.size.empty()) throw std::logic_error("a Fourier transform without an axis was asked for");
  const CufftFunctions& functions = cufft();
  std::vector<long long> size = shape.size;
  FftSide in = completed_side(shape.in, kind_ == FftKind::complex_to_real ? half_of(size) : size);
  FftSide out = completed_side(shape.out, kind_ == FftKind::real_to_complex ? half_of(size) : size);
  check_cufft(functions.create(&plan_), "begin a plan");
  try {
    check_cufft(functions.set_auto_allocation(plan_, 0), "prepare a plan");
    check_cufft(functions.make_plan(plan_, static_cast<int>(size.size()), size.data(), in.embedded.data(), in.stride,
                                    in.distance, out.embedded.data(), out.stride, out.distance, cufft_type(kind_),
                                    shape.batch, &work_bytes_),
                "plan transforms");
  } catch (...) {
    functions.destroy(plan_);
    throw;
  }
}

CudaFft::~CudaFft() {
  if (plan_ >= 0) cufft().destroy(plan_);
}

void CudaFft::queue(float* in, float* out, void* work, Stream stream, FftDirection direction) const {
  const CufftFunctions& functions = cufft();
  check_cufft(functions.set_stream(plan_, stream), "queue transforms on a stream");
  if (work_bytes_ > 0) check_cufft(functions.set_work_area(plan_, work), "give transforms their memory");
  const int status =
      kind_ == FftKind::real_to_complex ? functions.real_to_complex(plan_, in, out)
      : kind_ == FftKind::complex_to_real
          ? functions.complex_to_real(plan_, in, out)
          : functions.complex(plan_, in, out, direction == FftDirection::forward ? cufft_forward : cufft_inverse);
  check_cufft(status, "queue transforms");
}

#else

std::string why_no_cufft() {
  return why_no_cuda();
}
CudaFft::CudaFft(const FftShape&) {
  refuse_cuda();
}
CudaFft::~CudaFft() = default;
void CudaFft::queue(float*, float*, void*, Stream, FftDirection) const {
  refuse_cuda();
}

#endif

CudaFft::CudaFft(CudaFft&& other) noexcept
    : kind_(other.kind_), plan_(std::exchange(other.plan_, -1)), work_bytes_(other.work_bytes_) {}
CudaFft& CudaFft::operator=(CudaFft&& other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(plan_, other.plan_);
  std::swap(work_bytes_, other.work_bytes_);
  return *this;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
