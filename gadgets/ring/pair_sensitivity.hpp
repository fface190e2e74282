// The sensitivity of a list-mode projector of lines between crystals: summed over the scanner's pairs of detectors, and
// kept in the user's cache folder.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/value/params.hpp"
#include "gadgets/ring/ring_parameters.hpp"
#include "gadgets/step/list_mode_model.hpp"

namespace tofstream {

struct PairSensitivitySettings {
  GadgetBackend backend = BackendChoice::automatic;
  SensitivityParams sampling;
  std::filesystem::path mu_map, hardware_mu_map;  // that attenuate the sensitivity; empty: none
  // What else the cached sensitivity depends on, besides scanner, grid, mu maps and sampling: see projector_key().
  std::string key;
};

/// For `bytes_held` of a Type of TOFSTREAM_PROJECTOR with this sensitivity: 24 bytes a voxel while it is made: a batch,
/// a replicate in double, their mean, its deviations and the held-out part. Deterministic sums on a GPU take 8 bytes a
/// voxel; a CPU's projector has its own, with so many `cpu_copies` of an image.
template <class Params>
std::size_t pair_projector_bytes(const Params& p, std::size_t image, std::size_t cpu_copies) {
  const bool on_device = wants_cuda(p.backend);
  const std::size_t sensitivity = memory_product(p.deterministic && on_device ? 8 : 6, image);
  return on_device ? sensitivity : memory_sum(sensitivity, cpu_projector_bytes(image, p.deterministic, cpu_copies));
}

/// For `sensitivity` of a Type of TOFSTREAM_PROJECTOR. Throws as compute_sensitivity does, and if a mu map cannot be
/// read.
ListModeSensitivity pair_sensitivity(const PairSensitivitySettings& settings, const Scanner& scanner,
                                     const ProjectorRanks& projectors, Context& context);

/// The key under which a sensitivity is kept: the projector's name and all its parameters, but those declared
/// not_in_key.
std::string projector_key(const std::string& name, const std::vector<ParamInfo>& infos, const void* params);

/// The same of a Type of TOFSTREAM_PROJECTOR.
template <class Type>
std::string projector_key(const std::string& name, const typename Type::Params& p) {
  static const std::vector<ParamInfo> infos = detail::infos_from<typename Type::Params>(Type::params);
  return projector_key(name, infos, &p);
}

/// The sensitivity from a projector's Params (RingProjectorParams and its own).
template <class Type>
ListModeSensitivity pair_sensitivity(const char* name, const typename Type::Params& p, const Scanner& scanner,
                                     const ProjectorRanks& projectors, Context& context) {
  const std::string key = projector_key<Type>(name, p);
  return pair_sensitivity({p.backend, p.sensitivity, p.mu_map, p.hardware_mu_map, key}, scanner, projectors, context);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
