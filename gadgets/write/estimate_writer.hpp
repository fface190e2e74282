// When a writer of images writes, and under which name: the final image, or every iteration or update besides.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/gadget.hpp"
#include "core/report/report.hpp"
#include "core/run/run_control.hpp"
#include "gadgets/io/quantity_json.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

enum class Every { final, iteration, update };
constexpr auto enum_names(Every) {
  return names(Every::final, "final", Every::iteration, "iteration", Every::update, "update");
}

/// Throws for an estimate that a writer cannot write: blobs. The start image shows this before any event is projected.
inline void require_voxels(const Estimate& estimate) {
  validate(estimate.image->grid);
}

/// What a picture, a file or a message says of the values: "Bq/mL", "relative"; empty if not known.
inline std::string unit_of(const Estimate& estimate) {
  return estimate.quantity ? unit_of(*estimate.quantity) : "";
}

/// What a file's description says of the values: ", Bq/mL", ", smoothed by 5 mm FWHM, Bq/mL, not quantitative: ...".
inline std::string label_of(const Estimate& estimate) {
  return (estimate.filters.empty() ? "" : ", " + words_of(estimate.filters)) +
         (estimate.quantity ? ", " + label_of(*estimate.quantity) : "");
}

/// The provenance of an image that a run makes of this estimate, as JSON.
inline std::string provenance_of(const Estimate& estimate, const MessageInfo& events, Context& context) {
  std::map<std::string, std::string> also;
  if (estimate.quantity) also["quantity"] = to_json(*estimate.quantity).dump(-1, ' ', true);
  if (!estimate.filters.empty()) also["filtered"] = nlohmann::ordered_json(words_of(estimate.filters)).dump();
  if (const auto modality = name_of(estimate.modality); !modality.empty())
    also["modality"] = nlohmann::ordered_json(modality).dump();
  return provenance_json(context.control()->snapshot(), events, also);
}

/// "iteration 3", "frame 2 of 24, iteration 3", "gate 2 of 6, iteration 3"; while nobody knows how many frames there will
/// be, "frame 2, iteration 3"; of a live scan, which has no iterations before it has ended, "update 120".
inline std::string step_words(const UpdateStep& step) {
  if (step.subsets == 0 && step.update > 0) return fmt::format("update {}", step.update);
  if (step.frame.number == 0) return fmt::format("iteration {}", step.iteration);
  const std::string all = step.frame.frames > 0 ? fmt::format(" of {}", step.frame.frames) : "";
  return fmt::format("{} {}{}, iteration {}", step.gate > 0 ? "gate" : "frame", step.frame.number, all, step.iteration);
}

/// The figure that says how an image was filtered, in words.
inline constexpr auto* filtered_figure = "filtered";

/// Reports to run.json what a writer's image is: size, voxel_mm, iteration (but not of a live scan that has not ended),
/// subsets, updates, filtered, unit, quantitative and why not, which corrections were made and which were not.
inline void report_image(const Estimate& estimate, Context& context) {
  const Grid& grid = estimate.image->grid;
  std::vector<double> size, voxel_mm;
  for (int axis = 0; axis < 3; ++axis) {
    size.push_back(grid.size[axis]);
    voxel_mm.push_back(std::round(1e6 * static_cast<double>(grid.voxel_mm[axis])) / 1e6);  // as it was written
  }
  context.report("size", size);
  context.report("voxel_mm", voxel_mm);
  const UpdateStep& step = estimate.step;
  if (step.subsets > 0 || step.update == 0) context.report("iteration", std::int64_t{step.iteration});
  if (step.subsets > 0) context.report("subsets", std::int64_t{step.subsets});
  if (step.update > 0) context.report("updates", step.update);
  if (step.frame.number > 0) context.report(step.gate > 0 ? "gates" : "frames", std::int64_t{step.frame.number});
  if (!estimate.filters.empty()) context.report(filtered_figure, words_of(estimate.filters));
  if (!estimate.quantity) return;
  const Quantity& quantity = *estimate.quantity;
  const auto reasons = not_quantitative_because(quantity);
  auto missing = corrections_in(quantity, CorrectionState::called_for);
  for (auto& name : corrections_in(quantity, CorrectionState::not_made)) missing.push_back(std::move(name));
  context.report("unit", unit_of(quantity));
  context.report("quantitative", reasons.empty());
  context.report("not_quantitative", reasons);
  context.report("corrections_made", corrections_in(quantity, CorrectionState::made));
  context.report("corrections_not_made", missing);
}

/// The events that an image was made from: those of all updates up to it.
class EventSpan {
 public:
  void take_in(const MessageInfo& message) {
    if (message.end_event <= message.first_event) return;  // a start image has none
    events_.first_event =
        events_.end_event == 0 ? message.first_event : std::min(events_.first_event, message.first_event);
    events_.end_event = std::max(events_.end_event, message.end_event);
  }
  const MessageInfo& events() const { return events_; }

 private:
  MessageInfo events_;
};

inline constexpr auto* at_iterations_words =
    "With `every: iteration`, only these iterations, as [1, 10, 50]; none: all";

/// Whether a writer with this setting writes this estimate at once; the final image is written at the end in any case.
/// `iterations` empty: all of them.
inline bool is_due(const Estimate& estimate, Every every, const std::vector<int>& iterations = {}) {
  if (estimate.step.iteration == 0) return false;  // the start image
  if (every != Every::iteration) return every == Every::update;
  return estimate.step.ends_iteration &&
         (iterations.empty() || std::ranges::find(iterations, estimate.step.iteration) != iterations.end());
}

/// `image.nii.gz` as `image_0003.nii.gz` (after iteration 3) or `image_0003_0007.nii.gz` (after its update 7); of the
/// second frame `image_frame_0002_0003.nii.gz`.
inline std::filesystem::path numbered(const std::filesystem::path& file, const UpdateStep& step, Every every) {
  const std::string name = file.filename().string();
  const auto dot = std::min(name.find('.'), name.size());
  const std::string number = every == Every::update ? fmt::format("_{:04}_{:04}", step.iteration, step.subset + 1)
                                                    : fmt::format("_{:04}", step.iteration);
  const std::string frame = step.frame.number > 0 ? fmt::format("_frame_{:04}", step.frame.number) : "";
  return file.parent_path() / (name.substr(0, dot) + frame + number + name.substr(dot));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
