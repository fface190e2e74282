// `tofstream profile IMAGES`: values along a line through images, as a table, JSON or a plot.
#include "kernels/analysis/profile.hpp"

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/picture/plot.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

struct Options {
  std::vector<std::string> images;
  std::vector<float> from_mm, to_mm;
  int points = 201;
  std::string phantom, plot, title, unit = "image value";
  bool json = false;
};

PlotSeries through_image(const std::string& argument, Vec3 from, Vec3 to, const Options& options) {
  const auto equals = argument.find('=');
  const std::string file = equals == std::string::npos ? argument : argument.substr(equals + 1);
  const std::string label = argument.substr(0, equals);
  return from_input([&]() -> PlotSeries {
    return {.label = label,
            .x = {},
            .y = profile(read_nifti(file), from, to, options.points),
            .error = {},
            .markers = false};
  });
}

PlotSeries through_phantom(Vec3 from, Vec3 to, const Options& options) {
  const Phantom phantom =
      from_input([&] { return formats::read_phantom(find_shared("phantoms", options.phantom)).phantom; });
  PlotSeries truth{.label = "truth", .x = {}, .y = {}, .error = {}, .markers = false, .dashed = true};
  const Vec3d begin = from.as<double>(), along = to.as<double>() - begin;
  for (int i = 0; i < options.points; ++i)
    truth.y.push_back(phantom.activity_at(begin + (static_cast<double>(i) / (options.points - 1)) * along));
  return truth;
}

void print(const std::vector<PlotSeries>& series, bool json) {
  if (json) {
    nlohmann::ordered_json result{{"distance_mm", series[0].x}};
    for (const PlotSeries& s : series) result["values"][s.label] = s.y;
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("{:>10}", "mm");
  for (const PlotSeries& s : series) fmt::print(" {:>14}", s.label);
  for (std::size_t i = 0; i < series[0].x.size(); ++i) {
    fmt::print("\n{:>10.3f}", series[0].x[i]);
    for (const PlotSeries& s : series) fmt::print(" {:>14.6g}", s.y[i]);
  }
  fmt::print("\n");
}

void run(const Options& options) {
  const Vec3 from{options.from_mm[0], options.from_mm[1], options.from_mm[2]};
  const Vec3 to{options.to_mm[0], options.to_mm[1], options.to_mm[2]};
  std::vector<PlotSeries> series;
  for (const std::string& image : options.images) series.push_back(through_image(image, from, to, options));
  if (!options.phantom.empty()) series.push_back(through_phantom(from, to, options));
  const auto length = static_cast<double>(norm(to - from));
  for (PlotSeries& s : series)
    for (int i = 0; i < options.points; ++i) s.x.push_back(length * i / (options.points - 1));
  if (options.plot.empty() || options.json) print(series, options.json);
  if (options.plot.empty()) return;
  from_input([&] {
    write_plot(options.plot, series,
               {.title = options.title, .x_label = "mm along the profile", .y_label = options.unit});
    return 0;
  });
  if (!options.json) fmt::print("{}\n", options.plot);
}

}  // namespace

void add_profile(CLI::App& app) {
  auto* command = app.add_subcommand("profile", "Values along a line through images: a table or a plot");
  auto options = std::make_shared<Options>();
  command->add_option("images", options->images, "NIfTI images, each as PATH or LABEL=PATH")->required();
  command->add_option("--from", options->from_mm, "Where the line begins, x y z in mm")->expected(3)->required();
  command->add_option("--to", options->to_mm, "Where it ends")->expected(3)->required();
  command->add_option("--points", options->points, "Equal steps, both ends included (default: 201)")
      ->check(CLI::Range(2, 1000000));
  command->add_option("--phantom", options->phantom,
                      "Also the activity of a phantom of share/phantoms, or a YAML file");
  command->add_option("--plot", options->plot, "Draw the profiles into this PNG or SVG instead of a table");
  command->add_option("--title", options->title, "Above the plot");
  command->add_option("--unit", options->unit, "What the plot's vertical axis says");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Example: tofstream profile cpu=out/cpu/image.nii.gz --from -30 0 0 --to 30 0 0 --plot profile.png");
  command->callback([options] { run(*options); });
}

}  // namespace tofstream::command
