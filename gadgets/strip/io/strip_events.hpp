// Events of two strips as files hold them: text, a line `z_u z_d dl` for each event, or float32 triples in that order,
// little-endian, as the field's simulators write them (share/doc/jpet.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/strip/geometry.hpp"

namespace tofstream::formats {

enum class StripFormat { text, float32 };
enum class StripUnit { mm, m };

/// Reads a stream of events that comes in pieces of any size. In text, empty lines and what follows a `#` are skipped.
/// Each function throws std::runtime_error, one line that names the line (text) or the byte (float32), if the stream is
/// not in its format or a number is not finite.
class StripEventReader {
 public:
  StripEventReader(StripFormat format, StripUnit unit) : format_(format), unit_(unit) {}

  /// The events that this piece completes, in order.
  std::vector<StripResponse<float>> push(std::span<const std::byte> piece);
  /// The events that the end of the stream completes: a last line without an end.
  std::vector<StripResponse<float>> finish();

 private:
  std::vector<StripResponse<float>> read_text(std::size_t bytes);
  std::vector<StripResponse<float>> read_float32();

  StripFormat format_;
  StripUnit unit_;
  std::string held_;         // bytes that are not yet read
  std::uint64_t lines_ = 0;  // read so far
  std::uint64_t bytes_ = 0;
};

/// Appends an event to a file's bytes. Text in mm, and float32 in mm, are read back to the last bit.
void append_event(StripFormat format, StripUnit unit, const StripResponse<float>& event, std::string& bytes);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
