// Randoms from singles, with and without what prompts took of them: see singles_randoms.hpp.
#include "kernels/ring/correct/singles_randoms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tofstream {

namespace {

constexpr int most_singles_rounds = 200;
constexpr double singles_tolerance = 1e-9;  // of the sum of rates, from one iteration to the next

void check_singles_rates(const Scanner& scanner, std::span<const double> cps, const char* what) {
  if (static_cast<std::int64_t>(cps.size()) != scanner.detectors->size())
    throw std::invalid_argument(fmt::format("rates of {} of {} detectors, and scanner {} has {}", what, cps.size(),
                                            scanner.name, scanner.detectors->size()));
  for (std::size_t d = 0; d < cps.size(); ++d)
    if (!(cps[d] >= 0 && std::isfinite(cps[d])))
      throw std::invalid_argument(fmt::format("detector {} cannot have {} {} per s", d, cps[d], what));
}

void check_singles_window(double window_s) {
  if (!(window_s > 0 && std::isfinite(window_s)))
    throw std::invalid_argument(fmt::format("a coincidence window of {} s gives no randoms", window_s));
}

double sum_of_rates(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

RandomsModel product_of_singles(std::span<const double> cps, double window_s) {
  RandomsModel model;
  model.factor.reserve(cps.size());
  const double root = std::sqrt(window_s);
  for (const double rate : cps) model.factor.push_back(static_cast<float>(root * rate));
  return model;
}

}  // namespace

RandomsModel randoms_from_singles(const Scanner& scanner, std::span<const double> singles_cps, double window_s) {
  check_singles_rates(scanner, singles_cps, "singles");
  check_singles_window(window_s);
  return product_of_singles(singles_cps, window_s);
}

SinglesPromptsRandoms randoms_from_singles_and_prompts(const Scanner& scanner, std::span<const double> singles_cps,
                                                       std::span<const double> prompts_cps, double window_s) {
  check_singles_rates(scanner, singles_cps, "singles");
  check_singles_rates(scanner, prompts_cps, "prompts");
  check_singles_window(window_s);
  const double singles = sum_of_rates(singles_cps), prompts = sum_of_rates(prompts_cps), tau = 0.5 * window_s;
  if (prompts > singles)
    throw std::runtime_error(
        fmt::format("{:.4g} singles per s are fewer than the {:.4g} photons per s of the prompts: they are not of the "
                    "coincidences' energy window, or not of all photons",
                    singles, prompts));
  const CoincidenceSums sums(scanner);
  std::vector<double> unpaired(singles_cps.begin(), singles_cps.end());
  SinglesPromptsRandoms result{.model = {}, .unpaired_cps = singles};
  for (int iteration = 0;; ++iteration) {
    result.isolated = std::exp(-(result.unpaired_cps + singles) * tau);
    const std::vector<double> fan = sums.fans(unpaired);
    result.below_prompts = 0;
    for (std::size_t d = 0; d < unpaired.size(); ++d) {
      const double free = singles_cps[d] - prompts_cps[d] / result.isolated, left = 1 - window_s * fan[d];
      if (!(left > 0.5) || iteration == most_singles_rounds)
        throw std::runtime_error(
            fmt::format("{:.4g} singles per s in a window of {:.3g} ns are too many for the singles-prompts method",
                        singles, 1e9 * window_s));
      if (free < 0) ++result.below_prompts;
      unpaired[d] = std::max(free, 0.0) / left;
    }
    const double before = std::exchange(result.unpaired_cps, sum_of_rates(unpaired));
    if (std::abs(result.unpaired_cps - before) <= singles_tolerance * singles) break;
  }
  result.isolated = std::exp(-(result.unpaired_cps + singles) * tau);
  result.model = product_of_singles(unpaired, window_s * result.isolated);
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
