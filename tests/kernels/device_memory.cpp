// Device memory comes from the program's own pool; other code in the process has pools of its own.
#include "kernels/memory/memory.hpp"
#include "tests/support/gpu.hpp"

#ifdef TOFSTREAM_HAVE_CUDA
#include "kernels/cuda/check.hpp"
#endif

using namespace tofstream;

#ifdef TOFSTREAM_HAVE_CUDA
namespace {

template <class Value>
Value of_default_pool(cudaMemPoolAttr attribute) {
  int device = 0;
  cudaMemPool_t pool = nullptr;
  Value value{};
  check_cuda(cudaGetDevice(&device), "find the current device");
  check_cuda(cudaDeviceGetDefaultMemPool(&pool, device), "find the device's memory pool");
  check_cuda(cudaMemPoolGetAttribute(pool, attribute, &value), "read the memory pool");
  return value;
}

}  // namespace
#endif

TEST_CASE("the device's default memory pool is left as CUDA made it") {
  if (!gpu_or_skip()) return;
#ifdef TOFSTREAM_HAVE_CUDA
  const auto buffer = Buffer<float>::zeros(Memory::device, 1 << 20);
  CHECK(of_default_pool<std::uint64_t>(cudaMemPoolAttrReleaseThreshold) == 0);
  CHECK(of_default_pool<int>(cudaMemPoolReuseFollowEventDependencies) == 1);
  CHECK(of_default_pool<int>(cudaMemPoolReuseAllowOpportunistic) == 1);
  CHECK(of_default_pool<int>(cudaMemPoolReuseAllowInternalDependencies) == 1);
  CHECK(of_default_pool<std::uint64_t>(cudaMemPoolAttrUsedMemHigh) == 0);
#endif
}

TEST_CASE("memory that is given back can be had again, though the program keeps it") {
  if (!gpu_or_skip()) return;
  constexpr std::int64_t bytes = std::int64_t{256} << 20, granule = std::int64_t{32} << 20;
  const auto free_bytes = [] {
    synchronize(nullptr);
    return static_cast<std::int64_t>(free_device_bytes());
  };
  // Other programs, such as other suites of tools/gpu_tests, use memory of the same GPU meanwhile: one quiet moment is
  // enough.
  bool taken = false, given_back = false;
  for (int attempt = 0; attempt < 20 && !(taken && given_back); ++attempt) {
    const std::int64_t before = free_bytes();
    {
      const Buffer<char> buffer(Memory::device, bytes);
      taken = free_bytes() <= before - bytes;
    }
    given_back = free_bytes() > before - granule;
  }
  CHECK(taken);
  CHECK(given_back);
}
// SPDX-License-Identifier: Apache-2.0
