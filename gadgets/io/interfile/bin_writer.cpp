// Histograms of events: see bin_writer.hpp.
#include "gadgets/io/interfile/bin_writer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <stdexcept>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "core/base/atomic_file.hpp"
#include "core/base/printable.hpp"
#include "kernels/math/units.hpp"

namespace tofstream::interfile {
namespace {

constexpr double ps_of_mm = 2 / speed_of_light_mm_ps;

std::filesystem::path beside(std::filesystem::path file, const char* ending) {
  return file.replace_extension(ending);
}

void require_bins_of(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// Segments of `span` ring differences each, from the most negative on; the outermost may join fewer.
std::vector<Segment> segments_of(int rings, int span, int most_difference) {
  const auto segment = [&](int least, int most) {
    const int nearest = least > 0 ? least : most < 0 ? -most : 0;
    return Segment{least, most, least == most ? rings - nearest : 2 * (rings - nearest) - 1};
  };
  const int half = std::min(span / 2, most_difference);
  std::vector<Segment> result{segment(-half, half)};
  for (int least = half + 1; least <= most_difference; least += span) {
    const int most = std::min(least + span - 1, most_difference);
    result.push_back(segment(least, most));
    result.insert(result.begin(), segment(-most, -least));
  }
  return result;
}

void write_numbers(AtomicFile& file, std::span<const float> numbers) {
  static_assert(std::endian::native == std::endian::little, "the numbers are written as memory holds them");
  file.write(std::as_bytes(numbers));
}

}  // namespace

ProjectionFiles::ProjectionFiles(const std::filesystem::path& header_file)
    : header(header_file), data(beside(header_file, ".s")), crystals(beside(header_file, ".txt")) {}

BinWriter::BinWriter(const std::filesystem::path& header_file, const BinWish& wish)
    : files_(header_file), wish_(wish) {}

void BinWriter::begin(const EventBatch& batch) {
  scanner_ = batch.scanner;
  rings_ = rings_of(*scanner_);
  header_ = {.file = files_.header, .data = files_.data, .scanner = rings_.figures};
  ScannerFigures& figures = header_.scanner;
  if (!rings_.crystal_map.empty()) figures.crystals = files_.crystals;
  require_bins_of(wish_.span % 2 == 1,
                  fmt::format("span {}: segments join an odd number of ring differences", wish_.span));
  require_bins_of((figures.detectors / 2) % wish_.mashing == 0,
                  fmt::format("mashing {}: the {} views of the scanner cannot be joined by so many", wish_.mashing,
                              figures.detectors / 2));
  require_bins_of(wish_.tangential < figures.detectors,
                  fmt::format("tangential {}: a ring of {} detectors has at most {}", wish_.tangential,
                              figures.detectors, figures.detectors - 1));
  header_.views = figures.detectors / 2 / wish_.mashing;
  header_.tangential = wish_.tangential > 0 ? wish_.tangential : figures.detectors - 1;
  const int most =
      wish_.most_ring_difference < 0 ? figures.rings - 1 : std::min(wish_.most_ring_difference, figures.rings - 1);
  header_.segments = segments_of(figures.rings, wish_.span, most);
  const EnergyResponse& energy = scanner_->types.front().energy;
  header_.low_keV = static_cast<double>(energy.low_keV);
  header_.high_keV = static_cast<double>(energy.high_keV);
  header_.start_s = batch.start_s;
  begin_tof(batch.tof, !batch.tof_mm.empty() && batch.tof.sigma_mm > 0 && wish_.tof);
  bins_.emplace(header_);
  const double bytes = sizeof(float) * static_cast<double>(header_.numbers_in_file());
  constexpr double bytes_per_gib = 1024.0 * 1024 * 1024;
  require_bins_of(bytes < static_cast<double>(free_host_bytes()),
                  fmt::format("{} bins take {:.3g} GiB of memory, which is not free: set tof: false, or a larger span "
                              "or mashing, or fewer ring differences",
                              header_.numbers_in_file(), bytes / bytes_per_gib));
  numbers_.assign(static_cast<std::size_t>(header_.numbers_in_file()), 0.0f);
}

void BinWriter::begin_tof(const TofModel& tof, bool has_tof) {
  tof_ = tof;
  header_.tof_positions = 1;
  ScannerFigures& figures = header_.scanner;
  if (has_tof) {
    const auto width_mm = static_cast<double>(tof.bin_width_mm), window_mm = static_cast<double>(tof.window_mm);
    const bool is_binned = width_mm > 0 && window_mm > 0;
    require_bins_of(is_binned || (wish_.tof_bins > 0 && wish_.tof_bin_ps > 0),
                    "the events' ToF has no bins: give tof_bins and tof_bin_ps, or tof: false");
    figures.tof_bins = is_binned ? static_cast<int>(std::lround(window_mm / width_mm)) : wish_.tof_bins;
    figures.tof_bin_ps = is_binned ? width_mm * ps_of_mm : wish_.tof_bin_ps;
    figures.tof_fwhm_ps = static_cast<double>(tof.sigma_mm) * fwhm_per_sigma * ps_of_mm;
    header_.tof_mashing = 1;
    header_.tof_positions = figures.tof_bins;
  }
  header_.tof_order.resize(static_cast<std::size_t>(header_.tof_positions));
  std::iota(header_.tof_order.begin(), header_.tof_order.end(), -(header_.tof_positions / 2));
}

std::optional<int> BinWriter::tof_place(float tof_mm, bool is_swapped) const {
  if (!header_.has_tof()) return 0;
  const double towards_one_mm = is_swapped ? static_cast<double>(tof_mm) : -static_cast<double>(tof_mm);
  const double place = std::nearbyint(towards_one_mm / header_.tof_width_mm() + 0.5 * (header_.tof_positions - 1));
  if (!(place >= 0 && place < header_.tof_positions)) return {};
  return static_cast<int>(place);
}

BinWriter::Taken BinWriter::take(const EventBatch& batch) {
  Taken taken;
  if (batch.count == 0) return taken;
  require_bins_of(batch.scanner && batch.detectors,
                  "events without detectors came: bins of projection data are pairs of a scanner's detectors");
  require_bins_of(
      batch.multiplicative.empty() && batch.additive.empty(),
      "events with correction terms came: projection data hold counts, and factors and backgrounds in files "
      "of their own, which are not made here");
  require_bins_of(batch.tof_width_mm.empty(), "ToF bins of unequal width came: those of projection data are equal");
  if (!bins_) begin(batch);
  // Batches of one scan may come with equal scanners that differ in what corrections made of them.
  require_bins_of(batch.detectors == scanner_->detectors && batch.tof == tof_,
                  "events of another scanner or with another ToF came: projection data have one");
  for (std::int64_t i = 0; i < batch.count; ++i) {
    const auto a = rings_.places[batch.detector1[i]], b = rings_.places[batch.detector2[i]];
    const float counts = batch.counts.empty() ? 1.0f : batch.counts[i];
    const auto whole = static_cast<std::uint64_t>(counts);
    const auto bin = a.detector == b.detector ? std::nullopt : bins_->bin_of(a.detector, a.ring, b.detector, b.ring);
    const auto place = bin ? tof_place(batch.tof_mm.empty() ? 0.0f : batch.tof_mm[i], bin->is_swapped) : std::nullopt;
    if (!bin)
      taken.beside_bins += whole;
    else if (!place)
      taken.beside_tof += whole;
    else {
      numbers_[static_cast<std::size_t>(*place * bins_->size() + bin->bin)] += counts;
      taken.written += whole;
    }
  }
  counts_ += taken.written;
  header_.start_s = std::min(header_.start_s, batch.start_s);
  end_s_ = std::max(end_s_, batch.start_s + batch.duration_s);
  return taken;
}

void BinWriter::commit() {
  require_bins_of(bins_.has_value(), "no events came: no projection data are written");
  constexpr float most_exact = 16777216.0f;
  require_bins_of(std::ranges::all_of(numbers_, [](float n) { return n < most_exact; }),
                  "a bin has 2^24 counts or more, which its float does not hold exactly");
  header_.duration_s = std::max(0.0, end_s_ - header_.start_s);
  AtomicFile data(files_.data), header(files_.header);
  write_numbers(data, numbers_);
  header.write(projection_header_text(header_));
  if (!rings_.crystal_map.empty()) {
    AtomicFile crystals(files_.crystals);
    crystals.write(rings_.crystal_map);
    crystals.commit();
  }
  data.commit();
  header.commit();
}

void BinWriter::commit_normalisation(const std::filesystem::path& header_file) const {
  require_bins_of(bins_.has_value(), "no events came: no normalisation is written");
  const std::size_t rings = static_cast<std::size_t>(rings_.figures.rings);
  std::vector<std::uint32_t> number(rings_.places.size());  // of a detector in a ring
  for (std::size_t d = 0; d < rings_.places.size(); ++d)
    number[static_cast<std::size_t>(rings_.places[d].detector) * rings +
           static_cast<std::size_t>(rings_.places[d].ring)] = static_cast<std::uint32_t>(d);
  const auto detector = [&](int k, int ring) {
    return number[static_cast<std::size_t>(k) * rings + static_cast<std::size_t>(ring)];
  };
  std::vector<float> factors(static_cast<std::size_t>(bins_->size()));
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, bins_->size(), 4096), [&](const auto& range) {
    for (std::int64_t bin = range.begin(); bin < range.end(); ++bin) {
      const BinPlace place = bins_->place(bin);
      double efficiency = 0;
      for (int joined = 0; joined < bins_->mashing(); ++joined) {
        const auto detectors = bins_->detectors(place.view, joined, place.tangential);
        for (const RingPair& pair : bins_->rings(place.segment, place.position))
          efficiency += static_cast<double>(
              scanner_->efficiency(detector(detectors.first, pair.ring1), detector(detectors.second, pair.ring2)));
      }
      factors[static_cast<std::size_t>(bin)] = efficiency > 0 ? static_cast<float>(1 / efficiency) : 0.0f;
    }
  });
  const ProjectionFiles files(header_file);
  ProjectionHeader header = header_;
  header.file = files.header;
  header.data = files.data;
  header.tof_mashing = 0;
  header.tof_positions = 1;
  header.tof_order = {0};
  AtomicFile data(files.data), text(files.header);
  write_numbers(data, factors);
  text.write(projection_header_text(header));
  data.commit();
  text.commit();
}

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
