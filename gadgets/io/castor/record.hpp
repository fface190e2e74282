// One event of a CASToR data file of PET, byte by byte (CASToR general documentation, tables of a list-mode and of a
// histogram event; a normalisation as its program reads it): little-endian, in this order, without what flags leave out:
//
//   list mode   time u32 [ms] | attenuation | kind u8 | scatter | randoms | normalisation | ToF [ps] | lines u16 | c1 c2 ...
//   histogram   time u32 [ms] | attenuation | randoms | normalisation | (counts | scatter) of each ToF bin | lines u16 |
//               c1 c2 ...
//   normalisation  attenuation | normalisation | lines u16 | c1 c2 ...
//
// with float32 where nothing else is said, and c1 c2 as u32, as often as an event may have lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gadgets/io/castor/data_header.hpp"

namespace tofstream::castor {

/// Where the fields of an event lie.
struct RecordLayout {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::size_t attenuation = none, kind = none, scatter = none, randoms = none, normalisation = none, tof = none;
  std::size_t bins = none;  // of a histogram: the first ToF bin
  std::size_t bytes_a_bin = 0, bin_count = 0;
  bool bins_have_scatter = false;
  std::size_t line_count = none;
  std::size_t lines = 0, most_lines = 1;  // the first pair of crystals, and for how many there is room
  std::size_t bytes = 0;                  // of an event
  bool has_time = true;                   // at its beginning
  std::size_t floats = 0;                 // how many of its fields are floating point

  explicit RecordLayout(const DataHeader& header);
};

/// The fields of an event and their widths in words: "time 4 + randoms 4 + crystals 8 bytes".
std::string layout_in_words(const DataHeader& header);

/// An event in a buffer that outlives it.
class RecordView {
 public:
  RecordView(const RecordLayout& layout, const std::byte* bytes) : layout_(&layout), bytes_(bytes) {}

  std::uint32_t time_ms() const { return at<std::uint32_t>(0); }
  float attenuation() const { return number(layout_->attenuation, 1); }      // correction factor, at least 1
  float normalisation() const { return number(layout_->normalisation, 1); }  // 1 / efficiency
  float randoms() const { return number(layout_->randoms, 0); }              // counts per s of the whole line
  float scatter() const { return number(layout_->scatter, 0); }              // counts per s, with ToF also per mm
  float tof_ps() const { return number(layout_->tof, 0); }                   // t1 - t2
  /// Of a ToF bin of a histogram: its counts, and its scatter in counts per s.
  float counts(std::size_t bin) const { return at<float>(layout_->bins + bin * layout_->bytes_a_bin); }
  float scatter(std::size_t bin) const {
    return layout_->bins_have_scatter ? at<float>(layout_->bins + bin * layout_->bytes_a_bin + sizeof(float)) : 0;
  }
  /// Pairs of crystals, as the event says: it may say more than there is room for.
  std::uint32_t lines() const {
    return layout_->line_count == RecordLayout::none ? 1 : at<std::uint16_t>(layout_->line_count);
  }
  std::uint32_t crystal1(std::size_t line) const { return at<std::uint32_t>(layout_->lines + 8 * line); }
  std::uint32_t crystal2(std::size_t line) const { return at<std::uint32_t>(layout_->lines + 8 * line + 4); }

 private:
  template <class T>
  T at(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }
  float number(std::size_t offset, float otherwise) const {
    return offset == RecordLayout::none ? otherwise : at<float>(offset);
  }

  const RecordLayout* layout_;
  const std::byte* bytes_;
};

/// What an event is written from; fields that the layout has not are left out.
struct Record {
  struct Bin {
    float counts = 0, scatter = 0;
  };
  std::uint32_t time_ms = 0;
  float attenuation = 1, scatter = 0, randoms = 0, normalisation = 1, tof_ps = 0;
  std::uint8_t kind = 0;
  std::vector<Bin> bins = {};  // of a histogram, as many as it has ToF bins
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lines = {};
};

/// Writes an event into layout.bytes bytes. Throws std::invalid_argument for other numbers of bins or lines than the
/// header has.
void write_record(const RecordLayout& layout, const Record& record, std::byte* bytes);

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
