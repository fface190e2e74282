// Parametric images from the frames of a dynamic scan: K_i and V by Patlak's plot, voxel by voxel.
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/dynamic/frame_fit.hpp"
#include "gadgets/io/dynamic/time_functions.hpp"
#include "kernels/math/vec3.hpp"

namespace tofstream {
namespace {

struct Patlak {
  struct Params {
    std::filesystem::path input;
    std::optional<std::array<float, 3>> region_mm;
    float region_radius_mm = 5;
    double start_s = 1200;
    std::filesystem::path uptake = "ki.nii.gz";
    std::filesystem::path volume = "v.nii.gz";
  };
  static constexpr auto params = describe(
      param<&Params::input>("input", reads_file, plasma_words),
      param<&Params::region_mm>(
          "region_mm", range(-1e4, 1e4), unit("mm"),
          "Or: the centre of a ball in the image, as in the aorta, whose mean in each frame is taken "
          "for plasma"),
      param<&Params::region_radius_mm>("region_radius_mm", range(0.1, 500), unit("mm"), "The radius of that ball"),
      param<&Params::start_s>("start_s", range(0, 1e9), unit("s"),
                              "t*: from then on tissue is in equilibrium with plasma, and frames that begin later are "
                              "fitted"),
      param<&Params::uptake>("uptake", in_run_folder, uptake_words),
      param<&Params::volume>("volume", in_run_folder, volume_words));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.host_bytes = 2 * inputs[0], .lower = "image.size", .note = "and the image of each frame"};
  }

  Patlak(const Params& p, Context& context) : p_(p) {
    if (p.input.empty() == !p.region_mm)
      throw std::invalid_argument("say where plasma is: give input, a CSV, or region_mm, a ball in the image");
    if (!p.input.empty()) functions_ = of_plasma(formats::read_time_function(p.input));
    context.output_file(p.uptake);
    context.output_file(p.volume);
  }

  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    fit_.take(*estimate, functions_ ? &*functions_ : nullptr, context);
  }

  void flush(Context& context) {
    if (p_.region_mm) functions_ = of_plasma(plasma_of_region());
    fit_.write(*functions_, p_.start_s, context);
  }

 private:
  FrameFunctions of_plasma(TimeFunction plasma) const {
    return FrameFunctions::of_plasma(std::move(plasma), p_.input, p_.uptake, p_.volume);
  }

  // At the middles of frames. Its ends are those of the first and last frame, as the mean of each.
  TimeFunction plasma_of_region() const {
    std::vector<double> time_s, activity;
    for (const FrameFit::Frame& frame : fit_.frames()) {
      time_s.push_back(frame.time.start_s + 0.5 * frame.time.duration_s);
      activity.push_back(mean_in_region(*frame.image));
    }
    const ScanFrame& last = fit_.frames().back().time;
    time_s.push_back(last.start_s + last.duration_s);
    activity.push_back(activity.back());
    return {time_s, activity};
  }

  double mean_in_region(const Image& image) const {
    const Vec3d centre{(*p_.region_mm)[0], (*p_.region_mm)[1], (*p_.region_mm)[2]};
    const Grid& grid = image.grid;
    double sum = 0, voxels = 0;
    for (int k = 0; k < grid.size[2]; ++k)
      for (int j = 0; j < grid.size[1]; ++j)
        for (int i = 0; i < grid.size[0]; ++i) {
          if (norm(grid.centre(i, j, k).as<double>() - centre) > static_cast<double>(p_.region_radius_mm)) continue;
          sum += static_cast<double>(image.voxels[grid.index(i, j, k)]);
          ++voxels;
        }
    if (voxels == 0)
      throw std::runtime_error("region_mm: no voxel's centre lies in the ball: it is too small, or outside");
    return sum / voxels;
  }

  Params p_;
  std::optional<FrameFunctions> functions_;  // once plasma is known
  FrameFit fit_;
};

TOFSTREAM_GADGET(Patlak, "patlak", "Writes images of K_i and V, from frames and an input function, by Patlak's plot");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
