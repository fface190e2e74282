// Interfile as STIR reads it: see interfile_write.hpp.
#include "gadgets/spect/io/interfile_write.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/io/interfile/header.hpp"
#include "gadgets/io/simulation_words.hpp"
#include "gadgets/spect/io/interfile_study.hpp"
#include "gadgets/spect/io/view_lists.hpp"

namespace tofstream::formats {
namespace {

constexpr double equal_steps_deg = 2e-3;  // a float's angle, and an extent that is rounded to 1e-3

double turned_into_circle(double degrees) {
  const double turned = std::fmod(degrees, 360.0);
  return turned < 0 ? turned + 360 : turned;
}

/// The extent, if views in this order go in equal steps.
std::optional<double> extent_of_order(const ViewSet& set, const std::vector<std::int32_t>& order) {
  const auto angle = [&](std::size_t i) {
    return static_cast<double>(set.places[static_cast<std::size_t>(order[i])].angle_deg);
  };
  const auto step_after = [&](std::size_t i) {  // in [-180, 180)
    return turned_into_circle(angle(i + 1) - angle(i) + 180) - 180;
  };
  const auto views = order.size();
  if (views == 1) return 360;
  double turned = 0;
  for (std::size_t i = 0; i + 1 < views; ++i) turned += step_after(i);
  constexpr double rounded_to = 1e3;
  const auto all = static_cast<double>(views);
  const double extent = std::round(turned * all / (all - 1) * rounded_to) / rounded_to;
  if (extent == 0) return {};
  for (std::size_t i = 0; i < views; ++i) {
    const double away = turned_into_circle(angle(i) - angle(0) - extent / all * static_cast<double>(i) + 180) - 180;
    if (!(std::abs(away) <= equal_steps_deg)) return {};
  }
  return extent;
}

// A text in a header: nothing that would end its line or begin a comment.
std::string header_text(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == ';' || c == 0x7f; }, ' ');
  return text;
}

std::string radii_text(const ViewSet& set, const InterfileOrder& order) {
  std::vector<float> radii(set.places.size());
  for (std::size_t view = 0; view < radii.size(); ++view)
    radii[static_cast<std::size_t>(order.place[view])] = set.places[view].radius_mm;
  if (std::ranges::all_of(radii, [&](float radius) { return radius == radii.front(); }))
    return fmt::format("orbit := circular\nradius := {}\n", radii.front());
  return fmt::format("orbit := non-circular\nradii := {{{}}}\n", fmt::join(radii, ", "));
}

bool has_one_duration(const ViewSet& set) {
  const double first = set.places.front().duration_s;
  return std::ranges::all_of(set.places, [&](const ViewPlace& place) { return place.duration_s == first; });
}

std::string windows_text(const ViewSet& set, std::size_t windows) {
  windows = std::min(windows, set.windows.size());
  if (windows == 0 || (windows == 1 && !(set.windows.front().high_keV > 0))) return "";
  std::string text = fmt::format("number of energy windows := {}\n", windows);
  for (std::size_t w = 0; w < windows; ++w)
    text += fmt::format("energy window lower level [{0}] := {1}\nenergy window upper level [{0}] := {2}\n", w + 1,
                        set.windows[w].low_keV, set.windows[w].high_keV);
  return text;
}

// The keys that every reader knows, with `more` before the end.
std::string header_of_keys(const ViewSet& set, const InterfileOrder& order, const std::string& data,
                           std::size_t windows, const std::string& more) {
  constexpr double zero_in_front = 180;  // Interfile's zero lies so far from ours
  std::string text = "!INTERFILE :=\n!imaging modality := nucmed\n!version of keys := 3.3\n";
  if (!set.name.empty()) text += fmt::format("originating system := {}\n", header_text(set.name));
  if (!data.empty()) text += fmt::format("name of data file := {}\n", header_text(data));
  text += "\n!GENERAL DATA :=\n";
  if (!set.collimator.empty()) text += fmt::format("collimator := {}\n", header_text(set.collimator));
  text += "\n!GENERAL IMAGE DATA :=\n!type of data := Tomographic\nimagedata byte order := LITTLEENDIAN\n";
  text += windows_text(set, windows);
  text += "\n!SPECT STUDY (General) :=\n!number format := float\n!number of bytes per pixel := 4\n";
  for (int axis = 0; axis < 2; ++axis)
    text += fmt::format("!matrix size [{0}] := {1}\n!scaling factor (mm/pixel) [{0}] := {2}\n", axis + 1,
                        set.size[axis], set.pixel_mm[axis]);
  text += fmt::format("!number of projections := {}\n!extent of rotation := {}\n!process status := acquired\n",
                      set.places.size(), std::abs(order.extent_deg));
  if (has_one_duration(set) && set.places.front().duration_s > 0)
    text += fmt::format("!time per projection (sec) := {}\n", set.places.front().duration_s);
  text += fmt::format("\n!SPECT STUDY (acquired data) :=\n!direction of rotation := {}\n",
                      order.extent_deg < 0 ? "CW" : "CCW");
  text += "; 0 is in front of the patient\n";
  text += fmt::format("start angle := {}\n", turned_into_circle(order.start_deg + zero_in_front));
  return text + radii_text(set, order) + more + "\n!END OF INTERFILE :=\n";
}

// The lists without which the header's reader would place views otherwise.
std::string lists_text(const ViewSet& set, const InterfileOrder& order, const std::string& keys) {
  const std::vector<ViewPlace> read = InterfileStudy(parse_interfile(keys, "header"), {}, {}).set().places;
  std::string text;
  std::vector<double> values(set.places.size());
  for (const ViewList& list : view_lists) {
    for (std::size_t view = 0; view < values.size(); ++view)
      values[static_cast<std::size_t>(order.place[view])] = list.get(set.places[view]);
    if (!std::ranges::equal(values, read, {}, {}, list.get))
      text += fmt::format("; {} := {{{}}}\n", list.key, fmt::join(values, ", "));
  }
  return text;
}

// Corrections that the counts have had, of a stream: its frames have the exposures by which some of them are made, and a
// file has not.
std::string corrected_text(const Quantity& quantity) {
  std::string text;
  for (std::size_t c = 0; c < correction_count; ++c)
    if (const CorrectionRecord& record = quantity.corrections[c]; record.state == CorrectionState::made)
      text +=
          fmt::format("; {} := {}: {}\n", corrected_key, name_of(static_cast<Correction>(c)), header_text(record.how));
  if (const auto decay = decay_correction_of(&quantity); decay && decay->half_life_s > 0)
    text += fmt::format("; {} := {{{}, {}}}\n", decay_key, decay->half_life_s, decay->reference_time_s);
  return text;
}

std::string shown_text(const Quantity& quantity) {
  std::string text;
  if (const std::string words = simulation_words(quantity); !words.empty())
    text += fmt::format("; {} := {}\n", simulation_key, words);
  for (const std::string& mark : quantity.marks) text += fmt::format("; {} := {}\n", mark_key, header_text(mark));
  return text;
}

std::string whole_header(const ViewSet& set, const InterfileOrder& order, const std::string& shown,
                         const std::string& data, std::size_t windows) {
  const std::string lists = lists_text(set, order, header_of_keys(set, order, data, windows, ""));
  std::string text = header_of_keys(set, order, data, windows, lists + shown);
  if (text.size() > largest_interfile_header)
    throw std::runtime_error(
        fmt::format("the header of {} views has {} bytes, and readers take {}: send or write fewer", set.places.size(),
                    text.size(), largest_interfile_header));
  return text;
}

}  // namespace

InterfileOrder interfile_order(const ViewSet& set) {
  if (set.kind != ViewKind::camera) throw std::runtime_error("Interfile holds views of cameras, not histo-images");
  std::vector<std::int32_t> order(set.places.size());
  std::iota(order.begin(), order.end(), 0);
  auto extent = extent_of_order(set, order);
  if (!extent) {
    std::ranges::stable_sort(order, {}, [&](std::int32_t view) {
      return turned_into_circle(static_cast<double>(set.places[static_cast<std::size_t>(view)].angle_deg));
    });
    extent = extent_of_order(set, order);
  }
  if (!extent) throw std::runtime_error("the views do not go round in equal steps, and Interfile knows no others");
  InterfileOrder result{.place = std::vector<std::int32_t>(order.size()),
                        .start_deg = static_cast<double>(set.places[static_cast<std::size_t>(order.front())].angle_deg),
                        .extent_deg = *extent};
  for (std::size_t i = 0; i < order.size(); ++i)
    result.place[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  return result;
}

std::string interfile_header(const ViewSet& set, const InterfileOrder& order, const Quantity& quantity,
                             const std::string& data) {
  return whole_header(set, order, shown_text(quantity), data, 1);
}

std::string interfile_stream_header(const ViewSet& set, const Quantity& quantity) {
  InterfileOrder order{.place = std::vector<std::int32_t>(set.places.size()),
                       .start_deg = static_cast<double>(set.places.front().angle_deg)};
  std::iota(order.place.begin(), order.place.end(), 0);
  if (const auto extent = extent_of_order(set, order.place)) order.extent_deg = *extent;
  return whole_header(set, order, shown_text(quantity) + corrected_text(quantity), "", set.windows.size());
}

InterfileWriter::InterfileWriter(const std::filesystem::path& header, std::shared_ptr<const ViewSet> set,
                                 const Quantity& quantity)
    : set_(std::move(set)),
      order_(interfile_order(*set_)),
      header_(header),
      data_(data_of(header)),
      has_come_(set_->places.size()) {
  header_.write(interfile_header(*set_, order_, quantity, data_of(header).filename().string()));
}

void InterfileWriter::write(const ViewBatch& batch) {
  if (batch.set != set_ && !(*batch.set == *set_))
    throw std::runtime_error("views of another camera or scan came: one Interfile holds those of one");
  const auto pixels = static_cast<std::size_t>(set_->pixels());
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    const auto view = static_cast<std::size_t>(batch.records[i].view);
    if (has_come_[view])
      throw std::runtime_error(fmt::format("view {} came twice, and Interfile holds each once", view));
    has_come_[view] = true;
    const std::span<const float> counts = batch.counts.span().subspan(i * pixels, pixels);
    std::vector<std::byte> bytes(counts.size_bytes());
    std::memcpy(bytes.data(), counts.data(), bytes.size());
    if constexpr (std::endian::native == std::endian::big)
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(float))
        std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                     bytes.begin() + static_cast<std::ptrdiff_t>(at + sizeof(float)));
    data_.write_at(static_cast<std::size_t>(order_.place[view]) * bytes.size(), bytes);
  }
}

void InterfileWriter::commit() {
  const auto missing = std::ranges::count(has_come_, false);
  if (missing > 0)
    throw std::runtime_error(
        fmt::format("{} of {} views never came: no Interfile is written", missing, has_come_.size()));
  data_.commit();
  header_.commit();
}

std::vector<std::string> InterfileWriter::notes() const {
  std::vector<std::string> notes;
  const auto only_ours = [&](const char* what) {
    notes.push_back(fmt::format("{}: a comment of the header says so, which other programs do not read", what));
  };
  if (!has_one_duration(*set_)) only_ours("the views' durations differ");
  if (std::ranges::any_of(set_->places, [](const ViewPlace& place) { return place.head > 0; }))
    only_ours("the views are those of several heads");
  if (std::ranges::any_of(set_->places,
                          [](const ViewPlace& place) { return place.centre_u_mm != 0 || place.centre_w_mm != 0; }))
    only_ours("the views' centres are not those of the camera");
  return notes;
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
