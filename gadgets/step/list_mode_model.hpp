// The system model of list-mode events: a projector on the grid that the user or the scanner chooses, and one
// sensitivity for the whole time, of which each subset takes its share (conventions.md, list-mode EM).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "gadgets/step/image_quantity.hpp"
#include "gadgets/step/step.hpp"
#include "kernels/project/projector_ranks.hpp"

namespace tofstream {

/// The inputs of a projector: a subset, the estimate it is compared with, which flows back from the update, and terms
/// that are estimated meanwhile.
struct ProjectorInputs {
  std::shared_ptr<const EventSubset> events;
  std::shared_ptr<const Estimate> image;
  std::shared_ptr<const Additive<EventBatch>> additive;  // null where nothing is connected
  static constexpr bool takes_announcements = true;      // it chooses the grid of the scanner
  static constexpr auto inputs =
      ports(port<&ProjectorInputs::events>("events"), port<&ProjectorInputs::image>("image", feedback),
            Port<&ProjectorInputs::additive>{.name = "additive", .is_feedback = true, .is_optional = true});
};

/// Events as a projector takes them that looks at their ToF, or does not. Throws std::runtime_error where it does not and
/// they have additive terms of their ToF bins.
EventView list_mode_view(const EventBatch& batch, bool uses_tof);

/// What a CpuProjector (kernels/project) holds for images of so many bytes: an image for each slot of events but the
/// first, and `copies` of the image in a layout of the projector's own.
std::size_t cpu_projector_bytes(std::size_t image, bool deterministic, std::size_t copies);

/// What a list-mode projector's images are divided by.
struct ListModeSensitivity {
  Image image;  // on the host: events per second of 1 Bq/mL in a voxel
  SensitivityHolds holds;
  double random_lines = 0;  // drawn at random whose sum would be as even; 0: it is the sum of all
  /// See SystemModel::correct; null: nothing to correct.
  std::function<void(const Image& sensitivity, const Image& estimate, Image& back_projection)> correct = {};
};

struct ListModeSettings {
  GadgetBackend backend = BackendChoice::automatic;
  bool tof = true;  // false: the events' ToF is not looked at
  /// Makes the projector for a grid and the events' scanner. Reports to the context what it chooses itself.
  std::function<std::unique_ptr<ListModeProjector>(const Grid&, Backend, const Scanner&, Context&)> projector;
  /// Makes or loads its sensitivity.
  std::function<ListModeSensitivity(const Scanner&, const ProjectorRanks&, Context&)> sensitivity;
};

/// The model of list mode: one sensitivity for the whole time, of which each subset has its share.
std::unique_ptr<SystemModel<EventBatch>> list_mode_model(ListModeSettings settings);

extern template class Step<EventBatch>;
using ListModeStep = Step<EventBatch>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
