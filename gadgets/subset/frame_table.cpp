// Frames from words and tables: see frame_table.hpp.
#include "gadgets/subset/frame_table.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "gadgets/io/dynamic/frame_times_table.hpp"

namespace tofstream {

using formats::frame_rounding_s, formats::latest_frame_s, formats::most_frames;

namespace {

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::isfinite(value) && value >= 0 && value <= latest_frame_s ? std::optional(value) : std::nullopt;
}

/// Frames of equal length behind one another; of a stretch from a time to another there is one.
struct Run {
  int frames = 0;
  double length_s = 0;
  std::optional<double> from_s = {};  // nothing: behind what came before
};

std::optional<Run> run_in(std::string_view word) {
  if (const auto times = word.find('x'); times != std::string_view::npos) {
    const auto frames = number_in(word.substr(0, times)), length = number_in(word.substr(times + 1));
    if (!frames || !length || *frames < 1 || *frames > most_frames || *frames != std::floor(*frames))
      return std::nullopt;
    return Run{static_cast<int>(*frames), *length};
  }
  if (const auto dash = word.find('-'); dash != std::string_view::npos) {
    const auto from = number_in(word.substr(0, dash)), to = number_in(word.substr(dash + 1));
    if (!from || !to) return std::nullopt;
    return Run{1, *to - *from, from};
  }
  const auto length = number_in(word);
  return length ? std::optional(Run{1, *length}) : std::nullopt;
}

}  // namespace

std::vector<ScanFrame> read_frames(const std::vector<std::string>& words) {
  std::vector<ScanFrame> frames;
  double end_s = 0;
  for (const std::string& word : words) {
    const std::optional<Run> run = run_in(word);
    if (!run || !(run->length_s > 0))
      throw std::invalid_argument(
          fmt::format("frames: '{}' says no frame: write 6x10 for six frames of 10 s, 30 for one "
                      "of 30 s, or 20-35 for one from 20 s to 35 s",
                      word));
    if (run->from_s.value_or(end_s) < end_s - frame_rounding_s)
      throw std::invalid_argument(fmt::format(
          "frames: '{}' begins before the frame before it ends, at {:g} s: frames cannot overlap", word, end_s));
    end_s = run->from_s.value_or(end_s);
    if (static_cast<int>(frames.size()) + run->frames > most_frames)
      throw std::invalid_argument(fmt::format("frames: there cannot be more than {}", most_frames));
    for (int i = 0; i < run->frames; ++i) {
      // Times of equal frames are multiples, not sums, so that 3000 frames of 0.1 s end at 300 s.
      const double begin_s = end_s + i * run->length_s;
      frames.push_back(
          {.number = static_cast<int>(frames.size()) + 1, .start_s = begin_s, .duration_s = run->length_s});
    }
    end_s += run->frames * run->length_s;
  }
  if (frames.empty()) throw std::invalid_argument("frames: write at least one, such as [6x10, 4x30, 5x60]");
  for (ScanFrame& frame : frames) frame.frames = static_cast<int>(frames.size());
  return frames;
}

std::vector<ScanFrame> read_frame_table(const std::filesystem::path& file) {
  const FrameTimes times = formats::read_frame_times_table(file);
  const int count = static_cast<int>(times.start_s.size());
  std::vector<ScanFrame> frames;
  for (int f = 0; f < count; ++f) {
    const auto at = static_cast<std::size_t>(f);
    frames.push_back(
        {.number = f + 1, .frames = count, .start_s = times.start_s[at], .duration_s = times.duration_s[at]});
  }
  return frames;
}

std::string in_words(const ScanFrame& frame) {
  return fmt::format("frame {} ({:g} to {:g} s)", frame.number, frame.start_s, frame.start_s + frame.duration_s);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
