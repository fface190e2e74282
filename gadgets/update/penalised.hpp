// What updates with a penalty have in common: their inputs, and the penalised log-likelihood as a figure.
#pragma once

#include <memory>

#include "core/gadget.hpp"
#include "gadgets/penalty.hpp"
#include "gadgets/update/estimate_keeper.hpp"

namespace tofstream {

struct UpdateInputs {
  std::shared_ptr<const Projected> projected;
  std::shared_ptr<const Penalty> penalty;  // on the estimate that was projected; null where no prior is connected
  static constexpr auto inputs =
      ports(port<&UpdateInputs::projected>("projected"),
            Port<&UpdateInputs::penalty>{.name = "penalty", .is_feedback = true, .is_optional = true});
};

inline constexpr auto* objective_words =
    "Report the penalised log-likelihood of each iteration (penalised_log_likelihood); on a GPU this copies two images "
    "for each subset to the host";

/// Throws std::runtime_error where the penalty is on another image than the one that is updated.
void require_penalty_on(const Penalty& penalty, const std::shared_ptr<const Image>& image);

/// The sum over an iteration's subsets of log-likelihood - beta U. With one subset it is of the image before the
/// update; with more, each term is of the estimate that its subset met, and its part of the penalty is that of the time
/// T_k/T, or of the number of views' subsets.
class ObjectiveFigure {
 public:
  /// Takes a subset, and appends the figure where it ends an iteration. `penalty` may be null. Not for live streams
  /// that have not ended, which have no whole iterations. Throws std::runtime_error for a penalty that has no value.
  void add(const Projected& projected, const Image& estimate, const Penalty* penalty, Context& context);
  void restart() { sum_ = 0; }

 private:
  double sum_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
