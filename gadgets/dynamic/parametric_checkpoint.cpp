// Checkpoints of parametric images: see parametric_checkpoint.hpp.
#include "gadgets/dynamic/parametric_checkpoint.hpp"

#include <map>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/checkpoint.hpp"
#include "gadgets/update/estimate_keeper.hpp"

namespace tofstream {
namespace {

std::string function_key(std::size_t frame, std::size_t function) {
  return fmt::format("frame {} function {}", frame + 1, function + 1);
}

Image stacked_along_z(std::span<const Image> images) {
  Grid grid = images.front().grid;
  const Memory memory = images.front().voxels.memory();
  const std::int64_t each = grid.voxels();
  grid.size[2] *= static_cast<int>(images.size());
  Image all = Image::zeros(grid, memory);
  for (std::size_t m = 0; m < images.size(); ++m)
    detail::copy(all.voxels.data() + static_cast<std::int64_t>(m) * each, memory, images[m].voxels.data(), memory,
                 images[m].bytes(), nullptr);
  return all;
}

// The image lies on the host.
std::vector<Image> unstacked(const Image& all, std::size_t count) {
  Grid grid = all.grid;
  grid.size[2] /= static_cast<int>(count);
  std::vector<Image> images;
  for (std::size_t m = 0; m < count; ++m) {
    Image& image = images.emplace_back(Image::zeros(grid, Memory::host));
    detail::copy(image.voxels.data(), Memory::host, all.voxels.data() + static_cast<std::int64_t>(m) * grid.voxels(),
                 Memory::host, image.bytes(), nullptr);
  }
  return images;
}

std::vector<std::vector<double>> kept_functions(const std::map<std::string, double>& kept, std::size_t count) {
  std::vector<std::vector<double>> functions;
  while (kept.contains(function_key(functions.size(), 0))) {
    std::vector<double> of_frame;
    for (std::size_t m = 0; m < count; ++m) of_frame.push_back(kept.at(function_key(functions.size(), m)));
    functions.push_back(std::move(of_frame));
  }
  return functions;
}

}  // namespace

Estimate parametric_estimate(const ParametricState& state, const std::string& algorithm) {
  Estimate estimate{.step = {.iteration = state.iteration, .update = state.update, .is_joint = true},
                    .image = std::make_shared<const Image>(stacked_along_z(state.coefficients)),
                    .rejected = state.rejected,
                    .events = state.events};
  for (std::size_t f = 0; f < state.functions.size(); ++f)
    for (std::size_t m = 0; m < state.functions[f].size(); ++m)
      estimate.kept[function_key(f, m)] = state.functions[f][m];
  estimate.algorithm = algorithm;
  return estimate;
}

std::optional<ParametricState> read_parametric_checkpoint(const std::filesystem::path& folder, std::size_t functions,
                                                          const std::string& algorithm) {
  const auto checkpoint = read_checkpoint(folder);
  if (!checkpoint) return std::nullopt;
  const CheckpointStep& step = checkpoint->step;
  require_made_by(algorithm, step, folder);
  const std::size_t frames_times_functions = step.kept.size();
  if (frames_times_functions == 0 || frames_times_functions % functions != 0 ||
      !step.kept.contains(function_key(frames_times_functions / functions - 1, functions - 1)))
    throw std::runtime_error(
        fmt::format("resume_from: the checkpoint in {} does not have coefficients of {} functions, as this run has: "
                    "resume with the settings of the run that was killed, or leave resume_from out",
                    folder.string(), functions));
  return ParametricState{.update = step.update,
                         .iteration = step.iteration,
                         .coefficients = unstacked(checkpoint->image, functions),
                         .functions = kept_functions(step.kept, functions),
                         .rejected = step.rejected,
                         .events = step.events};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
