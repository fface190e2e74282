// One subset through a projector: the definitions of step.hpp, to include where a Step is made for a kind of data.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/step/step.hpp"
#include "gadgets/step/updates_figure.hpp"
#include "kernels/analysis/inner_product.hpp"

namespace tofstream {
template <class Data>
Step<Data>::Step(StepSettings settings, std::unique_ptr<SystemModel<Data>> model)
    : settings_(settings), model_(std::move(model)) {}

template <class Data>
Projected Step<Data>::operator()(const Subset<Data>& subset, const Estimate& estimate, const Additive<Data>* additive,
                                 Context& context) {
  if (subset.step.recalled || (estimate.is_at_rest && subset.step.iteration > 0))
    return passed(subset, estimate, context);
  if (additive && additive->of != estimate.image)
    throw std::runtime_error(
        "the additive terms belong to another estimate than the one that is projected: let their estimator read the "
        "same subsets and estimates as the projector, and give terms for each");
  if (!ranks_) {
    model_->share_among(settings_.division.are_processes ? 1 : settings_.division.ranks);
    model_->prepare(subset, estimate, context);
    ranks_.emplace(settings_.division, settings_.planned_from, *model_, context);
  }
  model_->renew(subset, context);
  Image back = Image::zeros(model_->projector().grid(), memory_of(settings_.backend));
  SubsetTally tally;
  if (!subset.batches.empty()) {
    tally = ranks_->project({subset, *estimate.image, additive, [&] { return on_host(estimate); }}, back, context);
    for (const std::string& slow : ranks_->slow_ranks()) context.log().warning(slow);
  }
  without_plan_ += tally.without_plan;
  note_new(tally.of_new, subset.step, estimate, context);
  std::optional<NamedCorrection> by_terms;
  if (additive) {
    note_terms(subset, *additive);
    by_terms = made_by_terms(*additive);
  }
  if (!subset.batches.empty()) model_->correct(*estimate.image, back);
  const SubsetSensitivity sensitivity = model_->sensitivity(subset);
  Projected projected{.step = subset.step,
                      .back_projection = std::make_shared<const Image>(std::move(back)),
                      .sensitivity = sensitivity.image,
                      .time_fraction = sensitivity.time_fraction,
                      .tally = tally.all,
                      .quantity = model_->quantity(subset, by_terms ? &*by_terms : nullptr, context),
                      .support = sensitivity.support,
                      .rejected = {static_cast<std::uint64_t>(all_new_.skipped), model_->words().missed},
                      .events = static_cast<std::uint64_t>(all_new_.used + all_new_.skipped),
                      .modality = model_->modality()};
  if (subset.step.iteration > 0) report(projected, *estimate.image, context);
  adjoint_.apply(estimate.through, projected);
  if (subset.step.restart) iteration_ = {};
  return projected;
}

// What an update is told that is at rest or recalls a frame: there are no data that no update had before. It rests at
// an iteration's end.
template <class Data>
Projected Step<Data>::passed(const Subset<Data>& subset, const Estimate& estimate, Context& context) const {
  const UpdateStep& step = subset.step;
  context.progress(step.subsets * step.iterations, step.subsets * step.iterations, updates_unit);
  Projected projected{
      .step = step, .coefficients_of = coefficients_of(estimate.through), .modality = model_->modality()};
  projected.step.passed = true;
  return projected;
}

template <class Data>
void Step<Data>::finish() const {
  if (all_new_.used == 0 && all_new_.skipped > 0)
    throw std::runtime_error(fmt::format("nothing was reconstructed: all {} {} miss the image, {}; {}",
                                         all_new_.skipped, model_->words().data,
                                         grid_in_words(model_->projector().grid()), model_->missed().what_to_do));
}

template <class Data>
void Step<Data>::note_terms(const Subset<Data>& subset, const Additive<Data>& additive) {
  if (subset.step.iteration == 0) return;
  const bool comes_again = subset.step.iteration != subset.step.iterations;
  for (const auto& batch : subset.batches) {
    without_terms_.erase(batch.get());
    if (additive.terms) continue;
    if (comes_again)
      without_terms_.insert(batch.get());
    else
      ended_without_terms_ = true;
  }
}

// An image is corrected by terms once all its data have met an estimate with them.
template <class Data>
NamedCorrection Step<Data>::made_by_terms(const Additive<Data>& additive) const {
  NamedCorrection made = additive.corrects;
  if (made.record.state == CorrectionState::made && (ended_without_terms_ || !without_terms_.empty()))
    made.record = {CorrectionState::not_made, made.record.how + ", which some of the data have not met"};
  return made;
}

template <class Data>
void Step<Data>::note_new(const EmTally& tally, const UpdateStep& step, const Estimate& estimate, Context& context) {
  context.books().reconstructed(static_cast<std::uint64_t>(tally.used));
  if (tally.skipped > 0) context.books().rejected(static_cast<std::uint64_t>(tally.skipped), model_->words().missed);
  all_new_ += tally;
  // The start image is positive everywhere; later data may also meet nothing but zeros.
  if (estimate.step.iteration == 0) warn_of_missed(tally, context);
  if (step.iteration == 1 && step.ends_iteration) finish();
}

template <class Data>
void Step<Data>::warn_of_missed(const EmTally& first, Context& context) const {
  constexpr double worth_a_warning = 0.01;
  const std::int64_t all = first.used + first.skipped;
  if (first.skipped == 0 || static_cast<double>(first.skipped) < worth_a_warning * static_cast<double>(all)) return;
  const Missed missed = model_->missed();
  const std::string line =
      fmt::format("{} of the first {} {} ({:.1f} %) miss the image; {}", first.skipped, all, model_->words().data,
                  100 * static_cast<double>(first.skipped) / static_cast<double>(all), missed.what_to_do);
  context.report("missed", line);
  if (missed.is_expected)
    context.log().info(line);
  else
    context.log().warning(line);
}

// The log-likelihood sum_i log(expectation_i) - sum_j s_j x_j, complete when an iteration's last subset has been
// projected. With one subset it is the likelihood of one image; with more, each term is of the estimate that its subset
// met.
template <class Data>
void Step<Data>::report(const Projected& projected, const Image& estimate, Context& context) {
  const UpdateStep& step = projected.step;
  context.progress(
      step.subsets > 0 ? (step.iteration - 1) * step.subsets + step.subset + 1 : static_cast<double>(step.update),
      step.subsets * step.iterations, updates_unit);
  context.report(updates_figure, ++updates_);
  report_times(context);
  if (!settings_.log_likelihood || step.subsets == 0) return;  // a live stream has no whole iterations
  iteration_ += projected.tally;
  iteration_.log_sum -= inner_product(*projected.sensitivity, estimate) * projected.time_fraction;
  if (!step.ends_iteration) return;
  context.append("log_likelihood", iteration_.log_sum);
  iteration_ = {};
}

// Times are those of the first rank; they are the others' too where the work is shared evenly.
template <class Data>
void Step<Data>::report_times(Context& context) const {
  constexpr double worth_telling_s = 0.001;
  const std::vector<RankFigures> ranks = ranks_->figures();
  const ShareFigures& first = ranks.front().of_shares;
  context.report("planning_s", first.planning_s);
  context.report("projecting_s", first.projecting_s);
  if (first.looking_up_terms_s > 0) context.report("looking_up_terms_s", first.looking_up_terms_s);
  if (ranks_->waiting_for_turn_s() > worth_telling_s)
    context.report("waiting_for_turn_s", ranks_->waiting_for_turn_s());
  if (without_plan_ > 0) context.report("without_plan", without_plan_);
  if (first.copied_bytes > 0) {
    context.report("copied_to_gpu_gib", static_cast<double>(first.copied_bytes) / 1073741824.0);
    context.report("copying_to_gpu_s", first.copying_s);
  }
  if (ranks.size() > 1) report_ranks(ranks, context);
}

template <class Data>
void Step<Data>::report_ranks(const std::vector<RankFigures>& ranks, Context& context) const {
  std::vector<std::string> devices;
  std::vector<double> data, planning, projecting, waiting, adding;
  for (const RankFigures& rank : ranks) {
    devices.push_back(rank.device.empty() ? "cpu" : rank.device);
    data.push_back(static_cast<double>(rank.of_shares.data));
    planning.push_back(rank.of_shares.planning_s);
    projecting.push_back(rank.of_shares.projecting_s);
    waiting.push_back(rank.waiting_s);
    adding.push_back(rank.adding_s);
  }
  context.report("rank_devices", devices);
  context.report("rank_data", data);
  context.report("rank_planning_s", planning);
  context.report("rank_projecting_s", projecting);
  context.report("rank_waiting_s", waiting);
  context.report("rank_reducing_s", adding);
  const double all_s = std::accumulate(projecting.begin(), projecting.end(), 0.0);
  if (all_s > 0)
    context.report("rank_imbalance", std::ranges::max(projecting) * static_cast<double>(ranks.size()) / all_s);
  if (const std::string by = ranks_->images_by(); !by.empty()) context.report("rank_images", by);
  if (const Dealing& dealing = ranks_->dealing(); !dealing.shares().empty()) {
    context.report("rank_shares", dealing.shares());
    context.report("rank_shares_changed", std::int64_t{dealing.changes()});
  }
  context.report("waiting_for_ranks_s", ranks_->waiting_s());
  context.report("adding_up_ranks_s", ranks_->adding_s());
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
