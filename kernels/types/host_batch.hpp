// A batch of events for code that reads events one by one on the host.
#pragma once

#include "kernels/types/events.hpp"

namespace tofstream {

/// The batch; where it lies on a device, a copy of it on the host, complete on return.
EventBatch host_batch(EventBatch batch);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
