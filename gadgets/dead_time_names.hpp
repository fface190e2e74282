// Models of dead time by the names that pipelines and files give them.
#pragma once

#include "core/value/params.hpp"
#include "kernels/correct/dead_time.hpp"

namespace tofstream {

constexpr auto enum_names(DeadTimeModel) {
  return names(DeadTimeModel::non_paralysable, "non_paralysable", DeadTimeModel::paralysable, "paralysable");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
