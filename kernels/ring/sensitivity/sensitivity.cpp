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

/// Draws batches of pairs and projects them, in the memory of a rank's projector.
class Drawing {
 public:
  Drawing(const Scanner& scanner, ListModeProjector& projector, const SensitivitySettings& settings, const MuMaps& mu,
          Stream stream)
      : list_(scanner, memory_of(projector.backend()), stream),
        posed_(scanner, memory_of(projector.backend()), stream, mu.hardware != nullptr),
        plan_(make_plan(list_.size(), posed_.places(), settings)),
        projector_(projector),
        reach_(projector.grid(), projector.reach_mm()),
        capacity_(std::max<std::int64_t>(std::min(settings.batch_pairs, plan_.sample.draws()), 1)),
        batch_(capacity_, memory_of(projector.backend()), stream),
        stream_(stream) {
    if (mu.object) attenuation_.emplace(*mu.object, projector.backend());
    if (mu.hardware) hardware_.emplace(*mu.hardware, projector.backend());
  }

  const Plan& plan() const { return plan_; }
  std::int64_t places() const { return posed_.places(); }
  std::int64_t batches() const { return (plan_.sample.draws() + capacity_ - 1) / capacity_; }  // of a replicate

  /// target += A^T of a replicate's batch; returns how many of its lines could touch the image.
  std::int64_t project(int replicate, std::int64_t batch, float* target) {
    const std::int64_t begin = batch * capacity_, end = std::min(begin + capacity_, plan_.sample.draws());
    const detail::PosesView poses = posed_.view();
    batch_.draw({list_.view(), plan_.sample, reach_, replicate, poses}, begin, end);
    const EventView lines = batch_.events(poses.count > 0 ? poses.detectors : list_.view().detectors);
    if (lines.count == 0) return 0;
    if (attenuation_) attenuation_->apply(lines, batch_.values(), stream_);
    if (hardware_)
      hardware_->apply(batch_.events(poses.count > 0 ? posed_.still() : list_.view().detectors), batch_.values(),
                       stream_);
    projector_.back(lines, batch_.values(), target, stream_);
    return lines.count;
  }

 private:
  PairList list_;
  PosedDetectors posed_;
  Plan plan_;
  ListModeProjector& projector_;
  detail::Reach reach_;
  std::int64_t capacity_;
  PairBatch batch_;
  std::optional<Attenuation> attenuation_, hardware_;
  Stream stream_;
};

/// All ranks' drawings. A batch is one rank's, whose sum is added to the replicate in the order of the batches: the bits
/// do not depend on the number of ranks where those of a batch are always the same.
class Drawings {
 public:
  Drawings(const Scanner& scanner, const ProjectorRanks& projectors, const SensitivitySettings& settings,
           const MuMaps& mu, Stream stream)
      : memory_(memory_of(projectors.first.backend())),
        stream_(stream),
        ranks_(projectors, [&](ListModeProjector& projector) {
          const bool is_first = &projector == &projectors.first;
          auto rank = std::make_unique<Rank>(scanner, projector, settings, mu, is_first ? stream : nullptr);
          if (!is_first) rank->sum = Image::zeros(projector.grid(), memory_);
          return rank;
        }) {}

  const Drawing& first() { return ranks_[0].drawing; }

  /// The replicates [first, end) into the mean. Calls after(replicates that are done) after each batch. Returns how many
  /// lines could touch the image.
  template <class After>
  std::int64_t add(int first, int end, detail::ReplicateMean& mean, const After& after) {
    const std::int64_t batches = ranks_[0].drawing.batches(), all = (end - first) * batches;
    std::int64_t projected = 0;
    for (std::int64_t begin = 0; begin < all; begin += ranks_.size()) {
      const int taken = static_cast<int>(std::min<std::int64_t>(ranks_.size(), all - begin));
      ranks_.side_by_side(taken, [&](int rank, Rank& r) {
        const std::int64_t number = begin + rank;
        r.lines = r.drawing.project(first + static_cast<int>(number / batches), number % batches,
                                    rank == 0 ? mean.batch() : r.sum.voxels.data());
      });
      for (int rank = 0; rank < taken; ++rank) {
        take_batch(rank, mean);
        projected += ranks_[rank].lines;
        if ((begin + rank + 1) % batches == 0) mean.end_replicate();
        after(static_cast<double>(begin + rank + 1) / static_cast<double>(batches));
      }
    }
    return projected;
  }

 private:
  struct Rank {
    Rank(const Scanner& scanner, ListModeProjector& projector, const SensitivitySettings& settings, const MuMaps& mu,
         Stream stream)
        : drawing(scanner, projector, settings, mu, stream) {}
    Drawing drawing;
    Image sum;               // of a batch; the first rank's is the mean's
    std::int64_t lines = 0;  // of the last batch
  };

  void take_batch(int rank, detail::ReplicateMean& mean) {
    Rank& r = ranks_[rank];
    if (r.lines == 0) return;
    if (rank > 0) {
      detail::copy(mean.batch(), memory_, r.sum.voxels.data(), memory_, r.sum.bytes(), stream_);
      if (!on_host(memory_)) synchronize(stream_);
      r.sum.voxels.clear();
      if (!on_host(memory_)) synchronize(nullptr);
    }
    mean.end_batch();
  }

  Memory memory_;
  Stream stream_;
  RankWorkers<Rank> ranks_;
};

}  // namespace

SensitivitySettings default_sensitivity(Backend backend) {
  if (backend == Backend::cpu) return {};
  return {.error = 0.01, .replicate_pairs = 1 << 21};
}

Sensitivity compute_sensitivity(const Scanner& scanner, const ProjectorRanks& projectors,
                                const SensitivitySettings& settings, MuMaps mu, Stream stream,
                                const SensitivityProgress& progress) {
  validate(settings);
  scanner.validate();
  if (scanner.lines && scanner.poses)
    throw std::invalid_argument("the lines of a histogram do not say when they counted: its scanner cannot have moved");
  if (scanner.lines) return sensitivity_of_lines(*scanner.lines, projectors, mu, stream, progress);
  const ListModeProjector& projector = projectors.first;
  Drawings drawings(scanner, projectors, settings, mu, stream);
  const auto [sample, most] = drawings.first().plan();
  if (sample.pairs == 0) throw std::invalid_argument("the scanner has no pair of detectors in coincidence");
  const bool exact = sample.exact();
  const detail::SymmetryGroup symmetries = !exact && !mu.any() && !scanner.poses && settings.symmetric
                                               ? detail::common_symmetries(scanner, projector.grid())
                                               : detail::SymmetryGroup{};
  const std::int64_t looked_at = sample.pairs * drawings.first().places();
  detail::ReplicateMean mean(projector.grid(), exact ? 0 : group,
                             static_cast<double>(sample.draws()) / static_cast<double>(looked_at), symmetries,
                             memory_of(projector.backend()), stream);
  Sensitivity result{.image = {}, .exact = exact, .pairs = sample.pairs, .symmetries = symmetries.count};
  // How many it will take is a guess until the error is known.
  int check = std::min(group, most);
  double expected = exact ? 1 : std::min(8 * group, most), told = 0;
  for (int drawn = 0; drawn < most;) {
    result.projected += drawings.add(drawn, check, mean, [&](double done) {
      told = std::max(told, std::min((drawn + done) / expected, 1.0));
      if (progress) progress(told);
    });
    drawn = check;
    result.drawn = drawn * sample.draws();
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
