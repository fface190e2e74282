// A factor along z for an estimate of scatter, from coincidences whose lines miss the body: they are scatter or
// randoms. It makes up for what single scatter leaves out, coincidences with more than one scatter first of all, as far
// as these are distributed alike (Watson, IEEE Trans Nucl Sci 47:1587, 2000, fits tails plane by plane; here by maximum
// likelihood of all events, ToF included).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/analysis/counts_fit.hpp"
#include "kernels/ring/correct/attenuation.hpp"
#include "kernels/ring/correct/scatter.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/image.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

struct TailFit {
  std::vector<double> z_mm, factors;  // by which the estimate is to be multiplied where a line's middle has this z
  double mean = 1, error = 0;         // over the tails, and its standard error from counting
  double counts = 0;                  // events in the tails
  double scatter = 0;                 // expected in them by the estimate, factor 1
  bool is_at_bound = false;
  CountsFit by_place;  // the scatter among the events against the estimate times the factors, see ScatterTails::fit()
  double chi2_a_place() const { return by_place.chi2_a_place(static_cast<std::int64_t>(factors.size())); }

  /// Linear between the places, constant beyond them; 1 where there is none.
  double at(double z) const;
};

class ScatterTails {
 public:
  static constexpr double least_factor = 0.25, most_factor = 4;

  struct TailEvent {
    SinogramPlace place;
    float additive = 0, width_mm = 1, count = 1;
    std::uint64_t number = 0;
  };
  /// What a fit takes of the events.
  struct Noted {
    std::shared_ptr<const Scanner> scanner;
    bool has_tof = false;
    std::vector<TailEvent> events;
    std::uint64_t seen = 0, stride = 1, looked_at = 0;
    double exposed_s = 0;
  };

  /// The body is where the map has at least `least_mu_per_mm`, and `margin_mm` about it; lines count that pass it
  /// within `reach_mm` of its box. The map lies on the host, on any grid. Throws std::invalid_argument for a map
  /// without matter. `most_pairs`: of a scanner with more a sample is taken.
  explicit ScatterTails(const Image& mu_per_mm, double margin_mm = 20, double reach_mm = 100,
                        double least_mu_per_mm = 0.002, std::int64_t most_pairs = 4'000'000);

  /// Takes note of a batch's events, on any memory, of which the additive terms, if any, are those of randoms. Of many
  /// events every second is looked at, of more every fourth, and so on: about `most_events` at last.
  void add(const EventBatch& batch, std::int64_t most_events = 4'000'000);

  /// The factors at which the events are most likely, in [least_factor, most_factor]. With s_i the scatter that is
  /// expected of event i's pair and ToF bin, r_i its randoms and f the factor at its z, which is a sum of hats h_n of
  /// heights f_n, these solve sum over events of h_n s_i / (r_i + f s_i) = sum over all pairs and bins of h_n s; they
  /// are found by EM, to 1e-7 of each. Hats are as wide as equal shares of the scatter, of at least `least_counts` each
  /// and 40 mm on average. Randoms are means over events of like distance and obliqueness, since those of single pairs
  /// are noisy where delayeds are few: events on pairs whose detectors had none by chance would all be taken for scatter.
  /// `estimate` is of the events' terms: of an image that counts the decays of `reference_s`. Pairs are sampled where
  /// there are more than some millions. 1 with no error where nothing is expected in the tails.
  ///
  /// by_place compares both sides of that equation for each cell of 20 mm of distance from the axis and 40 mm of z in
  /// place of hats: p_i = f s_i / (r_i + f s_i) is the chance that event i is scatter, and their sum is expected to be
  /// that of f s. Its variance is that sum times sum p_i^2 / sum p_i, and what the sample of pairs adds.
  TailFit fit(const ScatterEstimate& estimate, double reference_s, double least_counts = 5000) {
    return fit(noted_, estimate, reference_s, least_counts);
  }
  /// The same of what noted() was at some time; one such call at a time, beside which add() may be called.
  TailFit fit(const Noted& noted, const ScatterEstimate& estimate, double reference_s, double least_counts = 5000);
  const Noted& noted() const { return noted_; }
  /// Goes on from what another one noted.
  void go_on(Noted noted) { noted_ = std::move(noted); }

 private:
  // An event with what it has of randoms for one of scatter.
  struct Mixed {
    double s_mm, z_mm, randoms, count;
  };
  // A pair beside the body, and how many of those with an efficiency of 1 it stands for.
  struct TailPair {
    SinogramPlace place;
    float value = 0;
  };
  void thin_out();
  /// Whether a line passes well within the body, as most do; where some of its points do not tell, it has to be followed.
  bool is_seen_in_body(const Lor& lor) const;
  void find_pairs(const std::shared_ptr<const Scanner>& scanner);
  static std::vector<Mixed> mixed(const std::vector<TailEvent>& noted, const ScatterEstimate& estimate);
  /// `counts`: expected of each pair, factor 1.
  CountsFit fit_by_place(const std::vector<Mixed>& events, const std::vector<double>& counts, const TailFit& fit) const;

  Image body_;                        // 1 / mm where there is body, so that no line through it is left
  std::vector<std::uint8_t> within_;  // of its voxels: 1 where all neighbours are body too
  Attenuation through_body_;
  Grid box_;  // one voxel
  Noted noted_;
  std::int64_t most_pairs_;
  std::shared_ptr<const Scanner> scanner_of_pairs_;
  std::vector<TailPair> pairs_;  // of that scanner: the same for every estimate
  std::size_t first_half_ = 0;   // of a sample that has two halves, alike but for chance; 0: these are all pairs
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
