// `tofstream mu-map CT -o FILE`: attenuation at the photons' energy from a CT, by the bilinear law: at 511 keV that of
// the tube's voltage where it is known, else that of NIST's tables.
#include "gadgets/io/nifti/mu_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

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
  std::optional<double> energy_keV, voxel_mm, kvp, ct_keV;
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

formats::CtSeries read_ct(const std::string& path) {
  require_readable(path);
  formats::CtSeries ct =
      formats::is_ct_series(path) ? formats::read_ct_series(path) : formats::CtSeries{read_image_file(path), {}};
  const auto [least, most] = std::ranges::minmax(ct.image.voxels.span());
  constexpr float between_air_and_water = -500;
  if (least > between_air_and_water)
    throw InputError(
        fmt::format("{}: its values go from {:g} to {:g}, and a CT in Hounsfield units has air, near -1000, "
                    "beside water at 0: is it one, and in that unit?",
                    path, least, most));
  return ct;
}

struct Law {
  HounsfieldToMu convert;
  std::optional<double> kvp, ct_keV;  // one of them
};

constexpr auto* other_laws =
    "give the nearest of these by --kvp, or by --ct-keV the effective energy of its X-rays for NIST's tables";

Law of_tube(double kvp, const std::string& whose) {
  try {
    return {HounsfieldToMu::of_tube(kvp), kvp, {}};
  } catch (const std::invalid_argument& unknown) {
    throw InputError(fmt::format("{}{}: {}", whose, unknown.what(), other_laws));
  }
}

// What the options say goes before what the CT's file does.
Law law_for(const MuMapOptions& options, double energy_keV, std::optional<double> file_kvp) {
  const bool is_pet = is_annihilation_energy(energy_keV);
  if (options.kvp && !is_pet)
    throw InputError(fmt::format(
        "--kvp: the law by tube voltage is that of photons of 511 keV, and these have {:g} keV: give --ct-keV",
        energy_keV));
  if (options.kvp) return of_tube(*options.kvp, "--kvp: ");
  if (!options.ct_keV && file_kvp && is_pet) return of_tube(*file_kvp, options.ct + ": ");
  const double ct_keV = options.ct_keV.value_or(usual_ct_keV);
  return {HounsfieldToMu(energy_keV, ct_keV), {}, ct_keV};
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

Image attenuation_of(const MuMapOptions& options, Image ct, const HounsfieldToMu& convert) {
  for (float& voxel : ct.voxels.span()) voxel = convert(voxel);
  if (!options.shift_mm.empty())
    ct.grid.origin_mm = ct.grid.origin_mm + Vec3{options.shift_mm[0], options.shift_mm[1], options.shift_mm[2]};
  return options.voxel_mm ? in_larger_voxels(ct, *options.voxel_mm) : std::move(ct);
}

nlohmann::ordered_json extents_of(const Grid& grid) {
  nlohmann::ordered_json extents;
  for (int axis = 0; axis < 3; ++axis) {
    const float edge = grid.voxel_mm[axis], low = grid.origin_mm[axis] - 0.5F * edge;
    extents.push_back({low, low + static_cast<float>(grid.size[axis]) * edge});
  }
  return extents;
}

std::string words_of(const Law& law) {
  return law.kvp ? fmt::format("the law of a tube of {:g} kV", *law.kvp)
                 : fmt::format("NIST's tables for X-rays of {:g} keV", *law.ct_keV);
}

nlohmann::ordered_json as_json(const MuMapOptions& options, const Law& law, double energy_keV, const Image& mu) {
  nlohmann::ordered_json result{{"file", options.output}, {"energy_keV", energy_keV}};
  if (law.kvp) result["kvp"] = *law.kvp;
  if (law.ct_keV) result["ct_keV"] = *law.ct_keV;
  result["water_per_cm"] = law.convert.water();
  result["bone_hounsfield"] = law.convert.bone_hounsfield();
  result["largest_per_cm"] = std::ranges::max(mu.voxels.span());
  result["extents_mm"] = extents_of(mu.grid);
  return result;
}

void report(const MuMapOptions& options, const Law& law, double energy_keV, const Image& mu) {
  if (options.json) {
    fmt::print("{}\n", as_json(options, law, energy_keV, mu).dump(2));
    return;
  }
  const Grid& grid = mu.grid;
  const auto extents = extents_of(grid);
  fmt::print("{}\n", options.output);
  fmt::print("at {:g} keV: water {:.4f} per cm, the largest voxel {:.4f}; cortical bone taken to have {:.0f} HU ({})\n",
             energy_keV, law.convert.water(), std::ranges::max(mu.voxels.span()), law.convert.bone_hounsfield(),
             words_of(law));
  fmt::print("{} x {} x {} voxels", grid.size[0], grid.size[1], grid.size[2]);
  for (int axis = 0; axis < 3; ++axis)
    fmt::print("{} {} {:.1f} to {:.1f}", axis == 0 ? ":" : ",", "xyz"[axis], extents[axis][0].get<float>(),
               extents[axis][1].get<float>());
  fmt::print(" mm\n");
}

void run(const MuMapOptions& options) {
  const double energy_keV = from_input([&] { return photon_energy(options); });
  formats::CtSeries ct = from_input([&] { return read_ct(options.ct); });
  const Law law = from_input([&] { return law_for(options, energy_keV, ct.kvp); });
  const Image mu = from_input([&] { return attenuation_of(options, std::move(ct.image), law.convert); });
  write_nifti(options.output, mu, {.description = mu_map_description(energy_keV)});
  report(options, law, energy_keV, mu);
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
  const Option& kvp = command.add_option(
      "--kvp", options->kvp,
      "Voltage of the CT's tube in kV, for the law of Carney et al. at 511 keV: 80, 100, 110, 120, 130 or 140; none: "
      "what DICOM says of it");
  command
      .add_option("--ct-keV", options->ct_keV,
                  "In place of a voltage the effective energy of the CT's X-rays, which decides on bone: 70 to 80 for "
                  "tubes of 120 to 140 kV; 75 where neither is known")
      .within(30.0, 150.0)
      .excludes(kvp);
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
      "Up to about 0 HU: mu_water (1 + HU/1000); above another straight line, for bone. At 511 keV it is that of the\n"
      "tube's voltage (Carney et al. 2006) where --kvp or DICOM tell it, else from NIST's coefficients.");
  command.on_run([options] { run(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
