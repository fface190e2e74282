#include "core/run/spill_buffer.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/gadget/spill.hpp"

namespace tofstream {
namespace {

// Half of the bytes that may wait in memory are for the reader's next messages, half for the buffer. When half of the
// buffer's are used, it begins to write, so that a writer meets a full edge only if the disk is slower than it is.
constexpr std::size_t write_from_share = 4;
// A chunk is small compared with what may wait, but large enough for a disk, and there are never many in memory.
constexpr std::size_t chunk_share = 16, least_chunk_share = 256;
constexpr std::size_t good_chunk = std::size_t{4} << 20;

}  // namespace

bool SpillBuffer::is_full(const SpillChunk& chunk) const {
  return chunk.weight() >=
         std::max(std::min(limits_.bytes / chunk_share, good_chunk), limits_.bytes / least_chunk_share);
}

void SpillBuffer::push(Message message) {
  if (chunks_.empty() || !chunks_.back()->in_memory() || is_full(*chunks_.back())) {
    chunks_.push_back(std::make_shared<SpillChunk>());
    chunks_.back()->first_origin = message.info.origin;
  }
  SpillChunk& chunk = *chunks_.back();
  ++chunk.count;
  chunk.bytes += message.bytes;
  chunk.events += message.events;
  ++messages_;
  ++memory_messages_;
  memory_bytes_ += message.bytes;
  chunk.messages.push_back(std::move(message));
}

std::vector<Message> SpillBuffer::take_first() {
  if (chunks_.empty() || !chunks_.front()->in_memory()) return {};
  const std::shared_ptr<SpillChunk> chunk = std::move(chunks_.front());
  chunks_.pop_front();
  messages_ -= chunk->count;
  memory_messages_ -= chunk->count;
  memory_bytes_ -= chunk->bytes;
  return std::move(chunk->messages);
}

SpillBuffer::Chunks SpillBuffer::take_all() {
  messages_ = memory_messages_ = memory_bytes_ = disk_messages_ = disk_bytes_ = 0;
  return std::exchange(chunks_, {});
}

void SpillBuffer::count_events(std::uint64_t& messages, std::uint64_t& events) const {
  for (const auto& chunk : chunks_) {
    messages += chunk->count;
    events += chunk->events;
  }
}

SpillChunk* SpillBuffer::next_to_move(bool reader_has_room) const {
  if (chunks_.empty()) return nullptr;
  if (reader_has_room && chunks_.front()->on_disk()) return chunks_.front().get();
  return next_to_write();
}

// The oldest in memory; but the very first, which the reader takes next, only if memory has no other.
SpillChunk* SpillBuffer::next_to_write() const {
  if (memory_messages_ == 0 || weight_in_memory() < limits_.bytes / write_from_share) return nullptr;
  auto oldest = chunks_.end();
  while (oldest != chunks_.begin() && (*std::prev(oldest))->in_memory()) --oldest;
  if (oldest == chunks_.begin() && chunks_.size() > 1) ++oldest;
  if (oldest == chunks_.end()) oldest = chunks_.begin();
  if (!(*oldest)->in_memory()) return nullptr;
  const std::size_t on_disk = disk_bytes_ + (*oldest)->weight();
  return on_disk <= limits_.disk_bytes.value_or(std::numeric_limits<std::size_t>::max()) ? oldest->get() : nullptr;
}

std::shared_ptr<SpillChunk> SpillBuffer::begin_move(bool reader_has_room) {
  SpillChunk* const next = next_to_move(reader_has_room);
  if (!next) return {};
  next->is_moving = true;
  return *std::ranges::find(chunks_, next, &std::shared_ptr<SpillChunk>::get);
}

void SpillBuffer::move(SpillChunk& chunk) const {
  if (chunk.piece)
    read(chunk);
  else
    write(chunk);
}

void SpillBuffer::write(SpillChunk& chunk) const {
  SpillWriter writer;
  for (const Message& message : chunk.messages) {
    writer.value(message.info);
    writer.value(message.events);
    writer.value(message.bytes);
    type_.spill->encode(message.payload.data.get(), writer);
  }
  chunk.piece = file_->put(writer.parts());
  chunk.shared = writer.take_shared();
  chunk.messages = {};
}

void SpillBuffer::read(SpillChunk& chunk) const {
  SpillReader reader(chunk.piece.place(), chunk.shared);
  std::vector<Message> messages(chunk.count);
  for (Message& message : messages) {
    message.info = reader.value<MessageInfo>();
    message.events = reader.value<std::uint64_t>();
    message.bytes = reader.value<std::size_t>();
    message.payload = {type_.spill->decode(reader), true};  // nobody else has it
  }
  chunk.messages = std::move(messages);
  chunk.shared.clear();
  chunk.piece = {};
}

void SpillBuffer::end_move(SpillChunk& chunk) {
  chunk.is_moving = false;
  const std::size_t before = std::exchange(chunk.disk_bytes, chunk.piece.bytes());
  if (chunk.disk_bytes > before) {  // written
    memory_messages_ -= chunk.count;
    memory_bytes_ -= chunk.bytes;
    disk_messages_ += chunk.count;
    disk_bytes_ += chunk.disk_bytes;
    spilled_messages_ += chunk.count;
    spilled_bytes_ += chunk.disk_bytes;
    most_disk_bytes_ = std::max(most_disk_bytes_, disk_bytes_);
  } else if (before > chunk.disk_bytes) {  // read
    disk_messages_ -= chunk.count;
    disk_bytes_ -= before;
    memory_messages_ += chunk.count;
    memory_bytes_ += chunk.bytes;
  }
}

void SpillBuffer::add_figures(EdgeFigures& figures) const {
  figures.waiting_messages += messages_;
  figures.waiting_bytes += memory_bytes_;
  figures.disk_messages = disk_messages_;
  figures.disk_bytes = disk_bytes_;
  figures.most_disk_bytes = most_disk_bytes_;
  figures.spilled_messages = spilled_messages_;
  figures.spilled_bytes = spilled_bytes_;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
