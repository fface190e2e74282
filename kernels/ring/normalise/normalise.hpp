// Crystals' efficiencies, factors of classes of pairs and the calibration from a scan of a known source, by maximum
// likelihood. A pair (i, j) counts
//   y_ij = C e_i e_j f_c(ij) w_ij t + r_ij T
// with C the calibration, e the crystals' efficiencies (mean 1), f the factor of the pair's class, w = g (a L + S) the
// model of PairExpectation, t the scan time weighted with live fraction and decay, and r_ij T the randoms. Without
// randoms the likelihood is greatest where every crystal's expected counts are those counted: fan sums, as in
// randoms.hpp. With randoms each event counts with the probability that it is no random (expectation maximisation).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/ring/correct/normalisation.hpp"
#include "kernels/ring/correct/randoms.hpp"
#include "kernels/ring/normalise/fan_sums.hpp"
#include "kernels/ring/normalise/pair_expectation.hpp"
#include "kernels/ring/normalise/source_fit.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

struct NormalisationSettings {
  bool crystals = true;     // estimate their efficiencies; else those of the scanner are kept
  bool classes = false;     // a factor for each of the scanner's tables of module pairs
  bool calibration = true;  // else the scanner's is kept
  std::int64_t most_lines = 40'000'000;
};

struct NormalisationEstimate {
  NormalisationComponents components;  // what was estimated; 0 for dead and hot crystals, 1 for those not seen
  std::vector<float> crystal_error;    // relative standard error of each; 0 where there is none
  std::vector<float> class_error;      // the same for classes
  // Crystals with less than a tenth of the usual counts or more than three times as many, by more than 5 sigma, and
  // those of which fewer than 10 counts were to be expected.
  std::vector<std::uint32_t> dead, hot, unseen;
  std::vector<double> counted;  // events that each crystal took part in and that the fit used
  double trues = 0;             // events less randoms, those of the source's lines
  std::int64_t events = 0;      // prompts
  int iterations = 0;
  std::int64_t lines = 0;            // of the sums over pairs
  std::uint32_t partners_alike = 1;  // crystals that one line of a sum stands for
  double sum_error = 0;              // relative RMS error of a crystal's sum by the lines that were drawn
  SourceFit fit;
};

class Normalisation {
 public:
  /// Throws std::invalid_argument as PairExpectation does, and for classes where the scanner has no tables.
  Normalisation(std::shared_ptr<const Scanner> scanner, const NormalisationSource& source,
                const NormalisationSettings& settings);

  /// Takes prompts, on the host. `exposure` weights their time: live fraction x decay. Throws std::invalid_argument for
  /// events of another scanner's detectors.
  void add(const EventBatch& prompts, double exposure);
  /// The estimate. `randoms`: rates over the scan (randoms_from_delayeds); null: none. Throws std::runtime_error, one
  /// line, without events or scan time, where no pair sees the source, and where no event is on a line that meets it.
  NormalisationEstimate estimate(const RandomsModel* randoms);

 private:
  struct Counted {
    std::uint32_t detector1, detector2;
    float weight;  // w_ij, 0 beside the source
  };
  /// Calls visit(part, event) for all events, those of different parts at once.
  template <class Visit>
  void for_each_event(const Visit& visit) const;
  struct Trues {
    std::vector<double> of_crystal, information;  // sums of p and of p^2 over a crystal's events
    std::vector<double> of_class;
  };
  void sum_fans();
  void leave_out(NormalisationEstimate& result);
  void start();
  Trues count_trues() const;
  std::vector<double> expected() const;
  double residual(const Trues& trues) const;
  void step_crystals(const Trues& trues);
  void step_scale(const Trues& trues);
  double step_classes(const Trues& trues);
  std::size_t class_of(std::uint32_t module1, std::uint32_t module2) const;
  void finish(NormalisationEstimate& result, const Trues& trues);
  void give_classes(NormalisationEstimate& result, const Trues& trues);
  struct Places {
    std::vector<double> counts, variance;  // of each place
    double randoms = 0;                    // among the counts, all together
  };
  Places expected_places(const detail::SourceProfile& profile) const;
  std::vector<double> singles_of_scan() const;
  std::size_t place_of(const detail::SourceProfile& profile, std::uint32_t detector1, std::uint32_t detector2) const;
  SourceFit fit() const;

  std::shared_ptr<const Scanner> scanner_;
  NormalisationSettings settings_;
  detail::PairExpectation expectation_;
  std::optional<detail::FanSums> sums_;
  std::vector<std::vector<Counted>> batches_;
  std::int64_t events_ = 0;
  double scan_s_ = 0, weighted_s_ = 0;
  const RandomsModel* randoms_ = nullptr;
  std::vector<double> a_;       // e_i sqrt(C t); 0: left out
  std::vector<char> fitted_;    // crystals whose efficiency is estimated
  std::vector<double> factor_;  // of each class
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
