// How much of a server one run may take.
#pragma once

namespace tofstream::serve {

/// A run that exceeds one is dropped, and its client told. 0: no limit.
struct RunLimits {
  double seconds = 0;  // from its begin to its end
  double updates = 0;  // of the estimate
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
