// See host_batch.hpp.
#include "kernels/types/host_batch.hpp"

namespace tofstream {

EventBatch host_batch(EventBatch batch) {
  if (on_host(batch.memory())) return batch;
  EventBatch here = batch.to(Memory::host);
  synchronize(nullptr);
  return here;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
