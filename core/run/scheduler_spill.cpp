// The scheduler's part in spilling: each edge with `policy: spill` has a thread that moves its messages between memory
// and disk, so that neither gadgets nor workers of the graph wait for a disk.
#include <fmt/format.h>

#include "core/base/log.hpp"
#include "core/run/scheduler_section.hpp"

namespace tofstream {

void Scheduler::mover_thread(Edge& edge) {
  while (const std::shared_ptr<SpillChunk> chunk = next_move(edge)) {
    std::optional<RunError> error = move(edge, *chunk);
    Section section(*this);
    ++moves_;
    edge.end_move(*chunk);
    section.touch(*edge.writer);
    section.touch(*edge.reader);
    if (error) cancel(section, std::move(error));
  }
  SpillBuffer::Chunks left;  // goes when the lock is let go
  Section section(*this);
  left = edge.end_mover();
  --active_;
  --own_threads_;
}

// Waits for it; null where there will be none any more.
std::shared_ptr<SpillChunk> Scheduler::next_move(Edge& edge) {
  Section section(*this);
  section.wait(edge);
  if (cancelled_ || edge.is_moved_for_good()) return {};
  return edge.begin_move();
}

std::optional<RunError> Scheduler::move(Edge& edge, SpillChunk& chunk) const {
  try {
    edge.spill()->move(chunk);
    return std::nullopt;
  } catch (const std::exception& error) {
    return spill_error(edge, error);
  }
}

RunError Scheduler::spill_error(const Edge& edge, const std::exception& cause) {
  return {
      edge.reader->name(),
      fmt::format("the edge {} cannot keep messages on disk: {}: set spill_folder of its 'edge' to a larger disk, or "
                  "disk_bytes to what this one has room for, from which on the writer is held back",
                  edge.description().name, one_line(cause.what())),
      edge.description().where, std::nullopt};
}

}  // namespace tofstream
