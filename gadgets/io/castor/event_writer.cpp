// List mode and histograms as CASToR reads them: see event_writer.hpp.
#include "gadgets/io/castor/event_writer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/io/castor/geometry.hpp"
#include "gadgets/io/castor/record.hpp"
#include "gadgets/io/castor/to_scanner.hpp"
#include "gadgets/io/tof_bin_count.hpp"
#include "kernels/grid/choose_grid.hpp"
#include "kernels/math/units.hpp"

namespace tofstream::castor {
namespace {

constexpr double ps_per_mm = 2 / speed_of_light_mm_ps;

std::filesystem::path with_ending(std::filesystem::path file, const char* ending) {
  return file.replace_extension(ending);
}

void require_writable(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

bool is_plain(const Scanner& scanner) {
  return scanner.bin_efficiency.empty() && scanner.pair_tables.empty() && scanner.geometric.empty();
}

// Evenly spread over the batch's time, in the order in which they arrived.
std::uint32_t time_ms(const EventBatch& batch, std::int64_t i) {
  const double rank = batch.arrival.empty() ? static_cast<double>(i) : static_cast<double>(batch.arrival[i]);
  const double ms = 1e3 * (batch.start_s + batch.duration_s * (rank + 0.5) / static_cast<double>(batch.count));
  require_writable(ms >= 0 && ms < double{std::numeric_limits<std::uint32_t>::max()},
                   "the events' times do not fit: CASToR's are whole ms, from 0 to 49 days");
  return static_cast<std::uint32_t>(ms);
}

}  // namespace

WrittenFiles::WrittenFiles(const std::filesystem::path& header_file)
    : header(header_file),
      data(with_ending(header_file, ".cdf")),
      scanner(with_ending(header_file, ".hscan")),
      table(with_ending(header_file, ".lut")) {}

EventWriter::EventWriter(const std::filesystem::path& header_file, double reference_s, bool as_histogram)
    : files_(header_file),
      reference_s_(reference_s),
      as_histogram_(as_histogram),
      header_file_(files_.header),
      data_file_(files_.data),
      scanner_file_(files_.scanner),
      table_file_(files_.table) {}

void EventWriter::begin(const EventBatch& batch, const EventBatch* part) {
  scanner_ = batch.scanner;
  tof_ = batch.tof_mm.empty() ? TofModel{} : batch.tof;
  has_part_ = part != nullptr;
  header_ = {.file = files_.header, .data = files_.data, .scanner = files_.header.stem().string()};
  if (as_histogram_ || !batch.counts.empty()) header_.mode = DataMode::histogram;
  header_.start_s = batch.start_s;
  const EventBatch& normalised = part ? *part : batch;
  header_.has_normalisation = !normalised.multiplicative.empty();
  header_.has_attenuation = part && !batch.multiplicative.empty();
  header_.has_scatter = !batch.additive.empty();
  header_.has_randoms = part && !part->additive.empty();
  // A factor of each event has the calibration in it, and without the efficiencies that go with it it means nothing.
  if (batch.multiplicative.empty() && is_plain(*scanner_))
    header_.calibration = 1 / static_cast<double>(scanner_->calibration);
  begin_tof(batch);
}

void EventWriter::begin_tof(const EventBatch& batch) {
  header_.has_tof = tof_.sigma_mm > 0;
  header_.tof_fwhm_ps = static_cast<double>(tof_.sigma_mm) * fwhm_per_sigma * ps_per_mm;
  header_.tof_range_ps = static_cast<double>(tof_.window_mm) * ps_per_mm;
  const double width_ps = static_cast<double>(tof_.bin_width_mm) * ps_per_mm;
  if (!is_histogram()) {
    header_.tof_quantum_ps = width_ps;
    require_writable(!header_.has_tof || !header_.has_randoms || header_.tof_range_ps > 0,
                     "the events' ToF has no window, over which CASToR spreads randoms");
    return;
  }
  constexpr double most_bins = 65535;
  const double bins = header_.has_tof && width_ps > 0 ? formats::tof_bin_count(static_cast<double>(tof_.window_mm),
                                                                               static_cast<double>(tof_.bin_width_mm),
                                                                               static_cast<double>(batch.tof_mm[0]))
                                                      : 1;
  require_writable(!header_.has_tof || (bins >= 2 && bins <= most_bins),
                   "the ToF of the events is not in bins, 2 to 65535 of them, which CASToR's histograms need");
  header_.tof_bins = static_cast<std::uint32_t>(bins);
  header_.tof_bin_ps = width_ps;
  lines_ = HistogramLines(header_.tof_bins);
  header_.start_s = batch.start_s;
}

void EventWriter::require_alike(const EventBatch& batch, const EventBatch* part) const {
  require_writable(batch.scanner == scanner_ && (batch.tof_mm.empty() ? TofModel{} : batch.tof) == tof_,
                   "events of another scanner or with another ToF came: a file of CASToR's has one");
  const EventBatch& normalised = part ? *part : batch;
  require_writable(normalised.multiplicative.empty() != header_.has_normalisation &&
                       batch.additive.empty() != header_.has_scatter && (part != nullptr) == has_part_ &&
                       (!part || (batch.multiplicative.empty() != header_.has_attenuation &&
                                  part->additive.empty() != header_.has_randoms)),
                   "some events have correction terms and others none: a file of CASToR's has one kind");
  require_writable(batch.counts.empty() || is_histogram(), "bins with counts came after events: a file has one kind");
  require_writable(
      !part || (part->count == batch.count && std::ranges::equal(part->detector1.span(), batch.detector1.span()) &&
                std::ranges::equal(part->detector2.span(), batch.detector2.span())),
      "the events of the two inputs are not the same ones, in one order: let both stem from one gadget");
}

void EventWriter::write(const EventBatch& batch, const EventBatch* part) {
  if (batch.count == 0) return;
  require_writable(batch.scanner && batch.detectors,
                   "events without detectors came: CASToR's name two crystals of a scanner");
  require_writable(batch.tof_width_mm.empty(), "ToF bins of unequal width came: CASToR's are equal");
  if (events_ == 0) begin(batch, part);
  require_alike(batch, part);
  is_histogram() ? take_bins(batch, part) : write_list(batch, part);
  events_ += static_cast<std::uint64_t>(batch.count);
  header_.start_s = std::min(header_.start_s, batch.start_s);
  end_s_ = std::max(end_s_, batch.start_s + batch.duration_s);
}

// A histogram's rates are those of its bin. In list mode with ToF the rate of scatter is per mm of it; that of randoms
// is the whole line's.
Record EventWriter::record_of(const EventBatch& batch, const EventBatch* part, std::int64_t i) const {
  const auto value = [&](const Buffer<float>& array, double otherwise) {
    return array.empty() ? otherwise : static_cast<double>(array[i]);
  };
  const double all = value(batch.multiplicative, 1 / header_.calibration);
  const double normalised = part ? value(part->multiplicative, 1 / header_.calibration) : all;
  Record record{.lines = {{batch.detector1[i], batch.detector2[i]}}};
  record.normalisation = static_cast<float>(normalised > 0 ? 1 / normalised : 0);
  record.attenuation = static_cast<float>(all > 0 ? normalised / all : 0);
  const double counts_s = value(batch.additive, 0) * all / reference_s_;
  const double randoms_s = part ? value(part->additive, 0) * normalised / reference_s_ : 0;
  const double width = tof_.sigma_mm > 0 && tof_.bin_width_mm > 0 ? static_cast<double>(tof_.bin_width_mm) : 1;
  const double window = static_cast<double>(tof_.window_mm);
  record.scatter = static_cast<float>(std::max(0.0, counts_s - randoms_s) / (is_histogram() ? 1 : width));
  const double bins = is_histogram() ? header_.tof_bins : header_.has_tof ? window / width : 1;
  record.randoms = static_cast<float>(randoms_s * bins);
  return record;
}

void EventWriter::write_list(const EventBatch& batch, const EventBatch* part) {
  std::vector<Record> records;
  records.reserve(static_cast<std::size_t>(batch.count));
  for (std::int64_t i = 0; i < batch.count; ++i) {
    Record record = record_of(batch, part, i);
    record.time_ms = time_ms(batch, i);
    if (header_.has_tof) {
      record.tof_ps = static_cast<float>(static_cast<double>(batch.tof_mm[i]) * ps_per_mm);
      furthest_mm_ = std::max(furthest_mm_, std::abs(batch.tof_mm[i]));
    }
    records.push_back(std::move(record));
  }
  write_records(records);
}

void EventWriter::take_bins(const EventBatch& batch, const EventBatch* part) {
  for (std::int64_t i = 0; i < batch.count; ++i) {
    const double from_least =
        header_.has_tof
            ? static_cast<double>(batch.tof_mm[i]) / static_cast<double>(tof_.bin_width_mm) + 0.5 * header_.tof_bins
            : 0;
    require_writable(from_least >= 0 && from_least < header_.tof_bins, "a ToF beyond the outermost bin came");
    lines_.add(record_of(batch, part, i), static_cast<std::uint32_t>(from_least),
               batch.counts.empty() ? 1 : batch.counts[i]);
  }
}

void EventWriter::write_records(const std::vector<Record>& records) {
  const RecordLayout layout(header_);
  bytes_.resize(records.size() * layout.bytes);
  for (std::size_t i = 0; i < records.size(); ++i) write_record(layout, records[i], bytes_.data() + i * layout.bytes);
  data_file_.write(bytes_);
  header_.events += records.size();
}

void EventWriter::write_bins() {
  lists_all_lines_ = lines_.add_empty(*scanner_, header_.has_normalisation || header_.has_attenuation);
  write_records(lines_.take());
}

void EventWriter::write_scanner() {
  const Geometry geometry = geometry_of(*scanner_, header_.scanner);
  const FieldOfView field = field_of_view(*scanner_);
  const double edges_mm[2] = {static_cast<double>(field.edges_mm.x), static_cast<double>(field.edges_mm.z)};
  const float pitch_mm = detector_pitch_mm(*scanner_);
  const double voxel_mm = pitch_mm > 0 ? static_cast<double>(usual_voxel_mm(pitch_mm, false)) : 1;
  const int voxels[2] = {static_cast<int>(std::ceil(edges_mm[0] / voxel_mm)),
                         std::max(1, static_cast<int>(std::ceil(edges_mm[1] / voxel_mm)))};
  const GeometryFiles files = geometry_files(geometry, edges_mm, voxels);
  scanner_file_.write(files.hscan);
  table_file_.write(files.lut);
  table_file_.commit();
  scanner_file_.commit();
}

void EventWriter::commit() {
  require_writable(events_ > 0, "no events came: no file is written");
  header_.duration_s = end_s_ - header_.start_s;
  require_writable(header_.duration_s > 0, "the events state no scan time, which CASToR needs: no file is written");
  if (is_histogram()) write_bins();
  if (header_.has_tof && header_.tof_range_ps == 0)
    header_.tof_range_ps = 2 * static_cast<double>(furthest_mm_) * ps_per_mm + header_.tof_fwhm_ps;
  header_file_.write(data_header_text(header_));
  write_scanner();
  data_file_.commit();
  header_file_.commit();
}

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
