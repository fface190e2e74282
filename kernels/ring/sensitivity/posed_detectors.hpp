// The detectors of a scanner in each of its poses, as draws of pairs read them. Internal to the sensitivity.
#pragma once

#include "kernels/memory/memory.hpp"
#include "kernels/ring/sensitivity/pair_sample.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::detail {

class PosedDetectors {
 public:
  /// In the given memory; copies to a device are queued on the stream. Throws std::invalid_argument for more detectors in
  /// all poses than can be numbered.
  /// `keeps_still`: for still().
  PosedDetectors(const Scanner& scanner, Memory memory, Stream stream, bool keeps_still = false);

  const PosesView& view() const { return view_; }
  /// The detectors by the same numbers where they stand when nothing moves; null without poses.
  const Detector* still() const { return still_.data(); }
  /// In how many places each pair is looked at.
  std::int64_t places() const { return view_.count > 0 ? view_.count : 1; }

 private:
  PosesView view_;
  Buffer<Detector> detectors_, still_;
  Buffer<float> shares_, ends_;
};

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
