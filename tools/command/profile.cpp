// `tofstream profile IMAGES`: values along a line through images, as a table, JSON or a plot.
#include "kernels/analysis/profile.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/image_file.hpp"
#include "gadgets/io/picture/plot.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/suggestions.hpp"

namespace tofstream::command {

namespace {

struct ProfileOptions {
  std::vector<std::string> images;
  std::vector<float> from_mm, to_mm;
  int points = 201;
  std::string phantom, plot, title, unit;
  bool json = false;
};

// PATH, or the one of LABEL=PATH.
std::string file_of(const std::string& argument) {
  return argument.substr(argument.find('=') + 1);  // npos + 1 is 0
}

PlotSeries through_image(const std::string& argument, Vec3 from, Vec3 to, const ProfileOptions& options) {
  const std::string file = file_of(argument), label = argument.substr(0, argument.find('='));
  return from_input([&]() -> PlotSeries {
    return {.label = label,
            .x = {},
            .y = profile(read_image_file(file), from, to, options.points),
            .error = {},
            .markers = false};
  });
}

PlotSeries through_phantom(Vec3 from, Vec3 to, const ProfileOptions& options) {
  const Phantom phantom =
      from_input([&] { return formats::read_phantom(find_shared("phantoms", options.phantom)).phantom; });
  PlotSeries truth{.label = "truth", .x = {}, .y = {}, .error = {}, .markers = false, .dashed = true};
  const Vec3d begin = from.as<double>(), along = to.as<double>() - begin;
  for (int i = 0; i < options.points; ++i)
    truth.y.push_back(phantom.activity_at(begin + (static_cast<double>(i) / (options.points - 1)) * along));
  return truth;
}

// What the images say that their values are, where they say it alike.
std::string unit_of_images(const ProfileOptions& options) {
  std::optional<std::string> common;
  for (const std::string& image : options.images) {
    const auto quantity = from_input([&] { return quantity_of_image_file(file_of(image)); });
    const std::string unit = quantity ? unit_of(*quantity) : "";
    if (common && *common != unit) return "image value";
    common = unit;
  }
  return common && !common->empty() ? *common : "image value";
}

std::string line_of(const ProfileOptions& options) {
  return fmt::format("from ({}) to ({}) mm", fmt::join(options.from_mm, ", "), fmt::join(options.to_mm, ", "));
}

void print(const std::vector<PlotSeries>& series, const std::string& unit, const ProfileOptions& options) {
  if (options.json) {
    nlohmann::ordered_json result{{"unit", unit}, {"distance_mm", series[0].x}};
    for (const PlotSeries& s : series) result["values"][s.label] = s.y;
    fmt::print("{}\n", result.dump(2));
    return;
  }
  const auto width = [](const PlotSeries& s) { return std::max<std::size_t>(14, s.label.size()); };
  fmt::print("{}, {}\n{:>13}", unit, line_of(options), "distance (mm)");
  for (const PlotSeries& s : series) fmt::print(" {:>{}}", s.label, width(s));
  for (std::size_t i = 0; i < series[0].x.size(); ++i) {
    fmt::print("\n{:>13.3f}", series[0].x[i]);
    for (const PlotSeries& s : series) fmt::print(" {:>{}.6g}", s.y[i], width(s));
  }
  fmt::print("\n");
}

void run(const ProfileOptions& options) {
  const Vec3 from{options.from_mm[0], options.from_mm[1], options.from_mm[2]};
  const Vec3 to{options.to_mm[0], options.to_mm[1], options.to_mm[2]};
  if (options.from_mm == options.to_mm)
    throw InputError(fmt::format("--from and --to are one point, ({}) mm: a profile goes along a line",
                                 fmt::join(options.from_mm, ", ")));
  const std::string unit = options.unit.empty() ? unit_of_images(options) : options.unit;
  std::vector<PlotSeries> series;
  for (const std::string& image : options.images) series.push_back(through_image(image, from, to, options));
  if (!options.phantom.empty()) series.push_back(through_phantom(from, to, options));
  const auto length = static_cast<double>(norm(to - from));
  for (PlotSeries& s : series)
    for (int i = 0; i < options.points; ++i) s.x.push_back(length * i / (options.points - 1));
  if (options.plot.empty() || options.json) print(series, unit, options);
  if (options.plot.empty()) return;
  from_input([&] {
    write_plot(options.plot, series,
               {.title = options.title.empty() ? "Profile " + line_of(options) : options.title,
                .x_label = "distance along the line (mm)",
                .y_label = unit});
    return 0;
  });
  if (!options.json) fmt::print("{}\n", options.plot);
}

}  // namespace

void add_profile(Command& app) {
  auto& command = app.add_command("profile", "Values along a line through images: a table or a plot");
  auto options = std::make_shared<ProfileOptions>();
  command.add_option("images", options->images, "NIfTI images, each as PATH or LABEL=PATH").required();
  command.add_option("--from", options->from_mm, "Where the line begins, x y z in mm").expected(3).required();
  command.add_option("--to", options->to_mm, "Where it ends").expected(3).required();
  command.add_option("--points", options->points, "Equal steps, both ends included (default: 201)").within(2, 1000000);
  command.add_option("--phantom", options->phantom, "Also the activity of a phantom of share/phantoms, or a YAML file")
      .suggests(suggest_shared("phantoms"));
  command.add_option("--plot", options->plot, "Draw the profiles into this PNG or SVG instead of a table");
  command.add_option("--title", options->title, "Title above the plot (default: where the line is)");
  command.add_option("--unit", options->unit, "Unit of the values (default: as the images say)");
  command.add_flag("--json", options->json, "Print JSON");
  command.footer("Example: tofstream profile cpu=out/cpu/image.nii.gz --from -30 0 0 --to 30 0 0 --plot profile.png");
  command.on_run([options] { run(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
