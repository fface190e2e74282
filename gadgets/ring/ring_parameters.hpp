// Parameters that the projectors of rings of crystals declare alike.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <numbers>
#include <optional>

#include <fmt/format.h>

#include "core/gadget/context.hpp"
#include "core/value/params.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/ring/mu_maps.hpp"
#include "kernels/project/cuda_path.hpp"

namespace tofstream {

constexpr auto enum_names(CudaPath) {
  return names(CudaPath::automatic, "automatic", CudaPath::direct, "direct", CudaPath::tiled, "tiled", CudaPath::paper,
               "paper");
}
inline constexpr auto* deterministic_words =
    "The same events give the same image bit for bit, on a GPU and on any number of a CPU's threads; this takes more "
    "time and memory (8 bytes a voxel on a GPU, up to 16 images on a CPU)";
inline constexpr auto* cuda_path_words =
    "On CUDA: automatic chooses tiled for many events, else direct; paper: the scheme of Cui et al. 2011, slower";

/// Warns if the cut of the ToF Gaussian leaves out more than noise would hide, so that the image's values are off.
inline void warn_of_tof_cut(float tof_cut_sigma, Context& context) {
  const double left_out = std::erfc(static_cast<double>(tof_cut_sigma) / std::numbers::sqrt2);
  constexpr double worth_a_warning = 0.01;
  if (left_out > worth_a_warning)
    context.log().warning(fmt::format(
        "tof_cut_sigma {}: the cut leaves out {:.2g} % of the ToF response, so that the image's values are off: "
        "give 3, or 2.6 at least",
        tof_cut_sigma, 100 * left_out));
}

/// The number of events from which a batch should have a plan on a GPU, for a projector that plans `fewest` or more; 0:
/// none should.
constexpr std::int64_t planned_from(CudaPath path, std::int64_t fewest) {
  return path == CudaPath::automatic || path == CudaPath::tiled ? fewest : 0;
}

/// `sensitivity: {exact_pairs: 50000000, error: 0.02, sampled_pairs: 1000000000, cache: true}`; absent or 0: as
/// default_sensitivity() has it for the backend.
struct SensitivityParams {
  std::optional<std::int64_t> exact_pairs;
  double error = 0;
  std::optional<std::int64_t> sampled_pairs;
  bool cache = true;
  static constexpr auto params = describe(
      param<&SensitivityParams::exact_pairs>(
          "exact_pairs", range(0, 1e13),
          "Enumerate all pairs of detectors if there are at most this many, and about so many evenly "
          "chosen ones of up to 61 times as many; absent: 2 billion on a GPU, 50 "
          "million on a CPU"),
      param<&SensitivityParams::error>(
          "error", range(0, 1),
          "Otherwise draw pairs until the relative error of a voxel is at most this; 0: 0.005 on a GPU, 0.02 on a CPU"),
      param<&SensitivityParams::sampled_pairs>(
          "sampled_pairs", range(1e3, 1099511627776.0),
          "Draw at most this many pairs; absent: 2.1 billion on a GPU, a billion on a CPU"),
      param<&SensitivityParams::cache>("cache", "Keep sensitivity images in the user's cache folder"));
};

/// What every projector of lines between crystals declares; its own parameters come before these.
struct RingProjectorParams {
  bool tof = true;
  float tof_cut_sigma = 3;
  std::filesystem::path mu_map, hardware_mu_map;
  SensitivityParams sensitivity;
  bool log_likelihood = false;
  BackendChoice backend = BackendChoice::automatic;
  bool deterministic = false;
  static constexpr auto params = describe(
      param<&RingProjectorParams::tof>("tof", not_in_key, "Use the events\' time of flight, where they have it"),
      param<&RingProjectorParams::tof_cut_sigma>("tof_cut_sigma", range(1, 6), "Where the ToF Gaussian is cut"),
      param<&RingProjectorParams::mu_map>("mu_map", reads_file, not_in_key, mu_map_words),
      param<&RingProjectorParams::hardware_mu_map>("hardware_mu_map", reads_file, not_in_key, hardware_mu_map_words),
      param<&RingProjectorParams::sensitivity>("sensitivity", not_in_key, "How the sensitivity image is computed"),
      param<&RingProjectorParams::log_likelihood>("log_likelihood", not_in_key,
                                                  "Report the log-likelihood of each update"),
      param<&RingProjectorParams::backend>("backend", not_in_key, "Where the projector runs"),
      param<&RingProjectorParams::deterministic>("deterministic", deterministic_words));
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
