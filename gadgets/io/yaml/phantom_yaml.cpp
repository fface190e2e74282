// Phantoms from YAML: see phantom_yaml.hpp.
#include "gadgets/io/yaml/phantom_yaml.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gadgets/io/yaml/described_file.hpp"

namespace tofstream::formats {

constexpr auto enum_names(RegionRole) {
  return names(RegionRole::hot, "hot", RegionRole::cold, "cold", RegionRole::lung, "lung", RegionRole::background,
               "background", RegionRole::mean, "mean", RegionRole::contrast, "contrast", RegionRole::noise, "noise");
}

namespace {

using Numbers3 = std::array<double, 3>;

Vec3d vector_of(const Numbers3& numbers) {
  return {numbers[0], numbers[1], numbers[2]};
}

enum class SolidShape { sphere, ellipsoid, cylinder, box, rods };
constexpr auto enum_names(SolidShape) {
  return names(SolidShape::sphere, "sphere", SolidShape::ellipsoid, "ellipsoid", SolidShape::cylinder, "cylinder",
               SolidShape::box, "box", SolidShape::rods, "rods");
}

enum class SolidAxis { x, y, z };
constexpr auto enum_names(SolidAxis) {
  return names(SolidAxis::x, "x", SolidAxis::y, "y", SolidAxis::z, "z");
}

constexpr Limits length = range(1e-3, 1e4);

// Whatever a solid may have; which keys go with which shape is in keys_of().
struct SolidFile {
  SolidShape shape = SolidShape::sphere;
  std::string name;
  std::optional<double> activity_Bq_mL, mu_per_cm;
  Numbers3 centre_mm{}, rotation_deg{}, half{}, half_axes_mm{}, size_mm{};
  double diameter_mm = 0, radius_mm = 0, length_mm = 0, angle_deg = 0, width_deg = 60, inner_mm = 0;
  std::optional<double> spacing_mm;
  std::optional<std::array<double, 2>> radii_mm;
  static constexpr auto params = describe(
      param<&SolidFile::shape>("shape", required, "sphere, ellipsoid, cylinder, box or rods"),
      param<&SolidFile::name>("name", "For people"),
      param<&SolidFile::activity_Bq_mL>("activity_Bq_mL", range(0, 1e15), unit("Bq/mL"), "Activity concentration"),
      param<&SolidFile::mu_per_cm>("mu_per_cm", range(0, 100), unit("1/cm"),
                                   "Its attenuation, at mu_keV of the phantom"),
      param<&SolidFile::centre_mm>("centre_mm", unit("mm"), "Its centre"),
      param<&SolidFile::rotation_deg>("rotation_deg", unit("degrees"), "Turns about x, then y, then z"),
      param<&SolidFile::half>("half", "Keeps only the half towards this direction"),
      param<&SolidFile::half_axes_mm>("half_axes_mm", unit("mm"), "Half axes of an ellipsoid"),
      param<&SolidFile::size_mm>("size_mm", unit("mm"), "Edges of a box"),
      param<&SolidFile::diameter_mm>("diameter_mm", length, unit("mm"), "Diameter of a sphere, or of each rod"),
      param<&SolidFile::radius_mm>("radius_mm", length, unit("mm"), "Radius of a cylinder, or of the sector of rods"),
      param<&SolidFile::radii_mm>("radii_mm", unit("mm"), "Half axes of an elliptic cylinder"),
      param<&SolidFile::length_mm>("length_mm", length, unit("mm"), "Length of a cylinder, or of rods"),
      param<&SolidFile::spacing_mm>("spacing_mm", length, unit("mm"),
                                    "Between centres of rods; none: twice their diameter"),
      param<&SolidFile::angle_deg>("angle_deg", range(-360, 360), unit("degrees"), "Direction of the sector's middle"),
      param<&SolidFile::width_deg>("width_deg", range(1, 180), unit("degrees"), "Width of the sector"),
      param<&SolidFile::inner_mm>("inner_mm", range(0, 1e4), unit("mm"), "From the centre to the sector's first rods"));
};

struct ShapeKeys {
  std::vector<std::string_view> needed, optional;
};

ShapeKeys keys_of(const SolidFile& solid) {
  switch (solid.shape) {
    case SolidShape::sphere:
      return {{"diameter_mm"}, {"centre_mm"}};
    case SolidShape::ellipsoid:
      return {{"half_axes_mm"}, {"centre_mm", "rotation_deg", "half"}};
    case SolidShape::box:
      return {{"size_mm"}, {"centre_mm", "rotation_deg", "half"}};
    case SolidShape::rods:
      return {{"diameter_mm", "angle_deg", "radius_mm", "length_mm"},
              {"centre_mm", "spacing_mm", "width_deg", "inner_mm"}};
    case SolidShape::cylinder:
      break;
  }
  if (solid.radii_mm) return {{"radii_mm", "length_mm"}, {"centre_mm", "rotation_deg", "half"}};
  return {{"radius_mm", "length_mm"}, {"centre_mm", "rotation_deg", "half"}};
}

void check_keys(const SolidFile& solid, const Value& written, const std::string& what, Problems& problems) {
  constexpr std::array<std::string_view, 4> of_all = {"shape", "name", "activity_Bq_mL", "mu_per_cm"};
  const ShapeKeys keys = keys_of(solid);
  const std::string shape = written.find("shape")->text;
  for (const std::string_view key : keys.needed)
    if (!written.find(key)) problems.add(written.where, fmt::format("{}: '{}' needs '{}'", what, shape, key));
  const auto is_in = [](const auto& list, std::string_view key) { return std::ranges::find(list, key) != list.end(); };
  for (const Value::Entry& entry : written.entries)
    if (!is_in(of_all, entry.key) && !is_in(keys.needed, entry.key) && !is_in(keys.optional, entry.key))
      problems.add(entry.where, fmt::format("{}: '{}' has no '{}'; it has {}, and may have {}", what, shape, entry.key,
                                            fmt::join(keys.needed, ", "), fmt::join(keys.optional, ", ")));
  if (!solid.activity_Bq_mL && !solid.mu_per_cm)
    problems.add(written.where, fmt::format("{} needs 'activity_Bq_mL', 'mu_per_cm' or both", what));
}

std::vector<Solid> shapes_of(const SolidFile& solid) {
  const Vec3d centre = vector_of(solid.centre_mm), rotation = vector_of(solid.rotation_deg);
  const Vec3d half = vector_of(solid.half);
  const double half_length = 0.5 * solid.length_mm;
  switch (solid.shape) {
    case SolidShape::rods:
      return rods_of({.diameter_mm = solid.diameter_mm,
                      .spacing_mm = solid.spacing_mm.value_or(2 * solid.diameter_mm),
                      .angle_deg = solid.angle_deg,
                      .width_deg = solid.width_deg,
                      .inner_mm = solid.inner_mm,
                      .radius_mm = solid.radius_mm},
                     centre, half_length);
    case SolidShape::sphere: {
      const double radius = 0.5 * solid.diameter_mm;
      return {Solid(Shape::ellipsoid, centre, {radius, radius, radius})};
    }
    case SolidShape::ellipsoid:
      return {Solid(Shape::ellipsoid, centre, vector_of(solid.half_axes_mm), rotation, half)};
    case SolidShape::box:
      return {Solid(Shape::box, centre, 0.5 * vector_of(solid.size_mm), rotation, half)};
    case SolidShape::cylinder:
      break;
  }
  const auto radii = solid.radii_mm.value_or(std::array{solid.radius_mm, solid.radius_mm});
  return {Solid(Shape::cylinder, centre, {radii[0], radii[1], half_length}, rotation, half)};
}

void add_solids(const Value& written, const std::string& what, std::vector<Solid>& solids, Problems& problems) {
  Problems own;
  const auto file = described<SolidFile>(written, what, own);
  if (own.empty()) check_keys(file, written, what, own);
  for (const Problem& problem : own.all()) problems.add(problem.where, problem.message);
  if (!own.empty()) return;
  try {
    for (Solid& solid : shapes_of(file)) {
      solid.name = file.name;
      solid.activity_Bq_mL = file.activity_Bq_mL;
      solid.mu_per_cm = file.mu_per_cm;
      solids.push_back(std::move(solid));
    }
  } catch (const std::invalid_argument& error) {
    problems.add(written.where, error.what());
  }
}

struct RegionFile {
  std::string name;
  RegionRole role = RegionRole::mean;
  Numbers3 centre_mm{};
  double diameter_mm = 0;
  std::vector<double> slices_mm;
  std::optional<SolidAxis> across;
  static constexpr auto params = describe(
      param<&RegionFile::name>("name", required, "What tables call it"),
      param<&RegionFile::role>("role", required, "What is measured in it"),
      param<&RegionFile::centre_mm>("centre_mm", unit("mm"), required, "Its centre"),
      param<&RegionFile::diameter_mm>("diameter_mm", length, unit("mm"), required, "Its diameter"),
      param<&RegionFile::slices_mm>("slices_mm", unit("mm"), "A disc across z at each of these; none: a sphere"),
      param<&RegionFile::across>("across", "One disc across this axis"));
};

struct PhantomYaml {
  std::string name, description;
  std::optional<double> mu_keV;
  std::vector<Value> solids;
  std::vector<RegionFile> regions;
  static constexpr auto params =
      describe(param<&PhantomYaml::name>("name", required, "What the phantom is called"),
               param<&PhantomYaml::description>("description", "For people"),
               param<&PhantomYaml::mu_keV>("mu_keV", range(1, 1e5), unit("keV"),
                                           "Energy of the photons that its attenuation holds for"),
               param<&PhantomYaml::solids>("solids", required, "One or more; of two that overlap the later counts"),
               param<&PhantomYaml::regions>("regions", "Where images are measured"));
};

PhantomRegion region_of(RegionFile file) {
  return {.name = std::move(file.name),
          .role = file.role,
          .centre_mm = vector_of(file.centre_mm),
          .diameter_mm = file.diameter_mm,
          .slices_mm = std::move(file.slices_mm),
          .across = file.across ? std::optional(static_cast<int>(*file.across)) : std::nullopt};
}

PhantomFile phantom_of(const Value& document) {
  Problems problems;
  auto file = described<PhantomYaml>(document, "phantom", problems);
  std::vector<Solid> solids;
  for (std::size_t i = 0; i < file.solids.size(); ++i)
    add_solids(file.solids[i], fmt::format("phantom.solids[{}]", i), solids, problems);
  refuse_if_any(problems);
  if (solids.empty()) refuse(document.where, "a phantom needs 'solids', a list of at least one");
  PhantomFile result;
  for (RegionFile& region : file.regions) result.regions.push_back(region_of(std::move(region)));
  result.phantom = Phantom(file.name, std::move(solids));
  result.mu_keV = file.mu_keV;
  return result;
}

}  // namespace

PhantomFile parse_phantom(const std::string& text, const std::string& file) {
  return phantom_of(parse_text(text, file));
}

PhantomFile read_phantom(const std::filesystem::path& file) {
  return phantom_of(read_document(file));
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
