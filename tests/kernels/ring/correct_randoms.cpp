// Randoms from delayeds: fan sums by modules against brute force, the fit against the true rates, and its noise against
// the noise of the delayeds.
#include <map>
#include <random>

#include "kernels/ring/correct/normalisation.hpp"
#include "kernels/ring/correct/randoms.hpp"
#include "tests/kernels/ring/correct_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

std::vector<double> unequal(std::size_t count) {
  std::mt19937 random(3);
  std::vector<double> s;
  for (std::size_t d = 0; d < count; ++d) s.push_back(0.5 + 0.5 * static_cast<double>(random()) / 4294967296.0);
  return s;
}

/// Two types of modules, pairs within a module in coincidence where the table says so.
Scanner two_types(bool within) {
  Scanner scanner;
  scanner.detectors = std::make_shared<DetectorTable>(std::vector<Vec3>(3 * 2 + 2 * 5));
  scanner.types = {{0, 0, 3, 2, 1, 0}, {6, 3, 2, 5, 1, 6}};
  scanner.module_pair.assign(25, 0);
  for (std::size_t m = 0; m < 5; ++m) scanner.module_pair[m * 5 + m] = within && m != 1 ? 0 : -1;
  scanner.module_pair[2 * 5 + 0] = scanner.module_pair[0 * 5 + 2] = -1;
  scanner.validate();
  return scanner;
}

/// The scanner with efficiencies in [0.5, 1], and Poisson delayeds of a product model.
struct DelayedScan {
  explicit DelayedScan(double mean_counts_a_pair)
      : scanner(with_normalisation(*make_scanner(small_ring()), {.crystal_efficiency = crystals()})) {
    const CoincidenceSums sums(*scanner);
    const double pairs = sums.total(std::vector<double>(static_cast<std::size_t>(scanner->detectors->size()), 1.0));
    truth = randoms_of_rate(*scanner, mean_counts_a_pair * pairs / seconds);
    std::mt19937_64 random(11);
    const auto detectors = static_cast<std::uint32_t>(scanner->detectors->size());
    std::vector<std::uint32_t> one, two;
    for (std::uint32_t a = 0; a < detectors; ++a)
      for (std::uint32_t b = 0; b < a; ++b) {
        if (!scanner->in_coincidence(a, b)) continue;
        std::poisson_distribution<int> poisson(seconds * static_cast<double>(truth.rate(a, b)));
        const int n = poisson(random);
        counted[{a, b}] = n;
        one.insert(one.end(), static_cast<std::size_t>(n), a);
        two.insert(two.end(), static_cast<std::size_t>(n), b);
      }
    batch.count = static_cast<std::int64_t>(one.size());
    batch.scanner = scanner;
    batch.detectors = scanner->detectors;
    batch.detector1 = Buffer<std::uint32_t>::from(one);
    batch.detector2 = Buffer<std::uint32_t>::from(two);
    batch.delayed = true;
  }
  static std::vector<float> crystals() {
    const auto s = unequal(static_cast<std::size_t>(small_ring().detectors()));
    return {s.begin(), s.end()};
  }
  static constexpr double seconds = 40;
  std::shared_ptr<const Scanner> scanner;
  RandomsModel truth;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> counted;
  EventBatch batch;
};

}  // namespace

TEST_CASE("fan sums by modules are those over all pairs in coincidence") {
  for (const bool within : {false, true}) {
    const Scanner scanner = two_types(within);
    const CoincidenceSums sums(scanner);
    const std::vector<double> s = unequal(16);
    const std::vector<double> fans = sums.fans(s);
    double total = 0;
    for (std::uint32_t a = 0; a < 16; ++a) {
      double fan = 0;
      for (std::uint32_t b = 0; b < 16; ++b)
        if (a != b && scanner.in_coincidence(a, b)) fan += s[b];
      CAPTURE(a);
      CHECK(fans[a] == approx(fan).epsilon(1e-12));
      total += 0.5 * s[a] * fan;
    }
    CHECK(sums.total(s) == approx(total).epsilon(1e-12));
  }
}

TEST_CASE("a given rate is spread over all pairs by the crystals' efficiencies") {
  const DelayedScan scan(0.1);
  const RandomsModel model = randoms_of_rate(*scan.scanner, 5000);
  double total = 0;
  for (const auto& [pair, n] : scan.counted) total += static_cast<double>(model.rate(pair.first, pair.second));
  CHECK(total == approx(5000).epsilon(1e-5));
  const auto crystals = DelayedScan::crystals();
  CHECK(model.factor[7] / model.factor[200] == approx(crystals[7] / crystals[200]).epsilon(1e-5));
  CHECK_THROWS_WITH(randoms_of_rate(*scan.scanner, -1), doctest::Contains("rate of randoms"));
}

TEST_CASE("the fit keeps every detector's delayeds, and its noise is that of fan sums, not of pairs") {
  const DelayedScan scan(0.5);
  DelayedCounts counts(*scan.scanner);
  counts.add(scan.batch);
  const RandomsModel model = randoms_from_delayeds(*scan.scanner, counts, DelayedScan::seconds);

  const auto fans = CoincidenceSums(*scan.scanner).fans({model.factor.begin(), model.factor.end()});
  double worst = 0;
  for (std::size_t d = 0; d < fans.size(); ++d)
    worst = std::max(worst, std::abs(static_cast<double>(model.factor[d]) * fans[d] * DelayedScan::seconds /
                                         static_cast<double>(counts.fans()[d]) -
                                     1));
  CHECK(worst < 1e-5);

  double error2 = 0, raw2 = 0, mean_fan = 0;
  for (const auto& [pair, n] : scan.counted) {
    const double rate = static_cast<double>(scan.truth.rate(pair.first, pair.second));
    const double fitted = static_cast<double>(model.rate(pair.first, pair.second));
    error2 += (fitted / rate - 1) * (fitted / rate - 1);
    raw2 += (n / DelayedScan::seconds / rate - 1) * (n / DelayedScan::seconds / rate - 1);
  }
  const auto pairs = static_cast<double>(scan.counted.size());
  for (const std::int64_t n : counts.fans()) mean_fan += static_cast<double>(n) / static_cast<double>(fans.size());
  // Two factors, each known as well as its detector's count.
  CHECK(std::sqrt(error2 / pairs) < 1.15 * std::sqrt(2 / mean_fan));
  CHECK(std::sqrt(error2 / pairs) < 0.1 * std::sqrt(raw2 / pairs));
}

TEST_CASE("no delayeds give no randoms, and none without a scan time") {
  const auto scanner = make_scanner(small_ring());
  const DelayedCounts counts(*scanner);
  CHECK(randoms_from_delayeds(*scanner, counts, 1).rate(1, 300) == 0);
  CHECK_THROWS_WITH(randoms_from_delayeds(*scanner, counts, 0), doctest::Contains("scan time"));
}

TEST_CASE("a normalisation replaces crystals' efficiencies and the calibration, in every energy bin") {
  Scanner scanner = two_types(true);
  scanner.types[0].energy_bins = 2;
  scanner.types[1].first_bin = 12;
  scanner.bin_efficiency.assign(22, 0.25f);
  const auto replaced = with_normalisation(
      scanner, {.crystal_efficiency = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, .calibration = 3});
  CHECK(replaced->efficiency(10, 1) == approx(3 * 2 * 11));
  CHECK(replaced->efficiency(5, 3) == approx(3 * 4 * 6));
  CHECK(without_normalisation(scanner)->efficiency(10, 1) == 1);
  CHECK_THROWS_WITH(with_normalisation(scanner, {.crystal_efficiency = {1, 2}}), doctest::Contains("16 detectors"));
}
// SPDX-License-Identifier: Apache-2.0
