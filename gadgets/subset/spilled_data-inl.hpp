// Batches whose arrays are mappings of a file: the definitions of spilled_data.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "gadgets/subset/spilled_data.hpp"

namespace tofstream {

namespace detail {

inline constexpr std::size_t spilled_line = 64;  // arrays begin at a cache line
inline constexpr std::array<std::byte, spilled_line> spilled_gap{};

inline std::size_t spilled_bytes(std::size_t bytes) {
  return (bytes + spilled_line - 1) / spilled_line * spilled_line;
}

}  // namespace detail

template <class Data>
SpillPiece SpilledData<Data>::write(const Data& batch) try {
  std::vector<std::span<const std::byte>> parts;
  StoredData<Data>::for_each_array_pair(batch, batch, [&](const auto& array, const auto&) {
    parts.push_back(std::as_bytes(array.span()));
    parts.push_back(std::span(detail::spilled_gap).first(detail::spilled_bytes(array.bytes()) - array.bytes()));
  });
  if (!file_) file_ = SpillFile::in(folder_);
  return file_->put(parts);
} catch (const std::system_error& error) {
  throw std::runtime_error(
      fmt::format("cannot keep {0} on disk: {1}: set spill_folder to a larger disk, or take fewer {0}",
                  StoredData<Data>::words, error.what()));
}

template <class Data>
Data SpilledData<Data>::put(const Data& batch) try {
  Data result = batch.without_arrays();
  if (batch.bytes() == 0) return result;
  SpillPiece piece = write(batch);
  const std::size_t bytes = piece.bytes();
  const std::shared_ptr<std::byte> data = SpillPiece::map(std::move(piece));
  std::erase_if(mappings_, [](const Mapping& known) { return known.data.expired(); });
  mappings_.push_back({data, bytes});
  std::size_t at = 0;
  StoredData<Data>::for_each_array_pair(result, batch, [&]<class T>(Buffer<T>& to, const Buffer<T>& from) {
    if (!from.empty()) to = Buffer<T>::adopt(reinterpret_cast<T*>(data.get() + at), from.size(), data);
    at += detail::spilled_bytes(from.bytes());
  });
  return result;
} catch (const std::system_error& error) {
  throw std::runtime_error(fmt::format(
      "cannot read {0} back from disk: {1}: raise the limit of the process's memory (ulimit -v) or of its mappings "
      "(sysctl vm.max_map_count), or take fewer {0}",
      StoredData<Data>::words, error.what()));
}

template <class Data>
bool SpilledData<Data>::has(const Data& batch) const {
  const std::byte* first = nullptr;
  StoredData<Data>::for_each_array_pair(batch, batch, [&](const auto& array, const auto&) {
    if (!first) first = reinterpret_cast<const std::byte*>(array.data());
  });
  return first && std::ranges::any_of(mappings_, [&](const Mapping& known) {
           const auto data = known.data.lock();
           return data && first >= data.get() && first < data.get() + known.bytes;
         });
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
