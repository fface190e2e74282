// Batches of bins: see bin_reader.hpp.
#include "gadgets/io/interfile/bin_reader.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "core/base/printable.hpp"
#include "kernels/math/even_order.hpp"

namespace tofstream::interfile {

BinReader::BinReader(const ProjectionHeader& header, const BinSettings& settings)
    : header_(header),
      settings_(settings),
      file_(header),
      additive_(open(settings.additive)),
      background_(open(settings.background)),
      lines_(std::make_shared<const BinLines>(header, settings.factors, settings.most_segment, settings.spread)),
      duration_s_(settings.duration_s > 0 ? settings.duration_s : header.duration_s) {
  auto scanner = std::make_shared<Scanner>(*lines_->scanner());
  scanner->lines = lines_;
  if (settings.tof && !scanner->tof.empty()) tof_ = scanner->tof.front();
  scanner_ = std::move(scanner);
}

std::unique_ptr<const ProjectionFile> BinReader::open(const std::filesystem::path& file) const {
  if (file.empty()) return nullptr;
  const ProjectionHeader other = read_projection_header(file);
  if (const std::string why = other_bins(header_, other, true); !why.empty())
    throw std::runtime_error(fmt::format("{}: {}: it does not belong to {}", printable(file.string()), why,
                                         printable(header_.file.string())));
  return std::make_unique<const ProjectionFile>(other);
}

// Makes whole counts of the numbers, which a scaling factor has rounded.
void BinReader::require_counts(std::span<float> numbers, std::int64_t begin, int tof_place) const {
  constexpr float most = 2147483648.0f;
  const float rounding = header_.scale == 1 ? 0.0f : 1e-3f;
  const auto is_count = [&](float number) {
    return number >= 0 && number <= most && std::abs(number - std::nearbyint(number)) <= rounding;
  };
  const bool are_counts = std::ranges::all_of(numbers, is_count);
  if (rounding > 0) std::ranges::transform(numbers, numbers.begin(), [](float n) { return std::nearbyint(n); });
  if (are_counts) return;
  std::vector<float> unrounded(numbers.size());
  file_.read(tof_place, begin, unrounded);
  const auto bad = std::ranges::find_if_not(unrounded, is_count);
  throw std::runtime_error(fmt::format(
      "{}: {} in {}{}: counts are whole and not negative; data that were corrected, or expected values, are not "
      "reconstructed as counts",
      printable(header_.data.string()), bad == unrounded.end() ? 0.0f : *bad,
      in_words(lines_->bins().place(begin + (bad - unrounded.begin()))),
      header_.has_tof() ? fmt::format(", ToF position {}", header_.tof_order[static_cast<std::size_t>(tof_place)])
                        : ""));
}

// A bin has several ToF positions of the file, or one in which all of them are added up.
void BinReader::sum_tof(std::vector<std::vector<float>>& positions) const {
  for (std::size_t p = 1; p < positions.size(); ++p)
    for (std::size_t i = 0; i < positions[0].size(); ++i) positions[0][i] += positions[p][i];
  positions.resize(1);
}

void BinReader::take(CountedBin bin, float additive, float background, Piece& piece) const {
  const auto counts = static_cast<std::uint64_t>(bin.counts);
  piece.received += counts;
  if (!lines_->is_used(lines_->bins().place(bin.bin).segment)) {
    piece.other_segments += counts;
    return;
  }
  if (!(bin.multiplicative > 0)) {
    piece.impossible += counts;
    return;
  }
  const double share = duration_s_ > 0 ? settings_.reference_s / duration_s_ : 1;
  const double term =
      (static_cast<double>(additive) + static_cast<double>(background) / static_cast<double>(bin.multiplicative)) *
      share;
  bin.additive = static_cast<float>(term);
  if (!(term >= 0) || !std::isfinite(bin.additive))
    throw std::runtime_error(fmt::format("{}: {} is expected beside the image in {}: such terms are not negative",
                                         printable((additive_ ? *additive_ : *background_).header().data.string()),
                                         term, in_words(lines_->bins().place(bin.bin))));
  piece.bins.push_back(bin);
}

BinReader::Piece BinReader::read_piece(std::int64_t begin, std::int64_t count) const {
  const auto positions = [&](const ProjectionFile* file) {
    std::vector<std::vector<float>> read;
    for (int p = 0; p < header_.tof_positions && file; ++p)
      file->read(p, begin, read.emplace_back(static_cast<std::size_t>(count)));
    return read;
  };
  auto counts = positions(&file_), additive = positions(additive_.get()), background = positions(background_.get());
  for (std::size_t p = 0; p < counts.size(); ++p) require_counts(counts[p], begin, static_cast<int>(p));
  if (!(tof_.sigma_mm > 0))
    for (auto* numbers : {&counts, &additive, &background})
      if (!numbers->empty()) sum_tof(*numbers);
  std::vector<float> m(static_cast<std::size_t>(count));
  lines_->efficiencies(begin, m);
  Piece piece;
  for (std::size_t p = 0; p < counts.size(); ++p)
    for (std::size_t i = 0; i < m.size(); ++i) {
      if (counts[p][i] == 0) {
        ++piece.empty;
        continue;
      }
      take({.bin = begin + static_cast<std::int64_t>(i),
            .tof_place = static_cast<int>(p),
            .counts = counts[p][i],
            .multiplicative = m[i]},
           additive.empty() ? 0 : additive[p][i], background.empty() ? 0 : background[p][i], piece);
    }
  return piece;
}

// Pieces on all cores, put together in their order; the first of them that cannot be says why.
void BinReader::read_bins() {
  const std::int64_t size = std::max<std::int64_t>(4096, (std::int64_t{1} << 22) / header_.tof_positions);
  std::vector<Piece> pieces(static_cast<std::size_t>((header_.bins() + size - 1) / size));
  std::atomic<bool> has_failed = false;
  tbb::parallel_for(std::size_t{0}, pieces.size(), [&](std::size_t k) {
    if (has_failed) return;
    const std::int64_t begin = static_cast<std::int64_t>(k) * size;
    try {
      pieces[k] = read_piece(begin, std::min(size, header_.bins() - begin));
    } catch (...) {
      pieces[k].error = std::current_exception();
      has_failed = true;
    }
  });
  for (const Piece& piece : pieces)
    if (piece.error) std::rethrow_exception(piece.error);
  for (Piece& piece : pieces) {
    received_ += piece.received;
    impossible_ += piece.impossible;
    other_segments_ += piece.other_segments;
    empty_bins_ += piece.empty;
    bins_.insert(bins_.end(), piece.bins.begin(), piece.bins.end());
    piece.bins = {};
  }
  is_read_ = true;
}

EventBatch BinReader::batch_of(const std::vector<CountedBin>& bins, double begin, double end) const {
  EventBatch batch;
  batch.count = static_cast<std::int64_t>(bins.size());
  batch.scanner = scanner_;
  batch.tof = tof_;
  batch.start_s = begin;
  batch.duration_s = end - begin;
  const auto room = [&]<class T>(bool is_there, Buffer<T>& array) {
    if (is_there) array = Buffer<T>(Memory::host, batch.count);
  };
  const bool has_additive = additive_ != nullptr || background_ != nullptr;
  room(lines_->are_pairs(), batch.detector1);
  room(lines_->are_pairs(), batch.detector2);
  for (auto& array : batch.ends) room(!lines_->are_pairs(), array);
  room(tof_.sigma_mm > 0, batch.tof_mm);
  room(lines_->has_factors() || has_additive, batch.multiplicative);
  room(has_additive, batch.additive);
  room(true, batch.counts);
  room(lines_->are_spread(), batch.bin);
  if (lines_->are_pairs()) batch.detectors = scanner_->detectors;
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, batch.count, 4096), [&](const auto& range) {
    for (std::int64_t i = range.begin(); i < range.end(); ++i) {
      const CountedBin& bin = bins[static_cast<std::size_t>(i)];
      const BinPlace at = lines_->bins().place(bin.bin);
      if (lines_->are_pairs()) {
        const auto detectors = lines_->pair(at);
        batch.detector1[i] = detectors[0];
        batch.detector2[i] = detectors[1];
      } else {
        const auto ends = lines_->ends(at);
        for (int e = 0; e < 6; ++e) batch.ends[e][i] = ends[static_cast<std::size_t>(e / 3)][e % 3];
      }
      if (!batch.tof_mm.empty()) batch.tof_mm[i] = static_cast<float>(header_.tof_mm(bin.tof_place));
      if (!batch.multiplicative.empty()) batch.multiplicative[i] = bin.multiplicative;
      if (!batch.additive.empty()) batch.additive[i] = bin.additive;
      batch.counts[i] = bin.counts;
      if (!batch.bin.empty()) batch.bin[i] = static_cast<std::uint32_t>(bin.bin);
    }
  });
  return batch;
}

std::optional<EventBatch> BinReader::next() {
  if (!is_read_) read_bins();
  if (given_ == bins_.size()) return std::nullopt;
  const std::size_t end = std::min(bins_.size(), given_ + static_cast<std::size_t>(settings_.batch_events));
  const std::size_t step = even_step(bins_.size());
  std::vector<CountedBin> bins;
  bins.reserve(end - given_);
  for (std::size_t i = given_; i < end; ++i, at_ = (at_ + step) % bins_.size()) bins.push_back(bins_[at_]);
  const auto time = [&](std::size_t i) {
    return header_.start_s + duration_s_ * static_cast<double>(i) / static_cast<double>(bins_.size());
  };
  return batch_of(bins, time(std::exchange(given_, end)), time(end));
}

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
