// `tofstream mu-map CT -o FILE`: attenuation at the photons' energy from a CT, by the bilinear law.
#include "gadgets/io/nifti/mu_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/dicom/ct_series.hpp"
#include "gadgets/io/image_file.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "kernels/analysis/block_means.hpp"
#include "kernels/correct/ct_attenuation.hpp"
#include "kernels/correct/isotopes.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

struct MuMapOptions {
  std::string ct, output, isotope;
  std::optional<double> energy_keV, voxel_mm;
  double ct_keV = usual_ct_keV;
  std::vector<float> shift_mm;
  bool json = false;
};

double photon_energy(const MuMapOptions& options) {
  if (options.energy_keV) return *options.energy_keV;
  if (options.isotope.empty())
    throw InputError("attenuation depends on the photons' energy: give --isotope, such as Tc-99m, or --energy-keV");
  const auto peaks = photopeaks_keV(options.isotope);
  if (peaks.size() > 1)
    throw InputError(
        fmt::format("{} has photopeaks at {:g} and {:g} keV: give that of the camera's window by --energy-keV",
                    options.isotope, peaks[0], peaks[1]));
  return peaks.front();
}

Image read_ct(const std::string& path) {
  require_readable(path);
  Image ct = formats::is_ct_series(path) ? formats::read_ct_series(path) : read_image_file(path);
  const auto [least, most] = std::ranges::minmax(ct.voxels.span());
  constexpr float between_air_and_water = -500;
  if (least > between_air_and_water)
    throw InputError(
        fmt::format("{}: its values go from {:g} to {:g}, and a CT in Hounsfield units has air, near -1000, "
                    "beside water at 0: is it one, and in that unit?",
                    path, least, most));
  return ct;
}

// Means of blocks as large as the wanted voxels, or the next smaller.
Image in_larger_voxels(const Image& image, double voxel_mm) {
  std::array<int, 3> factors{};
  for (int axis = 0; axis < 3; ++axis) {
    constexpr double rounding = 1e-3;
    const double fits = voxel_mm / static_cast<double>(image.grid.voxel_mm[axis]);
    factors[static_cast<std::size_t>(axis)] = std::max(1, static_cast<int>(std::floor(fits + rounding)));
  }
  return block_means(image, factors);
}

Image attenuation_of(const MuMapOptions& options, const HounsfieldToMu& convert) {
  Image mu = read_ct(options.ct);
  for (float& voxel : mu.voxels.span()) voxel = convert(voxel);
  if (!options.shift_mm.empty())
    mu.grid.origin_mm = mu.grid.origin_mm + Vec3{options.shift_mm[0], options.shift_mm[1], options.shift_mm[2]};
  return options.voxel_mm ? in_larger_voxels(mu, *options.voxel_mm) : mu;
}

nlohmann::ordered_json extents_of(const Grid& grid) {
  nlohmann::ordered_json extents;
  for (int axis = 0; axis < 3; ++axis) {
    const float edge = grid.voxel_mm[axis], low = grid.origin_mm[axis] - 0.5F * edge;
    extents.push_back({low, low + static_cast<float>(grid.size[axis]) * edge});
  }
  return extents;
}

void report(const MuMapOptions& options, const HounsfieldToMu& convert, double energy_keV, const Image& mu) {
  const Grid& grid = mu.grid;
  const auto extents = extents_of(grid);
  const float most = std::ranges::max(mu.voxels.span());
  if (options.json) {
    const nlohmann::ordered_json result{{"file", options.output},
                                        {"energy_keV", energy_keV},
                                        {"ct_keV", options.ct_keV},
                                        {"water_per_cm", convert.water()},
                                        {"bone_hounsfield", convert.bone_hounsfield()},
                                        {"largest_per_cm", most},
                                        {"extents_mm", extents}};
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("{}\n", options.output);
  fmt::print("at {:g} keV: water {:.4f} per cm, the largest voxel {:.4f}; cortical bone taken to have {:.0f} HU\n",
             energy_keV, convert.water(), most, convert.bone_hounsfield());
  fmt::print("{} x {} x {} voxels", grid.size[0], grid.size[1], grid.size[2]);
  for (int axis = 0; axis < 3; ++axis)
    fmt::print("{} {} {:.1f} to {:.1f}", axis == 0 ? ":" : ",", "xyz"[axis], extents[axis][0].get<float>(),
               extents[axis][1].get<float>());
  fmt::print(" mm\n");
}

void run(const MuMapOptions& options) {
  const double energy_keV = from_input([&] { return photon_energy(options); });
  const HounsfieldToMu convert = from_input([&] { return HounsfieldToMu(energy_keV, options.ct_keV); });
  const Image mu = from_input([&] { return attenuation_of(options, convert); });
  write_nifti(options.output, mu, {.description = mu_map_description(energy_keV)});
  report(options, convert, energy_keV, mu);
}

}  // namespace

void add_mu_map(Command& app) {
  auto& command = app.add_command("mu-map", "Make a map of attenuation at the photons' energy from a CT");
  auto options = std::make_shared<MuMapOptions>();
  command.add_option("ct", options->ct, "CT in Hounsfield units: NIfTI, or a folder with one series of DICOM")
      .required();
  command.add_option("-o,--out", options->output, "NIfTI file to write, in 1/cm as `mu_map` reads it").required();
  std::vector<std::string> isotopes = known_isotopes(Emission::single_photons);
  for (std::string& isotope : known_isotopes(Emission::positrons)) isotopes.push_back(std::move(isotope));
  const Option& isotope =
      command.add_option("--isotope", options->isotope, "At its photopeak: Tc-99m, I-123, F-18, ...")
          .suggests(isotopes);
  command.add_option("--energy-keV", options->energy_keV, "At this energy").within(30.0, 1000.0).excludes(isotope);
  command
      .add_option("--ct-keV", options->ct_keV,
                  "Effective energy of the CT's X-rays, which decides on bone; 70 to 80 for tubes of 120 to 140 kV")
      .within(30.0, 150.0)
      .shows_default();
  command
      .add_option(
          "--voxel-mm", options->voxel_mm,
          "Average over blocks of voxels of up to this edge, as coarse as the camera sees; none: the CT's voxels")
      .within(0.01, 100.0);
  command
      .add_option("--shift-mm", options->shift_mm,
                  "Move the map by x y z: from the CT's frame to that of the image, whose z is 0 in the views' middle")
      .expected(3);
  command.add_flag("--json", options->json, "Print JSON");
  command.footer(
      "Examples: tofstream mu-map ct.nii.gz --isotope Tc-99m --voxel-mm 4 -o mu.nii.gz\n"
      "          tofstream mu-map series --energy-keV 208.4 --shift-mm 0 0 412.5 -o mu.nii.gz\n"
      "Up to 0 HU: mu_water (1 + HU/1000); above in a straight line to cortical bone (NIST's coefficients).");
  command.on_run([options] { run(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
