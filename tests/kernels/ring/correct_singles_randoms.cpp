// Randoms from singles: a closed form, and the singles-prompts method against a sorter of photons in time that rejects
// what is not alone.
#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/ring/correct/singles_randoms.hpp"
#include "tests/kernels/ring/correct_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

/// A photon of a true pair, or of none (pair -1).
struct TimedPhoton {
  double at_s;
  std::uint32_t detector;
  std::int64_t pair;
};

/// What a sorter makes of photons: a photon without an open window opens one, and the next photons within it belong to
/// its group. Groups of two in coincidence are prompts, and random where they are no pair.
struct SortedPhotons {
  std::vector<double> singles, prompts;  // a detector
  double randoms = 0, trues = 0;
  std::vector<double> randoms_of;  // a detector
};

SortedPhotons sort_photons(std::vector<TimedPhoton> photons, const Scanner& scanner, double tau_s) {
  std::ranges::sort(photons, {}, &TimedPhoton::at_s);
  const auto detectors = static_cast<std::size_t>(scanner.detectors->size());
  SortedPhotons result{std::vector<double>(detectors), std::vector<double>(detectors), 0, 0,
                       std::vector<double>(detectors)};
  for (const TimedPhoton& photon : photons) result.singles[photon.detector] += 1;
  for (std::size_t i = 0; i < photons.size();) {
    std::size_t end = i + 1;
    while (end < photons.size() && photons[end].at_s - photons[i].at_s < tau_s) ++end;
    if (end - i == 2 && scanner.in_coincidence(photons[i].detector, photons[i + 1].detector)) {
      const bool is_true = photons[i].pair >= 0 && photons[i].pair == photons[i + 1].pair;
      for (const std::uint32_t d : {photons[i].detector, photons[i + 1].detector}) {
        result.prompts[d] += 1;
        if (!is_true) result.randoms_of[d] += 1;
      }
      (is_true ? result.trues : result.randoms) += 1;
    }
    i = end;
  }
  return result;
}

/// Photons of `seconds`: unpaired ones at `unpaired_cps` in unequal detectors, and true pairs at `pairs_cps`.
std::vector<TimedPhoton> photons_of(const Scanner& scanner, double seconds, double unpaired_cps, double pairs_cps) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> time(0, seconds), share(0, 1);
  const auto detectors = static_cast<std::uint32_t>(scanner.detectors->size());
  std::uniform_int_distribution<std::uint32_t> any(0, detectors - 1);
  const auto unequal = [&] {  // twice as many in the last detector as in the first
    std::uint32_t d = any(random);
    while (share(random) > 0.5 + 0.5 * d / detectors) d = any(random);
    return d;
  };
  std::vector<TimedPhoton> photons;
  for (std::int64_t n = std::poisson_distribution<std::int64_t>(seconds * unpaired_cps)(random); n > 0; --n)
    photons.push_back({time(random), unequal(), -1});
  for (std::int64_t n = std::poisson_distribution<std::int64_t>(seconds * pairs_cps)(random); n > 0; --n) {
    std::uint32_t a = unequal(), b = unequal();
    while (!scanner.in_coincidence(a, b)) a = unequal(), b = unequal();
    const double at = time(random);
    photons.push_back({at, a, n});
    photons.push_back({at + 1e-12, b, n});
  }
  return photons;
}

}  // namespace

TEST_CASE("randoms from singles are the window times the product of rates") {
  const auto scanner = make_scanner(small_ring());
  std::vector<double> cps(512, 1000.0);
  cps[7] = 3000;
  const RandomsModel model = randoms_from_singles(*scanner, cps, 8e-9);
  CHECK(model.rate(300, 20) == approx(8e-9 * 1e6));
  CHECK(model.rate(300, 7) == approx(8e-9 * 3e6));
}

TEST_CASE("without prompts and with a short window the singles-prompts method gives the product of singles") {
  const auto scanner = make_scanner(small_ring());
  const std::vector<double> cps(512, 10.0), none(512, 0.0);
  const auto made = randoms_from_singles_and_prompts(*scanner, cps, none, 8e-9);
  CHECK(made.model.rate(300, 20) == approx(8e-9 * 100).epsilon(1e-4));
  CHECK(made.isolated == approx(1 - 5120 * 8e-9).epsilon(1e-6));
  CHECK(made.below_prompts == 0);
}

TEST_CASE("the singles-prompts method gives the randoms of a sorter that rejects multiples, by detector") {
  const auto scanner = make_scanner(small_ring());
  const double seconds = 20, tau = 2e-6;  // a wide window: many randoms of few photons
  const SortedPhotons counted = sort_photons(photons_of(*scanner, seconds, 12000, 3000), *scanner, tau);
  std::vector<double> singles, prompts;
  for (std::size_t d = 0; d < 512; ++d) {
    singles.push_back(counted.singles[d] / seconds);
    prompts.push_back(counted.prompts[d] / seconds);
  }
  const auto made = randoms_from_singles_and_prompts(*scanner, singles, prompts, 2 * tau);
  const std::vector<double> s(made.model.factor.begin(), made.model.factor.end());
  const CoincidenceSums sums(*scanner);
  const double expected = seconds * sums.total(s);
  CAPTURE(counted.randoms);
  REQUIRE(counted.randoms > 3000);
  CHECK(expected == approx(counted.randoms).epsilon(3 / std::sqrt(counted.randoms)));
  // The plain product takes the photons of true pairs for free ones and knows no rejection: far too many.
  const RandomsModel plain = randoms_from_singles(*scanner, singles, 2 * tau);
  CHECK(seconds * sums.total({plain.factor.begin(), plain.factor.end()}) > 1.5 * counted.randoms);
  // By eighths of the detectors, whose rates differ by a factor 2.
  const std::vector<double> fans = sums.fans(s);
  for (std::size_t part = 0; part < 8; ++part) {
    double model = 0, events = 0;
    for (std::size_t d = 64 * part; d < 64 * (part + 1); ++d) {
      model += seconds * s[d] * fans[d];
      events += counted.randoms_of[d];
    }
    CHECK(model == approx(events).epsilon(4 / std::sqrt(events)));
  }
}

TEST_CASE("singles that cannot be are refused") {
  const auto scanner = make_scanner(small_ring());
  const std::vector<double> cps(512, 1e3), prompts(512, 2e3), one(1, 1e3), high(512, 1e6), none(512, 0.0);
  CHECK_THROWS_WITH(randoms_from_singles(*scanner, one, 8e-9), doctest::Contains("rates of singles of 1 detectors"));
  CHECK_THROWS_WITH(randoms_from_singles(*scanner, cps, 0), doctest::Contains("window"));
  CHECK_THROWS_WITH(randoms_from_singles_and_prompts(*scanner, cps, prompts, 8e-9),
                    doctest::Contains("fewer than the 1.024e+06 photons per s of the prompts"));
  CHECK_THROWS_WITH(randoms_from_singles_and_prompts(*scanner, high, none, 8e-9), doctest::Contains("too many"));
  std::vector<double> negative = cps;
  negative[3] = -1;
  CHECK_THROWS_WITH(randoms_from_singles(*scanner, negative, 8e-9), doctest::Contains("detector 3"));
}
// SPDX-License-Identifier: Apache-2.0
