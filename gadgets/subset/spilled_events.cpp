// Batches whose arrays are mappings of a file: see spilled_events.hpp.
#include "gadgets/subset/spilled_events.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

namespace tofstream {

namespace {

constexpr std::size_t line = 64;  // arrays begin at a cache line
constexpr std::array<std::byte, line> gap{};

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + line - 1) / line * line;
}

}  // namespace

SpillPiece SpilledEvents::write(const EventBatch& batch) try {
  std::vector<std::span<const std::byte>> parts;
  for_each_array(batch, [&](const auto& array) {
    parts.push_back(std::as_bytes(array.span()));
    parts.push_back(std::span(gap).first(rounded_up(array.bytes()) - array.bytes()));
  });
  if (!file_) file_ = SpillFile::in(folder_);
  return file_->put(parts);
} catch (const std::system_error& error) {
  throw std::runtime_error(fmt::format(
      "cannot keep events on disk: {}: set spill_folder to a larger disk, or take fewer events", error.what()));
}

EventBatch SpilledEvents::put(const EventBatch& batch) try {
  EventBatch result = batch.without_arrays();
  if (batch.bytes() == 0) return result;
  SpillPiece piece = write(batch);
  const std::size_t bytes = piece.bytes();
  const std::shared_ptr<std::byte> data = SpillPiece::map(std::move(piece));
  std::erase_if(mappings_, [](const Mapping& known) { return known.data.expired(); });
  mappings_.push_back({data, bytes});
  std::size_t at = 0;
  for_each_array_pair(result, batch, [&]<class T>(Buffer<T>& to, const Buffer<T>& from) {
    if (!from.empty()) to = Buffer<T>::adopt(reinterpret_cast<T*>(data.get() + at), from.size(), data);
    at += rounded_up(from.bytes());
  });
  return result;
} catch (const std::system_error& error) {
  throw std::runtime_error(fmt::format(
      "cannot read events back from disk: {}: raise the limit of the process's memory (ulimit -v) or of its mappings "
      "(sysctl vm.max_map_count), or take fewer events",
      error.what()));
}

bool SpilledEvents::has(const EventBatch& batch) const {
  const std::byte* first = nullptr;
  for_each_array(batch, [&](const auto& array) {
    if (!first) first = reinterpret_cast<const std::byte*>(array.data());
  });
  return first && std::ranges::any_of(mappings_, [&](const Mapping& known) {
           const auto data = known.data.lock();
           return data && first >= data.get() && first < data.get() + known.bytes;
         });
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
