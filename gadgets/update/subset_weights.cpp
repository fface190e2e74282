// Weights of subsets: see subset_weights.hpp.
#include "gadgets/update/subset_weights.hpp"

#include "kernels/analysis/inner_product.hpp"

namespace tofstream {
namespace {

double sum_of(const Image& image) {
  return inner_product(image, Image::filled(image.grid, 1));
}

}  // namespace

SubsetWeights::SubsetWeights(const std::map<std::string, double>& kept) {
  const auto read = [&](const char* name, double& value) {
    if (const auto found = kept.find(name); found != kept.end()) value = found->second;
  };
  read("fraction_sum", fraction_sum_);
  read("subsets", subsets_);
  read("rate", rate_);
  read("mean", mean_);
}

bool SubsetWeights::are_in(const std::map<std::string, double>& kept) {
  return kept.contains("rate");
}

void SubsetWeights::note(const Projected& projected) {
  if (projected.step.iteration <= 1) {
    fraction_sum_ += projected.time_fraction;
    ++subsets_;
  }
  if (rate_ > 0 || projected.tally.used == 0) return;
  const double sensitivity = sum_of(projected.support ? *projected.support : *projected.sensitivity);
  const double share = projected.support ? projected.time_fraction / weight_of(projected) : projected.time_fraction;
  if (!(sensitivity > 0 && share > 0)) return;
  rate_ = static_cast<double>(projected.tally.used) / share;
  mean_ = rate_ / sensitivity;
}

double SubsetWeights::weight_of(const Projected& projected) const {
  if (projected.support) return projected.step.subsets > 0 ? projected.step.subsets : subsets_ > 0 ? subsets_ : 1;
  return subsets_ > 0 ? projected.time_fraction * subsets_ / fraction_sum_ : 1;
}

std::map<std::string, double> SubsetWeights::kept() const {
  return {{"fraction_sum", fraction_sum_}, {"subsets", subsets_}, {"rate", rate_}, {"mean", mean_}};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
