// The images of report.html, drawn from the files that gadgets report: see report_html.hpp.
#include <cstdint>
#include <filesystem>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/formats/nifti.hpp"
#include "gadgets/formats/picture/quantity_view.hpp"
#include "tools/operate/report_html.hpp"

namespace tofstream {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uintmax_t largest_file = std::uintmax_t{1} << 30;  // a report must not take the memory of a scan
constexpr int width_px = 1000;

void draw(const std::string& title, const std::filesystem::path& file, std::vector<ReportPicture>& pictures) {
  try {
    if (std::filesystem::file_size(file) > largest_file)
      throw std::runtime_error("the file is larger than a GiB: tofstream view draws it");
    const Image image = read_nifti(file);
    ViewSettings view{.width_px = width_px};
    tell_quantity(file, view);
    pictures.push_back({title + ", slices through its centre", view_png(image, view), ""});
    view.kind = ViewSettings::Kind::mip;
    pictures.push_back({title + ", maximum-intensity projections", view_png(image, view), ""});
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    pictures.push_back({title, "", error.what()});
  }
}

}  // namespace

std::vector<ReportPicture> pictures_of(const Json& run) {
  std::vector<ReportPicture> pictures;
  std::set<std::string> drawn;
  const auto gadgets = run.find("gadgets");
  if (gadgets == run.end()) return pictures;
  for (const auto& [name, gadget] : gadgets->items()) {
    const auto figures = gadget.find("figures");
    if (figures == gadget.end()) continue;
    const auto file = figures->find("file");
    if (file == figures->end() || !file->is_string()) continue;
    const auto path = file->get<std::string>();
    if (!(path.ends_with(".nii") || path.ends_with(".nii.gz")) || !drawn.insert(path).second) continue;
    draw(fmt::format("{} of {}", std::filesystem::path(path).filename().string(), name), path, pictures);
  }
  return pictures;
}

}  // namespace tofstream
