// `tofstream inspect FILE`: what a PETSIRD stream or a journal holds, by reading all of it; or an image, with the run
// that made it.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/formats/journal/summary.hpp"
#include "gadgets/formats/nifti.hpp"
#include "gadgets/formats/petsird/describe.hpp"
#include "gadgets/formats/petsird/detection_bins.hpp"
#include "tools/command/commands.hpp"
#include "tools/operate/yaml_text.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct Options {
  std::string file;
  std::optional<std::uint64_t> bin;
  bool json = false;
};

bool holds_a_journal(const std::filesystem::path& path) {
  return std::filesystem::is_directory(path) || journal::segment_number(path);
}

bool is_image(const std::string& path) {
  return path.ends_with(".nii") || path.ends_with(".nii.gz");
}

ordered_json vec_json(const Vec3& v) {
  return {v.x, v.y, v.z};
}

// Grid, voxels' statistics, and the provenance where the image carries ours.
ordered_json inspect_image(const std::string& file) {
  const Image image = read_nifti(file);
  const std::string comment = read_nifti_comment(file);
  double sum = 0;
  float highest = image.voxels.span()[0];
  for (const float v : image.voxels.span()) {
    sum += static_cast<double>(v);
    highest = std::max(highest, v);
  }
  ordered_json result{{"size", {image.grid.size[0], image.grid.size[1], image.grid.size[2]}},
                      {"voxel_mm", vec_json(image.grid.voxel_mm)},
                      {"origin_mm", vec_json(image.grid.origin_mm)},
                      {"mean", sum / static_cast<double>(image.grid.voxels())},
                      {"highest", highest}};
  const auto provenance = ordered_json::parse(comment, nullptr, false);
  if (provenance.is_object() && provenance.contains("resolved")) {
    result["provenance"] = provenance;
  } else if (!comment.empty()) {
    result["comment"] = comment;
  }
  return result;
}

ordered_json inspect_petsird(const Options& options) {
  const petsird::Summary summary = petsird::summarise_file(options.file);
  ordered_json result(petsird::to_json(summary));
  if (options.bin) {
    const auto& scanner = summary.header.scanner;
    result["bin_centre_mm"] = petsird::bin_centre(scanner, petsird::nth_bin(scanner, *options.bin));
  }
  return result;
}

ordered_json inspected(const Options& options) {
  if (holds_a_journal(options.file)) return journal::to_json(journal::summarise(options.file));
  return is_image(options.file) ? inspect_image(options.file) : inspect_petsird(options);
}

void print(const std::string& indent, const ordered_json& values) {
  const int width = 28 - static_cast<int>(indent.size());
  for (const auto& [key, value] : values.items()) {
    const bool is_list = value.is_array() && !value.empty() && value.front().is_object();
    if (!is_list)
      fmt::print("{}{:<{}} {}\n", indent, key, width, value.is_string() ? value.get<std::string>() : value.dump());
    else
      for (const auto& item : value) print(indent + "  ", item);
  }
}

void inspect(const Options& options) {
  if (options.bin && (is_image(options.file) || holds_a_journal(options.file)))
    throw InputError("--bin is for a PETSIRD file");
  ordered_json result = from_input([&] { return inspected(options); });
  if (options.json) {
    fmt::print("{}\n", result.dump(2));
    return;
  }
  const ordered_json made_by = result.value("provenance", ordered_json());
  result.erase("provenance");
  print("", result);
  if (!made_by.is_null()) fmt::print("\n{}", yaml_text(made_by));
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto* command = app.add_subcommand("inspect", "Say what a PETSIRD file, a journal or an image holds");
  auto options = std::make_shared<Options>();
  command
      ->add_option("file", options->file, "PETSIRD file, binary form; a journal, or a segment of one; or a NIfTI image")
      ->required();
  command->add_option("--bin", options->bin, "Also say where this detection bin's crystal is (mm)");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Example: tofstream inspect scan.petsird --bin 1000 --json");
  command->callback([options] { inspect(*options); });
}

}  // namespace tofstream::command
