// What every projector gadget does with a subset, whatever kind of data it is of: the fused EM step over its batches
// against the estimate that comes back, a turn at the GPU for each, plans and copies ahead, books and likelihood.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "core/gadget.hpp"
#include "gadgets/additive.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/step/system_model.hpp"
#include "kernels/project/data_feed.hpp"

namespace tofstream {

struct StepSettings {
  GadgetBackend backend = BackendChoice::automatic;
  bool log_likelihood = false;    // report it for each iteration
  std::int64_t planned_from = 0;  // from so many events on, batches that a GPU has no plan for are reported; 0: none
};

/// The memory of a step that holds so many bytes of images. The back projections that it gives are as large as the
/// estimate, which is the second input. Prepared data take what is left of a GPU's memory and no more.
inline MemoryNeed step_memory(BackendChoice backend, std::size_t held, std::span<const std::size_t> inputs) {
  return image_memory(backend, held, inputs[1], "image.size");
}

/// `Data`: see Subset; it also needs what DataFeed asks for, and `count`. step-inl.hpp has the definitions.
template <class Data>
class Step {
 public:
  Step(StepSettings settings, std::unique_ptr<SystemModel<Data>> model);

  /// The back projection of one subset against one estimate; zeros for a subset without data. Books the data in the
  /// first iteration. `additive`: null where nothing gives terms. Throws what the model throws, and std::runtime_error
  /// for terms of another estimate.
  Projected operator()(const Subset<Data>& subset, const Estimate& estimate, const Additive<Data>* additive,
                       Context& context);

  /// At the end of the stream. Throws std::runtime_error where all data missed the image.
  void finish() const;

 private:
  // A batch in the projector's memory, and what the projector has prepared for it.
  struct Prepared {
    std::shared_ptr<const Data> batch;
    Data copy;  // where the batch lies in the other memory
    std::unique_ptr<ProjectionPlan> plan;
    Buffer<float> additive = {};  // of `terms`; has room for them where there will be some
    std::shared_ptr<const AdditiveTerms<Data>> terms = {};

    const Data& data() const { return copy.count > 0 ? copy : *batch; }
    std::size_t bytes() const { return copy.bytes() + (plan ? plan->bytes() : 0) + additive.bytes(); }
  };
  // A subset and an estimate meet.
  struct Pass {
    const Estimate& estimate;
    const Additive<Data>* additive;
    Image& back;
  };

  EmTally project(const std::shared_ptr<const Data>& batch, bool is_new, const Pass& pass,
                  const std::function<void()>& meanwhile, Context& context);
  ViewOf<Data> view_of(Prepared& prepared, const Additive<Data>* additive);
  void note_terms(const Subset<Data>& subset, const Additive<Data>& additive);
  NamedCorrection made_by_terms(const Additive<Data>& additive) const;
  Prepared& prepare_batch(const std::shared_ptr<const Data>& batch, bool has_terms, Context& context);
  void begin_next_copy(const Subset<Data>& subset, std::size_t from);
  bool lacks_plan(const Data& batch, const Prepared& prepared) const;
  void note_new(const EmTally& tally, const UpdateStep& step, const Estimate& estimate, Context& context);
  void warn_of_missed(const EmTally& first, Context& context) const;
  void report(const Projected& projected, const Image& estimate, Context& context);

  StepSettings settings_;
  std::unique_ptr<SystemModel<Data>> model_;
  bool is_prepared_ = false;
  std::unordered_map<const Data*, Prepared> prepared_;
  std::unordered_set<const Data*> without_terms_;  // batches that met an estimate last without terms, and come again
  bool ended_without_terms_ = false;               // of some batches that do not
  Prepared unkept_;
  DataFeed<Data> feed_;
  EmTally all_new_;        // of all data, as they met the reconstruction for the first time
  double planning_s_ = 0;  // of plans made before a pass; others are part of the pass
  double looking_up_terms_s_ = 0;
  double projecting_s_ = 0;
  double waiting_for_turn_s_ = 0;
  std::int64_t without_plan_ = 0;  // batches that should have one
  std::int64_t updates_ = 0;       // see updates_figure
  EmTally iteration_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
