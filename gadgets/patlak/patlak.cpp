// Parametric images from the frames of a dynamic scan: K_i and V by Patlak's plot, voxel by voxel.
#include "kernels/patlak/patlak.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/motion/signal_table.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/write/estimate_writer.hpp"
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
      param<&Params::input>("input", reads_file,
                            "The input function: a CSV with time_s, from the scan's start, and value, the activity of "
                            "plasma in the unit of the image"),
      param<&Params::region_mm>(
          "region_mm", range(-1e4, 1e4), unit("mm"),
          "Or: the centre of a ball in the image, as in the aorta, whose mean in each frame is taken "
          "for plasma"),
      param<&Params::region_radius_mm>("region_radius_mm", range(0.1, 500), unit("mm"), "The radius of that ball"),
      param<&Params::start_s>("start_s", range(0, 1e9), unit("s"),
                              "t*: from then on tissue is in equilibrium with plasma, and frames that begin later are "
                              "fitted"),
      param<&Params::uptake>("uptake", in_run_folder, "Name in the output folder of the image of K_i, in 1/min"),
      param<&Params::volume>("volume", in_run_folder, "Name in the output folder of the image of V, without a unit"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.host_bytes = 2 * inputs[0], .lower = "image.size", .note = "and the image of each frame"};
  }

  Patlak(const Params& p, Context& context) : p_(p) {
    if (p.input.empty() == !p.region_mm)
      throw std::invalid_argument("say where plasma is: give input, a CSV, or region_mm, a ball in the image");
    if (!p.input.empty()) read_input();
    context.output_file(p.uptake);
    context.output_file(p.volume);
  }

  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    require_voxels(*estimate);
    if (!estimate->step.ends_frame()) return;
    if (estimate->step.gate > 0) throw std::runtime_error("the images are of gates, not of frames: take framing");
    const ScanFrame& frame = estimate->step.frame;
    if (input_) require_input(frame, *input_);
    warn_of_decay(*estimate, context);
    frames_.push_back({frame, on_host(*estimate)});
  }

  void flush(Context& context) {
    if (frames_.empty())
      throw std::runtime_error("no frame came, which uptake could be seen in: take framing for subsets");
    if (p_.region_mm) input_ = input_of_region();
    std::vector<PatlakFrame> fitted;
    std::vector<const Image*> images;
    for (const Frame& frame : frames_) {
      if (frame.time.start_s < p_.start_s) continue;
      const double start_s = frame.time.start_s, end_s = start_s + frame.time.duration_s;
      fitted.push_back({input_->mean_of_integral(start_s, end_s), input_->mean(start_s, end_s), frame.time.duration_s});
      images.push_back(frame.image.get());
    }
    context.report("frames_fitted", static_cast<std::int64_t>(fitted.size()));
    constexpr double minute_s = 60;
    const PatlakFit fit = fit_of(fitted);
    write(p_.uptake, combined(images, fit.uptake, minute_s), "K_i by Patlak's plot", "1/min", context);
    write(p_.volume, combined(images, fit.volume, 1), "V by Patlak's plot", "", context);
  }

 private:
  struct Frame {
    ScanFrame time;
    std::shared_ptr<const Image> image;
  };

  void read_input() {
    const MotionSignal table = formats::read_signal_table(p_.input);
    try {
      if (table.value.empty()) throw std::invalid_argument("there is no column value");
      input_.emplace(table.time_s, table.value);
    } catch (const std::invalid_argument& error) {
      throw std::runtime_error(fmt::format("{}: {}", p_.input.string(), error.what()));
    }
  }

  void require_input(const ScanFrame& frame, const InputFunction& input) const {
    const double end_s = frame.start_s + frame.duration_s;
    if (end_s > input.end_s() * (1 + 1e-9))
      throw std::runtime_error(fmt::format(
          "{}: the input function ends at {:g} s, before frame {} does, at {:g} s: give all of it, or fewer "
          "frames",
          p_.input.string(), input.end_s(), frame.number, end_s));
  }

  void warn_of_decay(const Estimate& estimate, Context& context) {
    if (warned_ || !estimate.quantity) return;
    if ((*estimate.quantity)[Correction::decay].state != CorrectionState::called_for) return;
    warned_ = true;
    context.log().warning(
        "the frames are not corrected for decay, so K_i is too low: give event_corrections the isotope's decay");
  }

  // At the middles of frames. Its ends are those of the first and last frame, as the mean of each.
  InputFunction input_of_region() const {
    std::vector<double> time_s, activity;
    for (const Frame& frame : frames_) {
      time_s.push_back(frame.time.start_s + 0.5 * frame.time.duration_s);
      activity.push_back(mean_in_region(*frame.image));
    }
    time_s.push_back(frames_.back().time.start_s + frames_.back().time.duration_s);
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

  PatlakFit fit_of(const std::vector<PatlakFrame>& frames) const {
    if (frames.size() < 2)
      throw std::runtime_error(fmt::format(
          "{} of {} frames begin at or after start_s ({:g} s), and two are needed: lower start_s, or scan longer",
          frames.size(), frames_.size(), p_.start_s));
    try {
      return patlak_fit(frames);
    } catch (const std::invalid_argument& error) {
      throw std::runtime_error(error.what());
    }
  }

  static Image combined(const std::vector<const Image*>& images, const std::vector<double>& weights, double scale) {
    Image sum = Image::zeros(images[0]->grid);
    for (std::int64_t v = 0; v < sum.voxels.size(); ++v) {
      double value = 0;
      for (std::size_t f = 0; f < images.size(); ++f) value += weights[f] * static_cast<double>(images[f]->voxels[v]);
      sum.voxels[v] = static_cast<float>(scale * value);
    }
    return sum;
  }

  static void write(const std::filesystem::path& file, const Image& image, const std::string& what,
                    const std::string& of, Context& context) {
    write_nifti(context.output_file(file), image, {.description = "tofstream, " + what, .unit = of, .comment = {}});
  }

  Params p_;
  std::optional<InputFunction> input_;
  std::vector<Frame> frames_;
  bool warned_ = false;
};

TOFSTREAM_GADGET(Patlak, "patlak", "Writes images of K_i and V, from frames and an input function, by Patlak's plot");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
