// The figure by which the work of a run is counted: a server that limits updates reads it (tools/serve).
#pragma once

namespace tofstream {

/// What every Step (step.hpp) reports: the subsets that it has projected for an update so far, those before a restart
/// included.
inline constexpr const char* updates_figure = "updates_projected";
/// The unit of its progress: updates of all iterations.
inline constexpr const char* updates_unit = "updates";

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
