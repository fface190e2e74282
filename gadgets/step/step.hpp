// What every projector gadget does with a subset, whatever kind of data it is of: the fused EM step over its batches
// against the estimate that comes back, by one projector or several (ranks.hpp), books and likelihood.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>

#include "core/gadget.hpp"
#include "gadgets/additive.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/step/adjoint_images.hpp"
#include "gadgets/step/ranks.hpp"
#include "gadgets/step/system_model.hpp"

namespace tofstream {

struct StepSettings {
  GadgetBackend backend = BackendChoice::automatic;
  bool log_likelihood = false;    // report it for each iteration
  std::int64_t planned_from = 0;  // from so many events on, batches that a GPU has no plan for are reported; 0: none
  Division division = {};
};

/// The memory of a step that holds so many bytes of images. The back projections that it gives are as large as the
/// estimate, which is the second input. Prepared data take what is left of a GPU's memory and no more.
inline MemoryNeed step_memory(BackendChoice backend, std::size_t held, std::span<const std::size_t> inputs) {
  return image_memory(backend, held, inputs[1], "image.size");
}

/// `Data`: see Subset and Share. step-inl.hpp has the definitions.
template <class Data>
class Step {
 public:
  Step(StepSettings settings, std::unique_ptr<SystemModel<Data>> model);

  /// The back projection of one subset against one estimate; zeros for a subset without data. Books the data in the
  /// first iteration. Where the estimate is at rest, or the subset is recalled, nothing is projected, and the answer's
  /// step is passed. `additive`: null where nothing gives terms. Throws what the model throws, and std::runtime_error
  /// for terms of another estimate.
  Projected operator()(const Subset<Data>& subset, const Estimate& estimate, const Additive<Data>* additive,
                       Context& context);

  /// At the end of the stream. Throws std::runtime_error where all data missed the image.
  void finish() const;

 private:
  Projected passed(const Subset<Data>& subset, const Estimate& estimate, Context& context) const;
  void note_terms(const Subset<Data>& subset, const Additive<Data>& additive);
  NamedCorrection made_by_terms(const Additive<Data>& additive) const;
  void note_new(const EmTally& tally, const UpdateStep& step, const Estimate& estimate, Context& context);
  void warn_of_missed(const EmTally& first, Context& context) const;
  void report(const Projected& projected, const Image& estimate, Context& context);
  void report_times(Context& context) const;
  void report_ranks(const std::vector<RankFigures>& ranks, Context& context) const;

  StepSettings settings_;
  std::unique_ptr<SystemModel<Data>> model_;
  std::optional<Ranks<Data>> ranks_;  // once the model is prepared
  AdjointImages adjoint_;
  std::unordered_set<const Data*> without_terms_;  // batches that met an estimate last without terms, and come again
  bool ended_without_terms_ = false;               // of some batches that do not
  EmTally all_new_;                                // of all data, as they met the reconstruction for the first time
  std::int64_t without_plan_ = 0;                  // batches that should have one
  std::int64_t updates_ = 0;                       // see updates_figure
  EmTally iteration_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
