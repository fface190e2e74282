// Lines of pairs, batch by batch: see pair_lines.hpp.
#include "kernels/ring/sensitivity/pair_lines.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/ring/correct/attenuation.hpp"
#include "kernels/ring/sensitivity/pair_batch.hpp"
#include "kernels/ring/sensitivity/pair_lattice.hpp"
#include "kernels/ring/sensitivity/pair_list.hpp"
#include "kernels/ring/sensitivity/pair_sample.hpp"

namespace tofstream {

namespace {

// A sample's replicates are a prime number of them, and here all are drawn.
constexpr int halves = 2;
static_assert(detail::lattice_replicates == halves);

detail::PairSample pair_lines_sample(const Scanner& scanner, const Grid& box, std::int64_t pairs,
                                     const PairLinesSettings& settings) {
  if (settings.exact_pairs < 0 || settings.sampled_pairs < halves || settings.batch_pairs < 1)
    throw std::invalid_argument(
        fmt::format("lines of pairs: exact_pairs, sampled_pairs and batch_pairs cannot be {}, {} and {}",
                    settings.exact_pairs, settings.sampled_pairs, settings.batch_pairs));
  if (pairs <= std::max(settings.exact_pairs, settings.sampled_pairs)) return {pairs, pairs, 1, settings.seed};
  const detail::ChosenLattice lattice =
      detail::choose_lattice(scanner, {.most = settings.sampled_pairs, .grid = box, .seed = settings.seed});
  if (lattice.sample.is_lattice()) return lattice.sample;
  return {pairs, settings.sampled_pairs / halves * halves, halves, settings.seed};
}

}  // namespace

PairLinesCount for_each_pair_line(const Scanner& scanner, const Grid& box, const PairLinesSettings& settings,
                                  const Image* mu_per_mm, const PairLinesVisit& visit) {
  scanner.validate();
  const detail::PairList list(scanner);
  if (list.size() == 0) throw std::invalid_argument("the scanner has no pair of detectors in coincidence");
  const detail::PairSample sample = pair_lines_sample(scanner, box, list.size(), settings);
  std::optional<Attenuation> attenuation;
  if (mu_per_mm) attenuation.emplace(*mu_per_mm, Backend::cpu);
  const std::int64_t draws = sample.draws(), capacity = std::min(settings.batch_pairs, draws);
  detail::PairBatch batch(capacity, Memory::host, nullptr);
  for (int replicate = 0; replicate < sample.replicates; ++replicate)
    for (std::int64_t begin = 0; begin < draws; begin += capacity) {
      const std::int64_t end = std::min(begin + capacity, draws);
      batch.draw({list.view(), sample, detail::Reach(box, 0), replicate}, begin, end);
      const EventView lines = batch.events(list.view().detectors);
      if (attenuation && lines.count > 0) attenuation->apply(lines, batch.values(), nullptr);
      // Each replicate's weights stand for all pairs.
      if (!sample.exact()) std::for_each_n(batch.values(), lines.count, [](float& value) { value /= halves; });
      visit(
          lines, batch.values(),
          (static_cast<double>(replicate) + static_cast<double>(end) / static_cast<double>(draws)) / sample.replicates);
    }
  return {sample.pairs, draws * sample.replicates};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
