// Stopwatch: see stopwatch.hpp.
#include "kernels/device/stopwatch.hpp"

#include <chrono>

#ifdef TOFSTREAM_HAVE_CUDA
#include <cuda_runtime_api.h>

#include "kernels/cuda/check.hpp"
#else
#include "kernels/memory/refuse.hpp"
#endif

namespace tofstream {

namespace {

double by_clock(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

#ifdef TOFSTREAM_HAVE_CUDA
class Event {
 public:
  Event() { check_cuda(cudaEventCreate(&event_), "create an event"); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record() { check_cuda(cudaEventRecord(event_, nullptr), "record an event"); }
  double ms_since(const Event& start) {
    check_cuda(cudaEventSynchronize(event_), "wait for an event");
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, start.event_, event_), "read an event's time");
    return static_cast<double>(ms);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

double by_events(const std::function<void()>& work) {
  Event start, stop;
  start.record();
  work();
  stop.record();
  return stop.ms_since(start);
}
#else
double by_events(const std::function<void()>&) {
  refuse_cuda();
}
#endif

}  // namespace

std::vector<double> time_ms(Backend backend, int warm_ups, int repeats, const std::function<void()>& work) {
  for (int i = 0; i < warm_ups; ++i) work();
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) times.push_back(backend == Backend::cuda ? by_events(work) : by_clock(work));
  return times;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
