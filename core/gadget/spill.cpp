#include "core/gadget/spill.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tofstream {
namespace {

// A smaller part is copied behind the others, so that the system is asked to write few parts.
constexpr std::size_t large = 4096;
constexpr std::size_t buffer_bytes = 65536;

}  // namespace

void SpillWriter::copy(std::span<const std::byte> bytes) {
  copied_.insert(copied_.end(), bytes.begin(), bytes.end());
  if (parts_.empty() || parts_.back().data)
    parts_.push_back({nullptr, bytes.size()});
  else
    parts_.back().bytes += bytes.size();
}

void SpillWriter::refer(std::span<const std::byte> bytes) {
  if (bytes.size() < large) return copy(bytes);
  parts_.push_back({bytes.data(), bytes.size()});
}

// Its number from 1, and 0 for none.
void SpillWriter::shared(std::shared_ptr<const void> object) {
  if (!object) return value(std::size_t{0});
  const auto known = std::ranges::find(shared_, object);
  value(static_cast<std::size_t>(known - shared_.begin()) + 1);
  if (known == shared_.end()) shared_.push_back(std::move(object));
}

std::vector<std::span<const std::byte>> SpillWriter::parts() const {
  std::vector<std::span<const std::byte>> all;
  std::size_t copied = 0;
  for (const Part& part : parts_)
    all.emplace_back(part.data ? part.data : copied_.data() + std::exchange(copied, copied + part.bytes), part.bytes);
  return all;
}

void SpillReader::read(std::span<std::byte> to) {
  const std::size_t buffered = std::min(to.size(), buffer_.size() - buffer_at_);
  if (buffered > 0) std::memcpy(to.data(), buffer_.data() + buffer_at_, buffered);
  buffer_at_ += buffered;
  to = to.subspan(buffered);
  if (to.empty()) return;
  if (to.size() >= large) {
    place_.read(at_, to);
    at_ += to.size();
    return;
  }
  buffer_.resize(std::clamp(place_.size - at_, to.size(), buffer_bytes));  // what is not there FilePlace refuses
  place_.read(at_, buffer_);
  at_ += buffer_.size();
  buffer_at_ = to.size();
  std::memcpy(to.data(), buffer_.data(), to.size());
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
