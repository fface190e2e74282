// Sums of batches of pairs, whoever projects them, and their mean: see sensitivity.hpp.
#include "kernels/ring/sensitivity/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <future>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/ring/sensitivity/line_sensitivity.hpp"
#include "kernels/ring/sensitivity/local_rank.hpp"
#include "kernels/ring/sensitivity/rank_workers.hpp"
#include "kernels/ring/sensitivity/replicate_mean.hpp"
#include "kernels/ring/sensitivity/symmetry.hpp"

namespace tofstream {

namespace {

constexpr int group = detail::replicate_group;

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
  constexpr std::int64_t most = std::int64_t{1} << 31, most_drawn = std::int64_t{1} << 40;
  if (s.exact_pairs < 0) refuse("exact_pairs", s.exact_pairs);
  if (s.sampled_pairs < 1 || s.sampled_pairs > most_drawn) refuse("sampled_pairs", s.sampled_pairs);
  if (!(s.error > 0)) refuse("error", s.error);
  if (s.replicate_pairs < 1 || s.replicate_pairs > most) refuse("replicate_pairs", s.replicate_pairs);
  if (s.batch_pairs < 1 || s.batch_pairs > most) refuse("batch_pairs", s.batch_pairs);
  constexpr std::int64_t most_a_voxel = 1000;  // of a float sum
  if (s.pairs_a_voxel < 0 || s.pairs_a_voxel > most_a_voxel) refuse("pairs_a_voxel", s.pairs_a_voxel);
}

/// Looked for beside the projection of the first replicate, at whose end they are needed: of a scanner of half a million
/// detectors the search takes 5 s of one core's time.
using FoundSymmetries = std::shared_future<detail::SymmetryGroup>;

FoundSymmetries look_for_symmetries(const SensitivityWork& work, const Grid& grid, bool exact) {
  const bool are_used = !exact && !work.mu.any() && !work.scanner.poses && work.settings.symmetric;
  return std::async(std::launch::async,
                    [&work, grid, are_used] {
                      return are_used ? detail::common_symmetries(work.scanner, grid) : detail::SymmetryGroup{};
                    })
      .share();
}

/// All ranks' drawings. Each sum is one rank's, and is added to the replicate in the order of the sums: the bits do not
/// depend on the number of ranks where those of a sum are always the same.
class Drawings {
 public:
  Drawings(const SensitivityWork& work, const ProjectorRanks& projectors, Stream stream)
      : memory_(memory_of(projectors.first.backend())),
        stream_(stream),
        first_(std::make_shared<detail::LocalSensitivityRank>(work, projectors.first, stream)),
        for_others_(with_plan(work, first_->drawing().plan())),
        ranks_(for_others_, projectors, first_),
        shared_by_(pays_to_share(projectors) ? ranks_.size() : 1) {}

  const detail::PairDrawing& first() const { return first_->drawing(); }

  /// The replicates [first, end), averaged over the symmetries, into the mean. Calls after(replicates that are done)
  /// after each sum. Returns how many lines could touch the image.
  template <class After>
  std::int64_t add(int first, int end, detail::ReplicateMean& mean, const FoundSymmetries& symmetries,
                   const After& after) {
    const std::int64_t sums = first_->drawing().sums(), all = (end - first) * sums;
    std::int64_t projected = 0;
    for (std::int64_t begin = 0; begin < all; begin += shared_by_) {
      const int taken = static_cast<int>(std::min<std::int64_t>(shared_by_, all - begin));
      ranks_.side_by_side(taken, [&](int rank, detail::RankAtWork& r) {
        const std::int64_t number = begin + rank;
        if (rank > 0) r.sum.voxels.clear();  // on its own device
        r.lines = r.rank->project_pairs(first + static_cast<int>(number / sums), number % sums,
                                        rank == 0 ? mean.batch() : r.sum.voxels.data());
      });
      for (int rank = 0; rank < taken; ++rank) {
        take_sum(rank, mean);
        projected += ranks_[rank].lines;
        if ((begin + rank + 1) % sums == 0) mean.end_replicate(symmetries.get());
        after(static_cast<double>(begin + rank + 1) / static_cast<double>(sums));
      }
    }
    return projected;
  }

 private:
  static SensitivityWork with_plan(SensitivityWork work, const detail::DrawingPlan& plan) {
    work.plan = &plan;
    return work;
  }
  // The sum of another process comes in a message, which takes as long as a GPU takes for some pairs a voxel.
  bool pays_to_share(const ProjectorRanks& projectors) const {
    constexpr std::int64_t least_pairs_a_voxel = 4;
    return !projectors.elsewhere || on_host(memory_) ||
           first_->drawing().pairs_of_sum() >= least_pairs_a_voxel * projectors.first.grid().voxels();
  }

  void take_sum(int rank, detail::ReplicateMean& mean) {
    detail::RankAtWork& r = ranks_[rank];
    if (r.lines == 0) return;
    if (rank > 0) {
      detail::copy(mean.batch(), memory_, r.sum.voxels.data(), memory_, r.sum.bytes(), stream_);
      if (!on_host(memory_)) synchronize(stream_);  // before the rank clears it
    }
    mean.end_batch();
  }

  Memory memory_;
  Stream stream_;
  std::shared_ptr<detail::LocalSensitivityRank> first_;
  SensitivityWork for_others_;
  detail::RankWorkers ranks_;
  int shared_by_;  // so many ranks
};

Sensitivity sensitivity_of_pairs(const SensitivityWork& work, const ProjectorRanks& projectors, Stream stream,
                                 const SensitivityProgress& progress) {
  const ListModeProjector& projector = projectors.first;
  Drawings drawings(work, projectors, stream);
  const auto [sample, most, share_of_error, lines_for_one] = drawings.first().plan();
  if (sample.pairs == 0) throw std::invalid_argument("the scanner has no pair of detectors in coincidence");
  const bool exact = sample.exact(), is_lattice = sample.is_lattice();
  const FoundSymmetries symmetries = look_for_symmetries(work, projector.grid(), exact);
  const std::int64_t looked_at = sample.pairs * drawings.first().places();
  // The halves of a lattice are not drawn from each other's remainder: their spread is all that is known.
  detail::ReplicateMean mean(projector.grid(),
                             exact        ? 0
                             : is_lattice ? detail::no_hold_out
                                          : group,
                             is_lattice ? 0 : static_cast<double>(sample.draws()) / static_cast<double>(looked_at),
                             memory_of(projector.backend()), stream);
  Sensitivity result{.image = {}, .exact = exact, .is_lattice = is_lattice, .pairs = sample.pairs};
  // How many it will take is a guess until the error is known.
  int check = std::min(group, most);
  double expected = std::min(8 * group, most), told = 0;
  for (int drawn = 0; drawn < most;) {
    result.projected += drawings.add(drawn, check, mean, symmetries, [&](double done) {
      told = std::max(told, std::min((drawn + done) / expected, 1.0));
      if (progress) progress(told);
    });
    drawn = check;
    result.drawn = drawn * sample.draws();
    result.relative_error = share_of_error * mean.relative_error();
    if (exact || result.relative_error <= work.settings.error) break;
    expected = check = replicates_for(work.settings.error, drawn, result.relative_error, most);
  }
  result.symmetries = symmetries.get().count;
  if (!exact) result.random_lines = lines_for_one * static_cast<double>(result.projected) * result.symmetries;
  result.image = mean.image();
  result.noise = mean.noise();
  return result;
}

}  // namespace

SensitivitySettings default_sensitivity(Backend backend) {
  if (backend == Backend::cpu) return {};
  return {.exact_pairs = 2'000'000'000,
          .error = 0.005,
          .sampled_pairs = std::int64_t{1} << 31,
          .replicate_pairs = 1 << 21,
          .batch_pairs = 1 << 23,
          .pairs_a_voxel = 6};
}

Sensitivity compute_sensitivity(const Scanner& scanner, const ProjectorRanks& projectors,
                                const SensitivitySettings& settings, MuMaps mu, Stream stream,
                                const SensitivityProgress& progress) {
  validate(settings);
  scanner.validate();
  if (scanner.lines && scanner.poses)
    throw std::invalid_argument("the lines of a histogram do not say when they counted: its scanner cannot have moved");
  if (scanner.lines)
    return sensitivity_of_lines({.scanner = scanner, .settings = settings, .mu = mu, .is_of_lines = true}, projectors,
                                stream, progress);
  Sensitivity result =
      sensitivity_of_pairs({.scanner = scanner, .settings = settings, .mu = mu}, projectors, stream, progress);
  if (!result.is_lattice || result.relative_error <= settings.error) return result;
  SensitivitySettings drawn = settings;
  drawn.exact_pairs = 0;
  Sensitivity sample =
      sensitivity_of_pairs({.scanner = scanner, .settings = drawn, .mu = mu}, projectors, stream, progress);
  return sample.relative_error < result.relative_error ? std::move(sample) : std::move(result);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
