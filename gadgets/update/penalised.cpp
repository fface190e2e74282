// What updates with a penalty have in common: see penalised.hpp.
#include "gadgets/update/penalised.hpp"

#include <stdexcept>

#include "kernels/analysis/inner_product.hpp"

namespace tofstream {

void require_penalty_on(const Penalty& penalty, const std::shared_ptr<const Image>& image) {
  if (penalty.of == image) return;
  throw std::runtime_error(
      "the penalty belongs to another image than the estimate that is updated: let the prior read this gadget's "
      "output, and give a penalty for each estimate");
}

void ObjectiveFigure::add(const Projected& projected, const Image& estimate, const Penalty* penalty, Context& context) {
  const UpdateStep& step = projected.step;
  if (step.subsets == 0) return;
  sum_ += projected.tally.log_sum - inner_product(*projected.sensitivity, estimate) * projected.time_fraction;
  if (penalty) {
    if (!penalty->prior)
      throw std::runtime_error("objective: this prior gives its gradient and not its value: set objective: false");
    sum_ -= penalty->prior->value(estimate) *
            (projected.support ? projected.time_fraction / step.subsets : projected.time_fraction);
  }
  if (!step.ends_iteration) return;
  context.append("penalised_log_likelihood", sum_);
  sum_ = 0;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
