// List mode as CASToR reads it: see event_writer.hpp.
#include "gadgets/io/castor/event_writer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/io/castor/geometry.hpp"
#include "gadgets/io/castor/record.hpp"
#include "gadgets/io/castor/to_scanner.hpp"
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

EventWriter::EventWriter(const std::filesystem::path& header_file, double reference_s)
    : files_(header_file),
      reference_s_(reference_s),
      header_file_(files_.header),
      data_file_(files_.data),
      scanner_file_(files_.scanner),
      table_file_(files_.table) {}

void EventWriter::begin(const EventBatch& batch) {
  scanner_ = batch.scanner;
  tof_ = batch.tof_mm.empty() ? TofModel{} : batch.tof;
  header_ = {.file = files_.header, .data = files_.data, .scanner = files_.header.stem().string()};
  header_.start_s = batch.start_s;
  header_.has_normalisation = !batch.multiplicative.empty();
  header_.has_scatter = !batch.additive.empty();
  // A factor of each event has the calibration in it, and without the efficiencies that go with it it means nothing.
  if (!header_.has_normalisation && is_plain(*scanner_))
    header_.calibration = 1 / static_cast<double>(scanner_->calibration);
  header_.has_tof = tof_.sigma_mm > 0;
  header_.tof_fwhm_ps = static_cast<double>(tof_.sigma_mm) * fwhm_per_sigma * ps_per_mm;
  header_.tof_quantum_ps = static_cast<double>(tof_.bin_width_mm) * ps_per_mm;
  header_.tof_range_ps = static_cast<double>(tof_.window_mm) * ps_per_mm;
}

void EventWriter::require_alike(const EventBatch& batch) const {
  require_writable(batch.scanner == scanner_ && (batch.tof_mm.empty() ? TofModel{} : batch.tof) == tof_,
                   "events of another scanner or with another ToF came: a file of CASToR's has one");
  require_writable(
      batch.multiplicative.empty() != header_.has_normalisation && batch.additive.empty() != header_.has_scatter,
      "some events have correction terms and others none: a file of CASToR's has one kind");
}

void EventWriter::write(const EventBatch& batch) {
  if (batch.count == 0) return;
  require_writable(
      batch.counts.empty(),
      "bins of a histogram came: their empty ones were left out, which CASToR's sensitivity needs, so that "
      "only list mode is written");
  require_writable(batch.scanner && batch.detectors,
                   "events without detectors came: CASToR's name two crystals of a scanner");
  require_writable(batch.tof_width_mm.empty(), "ToF bins of unequal width came: CASToR's are equal");
  if (header_.events == 0) begin(batch);
  require_alike(batch);
  const RecordLayout layout(header_);
  bytes_.resize(static_cast<std::size_t>(batch.count) * layout.bytes);
  Record record;
  record.lines.resize(1);
  for (std::int64_t i = 0; i < batch.count; ++i) {
    record.time_ms = time_ms(batch, i);
    record.lines[0] = {batch.detector1[i], batch.detector2[i]};
    if (header_.has_tof) {
      record.tof_ps = static_cast<float>(static_cast<double>(batch.tof_mm[i]) * ps_per_mm);
      furthest_mm_ = std::max(furthest_mm_, std::abs(batch.tof_mm[i]));
    }
    const double m = header_.has_normalisation ? static_cast<double>(batch.multiplicative[i]) : 1 / header_.calibration;
    record.normalisation = static_cast<float>(m > 0 ? 1 / m : 0);
    if (header_.has_scatter) {
      const double width = tof_.sigma_mm > 0 && tof_.bin_width_mm > 0 ? static_cast<double>(tof_.bin_width_mm) : 1;
      record.scatter = static_cast<float>(static_cast<double>(batch.additive[i]) * m / reference_s_ / width);
    }
    write_record(layout, record, bytes_.data() + static_cast<std::size_t>(i) * layout.bytes);
  }
  data_file_.write(bytes_);
  header_.events += static_cast<std::uint64_t>(batch.count);
  header_.start_s = std::min(header_.start_s, batch.start_s);
  end_s_ = std::max(end_s_, batch.start_s + batch.duration_s);
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
  require_writable(header_.events > 0, "no events came: no file is written");
  header_.duration_s = end_s_ - header_.start_s;
  require_writable(header_.duration_s > 0, "the events state no scan time, which CASToR needs: no file is written");
  if (header_.has_tof && header_.tof_range_ps == 0)
    header_.tof_range_ps = 2 * static_cast<double>(furthest_mm_) * ps_per_mm + header_.tof_fwhm_ps;
  header_file_.write(data_header_text(header_));
  write_scanner();
  data_file_.commit();
  header_file_.commit();
}

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
