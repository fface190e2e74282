// The images of report.html: the pictures that the run has drawn, or drawn here from the files that gadgets report: see
// report_html.hpp.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/picture/quantity_view.hpp"
#include "tools/watch/report_html.hpp"

namespace tofstream {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uintmax_t largest_file = std::uintmax_t{1} << 30;  // a report must not take the memory of a scan
constexpr int picture_width_px = 1000;

// Adds what `make` gives, or why it gives nothing.
template <class Make>
void add(std::vector<ReportPicture>& pictures, const std::string& title, const Make& make) {
  try {
    make();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    pictures.push_back({title, "", error.what()});
  }
}

void draw(const std::string& title, const std::filesystem::path& file, std::vector<ReportPicture>& pictures) {
  add(pictures, title, [&] {
    if (std::filesystem::file_size(file) > largest_file)
      throw std::runtime_error("the file is larger than a GiB: tofstream view draws it");
    const Image image = read_nifti(file);
    ViewSettings view{.width_px = picture_width_px};
    tell_quantity(file, view);
    pictures.push_back({title + ": slices through the centre", view_png(image, view), ""});
    view.kind = ViewSettings::Kind::mip;
    pictures.push_back({title + ": maximum-intensity projections", view_png(image, view), ""});
  });
}

// A gadget's figure if it is text, else empty.
std::string figure(const Json& gadget, const char* key) {
  const auto figures = gadget.find("figures");
  if (figures == gadget.end()) return {};
  const auto found = figures->find(key);
  return found != figures->end() && found->is_string() ? found->get<std::string>() : "";
}

std::string bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream || bytes.empty()) throw std::runtime_error(fmt::format("{}: cannot be read", file));
  return bytes;
}

std::string titled(const std::filesystem::path& file) {
  return file.filename().string();
}

// Which gadget's images one reads; null where run.json does not say.
Json source_of(const Json& run, const std::string& gadget) {
  const Json::json_pointer from = Json::json_pointer("/resolved/gadgets") / gadget / "from";
  return run.contains(from) ? run.at(from) : Json();
}

}  // namespace

// An image of many voxels takes long to read and to draw, so what the run has drawn of it is taken as it is.
std::vector<ReportPicture> pictures_of(const Json& run) {
  std::vector<ReportPicture> pictures;
  std::set<std::string> drawn;
  std::set<Json> drawn_sources;
  const Json gadgets = run.value("gadgets", Json::object());
  for (const auto& [name, gadget] : gadgets.items()) {
    for (const auto& [kind, shows] : {std::pair{picture_figure, "slices"},
                                      {projections_figure, "maximum-intensity projections"},
                                      {profiles_figure, "profiles"}}) {
      const std::string file = figure(gadget, kind);
      if (file.empty()) continue;
      const std::string title = fmt::format("{}: {}", titled(file), shows);
      add(pictures, title, [&] { pictures.push_back({title, bytes_of(file), ""}); });
      drawn_sources.insert(source_of(run, name));
    }
  }
  for (const auto& [name, gadget] : gadgets.items()) {
    const std::string file = figure(gadget, "file");
    if (!(file.ends_with(".nii") || file.ends_with(".nii.gz")) || !drawn.insert(file).second) continue;
    if (const Json source = source_of(run, name); source.is_null() || !drawn_sources.contains(source))
      draw(titled(file), file, pictures);
  }
  return pictures;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
