// Events of CASToR data files: see record.hpp.
#include "gadgets/io/castor/record.hpp"

#include <bit>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tofstream::castor {
namespace {

static_assert(std::endian::native == std::endian::little, "records are little-endian, as this program's machines are");

template <class T>
void put(std::byte* bytes, std::size_t offset, T value) {
  if (offset != RecordLayout::none) std::memcpy(bytes + offset, &value, sizeof value);
}

}  // namespace

RecordLayout::RecordLayout(const DataHeader& header) {
  has_time = header.mode != DataMode::normalisation;
  std::size_t next = has_time ? sizeof(std::uint32_t) : 0;
  const auto take = [&](bool is_there, std::size_t size) {
    const std::size_t at = next;
    if (is_there) next += size;
    return is_there ? at : none;
  };
  const auto take_float = [&](bool is_there) {
    floats += is_there ? 1 : 0;
    return take(is_there, sizeof(float));
  };
  const bool is_list = header.mode == DataMode::list;
  attenuation = take_float(header.has_attenuation);
  kind = take(is_list && header.has_kind, sizeof(std::uint8_t));
  scatter = take_float(is_list && header.has_scatter);
  randoms = take_float(header.has_randoms);
  normalisation = take_float(header.has_normalisation);
  tof = take_float(is_list && header.has_tof);
  if (header.mode == DataMode::histogram) {
    bins_have_scatter = header.has_scatter;
    bytes_a_bin = bins_have_scatter ? 2 * sizeof(float) : sizeof(float);
    bin_count = header.tof_bins;
    bins = take(true, bytes_a_bin * bin_count);
    floats += bin_count * (bins_have_scatter ? 2 : 1);
  }
  line_count = take(header.most_lines > 1, sizeof(std::uint16_t));
  most_lines = header.most_lines;
  lines = take(true, 2 * sizeof(std::uint32_t) * most_lines);
  bytes = next;
}

std::string layout_in_words(const DataHeader& header) {
  const RecordLayout layout(header);
  std::vector<std::string> fields;
  if (header.mode != DataMode::normalisation) fields.emplace_back("time 4");
  const auto add = [&](std::size_t at, const char* words, std::size_t bytes) {
    if (at != RecordLayout::none) fields.push_back(fmt::format("{} {}", words, bytes));
  };
  add(layout.attenuation, "attenuation", sizeof(float));
  add(layout.kind, "kind", 1);
  add(layout.scatter, "scatter", sizeof(float));
  add(layout.randoms, "randoms", sizeof(float));
  add(layout.normalisation, "normalisation", sizeof(float));
  add(layout.tof, "ToF", sizeof(float));
  add(layout.bins, layout.bins_have_scatter ? "counts and scatter" : "counts", layout.bytes_a_bin * layout.bin_count);
  add(layout.line_count, "lines", sizeof(std::uint16_t));
  add(layout.lines, "crystals", layout.bytes - layout.lines);
  return fmt::format("{} bytes", fmt::join(fields, " + "));
}

void write_record(const RecordLayout& layout, const Record& record, std::byte* bytes) {
  std::memset(bytes, 0, layout.bytes);
  if (record.bins.size() != layout.bin_count)
    throw std::invalid_argument(
        fmt::format("an event has {} ToF bins with counts, and its header {}", record.bins.size(), layout.bin_count));
  if (record.lines.empty() || record.lines.size() > layout.most_lines)
    throw std::invalid_argument(
        fmt::format("an event has {} lines, and its header 1 to {}", record.lines.size(), layout.most_lines));
  if (layout.has_time) put(bytes, 0, record.time_ms);
  put(bytes, layout.attenuation, record.attenuation);
  put(bytes, layout.kind, record.kind);
  put(bytes, layout.scatter, record.scatter);
  put(bytes, layout.randoms, record.randoms);
  put(bytes, layout.normalisation, record.normalisation);
  put(bytes, layout.tof, record.tof_ps);
  for (std::size_t b = 0; b < record.bins.size(); ++b) {
    put(bytes, layout.bins + b * layout.bytes_a_bin, record.bins[b].counts);
    if (layout.bins_have_scatter)
      put(bytes, layout.bins + b * layout.bytes_a_bin + sizeof(float), record.bins[b].scatter);
  }
  put(bytes, layout.line_count, static_cast<std::uint16_t>(record.lines.size()));
  for (std::size_t l = 0; l < record.lines.size(); ++l) {
    put(bytes, layout.lines + 8 * l, record.lines[l].first);
    put(bytes, layout.lines + 8 * l + 4, record.lines[l].second);
  }
}

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
