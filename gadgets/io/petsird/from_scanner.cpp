// Headers for scanners of other programs: see from_scanner.hpp.
#include "gadgets/io/petsird/from_scanner.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/tof_bin_count.hpp"
#include "kernels/grid/choose_grid.hpp"
#include "kernels/math/units.hpp"

namespace tofstream::petsird {
namespace {

constexpr std::uint32_t most_modules_with_table = 4096;
constexpr double nominal_depth_mm = 1;
constexpr double alike_mm = 0.01;

/// Where a module stands: its middle, and the angle at which it looks outwards.
struct Stand {
  Vec3d middle;
  double cosine = 1, sine = 0;

  Vec3d local(Vec3d point) const {
    const Vec3d v = point - middle;
    return {cosine * v.x + sine * v.y, cosine * v.y - sine * v.x, v.z};
  }
  Transform transform() const {
    const auto c = static_cast<float>(cosine), s = static_cast<float>(sine);
    const Vec3 m = middle.as<float>();
    return {c, -s, 0, m.x, s, c, 0, m.y, 0, 0, 1, m.z};
  }
};

/// The detectors as modules of `elements` each.
class ModulesOfPoints {
 public:
  ModulesOfPoints(const DetectorTable& detectors, std::uint32_t elements) : detectors_(detectors), elements_(elements) {
    const auto modules = static_cast<std::uint32_t>(detectors.size()) / elements;
    for (std::uint32_t m = 0; m < modules; ++m) stands_.push_back(stand_of(m));
  }

  std::uint32_t elements() const { return elements_; }
  std::uint32_t modules() const { return static_cast<std::uint32_t>(stands_.size()); }

  bool are_alike() const {
    for (std::uint32_t m = 1; m < modules(); ++m)
      for (std::uint32_t e = 0; e < elements_; ++e)
        if (norm(local(m, e) - local(0, e)) > alike_mm) return false;
    return true;
  }

  Replicated<DetectorModule> written(const BoxShape& box) const {
    Replicated<DetectorModule> made;
    made.object.detecting_elements.object.shape = box;
    for (std::uint32_t e = 0; e < elements_; ++e) {
      const Vec3 at = local(0, e).as<float>();
      made.object.detecting_elements.transforms.push_back({1, 0, 0, at.x, 0, 1, 0, at.y, 0, 0, 1, at.z});
    }
    for (const Stand& stand : stands_) made.transforms.push_back(stand.transform());
    return made;
  }

 private:
  Vec3d point(std::uint32_t module, std::uint32_t element) const {
    return detectors_.position(module * elements_ + element).as<double>();
  }
  Vec3d local(std::uint32_t module, std::uint32_t element) const {
    return stands_[module].local(point(module, element));
  }
  Stand stand_of(std::uint32_t module) const {
    Vec3d sum;
    for (std::uint32_t e = 0; e < elements_; ++e) sum = sum + point(module, e);
    Stand stand{.middle = (1.0 / elements_) * sum};
    const double radius = std::hypot(stand.middle.x, stand.middle.y);
    if (radius > alike_mm) {
      stand.cosine = stand.middle.x / radius;
      stand.sine = stand.middle.y / radius;
    }
    return stand;
  }

  const DetectorTable& detectors_;
  const std::uint32_t elements_;
  std::vector<Stand> stands_;
};

// The scanner's own modules, or a module a detector.
ModulesOfPoints modules_of(const Scanner& scanner) {
  const std::uint32_t elements = scanner.types.front().elements;
  if (scanner.types.size() == 1 && elements > 1 && elements <= most_modules_with_table) {
    ModulesOfPoints own(*scanner.detectors, elements);
    if (own.are_alike()) return own;
  }
  return {*scanner.detectors, 1};
}

BoxShape box_of(const Scanner& scanner) {
  const double pitch = std::max(0.1, static_cast<double>(detector_pitch_mm(scanner)));
  const double axial = static_cast<double>(scanner.types.front().element_size_mm.z);
  const double half[3] = {nominal_depth_mm / 2, pitch / 2, (axial > 0 ? axial : pitch) / 2};
  BoxShape box{};
  for (std::size_t corner = 0; corner < box.size(); ++corner)
    for (std::size_t axis = 0; axis < 3; ++axis)
      box[corner][axis] = static_cast<float>((corner >> axis & 1) != 0 ? half[axis] : -half[axis]);
  return box;
}

BinEdges edges_of(const TofModel& tof, double width_mm, double centre_mm) {
  constexpr double most_bins = 1e6;
  const double bins = formats::tof_bin_count(static_cast<double>(tof.window_mm), width_mm, centre_mm);
  if (!(bins <= most_bins))
    throw std::runtime_error(
        fmt::format("a window of {:g} mm has more than {:g} ToF bins of {:g} mm", tof.window_mm, most_bins, width_mm));
  BinEdges edges;
  for (int k = 0; k <= static_cast<int>(bins); ++k) edges.push_back(static_cast<float>((k - bins / 2) * width_mm));
  return edges;
}

void add_tof(const Scanner& scanner, const TofModel& tof, double tof_mm, DescribedScanner& made) {
  ScannerInformation& info = made.header.scanner;
  if (!(tof.sigma_mm > 0)) {
    const FieldOfView field = field_of_view(scanner);
    const double all_mm = 2 * (norm(field.edges_mm.as<double>()) + norm(field.centre_mm.as<double>()));
    const auto end = static_cast<float>(all_mm);
    info.tof_bin_edges_mm = {{{-end, end}}};
    info.tof_resolution_fwhm_mm = {{2 * end}};  // that of the one bin: the whole window
    return;
  }
  constexpr double bins_a_fwhm = 10;
  if (!(tof.window_mm > 0))
    throw std::runtime_error("the events' ToF has no window, and PETSIRD's header lists all ToF bins: name `scanner`");
  const double fwhm_mm = static_cast<double>(tof.sigma_mm) * fwhm_per_sigma;
  const double width_mm = tof.bin_width_mm > 0 ? static_cast<double>(tof.bin_width_mm) : fwhm_mm / bins_a_fwhm;
  if (!(tof.bin_width_mm > 0)) made.left_out.push_back(fmt::format("ToF within bins of {:.3g} mm", width_mm));
  info.tof_bin_edges_mm = {{edges_of(tof, width_mm, tof.bin_width_mm > 0 ? tof_mm : 0)}};
  info.tof_resolution_fwhm_mm = {{static_cast<float>(fwhm_mm)}};
}

void add_energies(const EnergyResponse& energy, DescribedScanner& made) {
  constexpr float any_keV = 1022;
  const bool is_known = energy.high_keV > energy.low_keV;
  if (!is_known) made.left_out.push_back(fmt::format("the energy window, which nobody stated (0 to {} keV)", any_keV));
  made.header.scanner.event_energy_bin_edges_keV = {
      {is_known ? energy.low_keV : 0, is_known ? energy.high_keV : any_keV}};
  made.header.scanner.energy_resolution_at_511 = {energy.resolution};
}

void add_pairs(const Scanner& scanner, const ModulesOfPoints& modules, DescribedScanner& made) {
  const bool has_efficiencies = !scanner.bin_efficiency.empty() || !scanner.pair_tables.empty() ||
                                !scanner.geometric.empty() || scanner.calibration != 1;
  if (has_efficiencies) made.left_out.emplace_back("efficiencies and the calibration");
  if (modules.modules() > most_modules_with_table) {
    if (std::ranges::any_of(scanner.module_pair, [](std::int32_t table) { return table < 0; }))
      made.left_out.emplace_back("which pairs count");
    return;
  }
  Table<std::int32_t> lower(modules.modules());
  const auto first = [&](std::uint32_t module) { return module * modules.elements(); };
  for (std::uint32_t m1 = 0; m1 < modules.modules(); ++m1)
    for (std::uint32_t m2 = 0; m2 <= m1; ++m2)
      lower[m1].push_back(scanner.in_coincidence(first(m1), first(m2)) ? 0 : -1);
  made.header.scanner.efficiencies.module_pair_sgid_lut = {{std::move(lower)}};
}

}  // namespace

DescribedScanner header_of(const Scanner& scanner, const TofModel& tof, double tof_mm) {
  if (!scanner.detectors || scanner.detectors->size() < 2 || scanner.types.empty())
    throw std::runtime_error("the events' scanner has no detectors that PETSIRD could name");
  DescribedScanner made;
  ScannerInformation& info = made.header.scanner;
  const ModulesOfPoints modules = modules_of(scanner);
  info.model_name = scanner.name;
  info.collimator_type = "NONE";
  info.geometry.replicated_modules.push_back(modules.written(box_of(scanner)));
  info.efficiencies.method_description = "left out: only the places of detectors are known";
  add_tof(scanner, tof, tof_mm, made);
  add_energies(scanner.types.front().energy, made);
  add_pairs(scanner, modules, made);
  return made;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
