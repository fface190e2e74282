// Depths of crystals and of their points: see detector_points.hpp.
#include "gadgets/io/petsird/detector_points.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/materials.hpp"
#include "kernels/math/interaction_depth.hpp"
#include "kernels/math/vec3.hpp"

namespace tofstream::petsird {
namespace {

using Edges = std::array<Vec3d, 3>;

Vec3d vector_of(const Point& p) {
  return {p[0], p[1], p[2]};
}

/// The three edges of a box whose corners come in any order; none of what has no right angles.
std::optional<Edges> edges_of(const BoxShape& box) {
  std::array<Vec3d, 7> to;
  for (std::size_t k = 0; k < 7; ++k)
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      to[k].set(axis, static_cast<double>(box[k + 1][a]) - static_cast<double>(box[0][a]));
    }
  const auto right = [](Vec3d a, Vec3d b) { return std::abs(dot(a, b)) < 1e-3 * norm(a) * norm(b); };
  for (std::size_t a = 0; a < 7; ++a)
    for (std::size_t b = 0; b < a; ++b)
      for (std::size_t c = 0; c < b; ++c)
        if (right(to[a], to[b]) && right(to[b], to[c]) && right(to[a], to[c])) return Edges{to[a], to[b], to[c]};
  return std::nullopt;
}

Vec3d turned_by(const Transform& transform, Vec3d v) {
  const auto row = [&](std::size_t r) {
    return static_cast<double>(transform[r]) * v.x + static_cast<double>(transform[r + 1]) * v.y +
           static_cast<double>(transform[r + 2]) * v.z;
  };
  return {row(0), row(4), row(8)};
}

/// The crystals of one type of module.
class Crystals {
 public:
  Crystals(const ScannerInformation& scanner, std::size_t type)
      : modules_(scanner.geometry.replicated_modules[type]),
        edges_(edges_of(modules_.object.detecting_elements.object.shape)),
        centres_(crystal_centres(scanner, type)),
        elements_(modules_.object.detecting_elements.transforms.size()) {
    const std::uint32_t id = modules_.object.detecting_elements.object.material_id;
    for (const BulkMaterial& material : scanner.bulk_materials)
      if (material.id == id) attenuation_ = attenuation_per_mm(material);
  }

  const std::vector<Point>& centres() const { return centres_; }
  const std::optional<double>& attenuation() const { return attenuation_; }

  /// A crystal's edge along its depth, outwards; none where no edge shows that way.
  std::optional<Vec3d> depth_edge(std::size_t crystal, Vec3d axis) const {
    constexpr double least_cosine = 0.8;
    if (!edges_) return std::nullopt;
    const Vec3d out = outwards(crystal, axis);
    const Transform& in_module = modules_.object.detecting_elements.transforms[crystal % elements_];
    std::optional<Vec3d> best;
    double best_cosine = least_cosine;
    for (const Vec3d& edge : *edges_) {
      const Vec3d placed = turned_by(modules_.transforms[crystal / elements_], turned_by(in_module, edge));
      const double cosine = dot(placed, out) / (norm(placed) * norm(out));
      if (!(std::abs(cosine) > best_cosine)) continue;
      best_cosine = std::abs(cosine);
      best = std::copysign(1.0, cosine) * placed;
    }
    return best;
  }

 private:
  // A module's crystals look the same way, unless it is a whole ring.
  Vec3d outwards(std::size_t crystal, Vec3d axis) const {
    const auto across = [&](const Point& p) { return Vec3d{p[0] - axis.x, p[1] - axis.y, 0}; };
    const std::size_t module = crystal / elements_;
    if (module != module_) {
      module_ = module;
      module_out_ = {};
      for (std::size_t k = 0; k < elements_; ++k)
        module_out_ = module_out_ + (1.0 / static_cast<double>(elements_)) * across(centres_[module * elements_ + k]);
    }
    const Vec3d own = across(centres_[crystal]);
    return norm(module_out_) > 0.5 * norm(own) ? module_out_ : own;
  }

  const Replicated<DetectorModule>& modules_;
  std::optional<Edges> edges_;
  std::vector<Point> centres_;
  std::size_t elements_;
  std::optional<double> attenuation_;
  mutable std::size_t module_ = static_cast<std::size_t>(-1);
  mutable Vec3d module_out_;
};

std::vector<Crystals> crystals_of(const ScannerInformation& scanner) {
  std::vector<Crystals> types;
  for (std::size_t type = 0; type < module_types(scanner); ++type) types.emplace_back(scanner, type);
  return types;
}

/// A point of the axis: the middle of all crystals.
Vec3d axis_of(const std::vector<Crystals>& types) {
  Vec3d sum;
  double count = 0;
  for (const Crystals& type : types)
    for (const Point& centre : type.centres()) {
      sum = sum + vector_of(centre);
      ++count;
    }
  return count > 0 ? (1 / count) * sum : sum;
}

/// Depth of the point below the face; none: in the centre, for want of a material.
std::optional<double> point_depth(const DetectorDepth& depth, double crystal_mm, const Crystals& type) {
  if (depth.kind == DetectorDepth::Kind::mean) {
    if (!type.attenuation()) return std::nullopt;
    return mean_interaction_depth(crystal_mm, *type.attenuation());
  }
  if (depth.given_mm > crystal_mm * (1 + 1e-6))
    throw Error(fmt::format("detector_depth: {:g} mm lies behind the scanner's crystals, which are {:g} mm deep",
                            depth.given_mm, crystal_mm));
  return depth.given_mm;
}

}  // namespace

DetectorDepth parse_detector_depth(const std::string& text) {
  if (text == "centre") return {DetectorDepth::Kind::centre, 0};
  if (text == "mean") return {DetectorDepth::Kind::mean, 0};
  double mm = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, mm);
  if (read.ec != std::errc{} || read.ptr != end || !(mm >= 0 && mm <= 1e3))
    throw std::invalid_argument(
        fmt::format("detector_depth: '{}' is neither centre nor mean nor a depth from 0 to 1000 mm", text));
  return {DetectorDepth::Kind::given, mm};
}

std::vector<std::vector<Point>> detector_points(const ScannerInformation& scanner, const DetectorDepth& depth) {
  const std::vector<Crystals> types = crystals_of(scanner);
  const Vec3d axis = axis_of(types);
  std::vector<std::vector<Point>> points;
  for (const Crystals& type : types) {
    points.push_back(type.centres());
    if (depth.kind == DetectorDepth::Kind::centre) continue;
    for (std::size_t k = 0; k < points.back().size(); ++k) {
      const auto edge = type.depth_edge(k, axis);
      if (!edge) continue;
      const double length = norm(*edge);
      const auto below = point_depth(depth, length, type);
      if (!below) break;
      const Vec3d moved = vector_of(points.back()[k]) + ((*below - 0.5 * length) / length) * *edge;
      points.back()[k] = {moved.x, moved.y, moved.z};
    }
  }
  return points;
}

DetectorDepthNote detector_depth_note(const ScannerInformation& scanner, const DetectorDepth& depth) {
  constexpr double shows_mm = 8;
  const std::vector<Crystals> types = crystals_of(scanner);
  const Vec3d axis = axis_of(types);
  DetectorDepthNote note;
  for (const Crystals& type : types) {
    if (type.centres().empty()) continue;
    const auto edge = type.depth_edge(0, axis);
    std::string words = "centre";
    if (depth.kind != DetectorDepth::Kind::centre && !edge) {
      words = "centre: the crystals' boxes do not tell which way is their depth";
    } else if (depth.kind != DetectorDepth::Kind::centre) {
      const double length = norm(*edge);
      const auto below = point_depth(depth, length, type);
      note.unknown = note.unknown || (!below && length >= shows_mm);
      if (below)
        words = fmt::format("{:.2f} mm below the face of crystals of {:.4g} mm", *below, length);
      else
        words = fmt::format("centre of crystals of {:.4g} mm: the header does not say what they are made of", length);
      if (below && depth.kind == DetectorDepth::Kind::mean)
        words += fmt::format(", their mean at {:.3g}/cm", 10 * *type.attenuation());
    }
    if (note.words.find(words) == std::string::npos) note.words += (note.words.empty() ? "" : "; ") + words;
  }
  return note;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
