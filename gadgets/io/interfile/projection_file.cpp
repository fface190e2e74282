// Numbers of projection data: see projection_file.hpp.
#include "gadgets/io/interfile/projection_file.hpp"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/wire/checksum.hpp"

namespace tofstream::interfile {

ProjectionFile::ProjectionFile(ProjectionHeader header) : header_(std::move(header)) {
  const std::string header_name = printable(header_.file.string()), data = printable(header_.data.string());
  require_readable(header_.data, fmt::format("'name of data file' of {} names it", header_name));
  std::error_code none;
  if (!std::filesystem::is_regular_file(header_.data, none))
    throw std::runtime_error(fmt::format("{}: this is no file: 'name of data file' of {} names it", data, header_name));
  const auto found = static_cast<std::int64_t>(std::filesystem::file_size(header_.data));
  const std::int64_t wanted = header_.offset + header_.numbers_in_file() * header_.numbers.bytes;
  if (found != wanted)
    throw std::runtime_error(fmt::format(
        "{}: {} bytes, and {} describes {} ({} numbers of {} bytes{}): {}", data, found, header_name, wanted,
        header_.numbers_in_file(), header_.numbers.bytes,
        header_.offset > 0 ? fmt::format(" from byte {} on", header_.offset) : "",
        found < wanted ? "it is cut short, or another scan's"
                       : "it is longer, or another scan's: are the matrix sizes and the bytes per pixel right?"));
  file_.open(header_.data, std::ios::binary);
  if (!file_) throw std::runtime_error(fmt::format("{}: cannot be opened", data));
}

void ProjectionFile::read_bytes(std::int64_t at, std::span<std::byte> to) const {
  const std::lock_guard lock(mutex_);
  file_.clear();
  file_.seekg(header_.offset + at);
  file_.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
  if (!file_)
    throw std::runtime_error(fmt::format("{}: the file ends before byte {}: it became shorter",
                                         printable(header_.data.string()),
                                         header_.offset + at + static_cast<std::int64_t>(to.size())));
}

void ProjectionFile::read(int tof_place, std::int64_t first, std::span<float> to) const {
  std::vector<std::byte> bytes(to.size() * static_cast<std::size_t>(header_.numbers.bytes));
  read_bytes((tof_place * header_.bins() + first) * header_.numbers.bytes, bytes);
  formats::decode_pixels(header_.numbers, bytes, to);
  if (header_.scale == 1) return;
  const auto scale = static_cast<float>(header_.scale);
  for (float& number : to) number *= scale;
}

std::uint32_t ProjectionFile::checksum() const {
  constexpr std::int64_t piece = 1 << 22;
  const std::int64_t all = header_.numbers_in_file() * header_.numbers.bytes;
  std::vector<std::byte> bytes;
  std::uint32_t sum = 0;
  for (std::int64_t at = 0; at < all; at += piece) {
    bytes.resize(static_cast<std::size_t>(std::min(piece, all - at)));
    read_bytes(at, bytes);
    sum = wire::crc32c(bytes, sum);
  }
  return sum;
}

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
