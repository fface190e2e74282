// Work on a stream of its own, between a caller's: see work_stream.hpp.
#include "kernels/device/work_stream.hpp"

#ifdef TOFSTREAM_HAVE_CUDA
#include "kernels/cuda/check.hpp"
#endif

namespace tofstream {

#ifdef TOFSTREAM_HAVE_CUDA

WorkStream::~WorkStream() {
  if (begin_) cudaEventDestroy(begin_);
  if (end_) cudaEventDestroy(end_);
  if (stream_) cudaStreamDestroy(stream_);
}

void WorkStream::make() {
  if (end_) return;
  // One that waits for the default stream, and that waits for it: calls on both are in order.
  if (!stream_) check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamDefault), "make a stream");
  if (!begin_) check_cuda(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming), "make an event");
  check_cuda(cudaEventCreateWithFlags(&end_, cudaEventDisableTiming), "make an event");
}

void WorkStream::run(Stream callers, const std::function<void(Stream)>& queue) {
  const std::lock_guard lock(mutex_);
  if (!callers || callers == cudaStreamLegacy) return queue(nullptr);
  make();
  check_cuda(cudaEventRecord(begin_, callers), "note where a stream is");
  check_cuda(cudaStreamWaitEvent(stream_, begin_), "let a stream wait");
  queue(stream_);
  check_cuda(cudaEventRecord(end_, stream_), "note where a stream is");
  check_cuda(cudaStreamWaitEvent(callers, end_), "let a stream wait");
}

#else

WorkStream::~WorkStream() = default;

void WorkStream::make() {}

void WorkStream::run(Stream callers, const std::function<void(Stream)>& queue) {
  queue(callers);
}

#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
