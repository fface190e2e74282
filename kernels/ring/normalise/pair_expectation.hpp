// What a pair of crystals of efficiency 1 is expected to count of a known source: the model to which a scan for the
// normalisation is fitted (corrections.md, normalisation).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/ring/correct/attenuation.hpp"
#include "kernels/ring/correct/scatter.hpp"
#include "kernels/ring/sensitivity/pair_list.hpp"
#include "kernels/simulate/phantom.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// The source of a scan for the normalisation.
struct NormalisationSource {
  Phantom phantom;
  std::optional<Image> mu_per_mm = {};                       // none: the phantom's own attenuation
  std::shared_ptr<const ScatterEstimate> scatter = nullptr;  // without ToF; null: none
};

namespace detail {

class PairExpectation {
 public:
  /// `scanner`: its crystals and calibration count as 1, its pair tables and geometry stay. Throws
  /// std::invalid_argument for a source without activity, an attenuation that is negative or not finite, and a scatter
  /// estimate with ToF.
  PairExpectation(const Scanner& scanner, const NormalisationSource& source);

  /// values[k] <- g (a L + S) of pair k: counts per s. g is the pair's efficiency by tables and geometry, a the
  /// attenuation of the line between its detectors, L the mean over the two crystals of the integral of activity (Bq/mL
  /// mm), S the scatter. L is that of the line between the detectors where this lies well inside the source, elsewhere
  /// the mean of 16 to 256 lines between points spread over the two crystals, in depth as photons interact where the
  /// scanner knows how deep crystals are; `seed` chooses other lines. Exact chords; 0 for pairs that are not in
  /// coincidence or do not see the source, positive for all others. On all cores; not for two threads at once.
  void of(std::span<const DetectorPair> pairs, float* values, std::uint64_t seed = 0) const;
  /// The same for pairs that have counted, which each need less: by 16 lines. These may all miss a thin source that the
  /// crystals see, so that L is at least 1/1000 of the integral through the source made larger by the crystals.
  void of_counted(std::span<const DetectorPair> pairs, float* values) const;

  /// False only where no line from the crystal to crystals within a sphere about `centre` meets the source. `depth`: of
  /// a node whose radius is among those given to prepare().
  bool may_meet(std::uint32_t detector, Vec3 centre_mm, std::uint32_t depth) const;
  /// Radii of spheres that may_meet() is to be asked for.
  void prepare(const std::vector<float>& radii_mm);

  const Scanner& scanner() const { return *scanner_; }
  const Phantom& phantom() const { return source_.phantom; }
  /// How far from the source a line between two detectors may pass whose crystals see it, in mm.
  double margin_mm() const { return margin_mm_; }

 private:
  /// Where a module's crystals take photons, in a scanner about z.
  struct Face {
    Vec3d across, along;  // edges that photons cross
    Vec3d outwards;       // unit vector
    double stopped;       // share of photons that interact within its depth; 0: the depth is not known
    double mean_depth_mm;
  };
  void measure_faces();
  struct Drawing {
    double least;  // integral of a pair that sees the source, of that through the larger source
    int lines;     // of a pair that is not well inside the source
    std::uint64_t seed;
  };
  void evaluate(std::span<const DetectorPair> pairs, Drawing drawing, float* values) const;
  double mean_chord(DetectorPair pair, Drawing drawing) const;
  void attenuate(std::span<const DetectorPair> pairs, float* values) const;

  NormalisationSource source_;
  std::shared_ptr<const Scanner> scanner_;
  PairList list_;
  std::vector<Face> faces_;  // of each module's crystals
  double margin_mm_ = 0;
  int lines_ = 0;                                   // of a pair that is not well inside the source
  Phantom grown_;                                   // the source with the margin about it
  std::vector<std::vector<Solid>> grown_by_depth_;  // its active solids, for may_meet()
  std::optional<Attenuation> attenuation_;
  std::optional<ScatterView> scatter_;
};

}  // namespace detail
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
