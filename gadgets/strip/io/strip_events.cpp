// Text and triples of events: see strip_events.hpp.
#include "gadgets/strip/io/strip_events.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <boost/endian/conversion.hpp>
#include <fmt/format.h>
#include <tbb/parallel_for.h>

namespace tofstream::formats {
namespace {

constexpr std::size_t triple_bytes = 3 * sizeof(float);
constexpr std::size_t longest_line = 4096;
constexpr std::size_t text_piece_bytes = std::size_t{1} << 15;  // of text, for one thread

double mm_of(StripUnit unit) {
  return unit == StripUnit::m ? 1000 : 1;
}

bool is_finite(const StripResponse<float>& event) {
  return std::isfinite(event.z_up_mm) && std::isfinite(event.z_down_mm) && std::isfinite(event.dl_mm);
}

std::string_view without_blanks(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin);
}

enum class Line { event, empty, wrong };

Line read_line(std::string_view line, double mm, StripResponse<float>& event) {
  if (line.size() > longest_line) return Line::wrong;
  line = without_blanks(line.substr(0, line.find('#')));
  if (line.empty()) return Line::empty;
  std::array<float, 3> values{};
  for (float& value : values) {
    double number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc{}) return Line::wrong;
    value = static_cast<float>(number * mm);
    const std::string_view rest = line.substr(static_cast<std::size_t>(end - line.data()));
    line = without_blanks(rest);
    if (!line.empty() && line.size() == rest.size()) return Line::wrong;  // no blank after the number
  }
  event = {values[0], values[1], values[2]};
  return line.empty() && is_finite(event) ? Line::event : Line::wrong;
}

/// The events of whole lines, and where a line begins that is not an event.
struct TextPiece {
  std::string_view text;
  std::vector<StripResponse<float>> events;
  std::optional<std::string_view> wrong_line;

  void read(double mm) {
    for (std::string_view rest = text; !rest.empty() && !wrong_line;) {
      const std::size_t length = std::min(rest.find('\n'), rest.size());
      StripResponse<float> event;
      const Line kind = read_line(rest.substr(0, length), mm, event);
      if (kind == Line::event) events.push_back(event);
      if (kind == Line::wrong) wrong_line = rest.substr(0, length);
      rest.remove_prefix(std::min(length + 1, rest.size()));
    }
  }
};

std::vector<TextPiece> pieces_of(std::string_view text) {
  std::vector<TextPiece> pieces;
  while (!text.empty()) {
    const std::size_t end = text.find('\n', std::min(text_piece_bytes, text.size() - 1));
    const std::size_t length = end == std::string_view::npos ? text.size() : end + 1;
    pieces.push_back({text.substr(0, length), {}, {}});
    text.remove_prefix(length);
  }
  return pieces;
}

[[noreturn]] void fail_at_line(std::uint64_t line, std::string_view text) {
  constexpr std::size_t shown = 60;
  std::string words(text.substr(0, shown));
  std::ranges::replace_if(
      words, [](char c) { return c < ' ' || c > '~'; }, '?');
  throw std::runtime_error(
      fmt::format("line {}: '{}{}' is not an event, three finite numbers z_u z_d dl with blanks between: correct the "
                  "file, or set format: float32 if it is binary",
                  line, words, text.size() > shown ? "..." : ""));
}

}  // namespace

std::vector<StripResponse<float>> StripEventReader::push(std::span<const std::byte> piece) {
  held_.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  if (format_ == StripFormat::float32) return read_float32();
  const std::size_t whole = held_.rfind('\n') + 1;  // 0 where there is none
  if (held_.size() - whole > longest_line)
    fail_at_line(lines_ + 1 + static_cast<std::uint64_t>(std::ranges::count(held_, '\n')),
                 std::string_view(held_).substr(whole));
  return read_text(whole);
}

std::vector<StripResponse<float>> StripEventReader::finish() {
  if (format_ == StripFormat::text) return read_text(held_.size());
  if (!held_.empty())
    throw std::runtime_error(
        fmt::format("byte {}: the file ends within an event, which is three float32 of 12 bytes together: it was cut "
                    "short, or is not of this format",
                    bytes_));
  return {};
}

std::vector<StripResponse<float>> StripEventReader::read_text(std::size_t bytes) {
  const std::string_view text = std::string_view(held_).substr(0, bytes);
  std::vector<TextPiece> pieces = pieces_of(text);
  tbb::parallel_for(std::size_t{0}, pieces.size(), [&](std::size_t i) { pieces[i].read(mm_of(unit_)); });
  std::vector<StripResponse<float>> events;
  for (const TextPiece& piece : pieces) {
    if (piece.wrong_line)
      fail_at_line(lines_ + 1 + static_cast<std::uint64_t>(std::count(text.data(), piece.wrong_line->data(), '\n')),
                   *piece.wrong_line);
    events.insert(events.end(), piece.events.begin(), piece.events.end());
  }
  lines_ += static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
  held_.erase(0, bytes);
  return events;
}

std::vector<StripResponse<float>> StripEventReader::read_float32() {
  std::vector<StripResponse<float>> events(held_.size() / triple_bytes);
  const auto mm = static_cast<float>(mm_of(unit_));
  for (std::size_t i = 0; i < events.size(); ++i) {
    std::array<float, 3> values{};
    for (std::size_t k = 0; k < values.size(); ++k)
      values[k] = mm * boost::endian::endian_load<float, 4, boost::endian::order::little>(
                           reinterpret_cast<const unsigned char*>(held_.data()) + i * triple_bytes + k * sizeof(float));
    events[i] = {values[0], values[1], values[2]};
    if (!is_finite(events[i]))
      throw std::runtime_error(
          fmt::format("byte {}: an event with a number that is not finite: the file is not of this format, or damaged",
                      bytes_ + i * triple_bytes));
  }
  held_.erase(0, events.size() * triple_bytes);
  bytes_ += events.size() * triple_bytes;
  return events;
}

void append_event(StripFormat format, StripUnit unit, const StripResponse<float>& event, std::string& bytes) {
  const std::array<float, 3> values{event.z_up_mm, event.z_down_mm, event.dl_mm};
  if (format == StripFormat::float32) {
    for (const float value : values) {
      std::array<unsigned char, sizeof(float)> each{};
      boost::endian::endian_store<float, 4, boost::endian::order::little>(
          each.data(), static_cast<float>(static_cast<double>(value) / mm_of(unit)));
      bytes.append(reinterpret_cast<const char*>(each.data()), each.size());
    }
  } else if (unit == StripUnit::mm) {
    fmt::format_to(std::back_inserter(bytes), "{} {} {}\n", values[0], values[1], values[2]);
  } else {
    const auto m = [](float mm) { return static_cast<double>(mm) / 1000; };
    fmt::format_to(std::back_inserter(bytes), "{} {} {}\n", m(values[0]), m(values[1]), m(values[2]));
  }
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
