// `tofstream view IMAGE -o picture.png`: slices or maximum-intensity projections of a NIfTI image.
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/image_file.hpp"
#include "gadgets/io/picture/quantity_view.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

struct ViewOptions {
  std::string image, output, title, unit, colours = "inverted_grey";
  bool mip = false, voxels = false;
  std::vector<float> point_mm;
  std::string at = "centre";
  std::optional<double> low, high;
  int width = 1200;
};

void run(const ViewOptions& options) {
  const Image image = from_input([&] { return read_image_file(options.image); });
  ViewSettings view{.kind = options.mip ? ViewSettings::Kind::mip : ViewSettings::Kind::slices,
                    .title = options.title,
                    .map = from_input([&] { return colour_map(options.colours); }),
                    .at_hottest = options.at == "hottest",
                    .low = options.low,
                    .high = options.high,
                    .interpolate = !options.voxels,
                    .width_px = options.width};
  from_input([&] {
    tell_quantity(options.image, view);
    return 0;
  });
  if (!options.unit.empty()) view.unit = options.unit;
  if (!options.point_mm.empty()) view.point_mm = Vec3{options.point_mm[0], options.point_mm[1], options.point_mm[2]};
  from_input([&] {
    write_view_png(options.output, image, view);
    return 0;
  });
  fmt::print("{}\n", options.output);
}

}  // namespace

void add_view(Command& app) {
  auto& command = app.add_command("view", "Draw an image: slices through a point, or maximum-intensity projections");
  auto options = std::make_shared<ViewOptions>();
  command.add_option("image", options->image, "NIfTI image").required();
  command.add_option("-o,--out", options->output, "PNG file to write").required();
  command.add_flag("--mip", options->mip, "Maximum-intensity projections instead of slices");
  command.add_option("--point", options->point_mm, "Slices go through this point, x y z in mm (default: the centre)")
      .expected(3);
  command.add_option("--at", options->at, "Without --point: centre, or hottest, where 3 x 3 x 3 voxels are hottest")
      .one_of({"centre", "hottest"});
  command.add_option("--colours", options->colours, "inverted_grey, grey, hot or viridis")
      .suggests({"inverted_grey", "grey", "hot", "viridis"});
  command.add_option("--low", options->low, "Value of the first colour");
  command.add_option("--high", options->high, "Value of the last colour");
  command.add_option("--title", options->title, "Title above the picture");
  command.add_option("--unit", options->unit,
                     "Unit on the colour bar, for an image of another program; our images state theirs");
  command.add_option("--width", options->width, "Width in pixels").within(400, 8000);
  command.add_flag("--voxels", options->voxels, "Show voxels as they are, without interpolation");
  command.footer("Example: tofstream view out/image.nii.gz --point 0 0 10 -o slices.png");
  command.on_run([options] { run(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
