// The sensitivity of a list-mode projector of lines between crystals: summed over the scanner's pairs of detectors, and
// kept in the user's cache folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/describe/describe_text.hpp"
#include "core/value/params.hpp"
#include "gadgets/ring/ring_parameters.hpp"
#include "gadgets/step/list_mode_model.hpp"

namespace tofstream {

struct PairSensitivitySettings {
  GadgetBackend backend = BackendChoice::automatic;
  SensitivityParams sampling;
  std::filesystem::path mu_map;  // that the sensitivity holds; empty: none
  std::string projector_key;     // see projector_key()
};

/// What the cached sensitivity of a projector gadget depends on besides scanner, grid, mu map and sampling: its name and
/// its parameters, but for those that are declared not_in_key.
template <class Gadget>
std::string projector_key(const char* name, const typename Gadget::Params& params) {
  static const std::vector<ParamInfo> infos = detail::infos_from<typename Gadget::Params>(Gadget::params);
  return name + (" " + flow_text(write_key_params(infos, &params)));
}

/// For ListModeSettings::sensitivity. What it makes throws as compute_sensitivity does, and for a mu map that cannot be
/// read.
std::function<ListModeSensitivity(const Scanner&, ListModeProjector&, Context&)> pair_sensitivity(
    PairSensitivitySettings settings);

}  // namespace tofstream
