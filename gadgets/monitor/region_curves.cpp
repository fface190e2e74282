// Curves of regions over time, while the scan runs: the mean of each region in each frame as soon as the frame's image is
// complete.
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "core/gadget.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "gadgets/write/estimate_writer.hpp"
#include "kernels/analysis/roi.hpp"

namespace tofstream {
namespace {

struct RegionCurves {
  struct Params {
    std::string phantom;
    std::filesystem::path file = "curves.csv";
  };
  static constexpr auto params =
      describe(param<&Params::phantom>("phantom", required, reads_one_of("phantoms"),
                                       "A phantom of share/phantoms or a YAML file, whose regions that are a sphere or "
                                       "a disc are measured"),
               param<&Params::file>("file", in_run_folder,
                                    "Name of the CSV in the output folder: start_s, duration_s, and a column for each "
                                    "region"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;

  RegionCurves(const Params& p, Context& context) : p_(p) {
    for (formats::PhantomRegion& region : formats::read_phantom(find_shared("phantoms", p.phantom)).regions)
      if (region.slices_mm.empty()) curves_.push_back({std::move(region), {}});
    if (curves_.empty())
      throw std::invalid_argument(fmt::format(
          "phantom {} has no region that is a sphere or a disc: give it `regions`, as cylinder_35cm has", p.phantom));
    context.output_file(p.file);
  }

  void process(const std::shared_ptr<const Estimate>& estimate, Context& context) {
    require_voxels(*estimate);
    if (estimate->step.gate > 0)
      throw std::runtime_error("gates have no place in time: take `tofstream analyse`, or frames");
    const bool is_start = estimate->step.iteration == 0;
    if (!is_start && !estimate->step.ends_frame()) return;
    const std::shared_ptr<const Image> image = on_host(*estimate);
    if (is_start) {  // a region beyond the image is told before any frame is reconstructed
      for (const Curve& curve : curves_) mean_of(*image, curve.region);
      return;
    }
    const ScanFrame& frame = estimate->step.frame;
    starts_s_.push_back(frame.start_s);
    durations_s_.push_back(frame.duration_s);
    middles_s_.push_back(frame.start_s + 0.5 * frame.duration_s);
    for (Curve& curve : curves_) curve.means.push_back(mean_of(*image, curve.region));
    context.report("curve_time_s", middles_s_);
    context.report("curve_unit", unit_of(*estimate));
    for (const Curve& curve : curves_) context.report("curve " + curve.region.name, curve.means);
  }

  void flush(Context& context) const {
    if (starts_s_.empty())
      return context.log().warning("no frame was completed, so there are no curves: they are of `framing`'s frames");
    AtomicFile written(context.output_file(p_.file));
    written.write(table());
    written.commit();
  }

 private:
  struct Curve {
    formats::PhantomRegion region;
    std::vector<double> means;
  };

  static double mean_of(const Image& image, const formats::PhantomRegion& region) try {
    const auto centre = region.centre_mm.as<float>();
    const auto radius = static_cast<float>(region.diameter_mm / 2);
    return region.across ? statistics(image, Disc{centre, radius, *region.across}).mean
                         : statistics(image, Sphere{centre, radius}).mean;
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("region {}: {}", region.name, error.what()));
  }

  std::string table() const {
    std::string text = "start_s,duration_s";
    for (const Curve& curve : curves_) text += "," + quoted(curve.region.name);
    text += '\n';
    for (std::size_t frame = 0; frame < starts_s_.size(); ++frame) {
      text += fmt::format("{:.6f},{:.6f}", starts_s_[frame], durations_s_[frame]);
      for (const Curve& curve : curves_) text += fmt::format(",{:.6g}", curve.means[frame]);
      text += '\n';
    }
    return text;
  }

  /// As RFC 4180 has it.
  static std::string quoted(const std::string& name) {
    if (name.find_first_of(",\"\n") == std::string::npos) return name;
    std::string text = "\"";
    for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + '"';
  }

  Params p_;
  std::vector<Curve> curves_;
  std::vector<double> starts_s_, durations_s_, middles_s_;
};

TOFSTREAM_GADGET(RegionCurves, "region_curves",
                 "Measures regions in each frame as it is completed: curves over time, which the live page draws");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
