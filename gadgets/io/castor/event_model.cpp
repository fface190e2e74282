// CASToR's events as the model of list-mode EM: see event_model.hpp.
#include "gadgets/io/castor/event_model.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/castor/to_scanner.hpp"
#include "kernels/math/units.hpp"

namespace tofstream::castor {
namespace {

constexpr float mm_per_ps = static_cast<float>(speed_of_light_mm_ps / 2);

std::uint32_t swapped(std::uint32_t value) {
  return __builtin_bswap32(value);
}

bool is_rate(float value) {
  return std::isfinite(value) && value >= 0;
}

}  // namespace

EventModel::EventModel(const DataHeader& header, std::shared_ptr<const Scanner> scanner, bool tof, double reference_s)
    : header_(header), scanner_(std::move(scanner)), reference_s_(reference_s) {
  if (tof) tof_ = tof_of(header);
  if (header.mode == DataMode::histogram) bins_ = header.tof_bins;
  if (header.mode == DataMode::list && header.has_tof && header.has_scatter && !tof)
    throw std::runtime_error(
        fmt::format("{}: its scatter rates are per mm of ToF, and without ToF nobody knows those of whole lines: leave "
                    "out `tof: false`",
                    header.file.string()));
}

std::string EventModel::wrong(const RecordView& record) const {
  std::string line = wrong_as_line(record);
  return line.empty() ? wrong_number(record) : line;
}

std::string EventModel::wrong_as_line(const RecordView& record) const {
  std::string line = wrong_line(record);
  return line.empty() ? wrong_factors(record) : line;
}

std::string EventModel::wrong_line(const RecordView& record) const {
  const std::uint32_t lines = record.lines();
  if (lines < 1 || lines > header_.most_lines)
    return fmt::format("{} lines, and an event has 1 to {}", lines, header_.most_lines);
  const auto crystals = static_cast<std::uint64_t>(scanner_->detectors->size());
  for (std::uint32_t l = 0; l < lines; ++l) {
    const std::uint32_t one = record.crystal1(l), two = record.crystal2(l);
    if (one < crystals && two < crystals && one != two) continue;
    if (one == two && one < crystals) return fmt::format("crystal {} is in coincidence with itself", one);
    const bool is_swapped = swapped(one) < crystals && swapped(two) < crystals;
    return fmt::format("crystals {} and {}, and the scanner {} has {} (from 0){}", one, two, scanner_->name, crystals,
                       is_swapped ? ": the file seems to be big-endian, and CASToR's are little-endian" : "");
  }
  return "";
}

std::string EventModel::wrong_factors(const RecordView& record) const {
  if (is_rate(record.attenuation()) && is_rate(record.normalisation())) return "";
  return fmt::format("correction factors of {} for attenuation and {} for normalisation: both are positive",
                     record.attenuation(), record.normalisation());
}

std::string EventModel::wrong_number(const RecordView& record) const {
  if (!is_rate(record.randoms())) return fmt::format("a rate of randoms of {} counts per s", record.randoms());
  if (header_.mode == DataMode::list) {
    if (!is_rate(record.scatter())) return fmt::format("a rate of scatter of {} counts per s", record.scatter());
    return std::isfinite(record.tof_ps()) ? "" : "a ToF that is no number";
  }
  for (std::size_t b = 0; b < bins_; ++b) {
    constexpr float most_counts = 16777216;  // up to which float holds every whole number
    const float counts = record.counts(b);
    if (!(counts >= 0 && counts <= most_counts && counts == std::floor(counts)))
      return fmt::format(
          "ToF bin {} has {} counts: they are whole numbers of at most 2^24, as they were counted, not "
          "corrected ones",
          b, counts);
    if (!is_rate(record.scatter(b)))
      return fmt::format("ToF bin {} has a rate of scatter of {} counts per s", b, record.scatter(b));
  }
  return "";
}

ModelEvent EventModel::line_of(const RecordView& record) const {
  ModelEvent event{.detector1 = record.crystal1(0), .detector2 = record.crystal2(0), .line = {}};
  if (!has_lines()) return event;
  const std::uint32_t lines = record.lines();
  Vec3d end1, end2;
  for (std::uint32_t l = 0; l < lines; ++l) {
    end1 = end1 + scanner_->detectors->position(record.crystal1(l)).as<double>();
    end2 = end2 + scanner_->detectors->position(record.crystal2(l)).as<double>();
  }
  event.line.end1 = (1.0 / lines * end1).as<float>();
  event.line.end2 = (1.0 / lines * end2).as<float>();
  return event;
}

void EventModel::set_terms(ModelEvent& event, const RecordView& record, float counts_a_second) const {
  const double divided =
      static_cast<double>(record.attenuation()) * static_cast<double>(record.normalisation()) * header_.calibration;
  event.multiplicative = static_cast<float>(1 / divided);
  event.additive = static_cast<float>(static_cast<double>(counts_a_second) * reference_s_ * divided);
}

// CASToR's difference of arrival times t1 - t2 is positive where the emission is nearer to crystal 2, as here.
ModelEvent EventModel::event(const RecordView& record) const {
  ModelEvent event = line_of(record);
  if (!has_tof()) {
    set_terms(event, record, record.scatter() + record.randoms());
    return event;
  }
  event.line.tof_mm = record.tof_ps() * mm_per_ps;
  const float width_mm = tof_.bin_width_mm > 0 ? tof_.bin_width_mm : 1;
  set_terms(event, record, (record.scatter() + record.randoms() / tof_.window_mm) * width_mm);
  return event;
}

// Bins [begin, end) of a histogram's event together.
const ModelEvent& EventModel::set_bin(ModelEvent& bin, const RecordView& record, std::size_t begin,
                                      std::size_t end) const {
  const float share = static_cast<float>(end - begin) / static_cast<float>(bins_);
  float counts_a_second = record.randoms() * share;
  bin.counts = 0;
  for (std::size_t b = begin; b < end; ++b) {
    bin.counts += record.counts(b);
    counts_a_second += record.scatter(b);
  }
  bin.line.tof_mm = (static_cast<float>(begin) - 0.5F * static_cast<float>(bins_ - 1)) * tof_.bin_width_mm;
  set_terms(bin, record, counts_a_second);
  return bin;
}

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
