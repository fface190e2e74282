// Where a direct reconstruction of parametric images stands, as a checkpoint holds it: the coefficients as one image,
// one behind the other along z, and beside it what each function is in each frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gadgets/payloads.hpp"
#include "kernels/types/image.hpp"
#include "kernels/types/rejected.hpp"

namespace tofstream {

struct ParametricState {
  std::int64_t update = 0;
  int iteration = 0;
  std::vector<Image> coefficients;             // in one kind of memory
  std::vector<std::vector<double>> functions;  // [frame][function]
  Rejected rejected = {};                      // of the data of these updates
  std::uint64_t events = 0;                    // of these updates
};

/// What checkpoint_writer is to write: of the state's update, by the gadget `algorithm`. The image lies where the
/// coefficients do.
Estimate parametric_estimate(const ParametricState& state, const std::string& algorithm);

/// The state in a run's folder, on the host; nothing where no checkpoint lies there. Throws std::runtime_error, which
/// names the folder, for a checkpoint that is damaged, of another algorithm, or of another number of functions.
std::optional<ParametricState> read_parametric_checkpoint(const std::filesystem::path& folder, std::size_t functions,
                                                          const std::string& algorithm);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
