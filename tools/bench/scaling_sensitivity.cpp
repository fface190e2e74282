// See scaling_sensitivity.hpp.
#include "tools/bench/scaling_sensitivity.hpp"

#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/analysis/compare.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "tools/bench/bench.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

// As a pipeline's, but always a lattice of the pairs that were asked for.
SensitivitySettings settings_of(std::int64_t pairs, Backend backend) {
  SensitivitySettings settings = default_sensitivity(backend);
  settings.exact_pairs = settings.sampled_pairs = pairs;
  settings.error = 1;
  return settings;
}

}  // namespace

nlohmann::ordered_json sensitivity_rows(const Scanner& scanner, std::int64_t pairs, const std::vector<int>& ranks,
                                        const std::function<std::unique_ptr<ListModeProjector>()>& make) {
  const auto projector = make();
  const SensitivitySettings settings = settings_of(pairs, projector->backend());
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  Image of_one;
  double one_s = 0;
  for (const int sharing : ranks) {
    Sensitivity made;
    std::vector<double> seconds;
    constexpr int repeats = 4;  // the first loads the kernels
    for (int i = 0; i < repeats; ++i) {
      const auto began = std::chrono::steady_clock::now();
      made = compute_sensitivity(scanner, {*projector, sharing, make}, settings);
      if (i > 0) seconds.push_back(seconds_since(began));
    }
    if (!made.exact && !made.is_lattice)
      throw InputError(
          fmt::format("--sensitivity-pairs {} is too few for a lattice of {} pairs of detectors", pairs, made.pairs));
    const double time = median(seconds);
    if (rows.empty()) {
      one_s = time;
      of_one = made.image;
    }
    rows.push_back({{"ranks", sharing},
                    {"pairs", made.drawn},
                    {"of_pairs", made.pairs},
                    {"seconds", time},
                    {"of_ideal", one_s / sharing / time},
                    {"nrms_to_one", compare(made.image, of_one).nrms}});
  }
  return rows;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
