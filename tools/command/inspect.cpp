// `tofstream inspect FILE`: what a PETSIRD stream holds, by decoding all of it; or an image, with the run that made it.
#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/formats/nifti.hpp"
#include "gadgets/formats/petsird/describe.hpp"
#include "gadgets/formats/petsird/detection_bins.hpp"
#include "tools/command/commands.hpp"
#include "tools/operate/yaml_text.hpp"

namespace tofstream::command {

namespace {

struct Options {
  std::string file;
  std::optional<std::uint64_t> bin;
  bool json = false;
};

template <class Json>
void print(const Json& result, bool json) {
  if (json) {
    fmt::print("{}\n", result.dump(2));
    return;
  }
  for (const auto& [key, value] : result.items())
    fmt::print("{:<28} {}\n", key, value.is_string() ? value.template get<std::string>() : value.dump());
}

nlohmann::ordered_json vec_json(const Vec3& v) {
  return {v.x, v.y, v.z};
}

// Grid, voxels' statistics, and the provenance where the image carries ours.
void inspect_image(const Options& options) {
  if (options.bin) throw InputError("--bin is for a PETSIRD file");
  const Image image = from_input([&] { return read_nifti(options.file); });
  const std::string comment = from_input([&] { return read_nifti_comment(options.file); });
  double sum = 0;
  float highest = image.voxels.span()[0];
  for (const float v : image.voxels.span()) {
    sum += static_cast<double>(v);
    highest = std::max(highest, v);
  }
  nlohmann::ordered_json result{{"size", {image.grid.size[0], image.grid.size[1], image.grid.size[2]}},
                                {"voxel_mm", vec_json(image.grid.voxel_mm)},
                                {"origin_mm", vec_json(image.grid.origin_mm)},
                                {"mean", sum / static_cast<double>(image.grid.voxels())},
                                {"highest", highest}};
  const auto provenance = nlohmann::ordered_json::parse(comment, nullptr, false);
  if (provenance.is_object() && provenance.contains("resolved")) {
    result["provenance"] = provenance;
  } else if (!comment.empty()) {
    result["comment"] = comment;
  }
  if (!options.json && result.contains("provenance")) {
    const auto made_by = result["provenance"];
    result.erase("provenance");
    print(result, false);
    fmt::print("\n{}", yaml_text(made_by));
    return;
  }
  print(result, options.json);
}

void inspect_list_mode(const Options& options) {
  const petsird::Summary summary = from_input([&] { return petsird::summarise_file(options.file); });
  nlohmann::json result = petsird::to_json(summary);
  if (options.bin)
    result["bin_centre_mm"] = from_input([&] {
      const auto& scanner = summary.header.scanner;
      return petsird::bin_centre(scanner, petsird::nth_bin(scanner, *options.bin));
    });
  print(result, options.json);
}

void inspect(const Options& options) {
  const bool is_image = options.file.ends_with(".nii") || options.file.ends_with(".nii.gz");
  is_image ? inspect_image(options) : inspect_list_mode(options);
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto* command = app.add_subcommand("inspect", "Say what a PETSIRD file holds, or an image and what made it");
  auto options = std::make_shared<Options>();
  command->add_option("file", options->file, "PETSIRD file, binary form, or NIfTI image")->required();
  command->add_option("--bin", options->bin, "Also say where this detection bin's crystal is (mm)");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Example: tofstream inspect scan.petsird --bin 1000 --json");
  command->callback([options] { inspect(*options); });
}

}  // namespace tofstream::command
