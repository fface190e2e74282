// Expected counts of pairs: see pair_expectation.hpp.
#include "kernels/ring/normalise/pair_expectation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/math/interaction_depth.hpp"
#include "kernels/ring/correct/normalisation.hpp"
#include "kernels/ring/correct/scatter-inl.hpp"
#include "kernels/ring/sensitivity/pair_sample.hpp"

namespace tofstream::detail {

namespace {

constexpr int least_lines = 16, most_lines = 256;  // of a pair
constexpr double lines_a_thickness = 48;           // of a pair whose crystals are as large as the source
// A line whose integral is this share of that through the larger source is far from the source's edge: finite crystals
// change it by less than 1 %.
constexpr double well_inside = 0.8;
constexpr double least_counted = 1e-3, least_seen = 1e-12;
constexpr double usual_per_mm = 0.085;  // attenuation of 511 keV in crystals: LYSO 0.083, LSO 0.087, BGO 0.096

std::shared_ptr<const Scanner> with_crystals_of_one(const Scanner& scanner) {
  return with_normalisation(
      scanner, {.crystal_efficiency = std::vector<float>(static_cast<std::size_t>(scanner.detectors->size()), 1.0f),
                .calibration = 1});
}

std::vector<Solid> active_solids(const Phantom& phantom) {
  std::vector<Solid> result;
  for (const Solid& solid : phantom.solids())
    if (solid.activity_Bq_mL.value_or(0) > 0) result.push_back(solid);
  if (result.empty()) throw std::invalid_argument("the source has no activity");
  return result;
}

/// The largest that an active solid is across its shortest axis, halved.
double thickness_mm(const std::vector<Solid>& solids) {
  double result = 0;
  for (const Solid& solid : solids)
    result = std::max(result, std::min({solid.half_axis_mm(0), solid.half_axis_mm(1), solid.half_axis_mm(2)}));
  return result;
}

std::vector<Solid> grown(const std::vector<Solid>& solids, double margin_mm) {
  std::vector<Solid> result;
  for (const Solid& solid : solids) {
    result.push_back(solid.grown(margin_mm));
    result.back().activity_Bq_mL = solid.activity_Bq_mL;
  }
  return result;
}

template <class Do>
void for_each_pair(std::span<const DetectorPair> pairs, const Do& what) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, pairs.size(), 512), [&](const auto& range) {
    for (std::size_t k = range.begin(); k != range.end(); ++k) what(k);
  });
}

/// Points in [0, 1)^6, spread evenly: multiples of the powers of the root of x^7 = x + 1 (M. Roberts, 2018), from a
/// start of the pair's own.
std::array<double, 6> spread(std::uint64_t start, int n) {
  constexpr double root = 1.1127756842787055;
  std::array<double, 6> result;
  double power = 1;
  for (std::size_t k = 0; k < result.size(); ++k) {
    power /= root;
    const double u = static_cast<double>((start >> (10 * k)) & 0x3ff) / 1024.0 + n * power;
    result[k] = u - std::floor(u);
  }
  return result;
}

}  // namespace

PairExpectation::PairExpectation(const Scanner& scanner, const NormalisationSource& source)
    : source_(source), scanner_(with_crystals_of_one(scanner)), list_(*scanner_) {
  measure_faces();
  const std::vector<Solid> active = active_solids(source_.phantom);
  grown_ = Phantom(source_.phantom.name(), grown(active, margin_mm_));
  // The thinner a source, the fewer lines of a pair meet it.
  const double wanted = lines_a_thickness * margin_mm_ / thickness_mm(active);
  lines_ = static_cast<int>(std::clamp(wanted, 1.0 * least_lines, 1.0 * most_lines));
  if (source_.mu_per_mm) attenuation_.emplace(*source_.mu_per_mm, Backend::cpu);
  if (!source_.scatter) return;
  if (source_.scatter->has_tof()) throw std::invalid_argument("scatter for the normalisation is of whole lines");
  scatter_ = scatter_view(*source_.scatter, source_.scatter->values.data());
}

// Crystals are as large as their pitch, the least distances from a module's first one around the axis and along it:
// what lies between them counts as theirs. Alone in its row, a crystal is as large as its box where that is known. They
// are as deep as their box's longer edge across the axis.
void PairExpectation::measure_faces() {
  constexpr double same_mm = 0.2;
  constexpr double none = std::numeric_limits<double>::infinity();
  const DetectorTable& table = *scanner_->detectors;
  for (const ModuleType& type : scanner_->types)
    for (std::uint32_t m = 0; m < type.modules; ++m) {
      const std::uint32_t first = type.first_detector + m * type.elements;
      const auto place = [&](std::uint32_t element) { return table.position(first + element).as<double>(); };
      Vec3d middle;
      for (std::uint32_t e = 0; e < type.elements; ++e) middle = middle + place(e);
      const double from_axis = std::hypot(middle.x, middle.y);
      const Vec3d outwards = from_axis > 0 ? Vec3d{middle.x / from_axis, middle.y / from_axis, 0} : Vec3d{};
      const Vec3d around{-outwards.y, outwards.x, 0};
      double across = none, along = none;
      for (std::uint32_t e = 1; e < type.elements; ++e) {
        const Vec3d step = place(e) - place(0);
        const double turned = std::abs(dot(step, around)), z = std::abs(step.z);
        if (turned > same_mm) across = std::min(across, turned);
        if (z > same_mm) along = std::min(along, z);
      }
      const Vec3d box = type.element_size_mm.as<double>();
      if (across == none) across = std::min(box.x, box.y);
      if (along == none) along = box.z;
      const double depth = std::max(box.x, box.y);
      faces_.push_back({across * around,
                        {0, 0, along},
                        outwards,
                        1 - std::exp(-usual_per_mm * depth),
                        mean_interaction_depth(depth, usual_per_mm)});
      margin_mm_ = std::max(margin_mm_, 0.5 * std::hypot(across, along));
    }
}

void PairExpectation::prepare(const std::vector<float>& radii_mm) {
  grown_by_depth_.clear();
  for (const float radius : radii_mm)
    grown_by_depth_.push_back(grown(active_solids(source_.phantom), margin_mm_ + static_cast<double>(radius)));
}

bool PairExpectation::may_meet(std::uint32_t detector, Vec3 centre_mm, std::uint32_t depth) const {
  if (scatter_) return true;
  const Vec3d from = scanner_->detectors->position(detector).as<double>(), along = centre_mm.as<double>() - from;
  return std::ranges::any_of(grown_by_depth_[depth], [&](const Solid& solid) {
    const Interval hit = solid.intersect(from, along);
    return !hit.empty() && hit.end > 0 && hit.begin < 1;
  });
}

void PairExpectation::of(std::span<const DetectorPair> pairs, float* values, std::uint64_t seed) const {
  evaluate(pairs, {least_seen, lines_, seed}, values);
}

void PairExpectation::of_counted(std::span<const DetectorPair> pairs, float* values) const {
  evaluate(pairs, {least_counted, least_lines, 0}, values);
}

void PairExpectation::evaluate(std::span<const DetectorPair> pairs, Drawing drawing, float* values) const {
  for_each_pair(pairs, [&](std::size_t k) {
    const float efficiency = efficiency_of(list_.view(), pairs[k].detector1, pairs[k].detector2);
    values[k] = efficiency > 0 ? efficiency * static_cast<float>(mean_chord(pairs[k], drawing)) : 0.0f;
  });
  attenuate(pairs, values);
  if (!scatter_) return;
  const DetectorTable& table = *scanner_->detectors;
  for_each_pair(pairs, [&](std::size_t k) {
    const Lor lor{table.position(pairs[k].detector1), table.position(pairs[k].detector2)};
    values[k] += efficiency_of(list_.view(), pairs[k].detector1, pairs[k].detector2) *
                 scatter_at(*scatter_, sinogram_place(lor));
  });
}

double PairExpectation::mean_chord(DetectorPair pair, Drawing drawing) const {
  const DetectorTable& table = *scanner_->detectors;
  const Vec3d p = table.position(pair.detector1).as<double>(), q = table.position(pair.detector2).as<double>();
  const double wide = grown_.activity_integral(p, q);
  if (wide == 0 || pair.detector1 == pair.detector2) return 0;
  const double middle = source_.phantom.activity_integral(p, q);
  if (middle >= well_inside * wide) return middle;
  const Face& one = faces_[scanner_->module_of(pair.detector1)];
  const Face& two = faces_[scanner_->module_of(pair.detector2)];
  const std::uint64_t start = mixed(mixed(drawing.seed, pair.detector1), pair.detector2);
  // Depths are exponential; the detector's place is their mean.
  const auto point = [](Vec3d at, const Face& face, double u, double v, double w) {
    const double depth_mm = -std::log(1 - w * face.stopped) / usual_per_mm;
    return at + (u - 0.5) * face.across + (v - 0.5) * face.along + (depth_mm - face.mean_depth_mm) * face.outwards;
  };
  double sum = 0;
  for (int n = 0; n < drawing.lines; ++n) {
    const auto at = spread(start, n);
    sum += source_.phantom.activity_integral(point(p, one, at[0], at[1], at[2]), point(q, two, at[3], at[4], at[5]));
  }
  return std::max(sum / drawing.lines, drawing.least * wide);
}

void PairExpectation::attenuate(std::span<const DetectorPair> pairs, float* values) const {
  const DetectorTable& table = *scanner_->detectors;
  if (!attenuation_)
    return for_each_pair(pairs, [&](std::size_t k) {
      if (values[k] > 0)
        values[k] *= static_cast<float>(std::exp(-source_.phantom.attenuation(
            table.position(pairs[k].detector1).as<double>(), table.position(pairs[k].detector2).as<double>())));
    });
  // Only lines that meet the source are followed through the map.
  std::vector<std::uint32_t> one, two;
  std::vector<std::size_t> place;
  std::vector<float> met;
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    if (!(values[k] > 0)) continue;
    one.push_back(pairs[k].detector1);
    two.push_back(pairs[k].detector2);
    place.push_back(k);
    met.push_back(values[k]);
  }
  EventView lines;
  lines.count = static_cast<std::int64_t>(one.size());
  lines.detectors = table.on(Memory::host);
  lines.detector1 = one.data();
  lines.detector2 = two.data();
  attenuation_->apply(lines, met.data());
  for (std::size_t n = 0; n < place.size(); ++n) values[place[n]] = met[n];
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
