// What every list-mode projector gadget does with a subset: sensitivity once, then the fused EM
// step over its batches.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "core/gadget.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/step/image_quantity.hpp"
#include "kernels/project/event_feed.hpp"
#include "kernels/project/projector.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"

namespace tofstream {

constexpr auto enum_names(CudaPath) {
  return names(CudaPath::automatic, "automatic", CudaPath::direct, "direct", CudaPath::tiled, "tiled", CudaPath::paper,
               "paper");
}
inline constexpr auto* deterministic_words =
    "The same events give the same image bit for bit, on a GPU and on any number of a CPU's threads: some time and "
    "memory more (8 bytes a voxel; on a CPU up to 16 images)";
inline constexpr auto* cuda_path_words =
    "On CUDA: automatic chooses tiled for many events, else direct; paper: the scheme of Cui et al. 2011, slower";

/// What a projector's description says of it: a sensitivity that was summed in any order would not do.
inline const char* sum_order(bool deterministic) {
  return deterministic ? " deterministic" : "";
}

/// The two inputs of a projector: a subset, and the estimate it is compared with, which flows back
/// from the update.
struct ProjectorInputs {
  std::shared_ptr<const Subset> events;
  std::shared_ptr<const Estimate> image;
  static constexpr bool takes_announcements = true;  // it chooses the grid of the scanner
  static constexpr auto inputs =
      ports(port<&ProjectorInputs::events>("events"), port<&ProjectorInputs::image>("image", feedback));
};

/// What a projector needs, whose back projections are as large as the estimate that comes back. It holds the
/// sensitivity; while that is made, 24 bytes a voxel: a batch, a replicate in double, their mean, its deviations and
/// what is held out. Deterministic sums on a GPU take 8 bytes a voxel.
inline MemoryNeed projector_memory(BackendChoice backend, bool deterministic, std::span<const std::size_t> inputs) {
  const std::size_t words_a_voxel = deterministic && wants_cuda(backend) ? 8 : 6;
  return image_memory(backend, memory_product(words_a_voxel, inputs[1]), inputs[1], "image.size");
}

/// `sensitivity: {exact_pairs: 50000000, error: 0.02, sampled_pairs: 1000000000, cache: true}`
struct SensitivityParams {
  std::int64_t exact_pairs = 50'000'000;
  double error = 0;
  std::int64_t sampled_pairs = 1'000'000'000;
  bool cache = true;
  static constexpr auto params = describe(
      param<&SensitivityParams::exact_pairs>("exact_pairs", range(0, 1e13),
                                             "Enumerate all pairs of detectors where there are at most so many"),
      param<&SensitivityParams::error>("error", range(0, 1),
                                       "Otherwise draw pairs until the relative error of a voxel is so small; 0: 0.01 "
                                       "on a GPU, 0.02 on a CPU"),
      param<&SensitivityParams::sampled_pairs>("sampled_pairs", range(1e3, 2147483648.0), "At most so many are drawn"),
      param<&SensitivityParams::cache>("cache", "Keep sensitivity images in the user's cache folder"));
};

/// From how many events on a batch is expected to have a plan on a GPU, of a projector that plans `fewest` or more; 0:
/// none is.
constexpr std::int64_t planned_from(CudaPath path, std::int64_t fewest) {
  return path == CudaPath::automatic || path == CudaPath::tiled ? fewest : 0;
}

/// What the projector gadgets share of their parameters.
struct ListModeSettings {
  GadgetBackend backend;
  SensitivityParams sensitivity;
  std::filesystem::path mu_map;   // that the sensitivity holds; empty: none
  bool tof = true;                // false: the events' ToF is not looked at
  bool log_likelihood = false;    // report it for each iteration
  std::string description;        // names the projector with all its settings, as the sensitivity cache needs
  bool uniform = false;           // a sensitivity that is known in closed form is not looked at: taken as 1
  std::int64_t planned_from = 0;  // on a GPU larger batches without a plan, which take longer, are reported; 0: none
};

class ListModeStep {
 public:
  /// Builds the projector for a grid and the scanner of the events, once the first of both have come. What it chooses
  /// itself it says to the context.
  using Make = std::function<std::unique_ptr<Projector>(const Grid&, Backend, const Scanner&, Context&)>;
  ListModeStep(ListModeSettings settings, Make make);

  /// The back projection of one subset against one estimate. Books its events in the first
  /// iteration. Throws std::runtime_error where the events' scanner is unknown.
  Projected operator()(const ProjectorInputs& inputs, Context& context);

  /// At the end of the stream. Throws std::runtime_error where all events missed the image.
  void finish() const;

 private:
  // A batch in the projector's memory, and what the projector has prepared for it.
  struct Prepared {
    std::shared_ptr<const EventBatch> batch;
    EventBatch copy;  // where the batch lies in the other memory
    std::unique_ptr<EventPlan> plan;

    EventView view() const { return (copy.count > 0 ? copy : *batch).view(); }
    std::size_t bytes() const { return copy.bytes() + (plan ? plan->bytes() : 0); }
  };

  void prepare(const ProjectorInputs& inputs, Context& context);
  const Prepared& prepare_batch(const std::shared_ptr<const EventBatch>& batch, Context& context);
  void begin_next_copy(const Subset& subset, std::size_t from);
  Grid grid_for(const ProjectorInputs& inputs, const Scanner& scanner, Context& context) const;
  void note_new(const EmTally& tally, const ProjectorInputs& inputs, Context& context);
  void warn_of_missed(const EmTally& first, Context& context) const;
  std::string what_would_hold_them() const;
  Sensitivity make_sensitivity(const Scanner& scanner, Context& context);
  std::optional<Image> read_attenuation(Context& context);
  SensitivitySettings sample_settings() const;
  bool lacks_plan(const EventBatch& batch, const Prepared& prepared) const;
  void report_sample(const Sensitivity& sampled, double error, Context& context) const;
  void report(const Projected& projected, const Image& estimate, Context& context);

  ListModeSettings settings_;
  Make make_;
  std::unique_ptr<Projector> projector_;
  std::shared_ptr<const Scanner> scanner_;
  std::shared_ptr<const Image> sensitivity_;
  ImageQuantity quantity_;
  SampleNoise noise_;  // of a sampled sensitivity, in the projector's memory
  std::unordered_map<const EventBatch*, Prepared> prepared_;
  Prepared unkept_;
  EventFeed feed_;
  EmTally all_new_;        // of every event, as it met the reconstruction for the first time
  double planning_s_ = 0;  // of plans made ahead of a pass; others are part of it
  double projecting_s_ = 0;
  double waiting_for_turn_s_ = 0;
  std::int64_t without_plan_ = 0;  // batches that were to have one
  EmTally iteration_;
};

}  // namespace tofstream
