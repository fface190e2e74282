// Pairs of detectors drawn, attenuated and back projected batch by batch: see sensitivity.hpp. All of it happens in the
// projector's memory; the host learns how many pairs of a batch count.
#include "kernels/ring/sensitivity/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/ring/correct/attenuation.hpp"
#include "kernels/ring/sensitivity/line_sensitivity.hpp"
#include "kernels/ring/sensitivity/pair_batch.hpp"
#include "kernels/ring/sensitivity/posed_detectors.hpp"
#include "kernels/ring/sensitivity/replicate_mean.hpp"
#include "kernels/ring/sensitivity/symmetry.hpp"

namespace tofstream {

namespace {

using detail::PairBatch;
using detail::PairDraws;
using detail::PairList;
using detail::PairSample;
using detail::PosedDetectors;

constexpr int group = 8;  // replicates, of which the last is held out; a sample has a multiple of them

int prime_from(int n) {
  const auto is_prime = [](int p) {
    for (int d = 2; d <= p / d; ++d)
      if (p % d == 0) return false;
    return true;
  };
  while (!is_prime(n)) ++n;
  return n;
}

struct Plan {
  PairSample sample;
  int most;  // replicates that may be drawn of it
};

// `places`: in which each pair is looked at.
Plan make_plan(std::int64_t pairs, std::int64_t places, const SensitivitySettings& settings) {
  const std::int64_t draws =
      std::min(settings.replicate_pairs, std::max<std::int64_t>(settings.sampled_pairs / group, 1));
  int most = static_cast<int>(std::min(settings.sampled_pairs, pairs) / (group * draws)) * group;
  while (most > 0 && draws * prime_from(most) > pairs) most -= group;
  if (pairs * places <= settings.exact_pairs || most == 0) return {{pairs, pairs * places, 1, settings.seed}, 1};
  const int replicates = prime_from(most);
  return {{pairs, draws * replicates, replicates, settings.seed}, most};
}

// The error falls with the root of the number of replicates.
int replicates_for(double error, int drawn, double error_so_far, int most) {
  const double ratio = error_so_far / error;
  const double wanted = std::min(0.99 * drawn * ratio * ratio, static_cast<double>(most));
  const int groups = std::max(static_cast<int>(std::ceil(wanted / group)), drawn / group + 1);
  return std::min(groups * group, most);
}

void validate(const SensitivitySettings& s) {
  const auto refuse = [](const char* name, auto value) {
    throw std::invalid_argument(fmt::format("sensitivity: {} cannot be {}", name, value));
  };
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (s.exact_pairs < 0) refuse("exact_pairs", s.exact_pairs);
  if (s.sampled_pairs < 1 || s.sampled_pairs > most) refuse("sampled_pairs", s.sampled_pairs);
  if (!(s.error > 0)) refuse("error", s.error);
  if (s.replicate_pairs < 1 || s.replicate_pairs > most) refuse("replicate_pairs", s.replicate_pairs);
  if (s.batch_pairs < 1 || s.batch_pairs > most) refuse("batch_pairs", s.batch_pairs);
}

/// Draws replicates one after another and adds up their lines.
class Drawing {
 public:
  Drawing(const PairList& list, const PosedDetectors& posed, const PairSample& sample, ListModeProjector& projector,
          const SensitivitySettings& settings, const Image* mu_per_mm, Stream stream)
      : list_(list),
        poses_(posed.view()),
        sample_(sample),
        projector_(projector),
        reach_(projector.grid(), projector.reach_mm()),
        capacity_(std::min(settings.batch_pairs, sample.draws())),
        batch_(capacity_, memory_of(projector.backend()), stream),
        stream_(stream) {
    if (mu_per_mm) attenuation_.emplace(*mu_per_mm, projector.backend());
  }

  /// Calls after_batch(fraction of the replicate that is done). Returns how many lines could touch the image.
  template <class AfterBatch>
  std::int64_t add(int replicate, detail::ReplicateMean& sum, const AfterBatch& after_batch) {
    std::int64_t projected = 0;
    const std::int64_t draws = sample_.draws();
    for (std::int64_t begin = 0; begin < draws; begin += capacity_) {
      const std::int64_t end = std::min(begin + capacity_, draws);
      batch_.draw({list_.view(), sample_, reach_, replicate, poses_}, begin, end);
      const EventView lines = batch_.events(poses_.count > 0 ? poses_.detectors : list_.view().detectors);
      if (lines.count > 0) {
        if (attenuation_) attenuation_->apply(lines, batch_.values(), stream_);
        projector_.back(lines, batch_.values(), sum.batch(), stream_);
        sum.end_batch();
      }
      projected += lines.count;
      after_batch(static_cast<double>(end) / static_cast<double>(draws));
    }
    return projected;
  }

 private:
  const PairList& list_;
  detail::PosesView poses_;
  const PairSample& sample_;
  ListModeProjector& projector_;
  detail::Reach reach_;
  std::int64_t capacity_;
  PairBatch batch_;
  std::optional<Attenuation> attenuation_;
  Stream stream_;
};

}  // namespace

SensitivitySettings default_sensitivity(Backend backend) {
  if (backend == Backend::cpu) return {};
  return {.error = 0.01, .replicate_pairs = 1 << 21};
}

Sensitivity compute_sensitivity(const Scanner& scanner, ListModeProjector& projector,
                                const SensitivitySettings& settings, const Image* mu_per_mm, Stream stream,
                                const SensitivityProgress& progress) {
  validate(settings);
  scanner.validate();
  if (scanner.lines && scanner.poses)
    throw std::invalid_argument("the lines of a histogram do not say when they counted: its scanner cannot have moved");
  if (scanner.lines) return sensitivity_of_lines(*scanner.lines, projector, mu_per_mm, stream, progress);
  const Memory memory = memory_of(projector.backend());
  const PairList list(scanner, memory, stream);
  if (list.size() == 0) throw std::invalid_argument("the scanner has no pair of detectors in coincidence");
  const PosedDetectors posed(scanner, memory, stream);
  const auto [sample, most] = make_plan(list.size(), posed.places(), settings);
  const bool exact = sample.exact();
  const detail::SymmetryGroup symmetries = !exact && !mu_per_mm && !scanner.poses && settings.symmetric
                                               ? detail::common_symmetries(scanner, projector.grid())
                                               : detail::SymmetryGroup{};
  Drawing drawing(list, posed, sample, projector, settings, mu_per_mm, stream);
  detail::ReplicateMean mean(projector.grid(), exact ? 0 : group,
                             static_cast<double>(sample.draws()) / static_cast<double>(sample.pairs * posed.places()),
                             symmetries, memory, stream);
  Sensitivity result{.image = {}, .exact = exact, .pairs = sample.pairs, .symmetries = symmetries.count};
  // How many it will take is a guess until the error is known.
  int check = std::min(group, most);
  double expected = exact ? 1 : std::min(8 * group, most), told = 0;
  for (int drawn = 0; drawn < most;) {
    result.projected += drawing.add(drawn, mean, [&](double done) {
      told = std::max(told, std::min((drawn + done) / expected, 1.0));
      if (progress) progress(told);
    });
    mean.end_replicate();
    result.drawn = ++drawn * sample.draws();
    if (drawn < check) continue;
    result.relative_error = mean.relative_error();
    if (exact || result.relative_error <= settings.error) break;
    expected = check = replicates_for(settings.error, drawn, result.relative_error, most);
  }
  result.image = mean.image();
  result.noise = mean.noise();
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
