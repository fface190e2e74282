// A rank of this process at a sensitivity. Internal to it: the first rank is asked what is to be drawn.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/ring/sensitivity/pair_drawing.hpp"

namespace tofstream::detail {

class LocalSensitivityRank final : public SensitivityRank {
 public:
  LocalSensitivityRank(const SensitivityWork& work, ListModeProjector& projector, Stream stream);

  std::int64_t project_pairs(int replicate, std::int64_t part, float* sum) override;
  std::int64_t project_lines(EventBatch lines, float* sum) override;
  /// How it draws pairs, where it does.
  const PairDrawing& drawing() const { return *drawing_; }

 private:
  ListModeProjector& projector_;
  Stream stream_;
  std::optional<PairDrawing> drawing_;
  EventBatch lines_;  // of the call before, which may still be projected
  std::vector<Attenuation> attenuation_;
};

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
