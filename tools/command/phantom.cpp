// `tofstream phantom NAME -o FILE`: a phantom's activity or attenuation as an image: the truth to compare with, and the
// mu map that reconstructions want.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "gadgets/io/image_file.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/suggestions.hpp"

namespace tofstream::command {

namespace {

struct PhantomOptions {
  std::string phantom, output, like;
  std::vector<int> size;
  float voxel_mm = 4;
  int samples = 4;
  bool mu = false;
};

// The grid of an image, or one about the origin: of the size asked for, else around the whole phantom, of which a mu map
// shows by a voxel of air on each side that it is the whole.
Grid grid_of(const Phantom& phantom, const PhantomOptions& options) {
  if (!options.like.empty()) return read_image_file(options.like).grid;
  const int air = options.mu ? 2 : 0;
  int size[3] = {};
  const Box3 box = phantom.bounds();
  for (int axis = 0; axis < 3; ++axis) {
    const double reach = std::max(std::abs(box.low[axis]), std::abs(box.high[axis]));
    size[axis] = options.size.empty()
                     ? static_cast<int>(std::ceil(2 * reach / static_cast<double>(options.voxel_mm))) + air
                     : options.size[static_cast<std::size_t>(axis)];
  }
  return Grid::centred(size[0], size[1], size[2], {options.voxel_mm, options.voxel_mm, options.voxel_mm});
}

struct Made {
  Image image;
  std::string description;
};

Made made_of(const PhantomOptions& options) {
  const formats::PhantomFile file = formats::read_phantom(find_shared("phantoms", options.phantom));
  const Grid grid = grid_of(file.phantom, options);
  validate(grid);
  if (options.mu) return {file.phantom.mu_image(grid, options.samples), mu_map_description(file.mu_keV)};
  return {file.phantom.activity_image(grid, options.samples), "activity, Bq/mL"};
}

void run(const PhantomOptions& options) {
  const Made made = from_input([&] { return made_of(options); });
  write_nifti(options.output, made.image, {.description = made.description});
  fmt::print("{}\n", options.output);
}

}  // namespace

void add_phantom(Command& app) {
  auto& command = app.add_command("phantom", "A phantom's activity or attenuation as an image");
  auto options = std::make_shared<PhantomOptions>();
  command.add_option("phantom", options->phantom, "A phantom of share/phantoms, or a YAML file")
      .required()
      .suggests(suggest_shared("phantoms"));
  command.add_option("-o,--out", options->output, "NIfTI file to write").required();
  command.add_flag("--mu", options->mu, "Attenuation in 1/cm, as `mu_map` reads it; else activity in Bq/mL");
  const Option& size =
      command.add_option("--size", options->size, "Voxels along x, y, z (default: as the phantom needs)")
          .expected(3)
          .within(1, 4096);
  const Option& voxel =
      command.add_option("--voxel-mm", options->voxel_mm, "Edge of a voxel (default: 4)").within(0.01, 100.0);
  command.add_option("--like", options->like, "On the grid of this NIfTI image").excludes(size).excludes(voxel);
  command.add_option("--samples", options->samples, "Points along each edge of a voxel that are averaged (default: 4)")
      .within(1, 32);
  command.footer("Example: tofstream phantom torso --mu -o mu.nii.gz");
  command.on_run([options] { run(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
