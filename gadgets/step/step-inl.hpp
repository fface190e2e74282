// One subset through a projector: the definitions of step.hpp, to include where a Step is made for a kind of data.
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/step/step.hpp"
#include "gadgets/step/updates_figure.hpp"
#include "kernels/analysis/inner_product.hpp"

namespace tofstream {
namespace detail {

inline double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace detail

template <class Data>
Step<Data>::Step(StepSettings settings, std::unique_ptr<SystemModel<Data>> model)
    : settings_(settings), model_(std::move(model)) {}

template <class Data>
Projected Step<Data>::operator()(const Subset<Data>& subset, const Estimate& estimate, const Additive<Data>* additive,
                                 Context& context) {
  if (additive && additive->of != estimate.image)
    throw std::runtime_error(
        "the additive terms belong to another estimate than the one that is projected: let their estimator read the "
        "same subsets and estimates as the projector, and give terms for each");
  if (!is_prepared_) model_->prepare(subset, estimate, context);
  is_prepared_ = true;
  model_->renew(subset, context);
  Image back = Image::zeros(model_->projector().grid(), memory_of(settings_.backend));
  const Pass pass{estimate, additive, back};
  EmTally tally, tally_of_new;
  for (std::size_t i = 0; i < subset.batches.size(); ++i) {
    const auto& batch = subset.batches[i];
    const bool is_new = i >= subset.first_new();
    const EmTally of_batch = project(
        batch, is_new, pass, [&] { begin_next_copy(subset, i + 1); }, context);
    tally += of_batch;
    if (is_new) tally_of_new += of_batch;
    if (subset.step.iteration == subset.step.iterations) prepared_.erase(batch.get());
  }
  note_new(tally_of_new, subset.step, estimate, context);
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
                      .tally = tally,
                      .quantity = model_->quantity(subset, by_terms ? &*by_terms : nullptr, context),
                      .support = sensitivity.support,
                      .rejected = {static_cast<std::uint64_t>(all_new_.skipped), model_->words().missed}};
  if (subset.step.iteration > 0) report(projected, *estimate.image, context);
  if (subset.step.restart) iteration_ = {};
  return projected;
}

template <class Data>
void Step<Data>::finish() const {
  if (all_new_.used == 0 && all_new_.skipped > 0)
    throw std::runtime_error(fmt::format("nothing was reconstructed: all {} {} miss the image, {}; {}",
                                         all_new_.skipped, model_->words().data,
                                         grid_in_words(model_->projector().grid()), model_->missed().what_to_do));
}

// Takes a turn for each batch, so that a run with large subsets does not delay others.
template <class Data>
EmTally Step<Data>::project(const std::shared_ptr<const Data>& batch, bool is_new, const Pass& pass,
                            const std::function<void()>& meanwhile, Context& context) {
  const auto asked = std::chrono::steady_clock::now();
  const auto turn = context.take_turn();
  waiting_for_turn_s_ += detail::seconds_since(asked);
  Prepared& prepared = prepare_batch(batch, pass.additive != nullptr, context);
  if (is_new && lacks_plan(*batch, prepared)) ++without_plan_;
  meanwhile();
  const auto view = view_of(prepared, pass.additive);
  const auto began = std::chrono::steady_clock::now();
  const EmTally tally = model_->projector().planned_em_step(
      prepared.plan.get(), view, pass.estimate.image->voxels.data(), pass.back.voxels.data());
  // The step returns when its sums have come back from the GPU.
  if (!on_host(pass.back.voxels.memory())) context.span("GPU", "em_step", began, std::chrono::steady_clock::now());
  projecting_s_ += detail::seconds_since(began);
  return tally;
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

// Terms of prepared batches are looked up once for as long as they stay the same.
template <class Data>
ViewOf<Data> Step<Data>::view_of(Prepared& prepared, const Additive<Data>* additive) {
  ViewOf<Data> view = model_->view(prepared.data());
  if (!additive || !additive->terms) return view;
  if (prepared.terms != additive->terms) {
    const auto began = std::chrono::steady_clock::now();
    additive->terms->write(prepared.data(), prepared.additive.data());
    prepared.terms = additive->terms;
    looking_up_terms_s_ += detail::seconds_since(began);
  }
  view.additive = prepared.additive.data();
  return view;
}

// On a GPU, prepared batches are kept for later iterations while there is room for as much again. Data lie on the host
// if the GPU had no room for them: they are copied for each pass, and their plan is dropped after it.
template <class Data>
typename Step<Data>::Prepared& Step<Data>::prepare_batch(const std::shared_ptr<const Data>& batch, bool has_terms,
                                                         Context& context) {
  if (const auto known = prepared_.find(batch.get()); known != prepared_.end()) return known->second;
  std::erase_if(prepared_,
                [](const auto& each) { return each.second.batch.use_count() == 1; });  // it is not sent again
  const Memory memory = memory_of(settings_.backend);
  if (!on_host(memory) && unkept_.copy.count > 0) synchronize(nullptr);  // copies are freed beside what reads them
  unkept_ = {};
  Prepared prepared{batch, {}, nullptr};
  if (has_terms) prepared.additive = Buffer<float>(memory, batch->count);
  if (!on_host(memory) && on_host(batch->memory())) {
    prepared.copy = feed_.take(batch);
    return unkept_ = std::move(prepared);
  }
  if (on_host(memory) && !on_host(batch->memory())) prepared.copy = batch->to(memory);
  const auto began = std::chrono::steady_clock::now();
  prepared.plan = model_->projector().plan(model_->view(prepared.data()));
  if (!on_host(memory)) context.span("GPU", "plan", began, std::chrono::steady_clock::now());
  planning_s_ += detail::seconds_since(began);
  constexpr std::size_t reserve = std::size_t{1} << 30;  // for images and a pass
  if (on_host(memory) || free_device_bytes() < prepared.bytes() + reserve) return unkept_ = std::move(prepared);
  return prepared_.emplace(batch.get(), std::move(prepared)).first->second;
}

// Whether a batch that should have a plan got none. Batches on the host are planned in each pass and do not count.
template <class Data>
bool Step<Data>::lacks_plan(const Data& batch, const Prepared& prepared) const {
  const bool expected = settings_.backend == Backend::cuda && !on_host(batch.memory()) && settings_.planned_from > 0 &&
                        batch.count >= settings_.planned_from;
  return expected && !prepared.plan;
}

// Copies the next batch from the host while one is projected on the GPU; at the end of a subset, the next subset's
// first.
template <class Data>
void Step<Data>::begin_next_copy(const Subset<Data>& subset, std::size_t from) {
  if (settings_.backend != Backend::cuda) return;
  for (std::size_t i = from; i < subset.batches.size(); ++i)
    if (on_host(subset.batches[i]->memory())) return feed_.begin(subset.batches[i]);
  feed_.begin(subset.next_batch);
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
  context.report("planning_s", planning_s_);
  context.report("projecting_s", projecting_s_);
  if (looking_up_terms_s_ > 0) context.report("looking_up_terms_s", looking_up_terms_s_);
  if (constexpr double worth_telling_s = 0.001; waiting_for_turn_s_ > worth_telling_s)
    context.report("waiting_for_turn_s", waiting_for_turn_s_);
  if (without_plan_ > 0) context.report("without_plan", without_plan_);
  if (feed_.copied_bytes() > 0) {
    context.report("copied_to_gpu_gib", static_cast<double>(feed_.copied_bytes()) / 1073741824.0);
    context.report("copying_to_gpu_s", feed_.copy_seconds());
  }
  if (!settings_.log_likelihood || step.subsets == 0) return;  // a live stream has no whole iterations
  iteration_ += projected.tally;
  iteration_.log_sum -= inner_product(*projected.sensitivity, estimate) * projected.time_fraction;
  if (!step.ends_iteration) return;
  context.append("log_likelihood", iteration_.log_sum);
  iteration_ = {};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
