// One image of all gates: between the estimate and the projector stands, for each subset, the deformation of its gate.
//
//     deformed:  {use: gate_warp, from: {events: subsets, image: estimate}, fields: [none, in.nii.gz], frame: lps}
//     projected: {use: tor_projector, from: {events: subsets, image: deformed}}
//
// x goes to gate g by W_g, what comes back by W_g^T, and so does the sensitivity, of which all gates have the mean,
// sum_g T_g/T W_g^T s (gadgets/step/adjoint_images.hpp).
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/nifti/displacement.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/gating/changing_operators.hpp"
#include "kernels/grid/sample_image.hpp"
#include "kernels/warp/warp.hpp"

namespace tofstream {
namespace {

struct GateWarpInputs {
  std::shared_ptr<const EventSubset> events;
  std::shared_ptr<const Estimate> image;
  static constexpr bool takes_announcements = true;
  static constexpr auto inputs =
      ports(port<&GateWarpInputs::events>("events"), port<&GateWarpInputs::image>("image", feedback));
};

enum class GateFieldFrame { lps, ras };
constexpr auto enum_names(GateFieldFrame) {
  return names(GateFieldFrame::lps, "lps", GateFieldFrame::ras, "ras");
}

struct GateWarp {
  struct Params {
    std::vector<std::string> fields;
    GateFieldFrame frame = GateFieldFrame::lps;
  };
  static constexpr auto params = describe(
      param<&Params::fields>(
          "fields", required,
          "For each gate a NIfTI of displacements in mm, as `warp` takes them: what is projected at p "
          "is the estimate at p + u(p); none: the gate whose state the image is to show"),
      param<&Params::frame>("frame", required,
                            "The axes of the components: lps, as ITK and ANTs write them, or ras, as NIfTI has its "
                            "coordinates"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static constexpr bool one_to_one = true;
  static MemoryNeed memory(const Params& p, std::span<const std::size_t> inputs) {
    // A gate has eight columns and weights a voxel, of W and of its transpose, and two sensitivities.
    const std::size_t a_gate = inputs[1] / sizeof(float) * (2 * (8 * 8 + 8) + 2 * sizeof(float));
    return {.host_bytes = memory_product(p.fields.size(), a_gate),
            .message_bytes = inputs[1],
            .lies_with_inputs = true,
            .lower = "image.size",
            .note = "a matrix, its transpose and two sensitivities for each gate"};
  }

  explicit GateWarp(const Params& p) : p_(p) {
    if (p.fields.size() < 2)
      throw std::invalid_argument("fields: name one for each gate, at least two; none: no field");
    const auto frame = p.frame == GateFieldFrame::lps ? DisplacementFrame::lps : DisplacementFrame::ras;
    for (const std::string& field : p.fields) {
      if (field == "none")
        fields_.emplace_back();
      else
        fields_.emplace_back(read_displacement(field, frame));
    }
  }

  void process(GateWarpInputs inputs, Emit<Estimate>& emit, Context& context) {
    const Estimate& estimate = *inputs.image;
    const EventSubset& subset = *inputs.events;
    // What is not projected goes through nothing.
    if (estimate.is_announcement() || estimate.is_at_rest || subset.step.iteration == 0) return emit(inputs.image);
    require_gates(subset);
    const Image& image = *estimate.image;
    const Backend backend = on_host(image.voxels.memory()) ? Backend::cpu : Backend::cuda;
    if (operators_.empty() || !(operators_[0]->grid() == image.grid) || operators_[0]->backend() != backend)
      make_operators(image.grid, backend, *subset.gate_times, context);
    const auto gate = static_cast<std::size_t>(subset.step.gate - 1);
    Estimate result = estimate.with(std::make_shared<const Image>(operators_[gate]->forward(image)));
    result.through.push_back({operators_[gate], "gate_warp", false, mean_, time_});
    result.filters.push_back({.other = fmt::format("deformed to gate {} (gate_warp)", gate + 1)});
    emit(std::move(result));
  }

 private:
  void require_gates(const EventSubset& subset) const {
    if (subset.step.gate == 0 || !subset.gate_times)
      throw std::runtime_error(
          "the subsets are of no gates that make one image: take them from gating, with images: one");
    if (subset.gate_times->size() != fields_.size())
      throw std::runtime_error(fmt::format("there are {} gates and {} fields: give each gate one, or none",
                                           subset.gate_times->size(), fields_.size()));
  }

  void make_operators(const Grid& grid, Backend backend, const std::vector<double>& times, Context& context) {
    validate(grid);  // blobs have no warp
    operators_.clear();
    std::vector<double> largest_mm, outside;
    for (std::size_t g = 0; g < fields_.size(); ++g) {
      const WarpFigures figures = make_operator(g, grid, backend, context);
      largest_mm.push_back(figures.largest_mm);
      outside.push_back(figures.outside);
    }
    context.report("largest_displacement_mm", largest_mm);
    context.report("outside", outside);
    mean_ = std::make_shared<const MeanOperator>(operators_, times);
    time_ = 0;
    for (const double time : times) time_ += time;
  }

  WarpFigures make_operator(std::size_t g, const Grid& grid, Backend backend, Context& context) try {
    if (!fields_[g]) {
      operators_.push_back(std::make_shared<const IdentityOperator>(grid, backend));
      return {};
    }
    const DisplacementField& given = *fields_[g];
    const DisplacementField field{sampled_on(grid, given[0]), sampled_on(grid, given[1]), sampled_on(grid, given[2])};
    const WarpFigures figures = warp_figures(field);
    if (figures.folded > 0)
      context.log().warning(
          fmt::format("{} turns space inside out in {:.2g} % of the voxels, so it is no deformation there: are its "
                      "components in mm, and in the frame that is given?",
                      p_.fields[g], 100 * figures.folded));
    operators_.push_back(std::make_shared<const SparseOperator>(grid, warp_rows(field), backend));
    return figures;
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}", p_.fields[g], error.what()));
  }

  Params p_;
  std::vector<std::optional<DisplacementField>> fields_;  // by gate; nothing: the image's own state
  std::vector<std::shared_ptr<const ImageOperator>> operators_;
  std::shared_ptr<const ImageOperator> mean_;
  double time_ = 1;  // T/T_ref of all gates together
};

TOFSTREAM_GADGET(GateWarp, "gate_warp", "Deforms the estimate to the gate of each subset, for one image of all gates");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
