// Lines and efficiencies of bins: see bin_lines.hpp.
#include "gadgets/io/interfile/bin_lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "core/base/printable.hpp"
#include "gadgets/io/interfile/rings.hpp"

namespace tofstream::interfile {

std::vector<int> segment_numbers(const ProjectionHeader& header) {
  std::vector<std::size_t> order(header.segments.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto twice_mean = [&](std::size_t s) {
    return header.segments[s].least_difference + header.segments[s].most_difference;
  };
  std::ranges::sort(order, {}, twice_mean);
  const auto zero = std::ranges::find_if(order, [&](std::size_t s) { return twice_mean(s) == 0; });
  if (zero == order.end())
    throw std::runtime_error(
        fmt::format("{}: no segment has ring differences about 0, which STIR's numbering of segments needs",
                    printable(header.file.string())));
  std::vector<int> numbers(order.size());
  for (std::size_t n = 0; n < order.size(); ++n)
    numbers[order[n]] = static_cast<int>(n) - static_cast<int>(zero - order.begin());
  return numbers;
}

BinLines::BinLines(const ProjectionHeader& header, const FactorFiles& files, int most_segment, bool spread)
    : figures_(header.scanner),
      bins_(header),
      is_spread_(spread && !bins_.are_pairs()),
      scanner_(to_scanner(header)),
      is_used_(header.segments.size(), true),
      normalisation_(open(files.normalisation, header)),
      attenuation_(open(files.attenuation, header)) {
  if (is_spread_ && bins_.size() > std::int64_t{std::numeric_limits<std::uint32_t>::max()})
    throw std::runtime_error(fmt::format("{}: {} bins, and spread: true counts up to 2^32: leave it out",
                                         printable(header.file.string()), bins_.size()));
  if (most_segment >= 0) {
    const std::vector<int> numbers = segment_numbers(header);
    for (std::size_t s = 0; s < numbers.size(); ++s) is_used_[s] = std::abs(numbers[s]) <= most_segment;
  }
  key_ = fmt::format("bins {} {} {} {} {}", header.views, header.tangential, header.order == AxisOrder::views,
                     header.scanner.detectors, header.scanner.rings);
  for (std::size_t s = 0; s < header.segments.size(); ++s) {
    const Segment& segment = header.segments[s];
    key_ += fmt::format(" {}:{}:{}:{}", segment.least_difference, segment.most_difference, segment.positions,
                        is_used_[s] ? 1 : 0);
  }
  if (is_spread_) key_ += " spread";
  for (const auto* factors : {&normalisation_, &attenuation_})
    key_ += *factors ? fmt::format(" {:08x} {}", (*factors)->checksum(), (*factors)->header().scale) : " none";
}

std::unique_ptr<const ProjectionFile> BinLines::open(const std::filesystem::path& file,
                                                     const ProjectionHeader& header) const {
  if (file.empty()) return nullptr;
  const ProjectionHeader factors = read_projection_header(file);
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error(fmt::format("{}: {}: it does not belong to {}", printable(file.string()), why,
                                         printable(header.file.string())));
  };
  if (factors.has_tof()) refuse("factors of ToF positions are not read, only one for all of a line");
  if (const std::string other = other_bins(header, factors, false); !other.empty()) refuse(other);
  return std::make_unique<const ProjectionFile>(factors);
}

void BinLines::divide(const ProjectionFile* factors, std::int64_t begin, std::span<float> result) const {
  if (!factors) return;
  std::vector<float> values(result.size());
  factors->read(0, begin, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float factor = values[i];
    if (!(factor >= 0) || !std::isfinite(factor))
      throw std::runtime_error(
          fmt::format("{}: {} is the factor of {}: factors are positive, or 0 where nothing counts",
                      printable(factors->header().data.string()), factor,
                      in_words(bins_.place(begin + static_cast<std::int64_t>(i)))));
    result[i] = factor > 0 ? result[i] / factor : 0.0f;
  }
}

// Bins of one row differ in their tangential position alone, and join equally many pairs.
void BinLines::efficiencies(std::int64_t begin, std::span<float> result) const {
  const std::int64_t end = begin + static_cast<std::int64_t>(result.size()), row = bins_.row_size();
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(begin / row, (end + row - 1) / row, 64), [&](const auto& rows) {
    for (std::int64_t r = rows.begin(); r < rows.end(); ++r) {
      const BinPlace place = bins_.place(r * row);
      const int pairs = is_used(place.segment) ? bins_.pairs(place) : 0;
      const std::int64_t from = std::max(begin, r * row), to = std::min(end, (r + 1) * row);
      std::ranges::fill(result.subspan(static_cast<std::size_t>(from - begin), static_cast<std::size_t>(to - from)),
                        static_cast<float>(normalisation_ ? std::min(pairs, 1) : pairs));
    }
  });
  divide(normalisation_.get(), begin, result);
  divide(attenuation_.get(), begin, result);
}

std::array<std::uint32_t, 2> BinLines::pair(const BinPlace& place) const {
  const auto [one, two] = bins_.detectors(place.view, 0, place.tangential);
  const RingPair rings = bins_.rings(place.segment, place.position).front();
  return {detector_of(figures_, one, rings.ring1), detector_of(figures_, two, rings.ring2)};
}

std::array<Vec3, 2> BinLines::ends(const BinPlace& place) const {
  std::array<Vec3d, 2> sums{};
  const auto rings = bins_.rings(place.segment, place.position);
  for (int joined = 0; joined < bins_.mashing(); ++joined) {
    const auto [one, two] = bins_.detectors(place.view, joined, place.tangential);
    for (const RingPair& pair : rings) {
      sums[0] = sums[0] + scanner_->detectors->position(detector_of(figures_, one, pair.ring1)).as<double>();
      sums[1] = sums[1] + scanner_->detectors->position(detector_of(figures_, two, pair.ring2)).as<double>();
    }
  }
  const double share = 1.0 / (bins_.mashing() * static_cast<double>(rings.size()));
  return {(share * sums[0]).as<float>(), (share * sums[1]).as<float>()};
}

BinPairs BinLines::pairs(std::span<const std::uint32_t> bins) const {
  BinPairs result;
  result.first.reserve(bins.size() + 1);
  result.first.push_back(0);
  for (const std::uint32_t bin : bins) result.first.push_back(result.first.back() + bins_.pairs(bins_.place(bin)));
  result.detector1.resize(static_cast<std::size_t>(result.first.back()));
  result.detector2.resize(result.detector1.size());
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, bins.size(), 4096), [&](const auto& range) {
    for (std::size_t b = range.begin(); b < range.end(); ++b) {
      const BinPlace place = bins_.place(bins[b]);
      auto line = static_cast<std::size_t>(result.first[b]);
      for (int joined = 0; joined < bins_.mashing(); ++joined) {
        const auto views = bins_.detectors(place.view, joined, place.tangential);
        for (const RingPair& rings : bins_.rings(place.segment, place.position)) {
          result.detector1[line] = detector_of(figures_, views.first, rings.ring1);
          result.detector2[line++] = detector_of(figures_, views.second, rings.ring2);
        }
      }
    }
  });
  return result;
}

EventBatch BinLines::lines(std::int64_t begin, std::int64_t end) const {
  std::vector<float> m(static_cast<std::size_t>(end - begin));
  efficiencies(begin, m);
  std::vector<std::int64_t> used;
  used.reserve(m.size());
  for (std::size_t i = 0; i < m.size(); ++i)
    if (m[i] > 0) used.push_back(begin + static_cast<std::int64_t>(i));
  EventBatch batch;
  batch.count = static_cast<std::int64_t>(used.size());
  batch.scanner = scanner_;
  batch.multiplicative = Buffer<float>(Memory::host, batch.count);
  if (are_pairs()) {
    batch.detectors = scanner_->detectors;
    batch.detector1 = Buffer<std::uint32_t>(Memory::host, batch.count);
    batch.detector2 = Buffer<std::uint32_t>(Memory::host, batch.count);
  } else {
    for (auto& end_of : batch.ends) end_of = Buffer<float>(Memory::host, batch.count);
  }
  if (is_spread_) batch.bin = Buffer<std::uint32_t>(Memory::host, batch.count);
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, batch.count, 4096), [&](const auto& range) {
    for (std::int64_t i = range.begin(); i < range.end(); ++i) {
      const std::int64_t bin = used[static_cast<std::size_t>(i)];
      const BinPlace at = bins_.place(bin);
      if (is_spread_) batch.bin[i] = static_cast<std::uint32_t>(bin);
      batch.multiplicative[i] = m[static_cast<std::size_t>(bin - begin)];
      if (are_pairs()) {
        const auto detectors = pair(at);
        batch.detector1[i] = detectors[0];
        batch.detector2[i] = detectors[1];
      } else {
        const auto points = ends(at);
        for (int e = 0; e < 6; ++e) batch.ends[e][i] = points[static_cast<std::size_t>(e / 3)][e % 3];
      }
    }
  });
  return batch;
}

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
