// A scanner's field of view and the grid that holds it: see choose_grid.hpp.
#include "kernels/grid/choose_grid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "kernels/blob/blob.hpp"

namespace tofstream {
namespace {

constexpr float clearance = 0.9f;  // of the detectors' distance from the axis; the rest is the scanner's cover
constexpr float partial = 0.5f;    // a scanner that records all lines of less than this part of it has gaps
constexpr float voxel_step_mm = 0.5f;
constexpr float to_spare = 0.05f;  // of a voxel by which the field of view may exceed the grid
constexpr std::int64_t most_wished_voxels = std::int64_t{1} << 30;  // 4 GiB: a typing error brings no machine down
constexpr int longest_axis = 4096;                                  // voxels, as validate(Grid) has it
constexpr float lattice_edges = 2;  // of blobs, in voxels: two lattices then have a quarter as many blobs

struct Box {
  Vec3 low, high;
};

Box box_of(const DetectorTable& detectors) {
  Box box{detectors.position(0), detectors.position(0)};
  for (std::int64_t d = 1; d < detectors.size(); ++d) {
    const Vec3 at = detectors.position(static_cast<std::uint32_t>(d));
    for (int axis = 0; axis < 3; ++axis) {
      box.low.set(axis, std::min(box.low[axis], at[axis]));
      box.high.set(axis, std::max(box.high[axis], at[axis]));
    }
  }
  return box;
}

// Rounds, so that the grid can be written in a pipeline whatever the last bits of the detectors' positions are.
float rounded(float mm) {
  constexpr float steps = 100;
  return std::round(steps * mm) / steps + 0.0f;  // no -0
}

float distance_from_axis(Vec3 at, Vec3 centre) {
  return std::hypot(at.x - centre.x, at.y - centre.y);
}

// Distance from the axis of the line through two points, in the plane across it.
float line_from_axis(Vec3 a, Vec3 b, Vec3 centre) {
  const Vec3 from = a - centre, along = b - a;
  return std::abs(from.x * along.y - from.y * along.x) / std::hypot(along.x, along.y);
}

// A module as it is seen along the axis: its first detector, and those at the ends of its arc.
struct Arc {
  std::uint32_t detector = 0;
  float z = 0;
  Vec3 ends[2];
};

Arc arc_of(const Scanner& scanner, std::uint32_t first, std::uint32_t elements, Vec3 centre) {
  const Vec3 begin = scanner.detectors->position(first) - centre;
  Arc arc{.detector = first};
  float least = std::numeric_limits<float>::max(), most = -least;
  for (std::uint32_t d = first; d < first + elements; ++d) {
    const Vec3 at = scanner.detectors->position(d), from = at - centre;
    arc.z += at.z / static_cast<float>(elements);
    const float angle = std::atan2(begin.x * from.y - begin.y * from.x, begin.x * from.x + begin.y * from.y);
    if (angle < least) arc.ends[0] = at;
    if (angle > most) arc.ends[1] = at;
    least = std::min(least, angle);
    most = std::max(most, angle);
  }
  return arc;
}

// The modules of the ring nearest to the middle, which shows what the scanner refuses across the axis.
std::vector<Arc> middle_ring(const Scanner& scanner, Vec3 centre) {
  std::vector<Arc> arcs;
  for (const ModuleType& type : scanner.types)
    for (std::uint32_t m = 0; m < type.modules; ++m)
      arcs.push_back(arc_of(scanner, type.first_detector + m * type.elements, type.elements, centre));
  const auto off_centre = [&](const Arc& arc) { return std::abs(arc.z - centre.z); };
  const float z = std::ranges::min_element(arcs, {}, off_centre)->z;
  constexpr float same_ring_mm = 1;
  std::erase_if(arcs, [&](const Arc& arc) { return std::abs(arc.z - z) > same_ring_mm; });
  return arcs;
}

// Distance from the axis of the nearest line, within one ring, that the scanner does not record.
float nearest_refused_line(const Scanner& scanner, Vec3 centre) {
  float nearest = std::numeric_limits<float>::max();
  const std::vector<Arc> arcs = middle_ring(scanner, centre);
  for (std::size_t i = 0; i < arcs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (scanner.in_coincidence(arcs[i].detector, arcs[j].detector)) continue;
      for (const Vec3 a : arcs[i].ends)
        for (const Vec3 b : arcs[j].ends) nearest = std::min(nearest, line_from_axis(a, b, centre));
    }
  return nearest;
}

float radius_of(const Scanner& scanner, Vec3 centre) {
  float bore = std::numeric_limits<float>::max();
  for (std::int64_t d = 0; d < scanner.detectors->size(); ++d)
    bore = std::min(bore, distance_from_axis(scanner.detectors->position(static_cast<std::uint32_t>(d)), centre));
  const float sampled = nearest_refused_line(scanner, centre);
  return sampled < partial * bore ? clearance * bore : std::min(clearance * bore, sampled);
}

Vec3 chosen_voxel(const Scanner& scanner, const FieldOfView& field, bool blobs) {
  const float pitch = detector_pitch_mm(scanner);
  if (!(pitch > 0))
    throw std::invalid_argument(
        fmt::format("scanner {} has no crystals whose size would tell a voxel's: write image.voxel_mm",
                    scanner.name.empty() ? "without a name" : scanner.name));
  const float lattices = blobs ? 2 : 1;
  const float step = blobs ? lattice_edges * voxel_step_mm : voxel_step_mm;
  float edge = usual_voxel_mm(pitch, blobs);
  const auto values = [&] {
    double product = lattices;
    for (int axis = 0; axis < 3; ++axis) product *= std::max(1.0, std::ceil(double{field.edges_mm[axis] / edge}));
    return product;
  };
  while (values() > static_cast<double>(most_chosen_voxels)) edge += step;
  return {edge, edge, edge};
}

int voxels_along(const FieldOfView& field, Vec3 voxel_mm, int axis) {
  const float voxels = std::max(1.0f, std::ceil(field.edges_mm[axis] / voxel_mm[axis] - to_spare));
  if (!(voxels <= longest_axis))
    throw std::invalid_argument(fmt::format(
        "image.voxel_mm of {} mm makes {:.0f} voxels of the field of view's {:.0f} mm along {}, and an image "
        "may have {}: lengths are in mm",
        voxel_mm[axis], voxels, field.edges_mm[axis], "xyz"[axis], longest_axis));
  return static_cast<int>(voxels);
}

}  // namespace

FieldOfView field_of_view(const Scanner& scanner) {
  const DetectorTable& detectors = *scanner.detectors;
  if (detectors.size() < 2) throw std::invalid_argument("a scanner needs two detectors to have a field of view");
  Box box = box_of(detectors);
  float edge_z = 0;  // of a detector
  for (const ModuleType& type : scanner.types) edge_z = std::max(edge_z, type.element_size_mm.z);
  box.low.z -= 0.5f * edge_z;
  box.high.z += 0.5f * edge_z;
  FieldOfView field{0.5f * (box.low + box.high), box.high - box.low};
  for (int axis = 0; axis < 3; ++axis) field.centre_mm.set(axis, rounded(field.centre_mm[axis]));
  constexpr float flat_mm = 1e-3f;
  if (field.edges_mm.x < flat_mm || field.edges_mm.y < flat_mm) return field;
  const float radius = radius_of(scanner, field.centre_mm);
  field.edges_mm.x = field.edges_mm.y = 2 * radius;
  return field;
}

float detector_pitch_mm(const Scanner& scanner) {
  if (scanner.detectors->size() <= 2) return 0;
  constexpr float apart_mm = 0.1f;  // what is nearer lies in the same place
  float pitch = std::numeric_limits<float>::max();
  for (const ModuleType& type : scanner.types) {
    const Vec3 first = scanner.detectors->position(type.first_detector);
    for (std::int64_t d = 0; d < scanner.detectors->size(); ++d) {
      const float distance = norm(scanner.detectors->position(static_cast<std::uint32_t>(d)) - first);
      if (distance > apart_mm) pitch = std::min(pitch, distance);
    }
  }
  return pitch < std::numeric_limits<float>::max() ? pitch : 0;
}

float usual_voxel_mm(float detector_pitch_mm, bool blobs) {
  const float voxel = voxel_step_mm * std::max(1.0f, std::round(0.5f * detector_pitch_mm / voxel_step_mm));
  return blobs ? lattice_edges * voxel : voxel;
}

Grid choose_grid(const Scanner& scanner, const GridWish& wish) {
  const FieldOfView field = field_of_view(scanner);
  const Vec3 voxel_mm = wish.voxel_mm ? *wish.voxel_mm : chosen_voxel(scanner, field, wish.blobs);
  std::array<int, 3> size{};
  for (int axis = 0; axis < 3; ++axis) size[static_cast<std::size_t>(axis)] = voxels_along(field, voxel_mm, axis);
  const Grid grid = grid_about(size, voxel_mm, wish.centre_mm.value_or(field.centre_mm),
                               wish.blobs ? blob_of(wish, voxel_mm.x) : Blob{});
  if (grid.voxels() > most_wished_voxels)
    throw std::invalid_argument(
        fmt::format("image.voxel_mm of {} mm makes {} x {} x {} voxels of the field of view: where so many are meant, "
                    "write image.size too",
                    voxel_mm.x, size[0], size[1], size[2]));
  return grid;
}

bool holds_field_of_view(const Grid& grid, const Scanner& scanner) {
  const FieldOfView field = field_of_view(scanner);
  constexpr float slack = 2;  // voxels
  for (int axis = 0; axis < 3; ++axis) {
    const float half = 0.5f * field.edges_mm[axis], edge = grid.voxel_mm[axis];
    const float low = grid.origin_mm[axis] - 0.5f * edge, high = low + static_cast<float>(grid.size[axis]) * edge;
    if (low > field.centre_mm[axis] - half + slack * edge || high < field.centre_mm[axis] + half - slack * edge)
      return false;
  }
  return true;
}

Blob blob_of(const GridWish& wish, float edge_mm) {
  const bool is_given = wish.blob_radius_mm > 0;
  return {is_given ? wish.blob_radius_mm : uniform_blob_radius_mm(edge_mm, wish.blob_alpha), wish.blob_alpha};
}

Grid grid_about(const std::array<int, 3>& size, Vec3 voxel_mm, Vec3 centre_mm, Blob blob) {
  Grid grid = Grid::centred(size[0], size[1], size[2], voxel_mm);
  grid.origin_mm = grid.origin_mm + centre_mm;
  grid.blob = blob;
  return grid;
}

std::string grid_in_words(const Grid& grid) {
  float centre[3];
  for (int axis = 0; axis < 3; ++axis)
    centre[axis] = rounded(grid.origin_mm[axis] + 0.5f * static_cast<float>(grid.size[axis] - 1) * grid.voxel_mm[axis]);
  return fmt::format("{{size: [{}, {}, {}], voxel_mm: [{:g}, {:g}, {:g}], centre_mm: [{:g}, {:g}, {:g}]{}}}",
                     grid.size[0], grid.size[1], grid.size[2], grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z,
                     centre[0], centre[1], centre[2], grid.has_blobs() ? ", basis: blobs" : "");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
