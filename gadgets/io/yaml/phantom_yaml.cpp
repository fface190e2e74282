// Phantoms from YAML: see phantom_yaml.hpp.
#include "gadgets/io/yaml/phantom_yaml.hpp"

#include <array>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gadgets/io/yaml/yaml_object.hpp"

namespace tofstream::formats {
namespace {

constexpr double longest_mm = 1e4;
constexpr double smallest_mm = 1e-3;

/// The value that a key's word names; the message for another lists the words.
template <class Value, std::size_t count>
Value choice(YamlObject& object, const char* key, const std::array<std::pair<std::string_view, Value>, count>& words) {
  const std::string word = object.text(key);
  std::vector<std::string_view> known;
  for (const auto& [name, value] : words) {
    if (name == word) return value;
    known.push_back(name);
  }
  object.fail(key, fmt::format("'{}' cannot be '{}'; it may be {}", key, word, fmt::join(known, ", ")));
}

enum class Kind { sphere, ellipsoid, cylinder, box, rods };
constexpr std::array<std::pair<std::string_view, Kind>, 5> kinds{{{"sphere", Kind::sphere},
                                                                  {"ellipsoid", Kind::ellipsoid},
                                                                  {"cylinder", Kind::cylinder},
                                                                  {"box", Kind::box},
                                                                  {"rods", Kind::rods}}};
constexpr std::array<std::pair<std::string_view, RegionRole>, 5> roles{{{"hot", RegionRole::hot},
                                                                        {"cold", RegionRole::cold},
                                                                        {"lung", RegionRole::lung},
                                                                        {"background", RegionRole::background},
                                                                        {"mean", RegionRole::mean}}};

constexpr std::array<std::pair<std::string_view, int>, 3> axes{{{"x", 0}, {"y", 1}, {"z", 2}}};

/// A cylinder's radius, or its two half axes.
std::pair<double, double> radii(YamlObject& object) {
  if (object.has("radii_mm")) {
    const auto both = object.numbers("radii_mm", 2);
    return {both[0], both[1]};
  }
  const double radius = object.number("radius_mm", smallest_mm, longest_mm);
  return {radius, radius};
}

std::vector<Solid> shapes_of(YamlObject& object, Kind kind) {
  const Vec3d centre = object.vector("centre_mm", Vec3d{});
  if (kind == Kind::rods) {
    RodSector sector;
    sector.diameter_mm = object.number("diameter_mm", smallest_mm, longest_mm);
    sector.spacing_mm = object.number("spacing_mm", smallest_mm, longest_mm, 2 * sector.diameter_mm);
    sector.angle_deg = object.number("angle_deg", -360, 360);
    sector.width_deg = object.number("width_deg", 1, 180, 60.0);
    sector.inner_mm = object.number("inner_mm", 0, longest_mm, 0.0);
    sector.radius_mm = object.number("radius_mm", smallest_mm, longest_mm);
    return rods_of(sector, centre, 0.5 * object.number("length_mm", smallest_mm, longest_mm));
  }
  if (kind == Kind::sphere) {
    const double radius = 0.5 * object.number("diameter_mm", smallest_mm, longest_mm);
    return {Solid(Shape::ellipsoid, centre, {radius, radius, radius})};
  }
  const Vec3d rotation = object.vector("rotation_deg", Vec3d{});
  const Vec3d half = object.vector("half", Vec3d{});
  if (kind == Kind::ellipsoid) return {Solid(Shape::ellipsoid, centre, object.vector("half_axes_mm"), rotation, half)};
  if (kind == Kind::box) return {Solid(Shape::box, centre, 0.5 * object.vector("size_mm"), rotation, half)};
  const auto [a, b] = radii(object);
  const double length = object.number("length_mm", smallest_mm, longest_mm);
  return {Solid(Shape::cylinder, centre, {a, b, 0.5 * length}, rotation, half)};
}

void add_solids(const YAML::Node& node, const std::string& file, std::vector<Solid>& solids) {
  YamlObject object(node, file, "a solid");
  const Kind kind = choice(object, "shape", kinds);
  const std::string name = object.text("name", "");
  std::optional<double> activity, mu;
  if (object.has("activity_Bq_mL")) activity = object.number("activity_Bq_mL", 0, 1e15);
  if (object.has("mu_per_cm")) mu = object.number("mu_per_cm", 0, 100);
  if (!activity && !mu) object.fail("a solid needs 'activity_Bq_mL', 'mu_per_cm' or both");
  try {
    for (Solid& solid : shapes_of(object, kind)) {
      solid.name = name;
      solid.activity_Bq_mL = activity;
      solid.mu_per_cm = mu;
      solids.push_back(std::move(solid));
    }
  } catch (const std::invalid_argument& error) {
    object.fail(error.what());
  }
  object.finish();
}

PhantomRegion region_of(const YAML::Node& node, const std::string& file) {
  YamlObject object(node, file, "a region");
  PhantomRegion region;
  region.name = object.text("name");
  region.role = choice(object, "role", roles);
  region.centre_mm = object.vector("centre_mm");
  region.diameter_mm = object.number("diameter_mm", smallest_mm, longest_mm);
  if (object.has("slices_mm")) region.slices_mm = object.numbers("slices_mm", 0);
  if (object.has("across")) region.across = choice(object, "across", axes);
  object.finish();
  return region;
}

}  // namespace

PhantomFile parse_phantom(const std::string& text, const std::string& file) {
  YamlObject root(parse_yaml(text, file), file, "a phantom");
  const std::string name = root.text("name");
  root.text("description", "");
  PhantomFile result;
  std::vector<Solid> solids;
  for (const YAML::Node& node : root.list("solids")) add_solids(node, file, solids);
  if (solids.empty()) root.fail("a phantom needs 'solids', a list of at least one");
  for (const YAML::Node& node : root.list("regions")) result.regions.push_back(region_of(node, file));
  root.finish();
  result.phantom = Phantom(name, std::move(solids));
  return result;
}

PhantomFile read_phantom(const std::filesystem::path& file) {
  return parse_phantom(read_text(file), file.string());
}

}  // namespace tofstream::formats
