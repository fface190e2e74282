// Single scatter of the last image, as the file that event_corrections reads.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/ring/io/scatter_nifti.hpp"
#include "gadgets/ring/io/scatter_scanner.hpp"
#include "gadgets/write/estimate_writer.hpp"

namespace tofstream {
namespace {

struct ScatterWriter {
  struct Params {
    std::string scanner;
    std::filesystem::path recording;
    std::filesystem::path mu_map;
    bool tof = true;
    double point_mm = 20;
    std::filesystem::path file = "scatter.nii.gz";
  };
  static constexpr auto params = describe(
      param<&Params::scanner>("scanner", reads_one_of("scanners"), "A scanner of share/scanners, or a YAML file"),
      param<&Params::recording>("recording", reads_file,
                                "Or a recording in PETSIRD, whose header describes the scanner"),
      param<&Params::mu_map>("mu_map", required, reads_file, mu_map_words),
      param<&Params::tof>("tof", "By ToF, where the scanner has it; false: the scatter of whole lines"),
      param<&Params::point_mm>(
          "point_mm", range(2, 200), unit("mm"),
          "Distance between scatter points: at most as large as the smallest hot object; half of it "
          "takes eight times as long"),
      param<&Params::file>("file", in_run_folder, "Name in the output folder, .nii or .nii.gz"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& /*p*/) {
    return {.note =
                "holds the image, its mu map, and some hundred MB of what lies between scatter points and detectors"};
  }

  ScatterWriter(const Params& p, Context& context) : p_(p), path_(context.output_file(p.file)) {
    const std::string name = p.file.string();
    if (!name.ends_with(".nii") && !name.ends_with(".nii.gz"))
      throw std::invalid_argument(fmt::format("file must end in .nii or .nii.gz, not {}", name));
    if (p.scanner.empty() == p.recording.empty())
      throw std::invalid_argument("give the scanner either by scanner or by a recording that was made with it");
    scanner_ = scatter_scanner(p.recording.empty() ? find_shared("scanners", p.scanner) : p.recording);
    const Image mu = read_mu_map(p.mu_map);
    mu_checksum_ = checksum_of_mu_map(mu);
    scatter_.emplace(mu, scanner_.detectors, p.point_mm);
  }

  void process(std::shared_ptr<const Estimate> estimate) {
    require_voxels(*estimate);
    last_ = estimate;
  }

  void flush(Context& context) {
    if (!last_ || !last_->image || last_->step.iteration == 0)
      return context.log().warning("no image came: no scatter is written");
    context.log().info(fmt::format("single scatter at {} points", scatter_->points()));
    warn_of_attenuation(context);
    constexpr double reach_of_lines = 0.9;  // of the detectors' radius
    const ScatterSampling sampling = ScatterSampling::of(reach_of_lines * scanner_.detectors.radius_mm,
                                                         scanner_.half_length_mm, p_.tof ? scanner_.tof_sigma_mm : 0);
    ScatterEstimate estimate = scatter_->estimate(*on_host(*last_), sampling);
    // The image counts decays in so many seconds, the estimate those in one.
    const double reference_s = last_->quantity ? last_->quantity->reference_s : 0;
    if (reference_s > 0)
      for (float& value : estimate.values) value /= static_cast<float>(reference_s);
    write_scatter(path_, estimate);
    context.report("file", path_.string());
    context.report("scatter_points", scatter_->points());
  }

 private:
  /// Of an image that is too low inside the body, scatter is too low as well.
  void warn_of_attenuation(Context& context) const {
    if (!last_->quantity) return;
    const Quantity& quantity = *last_->quantity;
    const AttenuatedBy& by = quantity.attenuated_by;
    if (quantity[Correction::attenuation].state == CorrectionState::called_for)
      context.log().warning(
          "the image is not corrected for attenuation, and its scatter is as wrong as it is: give the projector (and "
          "event_corrections) the mu map too, at the pipeline's top");
    else if (!by.mu_map.empty() && by.checksum != mu_checksum_)
      context.log().warning(
          fmt::format("scatter is made in {}, and the image was corrected for attenuation by another map, {}",
                      p_.mu_map.string(), by.mu_map));
  }

  Params p_;
  std::filesystem::path path_;
  ScatterScanner scanner_;
  std::uint32_t mu_checksum_ = 0;
  std::optional<SingleScatter> scatter_;
  std::shared_ptr<const Estimate> last_;
};

TOFSTREAM_GADGET(ScatterWriter, "scatter_writer",
                 "Estimates the single scatter of the last image, as the file that event_corrections reads");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
