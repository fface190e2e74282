// The images that leave one output of a running pipeline, for this process. The pipeline never waits for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "core/pipeline/pipeline.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream::c_api {

struct TappedImage {
  std::shared_ptr<const Estimate> estimate;
  std::uint64_t events = 0;  // of the scan up to it
};

class OutputTap {
 public:
  void put(const std::shared_ptr<const Estimate>& estimate, std::uint64_t events);
  /// No more images come.
  void close();
  /// The newest image that was not given yet, once there is one or after so long; without one where none came.
  TappedImage take(std::chrono::duration<double> wait);

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  TappedImage newest_;
  bool is_closed_ = false;
};

/// Takes the images of an output, "gadget" or "gadget.output"; empty: the last one that gives images, where there is
/// one. Throws Wrong where it does not give images.
void connect_tap(Pipeline& pipeline, const std::string& output, const std::shared_ptr<OutputTap>& tap);

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
