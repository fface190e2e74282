// Groups each batch's events by predominant direction and sorts them by ToF centre (Cui et al. 2011,
// II.B.3 and II.B.7).
#include <span>
#include <utility>

#include "core/gadget.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/sort/partition.hpp"

namespace tofstream {
namespace {

class TofPartition {
 public:
  struct Params {
    BackendChoice backend = BackendChoice::automatic;
  };
  static constexpr auto params = describe(param<&Params::backend>(
      "backend",
      "Where the events are projected. A GPU's projectors order events themselves, so for cuda they pass unchanged"));
  static constexpr bool harmless = true;

  // Ranks of arrival are added to 12 bytes an event or more; a sort holds 8-byte keys and positions twice, and one
  // array.
  static MemoryNeed memory(const Params& p, std::span<const std::size_t> inputs) {
    if (wants_cuda(p.backend)) return {.message_bytes = inputs[0]};
    const std::size_t most_events = inputs[0] / 12;
    return {.call_bytes = 24 * most_events, .message_bytes = inputs[0] + 4 * most_events};
  }

  explicit TofPartition(const Params& p) : backend_(p.backend) {}

  EventBatch operator()(EventBatch batch) const {
    return backend_ == Backend::cpu ? partition_and_sort(std::move(batch), Backend::cpu) : batch;
  }

 private:
  GadgetBackend backend_;
};

TOFSTREAM_GADGET(TofPartition, "tof_partition",
                 "Groups events by direction and sorts them by ToF centre, so that neighbours meet "
                 "the same voxels");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
