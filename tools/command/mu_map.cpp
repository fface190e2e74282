// `tofstream mu-map CT -o FILE`: attenuation at the photons' energy from a CT, by the bilinear law: at 511 keV that of
// the tube's voltage where it is known, else that of NIST's tables.
#include "gadgets/io/nifti/mu_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/affine_file.hpp"
#include "gadgets/io/ct_file.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/nifti/posed_mu_map.hpp"
#include "gadgets/io/picture/image_view.hpp"
#include "gadgets/io/shared_files.hpp"
#include "kernels/analysis/block_means.hpp"
#include "kernels/correct/ct_attenuation.hpp"
#include "kernels/correct/isotopes.hpp"
#include "kernels/filter/smooth_within.hpp"
#include "kernels/grid/resample.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

struct MuMapOptions {
  std::string ct, output, isotope, affine, png;
  std::vector<std::string> added;
  std::optional<double> energy_keV, voxel_mm, kvp, ct_keV;
  double smooth_mm = 0;
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

/// Where the CT lies in the image's frame.
Affine pose_of(const MuMapOptions& options, const Affine& ct_to_world) {
  Affine pose = options.affine.empty() ? ct_to_world : formats::read_affine(options.affine).after(ct_to_world);
  if (!options.shift_mm.empty())
    pose.shift_mm = pose.shift_mm + Vec3{options.shift_mm[0], options.shift_mm[1], options.shift_mm[2]}.as<double>();
  return pose;
}

// Smoothed, then along x, y and z, in larger voxels where these are wanted: their means know nothing finer.
Image on_axes(const MuMapOptions& options, PosedImage mu) {
  const Affine pose = pose_of(options, mu.to_world);
  const auto fwhm_mm = static_cast<float>(options.smooth_mm);
  if (pose.is_shift()) {
    mu.image.grid.origin_mm = mu.image.grid.origin_mm + pose.shift_mm.as<float>();
    smooth_within(mu.image, {fwhm_mm, fwhm_mm, fwhm_mm});
    return options.voxel_mm ? in_larger_voxels(mu.image, *options.voxel_mm) : std::move(mu.image);
  }
  try {
    const Grid grid = grid_around(mu.image.grid, pose, options.voxel_mm);
    smooth_within(mu.image, fwhm_before_resampling(mu.image.grid, pose, options.smooth_mm));
    return resampled(mu.image, pose, grid);
  } catch (const std::invalid_argument& error) {
    throw InputError(fmt::format("{}: {}", options.affine.empty() ? options.ct : options.affine, error.what()));
  }
}

using Extent = std::array<float, 2>;  // from and to, mm

std::array<Extent, 3> extents_of(const Grid& grid) {
  std::array<Extent, 3> extents{};
  for (int axis = 0; axis < 3; ++axis) {
    const float edge = grid.voxel_mm[axis], low = grid.origin_mm[axis] - 0.5F * edge;
    extents[static_cast<std::size_t>(axis)] = {low, low + static_cast<float>(grid.size[axis]) * edge};
  }
  return extents;
}

std::string words_of(const std::array<Extent, 3>& extents) {
  return fmt::format("x {:.1f} to {:.1f}, y {:.1f} to {:.1f}, z {:.1f} to {:.1f} mm", extents[0][0], extents[0][1],
                     extents[1][0], extents[1][1], extents[2][0], extents[2][1]);
}

void require_overlap(const std::string& added, const Grid& its, const Grid& map) {
  const auto a = extents_of(its), b = extents_of(map);
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (!(a[axis][0] <= b[axis][1] && b[axis][0] <= a[axis][1]))
      throw InputError(
          fmt::format("{}: it lies at {}, and the CT's map at {}: they have nothing in common. Give it in the image's "
                      "frame, into which --shift-mm and --affine move the CT",
                      added, words_of(a), words_of(b)));
}

/// The map, extended where it must be, with another added to it.
Image with_added(const Image& mu, const std::string& file, double energy_keV) {
  require_readable(file);
  const PosedImage added = read_posed_mu_map(file);
  require_per_cm(file, added.image);
  if (const auto stated_keV = mu_map_energy_keV(file); !other_mu_energy(file, stated_keV, energy_keV).empty())
    throw InputError(fmt::format("{}: its attenuation is that of photons of {:g} keV, and the map is made for {:g} keV",
                                 file, *stated_keV, energy_keV));
  require_overlap(file, grid_around(added.image.grid, added.to_world), mu.grid);
  const Grid grid = grid_with(mu.grid, added.image, added.to_world);
  Image sum = resampled(mu, {}, grid);
  const Image more = resampled(added.image, added.to_world, grid);
  constexpr float per_mm_to_per_cm = 10;
  for (std::int64_t v = 0; v < sum.voxels.size(); ++v) sum.voxels[v] += per_mm_to_per_cm * more.voxels[v];
  return sum;
}

Image attenuation_of(const MuMapOptions& options, PosedImage ct, const HounsfieldToMu& convert, double energy_keV) {
  for (float& voxel : ct.image.voxels.span()) voxel = convert(voxel);
  Image mu = on_axes(options, std::move(ct));
  for (const std::string& added : options.added) mu = with_added(mu, added, energy_keV);
  return mu;
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
  if (options.smooth_mm > 0) result["smooth_mm"] = options.smooth_mm;
  if (!options.added.empty()) result["added"] = options.added;
  result["extents_mm"] = extents_of(mu.grid);
  return result;
}

void report(const MuMapOptions& options, const Law& law, double energy_keV, const Image& mu) {
  if (options.json) {
    fmt::print("{}\n", as_json(options, law, energy_keV, mu).dump(2));
    return;
  }
  const Grid& grid = mu.grid;
  fmt::print("{}\n", options.output);
  fmt::print("at {:g} keV: water {:.4f} per cm, the largest voxel {:.4f}; cortical bone taken to have {:.0f} HU ({})\n",
             energy_keV, law.convert.water(), std::ranges::max(mu.voxels.span()), law.convert.bone_hounsfield(),
             words_of(law));
  fmt::print("{} x {} x {} voxels: {}\n", grid.size[0], grid.size[1], grid.size[2], words_of(extents_of(grid)));
}

void draw(const std::string& png, const Image& mu, double energy_keV) {
  from_input([&] {
    write_view_png(png, mu, {.title = fmt::format("Attenuation at {:g} keV", energy_keV), .unit = "1/cm"});
    return 0;
  });
}

void run(const MuMapOptions& options) {
  const double energy_keV = from_input([&] { return photon_energy(options); });
  formats::CtSeries ct = from_input([&] { return formats::read_ct_file(options.ct); });
  const Law law = from_input([&] { return law_for(options, energy_keV, ct.kvp); });
  const Image mu = from_input([&] { return attenuation_of(options, std::move(ct.posed), law.convert, energy_keV); });
  write_nifti(options.output, mu, {.description = mu_map_description(energy_keV)});
  if (!options.png.empty()) draw(options.png, mu, energy_keV);
  report(options, law, energy_keV, mu);
}

}  // namespace

void add_mu_map(Command& app) {
  auto& command = app.add_command("mu-map", "Make a map of attenuation at the photons' energy from a CT");
  auto options = std::make_shared<MuMapOptions>();
  command
      .add_option("ct", options->ct,
                  "CT in Hounsfield units: NIfTI, or a folder with one series of DICOM; oblique ones are resampled")
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
  command
      .add_option(
          "--affine", options->affine,
          "Move the map by the 4 x 4 matrix of this text file, which takes points of the CT's frame to those of "
          "the image's, both in mm as DICOM has them (LPS); --shift-mm comes after it")
      .value_name("FILE");
  command
      .add_option("--smooth-mm", options->smooth_mm,
                  "Smooth the CT's attenuation by a Gaussian of this FWHM, as wide as the PET's or camera's resolution")
      .within(0.0, 100.0);
  command
      .add_option("--add", options->added,
                  "Add this map in 1/cm, of a bed or a coil, which lies in the image's frame; may be given again")
      .value_name("MAP")
      .one_a_time();
  command.add_option("--png", options->png, "Draw the map into this file").value_name("FILE");
  command.add_flag("--json", options->json, "Print JSON");
  command.footer(
      "Examples: tofstream mu-map ct.nii.gz --isotope Tc-99m --voxel-mm 4 -o mu.nii.gz\n"
      "          tofstream mu-map series --energy-keV 208.4 --shift-mm 0 0 412.5 -o mu.nii.gz\n"
      "          tofstream mu-map series --isotope F-18 --voxel-mm 2 --smooth-mm 4 --affine ct_to_pet.txt --add "
      "bed.nii.gz "
      "--png mu.png -o mu.nii.gz\n"
      "Up to about 0 HU: mu_water (1 + HU/1000); above another straight line, for bone. At 511 keV it is that of the\n"
      "tube's voltage (Carney et al. 2006) where --kvp or DICOM tell it, else from NIST's coefficients.");
  command.on_run([options] { run(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
