// How parts of images get from one rank's memory to another's, where ranks are processes or threads with a GPU each.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace tofstream {

/// Numbers that go to another rank, or come from one.
struct Parcel {
  float* values = nullptr;  // of the caller, in the transport's memory
  std::int64_t count = 0;
  int rank = 0;  // the other one
};

/// All ranks make the same calls in the same order. Calls only queue: what they use must live until wait() has returned.
class RankTransport {
 public:
  RankTransport() = default;
  virtual ~RankTransport() = default;
  RankTransport(const RankTransport&) = delete;
  RankTransport& operator=(const RankTransport&) = delete;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// What rank 0 has goes to all: it calls the first, the others the second.
  virtual void send_to_all(const float* values, std::int64_t count) = 0;
  virtual void receive_from_first(float* values, std::int64_t count) = 0;
  /// All parcels at once. What one rank sends to another arrives in the order in which both name it; counts agree.
  virtual void exchange(std::span<const Parcel> sent, std::span<const Parcel> received) = 0;
  /// sum_i <- sum_i + plus_i, after what was queued before.
  virtual void add(float* sum, const float* plus, std::int64_t count) = 0;
  /// Waits until everything queued is done. `go_on` is called again and again meanwhile, and may throw: then, and where
  /// another rank is lost, the transport can no longer be used. Throws std::runtime_error.
  virtual void wait(const std::function<void()>& go_on) = 0;
  /// Grows with each piece that has come or gone, where the transport knows of them.
  virtual std::int64_t progress() const { return 0; }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
