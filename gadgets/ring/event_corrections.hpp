// Parameters of event_corrections, one struct a correction.
#pragma once

#include <filesystem>
#include <string>

#include "core/value/params.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/ring/mu_maps.hpp"

namespace tofstream {

enum class NormalisationFrom { scanner, none, file };
constexpr auto enum_names(NormalisationFrom) {
  return names(NormalisationFrom::scanner, "scanner", NormalisationFrom::none, "none", NormalisationFrom::file, "file");
}
enum class RandomsFrom { none, delayeds, singles, rate };
constexpr auto enum_names(RandomsFrom) {
  return names(RandomsFrom::none, "none", RandomsFrom::delayeds, "delayeds", RandomsFrom::singles, "singles",
               RandomsFrom::rate, "rate");
}
enum class RandomsUse { whole_scan, so_far };
constexpr auto enum_names(RandomsUse) {
  return names(RandomsUse::whole_scan, "whole_scan", RandomsUse::so_far, "so_far");
}

/// `normalisation: {from: file, file: normalisation.yaml}`
struct NormalisationParams {
  NormalisationFrom from = NormalisationFrom::scanner;
  std::filesystem::path file;
  static constexpr auto params =
      describe(param<&NormalisationParams::from>(
                   "from",
                   "scanner: the efficiencies that came with the events, as in a PETSIRD header; none: 1 for "
                   "every pair; file: those of `file`, in place of the scanner's"),
               param<&NormalisationParams::file>("file", reads_file,
                                                 "YAML as `tofstream normalise` writes it: crystal_efficiency: [..], "
                                                 "class_factor: [..], calibration: .., or some of them"));
};

/// `randoms: {from: delayeds}`
struct RandomsParams {
  RandomsFrom from = RandomsFrom::none;
  double rate_cps = 0;
  RandomsUse use = RandomsUse::whole_scan;
  double interval_s = 0;
  double window_ns = 0;
  static constexpr auto params = describe(
      param<&RandomsParams::from>(
          "from",
          "delayeds: a fit to the delayed coincidences among the events; singles: the window times "
          "the product of singles rates, from the stream's singles histograms; rate: "
          "`rate_cps` in total, shared out by the crystals' efficiencies"),
      param<&RandomsParams::rate_cps>("rate_cps", range(0, 1e12), unit("1/s"), "The rate of all pairs together"),
      param<&RandomsParams::use>("use",
                                 "Which delayeds or singles to use: whole_scan holds events back until the stream has "
                                 "ended; so_far uses those that have come, for a live stream"),
      param<&RandomsParams::interval_s>("interval_s", range(0, 1e9), unit("s"),
                                        "A fit of its own for each interval of so many seconds, where randoms change "
                                        "otherwise than by decay; 0: one of the whole scan. With so_far, events take "
                                        "the last interval before theirs"),
      param<&RandomsParams::window_ns>("window_ns", range(0, 1e6), unit("ns"),
                                       "The coincidence window that goes with singles: all differences of two photons' "
                                       "times, from end to end; 0: as the stream's ToF bins say"));
};

/// `scatter: {file: scatter.nii.gz}`
struct ScatterParams {
  std::filesystem::path file;
  static constexpr auto params = describe(param<&ScatterParams::file>(
      "file", reads_file,
      "NIfTI of counts per s (and mm of ToF) for a pair of efficiency 1, with the axes radial, angle, z, z, ToF"));
};

/// `dead_time: {live_fraction: 0.93}`
struct DeadTimeParams {
  double live_fraction = 1;
  static constexpr auto params =
      describe(param<&DeadTimeParams::live_fraction>("live_fraction", range(1e-6, 1),
                                                     "Fraction of every pair's coincidences that dead time did not "
                                                     "lose; leave it out if the events' stream states it"));
};

/// `dead_time: {file: dead_time.yaml}`
struct LiveTimeParams : DeadTimeParams {
  std::filesystem::path file;
  static constexpr auto params = describe(
      param<&LiveTimeParams::live_fraction>("live_fraction", range(1e-6, 1),
                                            "Fraction of every pair's coincidences that dead time did not "
                                            "lose; leave it out if the events' stream states it"),
      param<&LiveTimeParams::file>("file", reads_file,
                                   "Or: YAML of modules' dead times as `tofstream normalise --dead-time` writes "
                                   "it, with which live fractions follow from the stream's singles histograms"));
};

/// `decay: {isotope: F-18}`
struct DecayParams {
  std::string isotope;
  double half_life_s = 0;
  double reference_time_s = 0;
  static constexpr auto params = describe(
      param<&DecayParams::isotope>("isotope", "C-11, N-13, O-15, F-18, Cu-64, Ga-68, Rb-82 or Zr-89"),
      param<&DecayParams::half_life_s>("half_life_s", range(0, 1e15), unit("s"), "The half-life of another isotope"),
      param<&DecayParams::reference_time_s>("reference_time_s", range(-1e9, 1e9), unit("s"),
                                            "Scan time at which the image shows the activity"));
};

struct EventCorrectionsParams {
  std::filesystem::path mu_map, hardware_mu_map;
  NormalisationParams normalisation;
  RandomsParams randoms;
  ScatterParams scatter;
  LiveTimeParams dead_time;
  DecayParams decay;
  double reference_s = 1;
  bool tof = true;
  BackendChoice backend = BackendChoice::automatic;
  static constexpr auto params =
      describe(param<&EventCorrectionsParams::mu_map>("mu_map", reads_file, mu_map_words),
               param<&EventCorrectionsParams::hardware_mu_map>("hardware_mu_map", reads_file, hardware_mu_map_words),
               param<&EventCorrectionsParams::normalisation>("normalisation", "Efficiencies of pairs of detectors"),
               param<&EventCorrectionsParams::randoms>("randoms", "Random coincidences"),
               param<&EventCorrectionsParams::scatter>("scatter", "Scattered coincidences"),
               param<&EventCorrectionsParams::dead_time>("dead_time", "Coincidences lost while electronics was busy"),
               param<&EventCorrectionsParams::decay>("decay", "Decay of the activity during the scan"),
               param<&EventCorrectionsParams::reference_s>(
                   "reference_s", range(1e-9, 1e9), unit("s"),
                   "Length of scan time whose decays the image counts: 1 makes it an activity. The gadget that makes "
                   "subsets needs the same: put another one at the pipeline's top"),
               param<&EventCorrectionsParams::tof>(
                   "tof", "Randoms and scatter of ToF bins; false: of whole lines, and the events go on without ToF"),
               param<&EventCorrectionsParams::backend>("backend", "Where lines are followed through the mu map"));
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
