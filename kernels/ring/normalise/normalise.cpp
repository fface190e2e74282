// The fit of a normalisation: see normalise.hpp.
#include "kernels/ring/normalise/normalise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "kernels/ring/normalise/outliers.hpp"

namespace tofstream {

namespace {

constexpr int most_steps = 60;
constexpr double converged = 0.01;         // RMS of counted - expected, in Poisson errors
constexpr double classes_converged = 0.1;  // the largest last step of a class, in Poisson errors

std::size_t crystals_of(const Scanner& scanner) {
  return static_cast<std::size_t>(scanner.detectors->size());
}

/// The scanner's own efficiencies of its crystals, summed over energies.
std::vector<double> own_efficiencies(const Scanner& scanner) {
  std::vector<double> result(crystals_of(scanner), 1.0);
  if (scanner.bin_efficiency.empty()) return result;
  for (const ModuleType& type : scanner.types)
    for (std::uint32_t d = 0; d < type.modules * type.elements; ++d) {
      const auto first = scanner.bin_efficiency.begin() +
                         static_cast<std::ptrdiff_t>(type.first_bin + std::uint64_t{d} * type.energy_bins);
      result[type.first_detector + d] = std::accumulate(first, first + type.energy_bins, 0.0);
    }
  return result;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Calls part(number, begin, end) for equal parts of [0, count), in parallel; always the same parts, so that sums of
/// them are the same on any number of threads.
constexpr std::size_t parts = 16;
template <class Part>
void in_parts(std::size_t count, const Part& part) {
  tbb::parallel_for(std::size_t{0}, parts, [&](std::size_t p) { part(p, p * count / parts, (p + 1) * count / parts); });
}

void add_to(std::vector<double>& sum, const std::vector<double>& values) {
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += values[k];
}

std::vector<double> sum_over_parts(std::vector<std::vector<double>> of_part) {
  for (std::size_t part = 1; part < of_part.size(); ++part) add_to(of_part[0], of_part[part]);
  return std::move(of_part[0]);
}

}  // namespace

Normalisation::Normalisation(std::shared_ptr<const Scanner> scanner, const NormalisationSource& source,
                             const NormalisationSettings& settings)
    : scanner_(std::move(scanner)), settings_(settings), expectation_(*scanner_, source) {
  if (settings.classes && scanner_->pair_tables.empty())
    throw std::invalid_argument(
        fmt::format("scanner {} has no tables of module pairs, whose factors could be estimated", scanner_->name));
  factor_.assign(std::max<std::size_t>(scanner_->pair_tables.size(), 1), 1.0);
}

void Normalisation::add(const EventBatch& prompts, double exposure) {
  if (!prompts.detectors || prompts.detectors->size() != scanner_->detectors->size())
    throw std::invalid_argument("a normalisation is of events of one scanner with a table of detectors");
  scan_s_ += prompts.duration_s;
  weighted_s_ += prompts.duration_s * exposure;
  if (prompts.count == 0) return;
  const EventView view = prompts.view();
  std::vector<detail::DetectorPair> pairs;
  pairs.reserve(static_cast<std::size_t>(view.count));
  for (std::int64_t i = 0; i < view.count; ++i)
    pairs.push_back({std::max(view.detector1[i], view.detector2[i]), std::min(view.detector1[i], view.detector2[i])});
  std::vector<float> weights(pairs.size());
  expectation_.of_counted(pairs, weights.data());
  std::vector<Counted>& batch = batches_.emplace_back();
  batch.reserve(pairs.size());
  for (std::size_t k = 0; k < pairs.size(); ++k) batch.push_back({pairs[k].detector1, pairs[k].detector2, weights[k]});
  events_ += view.count;
}

template <class Visit>
void Normalisation::for_each_event(const Visit& visit) const {
  in_parts(batches_.size(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      for (const Counted& event : batches_[b]) visit(part, event);
  });
}

NormalisationEstimate Normalisation::estimate(const RandomsModel* randoms) {
  if (events_ == 0) throw std::runtime_error("no event came: a normalisation needs a scan of the source");
  if (!(weighted_s_ > 0)) throw std::runtime_error("the events state no scan time, which the calibration needs");
  randoms_ = randoms;
  sum_fans();
  NormalisationEstimate result;
  result.events = events_;
  leave_out(result);
  start();
  Trues trues = count_trues();
  for (; result.iterations < most_steps; ++result.iterations) {
    if (settings_.crystals)
      step_crystals(trues);
    else
      step_scale(trues);
    trues = count_trues();
    bool settled = true;
    if (settings_.classes) {
      settled = step_classes(trues) < classes_converged;
      trues = count_trues();
    }
    if (settled && residual(trues) < converged) break;
  }
  finish(result, trues);
  return result;
}

void Normalisation::sum_fans() {
  sums_.emplace(expectation_, settings_.most_lines);
  if (sums_->lines() == 0)
    throw std::runtime_error(
        fmt::format("no pair of crystals of scanner {} sees the source '{}': it lies outside the field of view",
                    scanner_->name, expectation_.phantom().name()));
  const auto meets = [](const Counted& event) { return event.weight > 0; };
  if (std::ranges::none_of(batches_, [&](const auto& batch) { return std::ranges::any_of(batch, meets); }))
    throw std::runtime_error(
        fmt::format("none of the {} events lies on a line that meets the source '{}': is it another scan's, or of "
                    "another place?",
                    events_, expectation_.phantom().name()));
}

// Dead, hot and unseen crystals by what each counted, against what it would if all were alike.
void Normalisation::leave_out(NormalisationEstimate& result) {
  const std::size_t count = crystals_of(*scanner_);
  std::vector<std::vector<double>> of_part(parts, std::vector<double>(count));
  for_each_event([&](std::size_t part, const Counted& event) {
    if (!(event.weight > 0)) return;
    ++of_part[part][event.detector1];
    ++of_part[part][event.detector2];
  });
  const std::vector<double> counted = sum_over_parts(std::move(of_part));
  const std::vector<double> fan = sums_->fans(std::vector<double>(count, 1.0));
  const double scale = sum_of(counted) / sum_of(fan);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < count; ++i)
    if (scale * fan[i] >= least_expected_counts) ratios.push_back(counted[i] / fan[i]);
  const double usual = median_of(ratios);
  fitted_.assign(count, 0);
  a_.assign(count, 1.0);
  for (std::uint32_t i = 0; i < count; ++i) {
    const CrystalState state = state_of(counted[i], usual * fan[i]);
    if (state == CrystalState::usual) fitted_[i] = 1;
    if (state == CrystalState::unseen) result.unseen.push_back(i);
    if (state == CrystalState::dead) result.dead.push_back(i);
    if (state == CrystalState::hot) result.hot.push_back(i);
    if (state == CrystalState::dead || state == CrystalState::hot) a_[i] = 0;
  }
  if (std::ranges::none_of(fitted_, [](char fitted) { return fitted != 0; }))
    throw std::runtime_error(fmt::format("{} events are too few: no crystal has {} counts", events_, least_expected_counts));
}

// All crystals alike, or as the scanner has them; the scale gives the total.
void Normalisation::start() {
  if (!settings_.crystals) {
    const std::vector<double> own = own_efficiencies(*scanner_);
    for (std::size_t i = 0; i < a_.size(); ++i) a_[i] *= own[i];
  }
  const std::vector<double> y = expected();
  std::vector<double> of_part(parts);
  for_each_event([&](std::size_t part, const Counted& event) {
    if (event.weight > 0 && a_[event.detector1] > 0 && a_[event.detector2] > 0) of_part[part] += 2;
  });
  if (!(sum_of(y) > 0))
    throw std::runtime_error("the scanner's own efficiencies of the crystals that see the source are all 0");
  const double scale = std::sqrt(sum_of(of_part) / sum_of(y));
  for (double& a : a_) a *= scale;
}

std::size_t Normalisation::class_of(std::uint32_t module1, std::uint32_t module2) const {
  if (scanner_->module_pair.empty() || scanner_->pair_tables.empty()) return 0;
  const std::int32_t found = scanner_->module_pair[static_cast<std::size_t>(module1) * scanner_->modules() + module2];
  return static_cast<std::size_t>(std::max(found, 0));
}

// The E-step: each event is one of the source with probability y / (y + r).
Normalisation::Trues Normalisation::count_trues() const {
  std::vector<Trues> of_part(parts, {.of_crystal = std::vector<double>(a_.size()),
                                     .information = std::vector<double>(a_.size()),
                                     .of_class = std::vector<double>(factor_.size())});
  for_each_event([&](std::size_t part, const Counted& event) {
    const std::uint32_t i = event.detector1, j = event.detector2;
    const std::size_t group = class_of(sums_->module_of(i), sums_->module_of(j));
    const double y = a_[i] * a_[j] * static_cast<double>(event.weight) * factor_[group];
    if (!(y > 0)) return;
    const double r = randoms_ ? static_cast<double>(randoms_->rate(i, j)) * scan_s_ : 0.0;
    const double p = y / (y + r);
    Trues& sum = of_part[part];
    for (const std::uint32_t crystal : {i, j}) {
      sum.of_crystal[crystal] += p;
      sum.information[crystal] += p * p;
    }
    sum.of_class[group] += p;
  });
  for (std::size_t part = 1; part < parts; ++part) {
    add_to(of_part[0].of_crystal, of_part[part].of_crystal);
    add_to(of_part[0].information, of_part[part].information);
    add_to(of_part[0].of_class, of_part[part].of_class);
  }
  return std::move(of_part[0]);
}

/// Counts of each crystal that the present estimate expects of the source.
std::vector<double> Normalisation::expected() const {
  std::vector<double> y = sums_->fans(a_);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] *= a_[i];
  return y;
}

double Normalisation::residual(const Trues& trues) const {
  const std::vector<double> y = expected();
  if (!settings_.crystals) {
    const double counted = sum_of(trues.of_crystal);
    return std::abs(counted - sum_of(y)) / std::sqrt(counted);
  }
  double squares = 0, count = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!fitted_[i]) continue;
    const double difference = trues.of_crystal[i] - y[i];
    squares += difference * difference / std::max(trues.of_crystal[i], 1.0);
    ++count;
  }
  return std::sqrt(squares / count);
}

// A step of Newton's method in the logarithms of e for given trues: gradient T - y, Hessian diag(y) + [y_ij], solved by
// some steps of conjugate gradients.
void Normalisation::step_crystals(const Trues& trues) {
  constexpr int most_inner = 12;
  constexpr double enough = 1e-3;  // of the residual's square at the start
  const std::vector<double> y = expected();
  const std::size_t count = y.size();
  std::vector<double> rest(count), delta(count), direction(count), scaled(count), turned;
  for (std::size_t i = 0; i < count; ++i)
    if (fitted_[i]) rest[i] = trues.of_crystal[i] - y[i];
  const auto preconditioned = [&](std::size_t i) { return y[i] > 0 ? rest[i] / y[i] : 0.0; };
  double before = 0, first = 0;
  for (int inner = 0; inner < most_inner; ++inner) {
    double now = 0;
    for (std::size_t i = 0; i < count; ++i) now += rest[i] * preconditioned(i);
    if (inner == 0) first = now;
    if (!(now > enough * first)) break;
    for (std::size_t i = 0; i < count; ++i) {
      direction[i] = preconditioned(i) + (inner > 0 ? now / before * direction[i] : 0.0);
      scaled[i] = a_[i] * direction[i];
    }
    turned = sums_->fans(scaled);
    double curvature = 0;
    for (std::size_t i = 0; i < count; ++i) {
      turned[i] = fitted_[i] ? y[i] * direction[i] + a_[i] * turned[i] : 0.0;
      curvature += direction[i] * turned[i];
    }
    if (!(curvature > 0)) break;
    for (std::size_t i = 0; i < count; ++i) {
      delta[i] += now / curvature * direction[i];
      rest[i] -= now / curvature * turned[i];
    }
    before = now;
  }
  constexpr double farthest = 1;  // from an estimate that is far off
  double logs = 0, fitted = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!fitted_[i]) continue;
    a_[i] *= std::exp(std::clamp(delta[i], -farthest, farthest));
    logs += a_[i];
    ++fitted;
  }
  for (std::size_t i = 0; i < count; ++i)  // those that were not seen are as the others on average
    if (!fitted_[i] && a_[i] > 0) a_[i] = logs / fitted;
}

void Normalisation::step_scale(const Trues& trues) {
  const double scale = std::sqrt(sum_of(trues.of_crystal) / sum_of(expected()));
  for (double& a : a_) a *= scale;
}

double Normalisation::step_classes(const Trues& trues) {
  const std::vector<double> sums = sums_->group_sums(a_);
  std::vector<double> y(factor_.size());
  for (std::uint32_t i = 0; i < a_.size(); ++i)
    sums_->visit(i, [&](const detail::FanSums::Line& line) {
      y[class_of(line.module1, line.module2)] += 0.5 * a_[i] * sums[line.group] * static_cast<double>(line.weight);
    });
  std::vector<double> change(factor_.size(), 1.0);
  for (std::size_t c = 0; c < factor_.size(); ++c)
    if (y[c] >= least_expected_counts && trues.of_class[c] > 0) change[c] = trues.of_class[c] / y[c];
  double farthest = 0;
  for (std::size_t c = 0; c < factor_.size(); ++c) {
    factor_[c] *= change[c];
    farthest = std::max(farthest, std::abs(change[c] - 1) * std::sqrt(trues.of_class[c]));
  }
  sums_->scale([&](std::uint32_t m1, std::uint32_t m2) { return change[class_of(m1, m2)]; });
  return farthest;
}

// The mean of the factors over the counts is 1.
void Normalisation::give_classes(NormalisationEstimate& result, const Trues& trues) {
  sums_->scale([&](std::uint32_t m1, std::uint32_t m2) { return 1 / factor_[class_of(m1, m2)]; });
  double counted = 0, without = 0;
  for (std::size_t c = 0; c < factor_.size(); ++c) {
    counted += trues.of_class[c];
    without += trues.of_class[c] / factor_[c];
  }
  const double mean = counted / without;
  for (std::size_t c = 0; c < factor_.size(); ++c) {
    const bool known = trues.of_class[c] >= least_expected_counts;
    result.components.class_factor.push_back(known ? static_cast<float>(factor_[c] / mean) : 1.0f);
    result.class_error.push_back(known ? static_cast<float>(1 / std::sqrt(trues.of_class[c])) : 0.0f);
  }
  for (double& a : a_) a *= std::sqrt(mean);
}

void Normalisation::finish(NormalisationEstimate& result, const Trues& trues) {
  result.fit = fit();
  result.counted = trues.of_crystal;
  result.trues = 0.5 * sum_of(trues.of_crystal);
  result.lines = sums_->lines();
  result.partners_alike = sums_->crystals_a_group();
  if (settings_.classes) give_classes(result, trues);
  result.sum_error = sums_->relative_error(a_);
  const std::vector<double> own = own_efficiencies(*scanner_);
  double sum = 0, sum_own = 0, fitted = 0;
  for (std::size_t i = 0; i < a_.size(); ++i) {
    if (!fitted_[i]) continue;
    sum += a_[i];
    sum_own += own[i];
    ++fitted;
  }
  const double keep = settings_.crystals && settings_.calibration ? 1.0 : sum_own / fitted;  // mean efficiency
  const double mean = sum / fitted / keep;
  if (settings_.calibration) {
    result.components.calibration = static_cast<float>(mean * mean / weighted_s_);
    result.components.unit = "Bq/mL";
  }
  if (!settings_.crystals) return;
  for (std::size_t i = 0; i < a_.size(); ++i) {
    result.components.crystal_efficiency.push_back(static_cast<float>(a_[i] / mean));
    const bool known = fitted_[i] && trues.information[i] > 0;
    result.crystal_error.push_back(
        known ? static_cast<float>(std::hypot(1 / std::sqrt(trues.information[i]), result.sum_error)) : 0.0f);
  }
}

/// Counts that the estimate expects by place, those of randoms among them.
Normalisation::Places Normalisation::expected_places(const detail::SourceProfile& profile) const {
  // A line that stands for a group of them may lie in another place than these.
  const double placing = 1 - 1.0 / sums_->crystals_a_group();
  const std::vector<double> sums = sums_->group_sums(a_), singles = singles_of_scan();
  const std::vector<double> singles_sums = sums_->group_sums(singles);
  const std::vector<double> none(profile.places());
  std::vector<Places> of_part(parts, {.counts = none, .variance = none});
  in_parts(a_.size(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    Places& sum = of_part[part];
    for (auto i = static_cast<std::uint32_t>(begin); i < end; ++i)
      sums_->visit(i, [&](const detail::FanSums::Line& line) {
        const double randoms = 0.5 * singles[i] * singles_sums[line.group];
        const double y = 0.5 * a_[i] * sums[line.group] * static_cast<double>(line.weight) + randoms;
        const std::size_t place = place_of(profile, line.pair.detector1, line.pair.detector2);
        sum.counts[place] += y;
        sum.variance[place] += placing * y * y;
        sum.randoms += randoms;
      });
  });
  for (std::size_t part = 1; part < parts; ++part) {
    add_to(of_part[0].counts, of_part[part].counts);
    add_to(of_part[0].variance, of_part[part].variance);
    of_part[0].randoms += of_part[part].randoms;
  }
  return std::move(of_part[0]);
}

/// Each crystal's factor of the randoms of the whole scan; 0 for those that are left out.
std::vector<double> Normalisation::singles_of_scan() const {
  std::vector<double> singles(a_.size());
  for (std::size_t i = 0; i < a_.size(); ++i)
    if (randoms_ && a_[i] > 0) singles[i] = static_cast<double>(randoms_->factor[i]) * std::sqrt(scan_s_);
  return singles;
}

std::size_t Normalisation::place_of(const detail::SourceProfile& profile, std::uint32_t detector1,
                                    std::uint32_t detector2) const {
  const DetectorTable& table = *scanner_->detectors;
  return profile.place(table.position(detector1).as<double>(), table.position(detector2).as<double>());
}

SourceFit Normalisation::fit() const {
  const detail::SourceProfile profile(expectation_.phantom(), expectation_.margin_mm());
  std::vector<std::vector<double>> counts(parts, std::vector<double>(profile.places() + 1));  // the last: beside
  for_each_event([&](std::size_t part, const Counted& event) {
    if (!(a_[event.detector1] > 0 && a_[event.detector2] > 0)) return;
    ++counts[part][event.weight > 0 ? place_of(profile, event.detector1, event.detector2) : profile.places()];
  });
  std::vector<double> counted = sum_over_parts(std::move(counts));
  const double beside = counted.back();
  counted.pop_back();
  const Places expected = expected_places(profile);
  SourceFit result = detail::SourceProfile::compare(counted, expected.counts, expected.variance);
  result.beside = beside;
  result.beside_expected = std::max(0.0, CoincidenceSums(*scanner_).total(singles_of_scan()) - expected.randoms);
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
