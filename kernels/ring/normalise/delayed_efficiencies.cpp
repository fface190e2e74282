// Efficiencies from delayeds: see delayed_efficiencies.hpp.
#include "kernels/ring/normalise/delayed_efficiencies.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <stdexcept>

#include <Eigen/Dense>
#include <fmt/format.h>

#include "kernels/ring/normalise/outliers.hpp"

namespace tofstream {

namespace {

/// The functions of which ln F is made, at each crystal: [crystal][function].
Eigen::MatrixXd flux_functions(const Scanner& scanner, const FluxOrders& orders) {
  const auto crystals = static_cast<std::uint32_t>(scanner.detectors->size());
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  std::set<long> heights;  // in tenths of a mm
  for (std::uint32_t i = 0; i < crystals; ++i) {
    const float z = scanner.detectors->position(i).z;
    low = std::min(low, static_cast<double>(z));
    high = std::max(high, static_cast<double>(z));
    heights.insert(std::lround(10 * z));
  }
  const int axial = std::min(orders.axial, static_cast<int>(heights.size()) - 1);
  Eigen::MatrixXd functions(crystals, (2 * orders.azimuth + 1) * (axial + 1));
  for (std::uint32_t i = 0; i < crystals; ++i) {
    const Vec3 at = scanner.detectors->position(i);
    const double azimuth = std::atan2(static_cast<double>(at.y), static_cast<double>(at.x));
    const double z = high > low ? 2 * (static_cast<double>(at.z) - low) / (high - low) - 1 : 0;
    int column = 0;
    for (int l = 0; l <= axial; ++l) {
      const double along = std::legendre(static_cast<unsigned>(l), z);
      functions(i, column++) = along;
      for (int k = 1; k <= orders.azimuth; ++k) {
        functions(i, column++) = along * std::cos(k * azimuth);
        functions(i, column++) = along * std::sin(k * azimuth);
      }
    }
  }
  return functions;
}

/// F of all crystals, by those that are fitted: Fisher's scoring, whose matrix does not change.
Eigen::VectorXd fitted_flux(const Eigen::MatrixXd& functions, const Eigen::VectorXd& singles,
                            const std::vector<char>& is_fitted) {
  constexpr int most_steps = 100;
  constexpr double exact_enough = 1e-8, farthest = 1;  // of a step in ln F
  Eigen::VectorXd fitted(singles.size());
  for (Eigen::Index i = 0; i < singles.size(); ++i) fitted[i] = is_fitted[static_cast<std::size_t>(i)] ? 1 : 0;
  const Eigen::LDLT<Eigen::MatrixXd> normal(functions.transpose() * fitted.asDiagonal() * functions);
  constexpr double least_condition = 1e-10;
  if (!(normal.rcond() > least_condition))
    throw std::runtime_error(
        "the crystals lie in too few different places for the orders of the flux, which they do not settle: lower "
        "them");
  Eigen::VectorXd coefficients = Eigen::VectorXd::Zero(functions.cols());
  coefficients[0] = std::log(singles.dot(fitted) / fitted.sum());
  for (int step = 0; step < most_steps; ++step) {
    const Eigen::VectorXd flux = (functions * coefficients).array().exp();
    const Eigen::VectorXd rest = (singles.array() / flux.array() - 1) * fitted.array();
    Eigen::VectorXd change = normal.solve(functions.transpose() * rest);
    const double most = (functions * change).cwiseAbs().maxCoeff();
    if (most > farthest) change *= farthest / most;
    coefficients += change;
    if (most < exact_enough) return (functions * coefficients).array().exp();
  }
  throw std::runtime_error("the flux that the delayeds show was not found: lower its orders");
}

/// The RMS by which modules' mean efficiencies differ, less what counting statistics explain.
double spread_of_modules(const Scanner& scanner, const DelayedEfficiencies& result,
                         const std::vector<char>& is_fitted) {
  double squares = 0, modules = 0;
  for (const ModuleType& type : scanner.types)
    for (std::uint32_t module = 0; module < type.modules; ++module) {
      double sum = 0, variance = 0, crystals = 0;
      for (std::uint32_t element = 0; element < type.elements; ++element) {
        const std::size_t i = type.first_detector + module * type.elements + element;
        if (!is_fitted[i]) continue;
        const double own = static_cast<double>(result.efficiency[i]), error = static_cast<double>(result.error[i]);
        sum += own;
        variance += own * own * error * error;
        ++crystals;
      }
      if (crystals == 0) continue;
      squares += std::pow(sum / crystals - 1, 2) - variance / (crystals * crystals);
      ++modules;
    }
  return std::sqrt(std::max(squares / std::max(modules, 1.0), 0.0));
}

}  // namespace

DelayedEfficiencies efficiencies_from_delayeds(const Scanner& scanner, const DelayedCounts& delayeds,
                                               const FluxOrders& orders) {
  if (orders.azimuth < 0 || orders.axial < 0)
    throw std::invalid_argument("the orders of the flux must not be negative");
  const RandomsModel model = randoms_from_delayeds(scanner, delayeds, 1);
  const std::vector<double> factors(model.factor.begin(), model.factor.end());
  const Eigen::Map<const Eigen::VectorXd> singles(factors.data(), static_cast<Eigen::Index>(factors.size()));
  const std::vector<double> partners = CoincidenceSums(scanner).fans(factors);
  const Eigen::MatrixXd functions = flux_functions(scanner, orders);

  DelayedEfficiencies result;
  result.counted.assign(delayeds.fans().begin(), delayeds.fans().end());
  std::vector<char> is_fitted(factors.size(), 1);
  Eigen::VectorXd flux;
  const auto require_enough = [&](std::int64_t crystals) {
    if (static_cast<double>(crystals) < 10.0 * static_cast<double>(functions.cols()))
      throw std::runtime_error(fmt::format(
          "{} delayed coincidences are too few: {} of {} crystals have the {:g} that are needed, and the flux has {} "
          "coefficients, ten crystals for each. Take a longer scan, or lower orders of the flux",
          delayeds.total(), crystals, factors.size(), least_expected_counts, functions.cols()));
  };
  require_enough(std::ranges::count_if(result.counted, [](double n) { return n >= least_expected_counts; }));
  constexpr int rounds = 3;  // crystals that are left out change the flux of the others
  for (int round = 0; round < rounds; ++round) {
    require_enough(std::ranges::count(is_fitted, 1));
    flux = fitted_flux(functions, singles, is_fitted);
    result.dead.clear(), result.hot.clear(), result.unseen.clear();
    for (std::uint32_t i = 0; i < factors.size(); ++i) {
      const CrystalState state = state_of(result.counted[i], flux[i] * partners[i]);
      is_fitted[i] = state == CrystalState::usual;
      if (state == CrystalState::dead) result.dead.push_back(i);
      if (state == CrystalState::hot) result.hot.push_back(i);
      if (state == CrystalState::unseen) result.unseen.push_back(i);
    }
  }

  double sum = 0, least = std::numeric_limits<double>::max(), most = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double of_crystal = flux[static_cast<Eigen::Index>(i)];
    least = std::min(least, of_crystal);
    most = std::max(most, of_crystal);
    if (is_fitted[i]) sum += factors[i] / of_crystal;
  }
  result.flux_ratio = most / least;
  const double mean = sum / static_cast<double>(std::ranges::count(is_fitted, 1));
  result.efficiency.assign(factors.size(), 0);
  result.error.assign(factors.size(), 0);
  for (const std::uint32_t i : result.unseen) result.efficiency[i] = 1;
  for (std::size_t i = 0; i < factors.size(); ++i)
    if (is_fitted[i] && result.counted[i] > 0) {
      result.efficiency[i] = static_cast<float>(factors[i] / flux[static_cast<Eigen::Index>(i)] / mean);
      result.error[i] = static_cast<float>(1 / std::sqrt(result.counted[i]));
    }
  result.module_spread = spread_of_modules(scanner, result, is_fitted);
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
