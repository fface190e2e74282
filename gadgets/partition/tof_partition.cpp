// Groups each batch's events by predominant direction and sorts them by ToF centre (paper 000,
// II.B.3 and II.B.7).
#include <utility>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/sort/partition.hpp"

namespace tofstream {
namespace {

struct TofPartition {
  EventBatch operator()(EventBatch batch) const { return partition_and_sort(std::move(batch), Backend::cpu); }
};

TOFSTREAM_GADGET(TofPartition, "tof_partition",
                 "Groups events by direction and sorts them by ToF centre, so that neighbours meet "
                 "the same voxels");

}  // namespace
}  // namespace tofstream
