// Projection data of a camera from a file: Interfile, DICOM or NIfTI, one view a message.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/spect/io/view_reader.hpp"
#include "gadgets/views.hpp"

namespace tofstream {
namespace {

struct ProjectionsSource {
  struct Params {
    std::filesystem::path path;
    std::optional<double> start_angle_deg;
    std::optional<formats::RotationDirection> direction;
    std::optional<double> radius_mm;
    bool flip_u = false, flip_w = false;
    formats::AngleZero zero = formats::AngleZero::file;
    formats::NegativeCounts negative = formats::NegativeCounts::refuse;
    int window = 1;
    std::filesystem::path lower_window, upper_window;
    std::vector<float> windows_keV;
  };
  static constexpr auto params = describe(
      param<&Params::path>("path", required, reads_file,
                           "Interfile header (STIR, SIMIND, GATE), DICOM NM, or NIfTI with a YAML file beside it"),
      param<&Params::start_angle_deg>("start_angle_deg", range(-3600, 3600), unit("deg"),
                                      "Angle of the first view, counted from zero; none: as the file says"),
      param<&Params::direction>("direction",
                                "Which way the camera turns, seen from the feet: cw | ccw; none: as the file says"),
      param<&Params::radius_mm>("radius_mm", range(1, 1e4), unit("mm"),
                                "From the axis to the collimator's face, for all views; none: as the file says"),
      param<&Params::flip_u>("flip_u", "Columns run the other way than the format says"),
      param<&Params::flip_w>("flip_w", "Rows run the other way than the format says"),
      param<&Params::zero>("zero",
                           "Where angle 0 lies: file, as the format says; dicom, at the back; interfile, in front"),
      param<&Params::negative>("negative", "Negative counts: refuse them, or take them as zero"),
      param<&Params::window>("window", range(1, 64), "The energy window of the file that is reconstructed, from 1"),
      param<&Params::lower_window>("lower_window", reads_file,
                                   "The same scan in the energy window below, where each window has its own file: "
                                   "view_corrections takes scatter from it"),
      param<&Params::upper_window>("upper_window", reads_file, "The same in the energy window above"),
      param<&Params::windows_keV>("windows_keV", range(0, 1e5), unit("keV"),
                                  "Lowest and highest energy of each window, where files do not say them: the "
                                  "reconstructed one's, the file's others', those of lower_window and upper_window"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params& /*p*/) { return {.note = "a view of the file's size is read at a time"}; }

  explicit ProjectionsSource(const Params& p) : reader_(opened(p.path, p, p.window)) {
    constexpr int first_window = 1;
    for (const auto& path : {p.lower_window, p.upper_window})
      if (!path.empty()) reader_->add_windows_of(opened(path, p, first_window));
    if (!p.windows_keV.empty()) reader_->set_energies(energies(p.windows_keV));
  }

  void run(Emit<ViewBatch>& emit, std::stop_token stop, Context& context) {
    context.log().info(reader_->summary());
    for (const std::string& note : reader_->notes()) context.log().info(note);
    std::int64_t done = 0;
    std::uint64_t counts = 0;
    while (!stop.stop_requested()) {
      auto view = reader_->next();
      if (!view) break;
      counts += view->event_count();
      context.books().received(view->event_count());
      context.progress(static_cast<double>(++done), static_cast<double>(reader_->views()), "views");
      emit(std::move(*view));
    }
    report(context, done, counts);
  }

 private:
  static std::unique_ptr<formats::ViewReader> opened(const std::filesystem::path& path, const Params& p, int window) {
    return formats::open_views(path, {.start_angle_deg = p.start_angle_deg,
                                      .direction = p.direction,
                                      .radius_mm = p.radius_mm,
                                      .flip_u = p.flip_u,
                                      .flip_w = p.flip_w,
                                      .zero = p.zero,
                                      .negative = p.negative,
                                      .window = window});
  }

  static std::vector<EnergyWindow> energies(const std::vector<float>& limits) {
    constexpr std::size_t each = 2;
    if (limits.size() % each != 0)
      throw std::invalid_argument("windows_keV needs two numbers for each energy window, its lower and upper limit");
    std::vector<EnergyWindow> windows;
    for (std::size_t i = 0; i < limits.size(); i += each) windows.push_back({limits[i], limits[i + 1]});
    return windows;
  }

  void report(Context& context, std::int64_t read, std::uint64_t counts) const {
    const ViewSet& set = *reader_->set();
    context.report("format", reader_->format());
    if (!set.name.empty()) context.report("camera", set.name);
    context.report("projections", reader_->summary());
    context.report("views", read);
    context.report("counts", static_cast<std::int64_t>(counts));
    if (reader_->clipped() == 0) return;
    context.report("clipped_counts", reader_->clipped());
    context.log().warning(
        fmt::format("negative counts became 0: {:g} in all, of {} counts", reader_->clipped(), counts));
  }

  std::unique_ptr<formats::ViewReader> reader_;
};

TOFSTREAM_GADGET(ProjectionsSource, "projections_source", "Reads projection data of a camera, view by view");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
