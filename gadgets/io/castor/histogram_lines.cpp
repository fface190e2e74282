// Lines of a histogram of CASToR's: see histogram_lines.hpp.
#include "gadgets/io/castor/histogram_lines.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernels/types/recorded_lines.hpp"

namespace tofstream::castor {
namespace {

// Beyond so many pairs nobody writes them all.
constexpr std::uint64_t most_pairs = std::uint64_t{1} << 28;

bool by_crystals(const Record& a, const Record& b) {
  return a.lines.front() < b.lines.front();
}

}  // namespace

// A histogram has one factor a line and one rate a bin.
void HistogramLines::require_alike(const Record& line, const Record::Bin& bin, const Record& terms) {
  constexpr float rounding = 1e-3F;
  const auto alike = [](float a, float b, float beside) {
    return std::abs(a - b) <= rounding * (std::max(std::abs(a), std::abs(b)) + beside);
  };
  if (alike(line.normalisation, terms.normalisation, 0) && alike(line.attenuation, terms.attenuation, 0) &&
      alike(line.randoms, terms.randoms, 0) && (bin.counts == 0 || alike(bin.scatter, terms.scatter, terms.randoms)))
    return;
  throw std::runtime_error(
      "events of one line have unlike factors or rates, as decay, dead time or movement make them, and a histogram of "
      "CASToR's has one of each: write list mode");
}

Record& HistogramLines::line_of(Pair pair, const Record& terms) {
  const std::uint64_t key = std::uint64_t{pair.first} << 32 | pair.second;
  const auto [found, is_new] = index_.try_emplace(key, records_.size());
  if (!is_new) return records_[found->second];
  Record line = terms;
  line.scatter = line.tof_ps = 0;
  line.bins.assign(tof_bins_, {});
  line.lines = {pair};
  records_.push_back(std::move(line));
  return records_.back();
}

void HistogramLines::add(const Record& terms, std::uint32_t tof_bin, float counts) {
  constexpr float most_exact = 16777216;
  const auto [one, two] = terms.lines.front();
  const bool is_turned = one < two;
  Record& line = line_of(is_turned ? Pair{two, one} : Pair{one, two}, terms);
  Record::Bin& bin = line.bins.at(is_turned ? tof_bins_ - 1 - tof_bin : tof_bin);
  require_alike(line, bin, terms);
  if (bin.counts == 0) bin.scatter = terms.scatter;
  bin.counts += counts;
  if (bin.counts > most_exact)
    throw std::runtime_error("a bin has more than 2^24 counts, which its float does not hold exactly");
}

bool HistogramLines::add_empty(const Scanner& scanner, bool has_factors) {
  if (scanner.lines) {
    add_listed(*scanner.lines);
    return true;
  }
  const auto detectors = static_cast<std::uint64_t>(scanner.detectors->size());
  if (has_factors || detectors * (detectors - 1) / 2 > most_pairs) return false;
  add_pairs(scanner);
  return true;
}

void HistogramLines::add_listed(const RecordedLines& lines) {
  constexpr std::int64_t at_a_time = 1 << 18;
  for (std::int64_t begin = 0; begin < lines.size(); begin += at_a_time) {
    const EventBatch batch = lines.lines(begin, std::min(lines.size(), begin + at_a_time));
    if (batch.count > 0 && !batch.detectors)
      throw std::runtime_error("lines between means of crystals came, and a histogram's join pairs of them");
    for (std::int64_t i = 0; i < batch.count; ++i) {
      Record terms;
      if (!batch.multiplicative.empty() && batch.multiplicative[i] > 0)
        terms.normalisation = 1 / batch.multiplicative[i];
      (void)line_of(std::minmax({batch.detector1[i], batch.detector2[i]}, std::greater<>()), terms);
    }
  }
}

void HistogramLines::add_pairs(const Scanner& scanner) {
  const auto detectors = static_cast<std::uint32_t>(scanner.detectors->size());
  for (std::uint32_t one = 0; one < detectors; ++one)
    for (std::uint32_t two = 0; two < one; ++two)
      if (scanner.in_coincidence(one, two)) (void)line_of({one, two}, {});
}

std::vector<Record> HistogramLines::take() {
  index_.clear();
  std::ranges::sort(records_, by_crystals);
  return std::move(records_);
}

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
