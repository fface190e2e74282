// Pairs of detectors drawn, attenuated and back projected batch by batch: see sensitivity.hpp. All of it happens in the
// projector's memory; the host learns how many pairs of a batch count.
#include "kernels/sensitivity/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/correct/attenuation.hpp"
#include "kernels/sensitivity/pair_batch.hpp"
#include "kernels/sensitivity/replicate_mean.hpp"

namespace tofstream {

namespace {

using detail::PairBatch;
using detail::PairDraws;
using detail::PairList;
using detail::PairSample;

PairSample make_sample(std::int64_t pairs, const SensitivitySettings& settings) {
  if (pairs <= settings.exact_pairs || pairs <= settings.sampled_pairs) return {pairs, pairs, 1, settings.seed};
  const std::int64_t draws = std::max<std::int64_t>(settings.sampled_pairs / settings.replicates, 1);
  return {pairs, draws * settings.replicates, settings.replicates, settings.seed};
}

void validate(const SensitivitySettings& s) {
  const auto refuse = [](const char* name, auto value) {
    throw std::invalid_argument(fmt::format("sensitivity: {} cannot be {}", name, value));
  };
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (s.exact_pairs < 0) refuse("exact_pairs", s.exact_pairs);
  if (s.sampled_pairs < 1 || s.sampled_pairs > most) refuse("sampled_pairs", s.sampled_pairs);
  if (s.replicates < 2 || s.replicates > 1024) refuse("replicates", s.replicates);
  if (s.batch_pairs < 1 || s.batch_pairs > most) refuse("batch_pairs", s.batch_pairs);
  if (!(s.margin_voxels >= 0 && std::isfinite(s.margin_voxels))) refuse("margin_voxels", s.margin_voxels);
}

}  // namespace

Sensitivity compute_sensitivity(const Scanner& scanner, Projector& projector, const SensitivitySettings& settings,
                                const Image* mu_per_mm, Stream stream, const SensitivityProgress& progress) {
  validate(settings);
  scanner.validate();
  const Memory memory = memory_of(projector.backend());
  const PairList list(scanner, memory, stream);
  if (list.size() == 0) throw std::invalid_argument("the scanner has no pair of detectors in coincidence");
  const PairSample sample = make_sample(list.size(), settings);
  const detail::Reach reach(projector.grid(), settings.margin_voxels);
  const std::int64_t draws = sample.draws(), capacity = std::min(settings.batch_pairs, draws);

  PairBatch batch(capacity, memory, stream);
  std::optional<Attenuation> attenuation;
  if (mu_per_mm) attenuation.emplace(*mu_per_mm, projector.backend());
  detail::ReplicateMean mean(projector.grid(), sample.replicates, memory, stream);
  Sensitivity result{.image = {}, .exact = sample.exact(), .pairs = sample.pairs};
  for (int replicate = 0; replicate < sample.replicates; ++replicate) {
    for (std::int64_t begin = 0; begin < draws; begin += capacity) {
      const std::int64_t end = std::min(begin + capacity, draws);
      batch.draw({list.view(), sample, reach, replicate}, begin, end);
      const EventView lines = batch.events(list.view().detectors);
      if (lines.count > 0) {
        if (attenuation) attenuation->apply(lines, batch.values(), stream);
        projector.back(lines, batch.values(), mean.batch(), stream);
        mean.end_batch();
      }
      result.projected += lines.count;
      if (progress) progress(static_cast<double>(replicate * draws + end) / static_cast<double>(sample.cells));
    }
    mean.end_replicate();
  }
  result.image = mean.mean();
  result.relative_error = mean.relative_error(result.image);
  return result;
}

}  // namespace tofstream
