// NCCL by name: see nccl.hpp. The few functions and numbers are declared here as NVIDIA's 'NCCL API' has them
// (docs.nvidia.com/deeplearning/nccl), since its header is not part of every toolkit.
#include "kernels/collective/nccl.hpp"

#include <stdexcept>

#include <fmt/format.h>

#ifdef TOFSTREAM_HAVE_CUDA
#include <chrono>
#include <cstdlib>
#include <thread>
#include <type_traits>
#include <vector>

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "kernels/collective/made_in_time.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/em/image_sum.hpp"
#include "kernels/memory/devices.hpp"
#endif

namespace tofstream {

namespace {

// Until 2.8 it counted otherwise: 2708 is 2.7.8, which is 20708 since.
int counted_as_now(int version) {
  return version < 10000 ? version / 1000 * 10000 + version % 1000 : version;
}

}  // namespace

std::string nccl_version_text(int version) {
  const int now = counted_as_now(version);
  return fmt::format("{}.{}.{}", now / 10000, now / 100 % 100, now % 100);
}

std::string why_nccl_is_too_old(int version) {
  constexpr int least = 20700;  // the first with parcels between any two ranks
  if (counted_as_now(version) >= least) return "";
  return fmt::format("this machine's NCCL is version {}, and {} is the oldest that will do", nccl_version_text(version),
                     nccl_version_text(least));
}

#ifdef TOFSTREAM_HAVE_CUDA

namespace {

constexpr int nccl_success = 0, nccl_in_progress = 7, nccl_float = 7;

void* open_nccl() {
  std::vector<std::string> folders = {""};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* folder = std::getenv(variable); folder && *folder)
      for (const char* below : {"/lib64/", "/lib/"}) folders.push_back(std::string(folder) + below);
  for (const char* folder : {"/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"}) folders.emplace_back(folder);
  for (const std::string& folder : folders)
    if (void* library = ::dlopen((folder + "libnccl.so.2").c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  throw std::runtime_error(
      "NVIDIA's libnccl.so.2 is not found: install libnccl2, or name its folder in LD_LIBRARY_PATH");
}

struct NcclComm;

/// Its functions. It stays loaded until the program ends.
struct NcclFunctions {
  int (*get_version)(int* version);
  int (*get_unique_id)(NcclId* id);
  int (*init_rank)(NcclComm** comm, int ranks, NcclId id, int rank);
  int (*abort)(NcclComm* comm);
  int (*async_error)(NcclComm* comm, int* error);
  int (*group_start)();
  int (*group_end)();
  int (*broadcast)(const void* sent, void* received, std::size_t count, int type, int root, NcclComm* comm,
                   Stream stream);
  int (*send)(const void* values, std::size_t count, int type, int rank, NcclComm* comm, Stream stream);
  int (*receive)(void* values, std::size_t count, int type, int rank, NcclComm* comm, Stream stream);
  const char* (*error_string)(int status);
  int version = 0;

  NcclFunctions() {
    void* const library = open_nccl();
    const auto find = [&](auto& function, const char* name) {
      void* const symbol = ::dlsym(library, name);
      if (!symbol)
        throw std::runtime_error(fmt::format("this machine's NCCL has no function {}: is it too old?", name));
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
    };
    find(get_version, "ncclGetVersion");
    find(get_unique_id, "ncclGetUniqueId");
    find(init_rank, "ncclCommInitRank");
    find(abort, "ncclCommAbort");
    find(async_error, "ncclCommGetAsyncError");
    find(group_start, "ncclGroupStart");
    find(group_end, "ncclGroupEnd");
    find(broadcast, "ncclBroadcast");
    find(send, "ncclSend");
    find(receive, "ncclRecv");
    find(error_string, "ncclGetErrorString");
    if (get_version(&version) != nccl_success) throw std::runtime_error("this machine's NCCL does not say its version");
    if (const std::string reason = why_nccl_is_too_old(version); !reason.empty()) throw std::runtime_error(reason);
  }
};

const NcclFunctions& nccl() {
  static const NcclFunctions functions;
  return functions;
}

void check_nccl(int status, const char* purpose) {
  if (status != nccl_success && status != nccl_in_progress)
    throw std::runtime_error(fmt::format("NCCL: cannot {}: {}", purpose, nccl().error_string(status)));
}

std::string who_is_late(int rank, int ranks) {
  return fmt::format("NCCL: rank {} waited for the others of {} ranks to join, and not all came in time", rank, ranks);
}

class NcclTransport final : public RankTransport {
 public:
  using Clock = std::chrono::steady_clock;
  NcclTransport(const NcclId& id, int rank, int ranks, Clock::time_point deadline) : rank_(rank), ranks_(ranks) {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream for parcels between ranks");
    try {
      check_nccl(nccl().init_rank(&comm_, ranks, id, rank), "join the ranks");
      connect(deadline);
    } catch (...) {
      end();
      throw;
    }
  }
  // Its end waits for nobody: another rank may be lost.
  ~NcclTransport() override { end(); }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  // The sender's own is not written where it lies.
  void send_to_all(const float* values, std::int64_t count) override {
    broadcast(values, const_cast<float*>(values), count);
  }
  void receive_from_first(float* values, std::int64_t count) override { broadcast(values, values, count); }

  void exchange(std::span<const Parcel> sent, std::span<const Parcel> received) override {
    check_nccl(nccl().group_start(), "begin an exchange");
    for (const Parcel& parcel : sent)
      check_nccl(
          nccl().send(parcel.values, static_cast<std::size_t>(parcel.count), nccl_float, parcel.rank, comm_, stream_),
          "send a part of an image");
    for (const Parcel& parcel : received)
      check_nccl(nccl().receive(parcel.values, static_cast<std::size_t>(parcel.count), nccl_float, parcel.rank, comm_,
                                stream_),
                 "receive a part of an image");
    check_nccl(nccl().group_end(), "exchange parts of images");
  }

  void add(float* sum, const float* plus, std::int64_t count) override {
    add_values(sum, plus, count, Memory::device, stream_);
  }

  void wait(const std::function<void()>& go_on) override {
    constexpr std::chrono::milliseconds looks_at{1};  // mostly it is done before
    const auto began = Clock::now();
    while (true) {
      const cudaError_t state = cudaStreamQuery(stream_);
      if (state == cudaSuccess) break;
      if (state != cudaErrorNotReady) check_cuda(state, "exchange parts of images");
      (void)cudaGetLastError();  // so that no later check finds it
      int error = nccl_success;
      check_nccl(nccl().async_error(comm_, &error), "ask how an exchange goes");
      check_nccl(error, "exchange parts of images");
      go_on();
      if (Clock::now() - began > looks_at) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  // NCCL connects two ranks when they first have something for each other, and the call waits for both: here, where all
  // are waited for anyway. Who gives up takes its kernels from the GPU (end()).
  void connect(Clock::time_point deadline) {
    Buffer<float> tokens = Buffer<float>::zeros(Memory::device, 2 * ranks_, stream_);
    broadcast(tokens.data(), tokens.data(), 1);
    std::vector<Parcel> sent, received;
    for (int other = 0; other < ranks_; ++other) {
      if (other == rank_) continue;
      sent.push_back({tokens.data() + other, 1, other});
      received.push_back({tokens.data() + ranks_ + other, 1, other});
    }
    exchange(sent, received);
    wait([&] {
      if (Clock::now() > deadline) throw NotInTime(who_is_late(rank_, ranks_));
    });
  }

  void end() {
    if (comm_) nccl().abort(comm_);
    cudaStreamDestroy(stream_);
  }

  void broadcast(const float* sent, float* received, std::int64_t count) {
    check_nccl(nccl().broadcast(sent, received, static_cast<std::size_t>(count), nccl_float, 0, comm_, stream_),
               "send an image to all ranks");
  }

  int rank_, ranks_;
  Stream stream_ = nullptr;
  NcclComm* comm_ = nullptr;
};

}  // namespace

std::string why_no_nccl() {
  if (std::string reason = why_no_cuda(); !reason.empty()) return reason;
  try {
    (void)nccl();
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

int nccl_version() {
  return why_no_nccl().empty() ? nccl().version : 0;
}

NcclId new_nccl_id() {
  if (const std::string reason = why_no_nccl(); !reason.empty()) throw std::runtime_error(reason);
  NcclId id;
  check_nccl(nccl().get_unique_id(&id), "make a place where ranks meet");
  return id;
}

std::unique_ptr<RankTransport> make_nccl_transport(const NcclId& id, int rank, int ranks,
                                                   std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  // The thread that waits for others' kernels gives up by itself; here, that whose call never returns.
  constexpr std::chrono::seconds to_give_up{1};
  return made_in_time<std::unique_ptr<RankTransport>>(
      [=, device = current_device()] {
        use_device(device);
        return std::make_unique<NcclTransport>(id, rank, ranks, deadline);
      },
      patience + to_give_up, who_is_late(rank, ranks));
}

#else

std::string why_no_nccl() {
  return why_no_cuda();
}
int nccl_version() {
  return 0;
}
NcclId new_nccl_id() {
  throw std::runtime_error(why_no_nccl());
}
std::unique_ptr<RankTransport> make_nccl_transport(const NcclId&, int, int, std::chrono::milliseconds) {
  throw std::runtime_error(why_no_nccl());
}

#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
