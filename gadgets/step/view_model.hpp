// The system model of views: a projector on the grid that the user or the camera chooses, and a sensitivity for each
// subset, since each sees the image from its own sides. List mode's s_k = s T_k / T does not hold for views.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gadgets/step/image_quantity.hpp"
#include "gadgets/step/step.hpp"
#include "gadgets/views.hpp"
#include "kernels/project/view_projector.hpp"

namespace tofstream {

/// As the inputs of a projector of events.
struct ViewProjectorInputs {
  std::shared_ptr<const ViewSubset> views;
  std::shared_ptr<const Estimate> image;
  std::shared_ptr<const Additive<ViewBatch>> additive;  // null where nothing is connected
  static constexpr bool takes_announcements = true;     // it chooses the grid of the camera
  static constexpr auto inputs =
      ports(port<&ViewProjectorInputs::views>("views"), port<&ViewProjectorInputs::image>("image", feedback),
            Port<&ViewProjectorInputs::additive>{.name = "additive", .is_feedback = true, .is_optional = true});
};

/// What a projector of views makes of counts.
struct ViewCalibration {
  SensitivityHolds holds = {};  // what it corrects for
  bool keeps_unit = false;      // the views' own unit and scale hold, and the next two are not read
  std::string unit = {};        // of its images; empty: relative
  std::string scale = {};       // where the unit is from, or why there is none
  std::string remedy = {};      // how a pipeline of such views makes a correction that they call for
};

struct ViewModelSettings {
  GadgetBackend backend = BackendChoice::automatic;
  /// Makes the projector for a grid and the camera's views. Reports to the context what it chooses itself.
  std::function<std::unique_ptr<ViewProjector>(const Grid&, Backend, const ViewSet&, Context&)> projector;
  /// The grid that holds what the views see.
  std::function<Grid(const ViewSet&, const GridWish&)> grid;
  std::function<ViewCalibration()> calibration;
};

/// Views as a projector takes them: whole counts become floats, in `room`, for the batch that is projected now.
Views float_view(const ViewBatch& data, Buffer<float>& room);

/// The model of views: each subset has a sensitivity of its own.
std::unique_ptr<SystemModel<ViewBatch>> view_model(ViewModelSettings settings);

extern template class Step<ViewBatch>;
using ViewStep = Step<ViewBatch>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
