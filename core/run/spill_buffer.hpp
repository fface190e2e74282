// The messages of an edge with `policy: spill` that wait behind those its reader takes next: in memory while there is
// room, else on disk. They lie in chunks, oldest first, so that many small messages make few writes. The run's one lock
// guards it, except for move(), which reads or writes one chunk without the lock.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/base/spill_file.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/report/report.hpp"
#include "core/run/message.hpp"

namespace tofstream {

struct SpillChunk {
  std::vector<Message> messages;  // none while it is on disk
  SpillPiece piece;               // empty while it is in memory
  std::vector<std::shared_ptr<const void>> shared;
  // The following do not change while the chunk moves.
  std::size_t count = 0;
  std::size_t bytes = 0;  // of the payloads, in memory
  std::uint64_t events = 0;
  std::uint64_t first_origin = 0;
  std::size_t disk_bytes = 0;  // of the piece
  bool is_moving = false;

  bool in_memory() const { return !is_moving && !piece; }
  bool on_disk() const { return !is_moving && piece; }
  // Counts the messages themselves too, so that payloads without a size have a weight.
  std::size_t weight() const { return bytes + count * sizeof(Message); }
};

class SpillBuffer {
 public:
  using Chunks = std::deque<std::shared_ptr<SpillChunk>>;

  // Both outlive the buffer.
  SpillBuffer(const EdgeSettings& limits, const PayloadType& type) : limits_(limits), type_(type) {}

  // Makes the file. Throws std::system_error.
  void open() { file_ = SpillFile::in(limits_.spill_folder); }

  bool empty() const { return chunks_.empty(); }
  // The origin of the first message; there must be one.
  std::uint64_t first_origin() const { return chunks_.front()->first_origin; }
  std::size_t messages() const { return messages_; }
  std::size_t messages_in_memory() const { return memory_messages_; }
  std::size_t bytes_in_memory() const { return memory_bytes_; }
  std::size_t weight_in_memory() const { return memory_bytes_ + memory_messages_ * sizeof(Message); }

  void push(Message message);
  // The messages of the first chunk if they are in memory, else none.
  std::vector<Message> take_first();
  // Everything, to be destroyed without the lock.
  Chunks take_all();
  void count_events(std::uint64_t& messages, std::uint64_t& events) const;

  // The chunk that is to move next: the first, from disk, if the reader has room; else one that memory has no room for;
  // else null.
  SpillChunk* next_to_move(bool reader_has_room) const;
  std::shared_ptr<SpillChunk> begin_move(bool reader_has_room);
  // Without the lock. Throws std::system_error, and the chunk stays where it is.
  void move(SpillChunk& chunk) const;
  void end_move(SpillChunk& chunk);

  void add_figures(EdgeFigures& figures) const;

 private:
  bool is_full(const SpillChunk& chunk) const;
  SpillChunk* next_to_write() const;
  void write(SpillChunk& chunk) const;
  void read(SpillChunk& chunk) const;

  const EdgeSettings& limits_;
  const PayloadType& type_;
  std::shared_ptr<SpillFile> file_;
  Chunks chunks_;
  std::size_t messages_ = 0;
  std::size_t memory_messages_ = 0, memory_bytes_ = 0;  // until they are written
  std::size_t disk_messages_ = 0, disk_bytes_ = 0, most_disk_bytes_ = 0;
  std::uint64_t spilled_messages_ = 0, spilled_bytes_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
