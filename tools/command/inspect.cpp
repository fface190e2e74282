// `tofstream inspect FILE`: what a PETSIRD stream, a journal or a file of a family's own format holds, by reading all of
// it; or an image, with the run that made it.
#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/printable.hpp"
#include "gadgets/io/file_inspectors.hpp"
#include "gadgets/io/journal/summary.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/nifti/nifti_quantity.hpp"
#include "gadgets/io/petsird/describe.hpp"
#include "gadgets/io/petsird/detection_bins.hpp"
#include "gadgets/io/quantity_json.hpp"
#include "tools/command/commands.hpp"
#include "tools/watch/yaml_text.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct InspectOptions {
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

// Grid, voxels' statistics, what they are, and the provenance where the image carries ours.
ordered_json inspect_image(const std::string& file) {
  const Image image = read_nifti(file);
  const std::string comment = read_nifti_comment(file);
  double sum = 0;
  float highest = image.voxels.span()[0], lowest = highest;
  for (const float v : image.voxels.span()) {
    sum += static_cast<double>(v);
    highest = std::max(highest, v);
    lowest = std::min(lowest, v);
  }
  ordered_json result{{"size", {image.grid.size[0], image.grid.size[1], image.grid.size[2]}},
                      {"voxel_mm", vec_json(image.grid.voxel_mm)},
                      {"origin_mm", vec_json(image.grid.origin_mm)},
                      {"mean", sum / static_cast<double>(image.grid.voxels())},
                      {"lowest", lowest},
                      {"highest", highest}};
  if (const auto quantity = read_nifti_quantity(file)) result["quantity"] = to_json(*quantity);
  if (const std::string filtered = read_nifti_filter(file); !filtered.empty()) result["filtered"] = filtered;
  const auto provenance = ordered_json::parse(comment, nullptr, false);
  if (provenance.is_object() && provenance.contains("resolved")) {
    result["provenance"] = provenance;
  } else if (!comment.empty()) {
    result["comment"] = comment;
  }
  return result;
}

petsird::Point centre_of(const petsird::Summary& summary, std::uint64_t bin) {
  const auto& scanner = summary.header.scanner;
  return petsird::bin_centre(scanner, petsird::nth_bin(scanner, bin));
}

ordered_json inspect_petsird(const InspectOptions& options) {
  const petsird::Summary summary = petsird::summarise_file(options.file);
  ordered_json result(petsird::to_json(summary));
  if (options.bin) result["bin_centre_mm"] = centre_of(summary, *options.bin);
  return result;
}

void print_petsird(const InspectOptions& options) {
  from_input([&] {
    const petsird::Summary summary = petsird::summarise_file(options.file);
    std::string text = petsird::in_words(summary);
    if (options.bin)
      text += fmt::format("{:<15} {:.6g} mm\n", fmt::format("bin {}", *options.bin),
                          fmt::join(centre_of(summary, *options.bin), ", "));
    fmt::print("{}", text);
    return 0;
  });
}

ordered_json inspected(const InspectOptions& options) {
  if (holds_a_journal(options.file)) return journal::to_json(journal::summarise(options.file));
  return is_image(options.file) ? inspect_image(options.file) : inspect_petsird(options);
}

void print(const std::string& indent, const ordered_json& values) {
  const int width = 28 - static_cast<int>(indent.size());
  for (const auto& [key, value] : values.items()) {
    const bool is_list = value.is_array() && !value.empty() && value.front().is_object();
    if (!is_list)
      print_printable(stdout, "{}{:<{}} {}\n", indent, key, width,
                      value.is_string() ? value.get<std::string>() : value.dump());
    else
      for (const auto& item : value) print(indent + "  ", item);
  }
}

void print_line(const char* name, const std::string& text) {
  print_printable(stdout, "{:<15} {}\n", name, text);
}

// "144 x 144 x 45"
std::string product(const ordered_json& numbers) {
  return fmt::format("{:.6g}", fmt::join(numbers.get<std::vector<double>>(), " x "));
}

void print_corrections(const ordered_json& corrections) {
  const auto in_state = [&](std::initializer_list<const char*> states) {
    std::string names;
    for (const auto& [name, record] : corrections.items())
      if (std::ranges::find(states, record.at("state").get<std::string>()) != states.end())
        names += (names.empty() ? "" : ", ") + name;
    return names.empty() ? std::string("none") : names;
  };
  print_line("corrections",
             fmt::format("made: {}; not made: {}", in_state({"made"}), in_state({"not made", "called for"})));
}

void print_image(const ordered_json& image) {
  const auto number = [&](const char* key) { return image.at(key).get<double>(); };
  print_line("voxels",
             fmt::format("{} of {} mm, the first at {} mm", product(image.at("size")), product(image.at("voxel_mm")),
                         fmt::format("{:.6g}", fmt::join(image.at("origin_mm").get<std::vector<double>>(), ", "))));
  print_line("range",
             fmt::format("{:.6g} to {:.6g}, mean {:.6g}", number("lowest"), number("highest"), number("mean")));
  if (const auto quantity = image.find("quantity"); quantity != image.end()) {
    const auto why = quantity->at("not_quantitative").get<std::vector<std::string>>();
    print_line("unit", quantity->at("unit").get<std::string>());
    print_line("quantitative", why.empty() ? "yes" : fmt::format("no: {}", fmt::join(why, "; ")));
    print_corrections(quantity->at("corrections"));
  } else {
    print_line("unit", "not said");
  }
  if (const auto filtered = image.find("filtered"); filtered != image.end())
    print_line("filtered", filtered->get<std::string>());
  if (const auto comment = image.find("comment"); comment != image.end())
    print_line("comment", comment->get<std::string>());
  if (const auto made_by = image.find("provenance"); made_by != image.end())
    fmt::print("\n{}", printable_lines(yaml_text(*made_by)));
}

void inspect_by(const FileInspector& kind, const InspectOptions& options) {
  const ordered_json held = from_input([&] { return kind.read(options.file); });
  if (options.json)
    fmt::print("{}\n", held.dump(2));
  else
    fmt::print("{}", printable_lines(kind.in_words(held)));
}

void inspect(const InspectOptions& options) {
  const FileInspector* const kind = inspector_of(options.file);
  if (options.bin && (kind || is_image(options.file) || holds_a_journal(options.file)))
    throw InputError("--bin is for a PETSIRD file");
  if (kind) return inspect_by(*kind, options);
  const bool is_petsird = !is_image(options.file) && !holds_a_journal(options.file);
  if (is_petsird && !options.json) return print_petsird(options);
  const ordered_json result = from_input([&] { return inspected(options); });
  if (options.json)
    fmt::print("{}\n", result.dump(2));
  else if (is_image(options.file))
    print_image(result);
  else
    print("", result);
}

}  // namespace

void add_inspect(Command& app) {
  auto& command =
      app.add_command("inspect", "Show what is in a PETSIRD file, a journal, an image or another kind of file");
  auto options = std::make_shared<InspectOptions>();
  std::string words = "PETSIRD file, binary form; a journal, or a segment of one; a NIfTI image";
  for (const FileInspector& kind : table_of<FileInspector>()) words += "; " + kind.words;
  command.add_option("file", options->file, words.c_str()).required();
  command.add_option("--bin", options->bin, "Also say where this detection bin's crystal is (mm)");
  command.add_flag("--json", options->json, "Print JSON");
  command.footer("Example: tofstream inspect scan.petsird --bin 1000 --json");
  command.on_run([options] { inspect(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
