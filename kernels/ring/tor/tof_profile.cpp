// Bells and pieces of a bin's ToF response: see tof_profile.hpp.
#include "kernels/ring/tor/tof_profile.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream::tor {

namespace {

/// A quadratic for log2 of the response over a ramp, and its error.
struct Fit {
  TofPiece piece;
  double error = 0, mean_square = 0;
};

double clamped_ramp(const TofRamp& ramp, double u) {
  return std::clamp(static_cast<double>(ramp.start) - static_cast<double>(ramp.rate) * u, 0.0, 1.0);
}

/// The quadratic that meets the response over its ramp at three places of the stretch about `place`; nothing where a
/// logarithm has none there.
std::optional<Fit> fit(const TofResponse& response, double unit, double place, double half, int kind,
                       const TofRamp& ramp) {
  // Chebyshev's outer nodes lie at 0.87 of the stretch; most tubes fill less than all of it.
  const double node = 0.7 * half;
  double logs[3];
  for (int n = 0; n < 3; ++n) {
    const double u = place + (n - 1) * node;
    double over = 0;
    if (kind == TofPiece::end) {
      over = response.takes_whole_bins() ? response.uncut(u)
             : u < response.corner_mm()  ? response.at(u)
                                         : response.over_ramp(u) * (response.reach_mm() - response.corner_mm());
    } else {
      const double y = clamped_ramp(ramp, u);
      over = y > 0 ? response.at(u) / y : 0;
    }
    if (!(over > 1e-12 * unit)) return {};
    logs[n] = std::log2(over / unit);
  }
  const double slope = (logs[2] - logs[0]) / (2 * node), bend = (logs[2] + logs[0] - 2 * logs[1]) / (2 * node * node);
  Fit result{{static_cast<float>(logs[1]), static_cast<float>(slope), static_cast<float>(bend), kind}};
  constexpr int samples = 17;
  for (int i = 0; i < samples; ++i) {
    const double v = half * (2.0 * i / (samples - 1) - 1), u = place + v;
    const double found = std::exp2(logs[1] + v * (slope + v * bend)) * clamped_ramp(ramp, u);
    const double error = std::abs(found - response.at(u) / unit);
    result.error = std::max(result.error, error);
    result.mean_square += error * error / samples;
  }
  return result;
}

/// start - rate u that is 1 at `one` and 0 at `zero`.
TofRamp ramp_between(double one, double zero) {
  const double rate = 1 / (zero - one);
  return {static_cast<float>(zero * rate), static_cast<float>(rate)};
}

/// The ramp from the corner to where the response ends. A step is as steep as places are exact in single precision.
TofRamp end_ramp(const TofResponse& response) {
  constexpr double half_step_mm = 1e-5;
  const double reach = response.reach_mm();
  if (response.takes_whole_bins()) return ramp_between(reach - half_step_mm, reach + half_step_mm);
  return ramp_between(response.corner_mm(), reach);
}

}  // namespace

TofResponse::TofResponse(double sigma_mm, double width_mm, double cut_sigma)
    : kernel_(TofKernel<double>::make(sigma_mm, cut_sigma)), width_mm_(width_mm) {
  if (!(sigma_mm > 0 && width_mm > 0 && cut_sigma > 0))
    throw std::invalid_argument(fmt::format("ToF response: sigma {} mm, bin {} mm, cut {} sigma: give positive numbers",
                                            sigma_mm, width_mm, cut_sigma));
}

double TofResponse::corner_mm() const {
  return takes_whole_bins() ? kernel_.cut_mm : std::abs(kernel_.cut_mm - half_width_mm());
}

double TofResponse::density_at_cut() const {
  return kernel_.density(kernel_.cut_mm);
}

double TofResponse::over_ramp(double u_mm) const {
  // The integral from u - width / 2 to the cut, over the distance between them; at no distance the density at the cut.
  const double r = 1 / std::numbers::sqrt2 * kernel_.inverse_sigma;
  double distance = reach_mm() - u_mm;
  if (std::abs(distance) < 1e-4 / kernel_.inverse_sigma) distance = 1e-4 / kernel_.inverse_sigma;
  const double from = kernel_.cut_mm - distance;
  return kernel_.half_inverse_mass * (std::erfc(from * r) - std::erfc(kernel_.cut_mm * r)) / distance;
}

TofBell TofBell::make(const TofResponse& response) {
  const double sigma = response.sigma_mm(), h = response.half_width_mm() / sigma;
  // The variance of the sum of a Gaussian and a bin is 1 + h^2 / 3; with the second term the largest error is least.
  const double variance = sigma * sigma * (1 + h * h / 3 * (1 + 0.0925 * h * h));
  const double corner = response.corner_mm(), reach = response.reach_mm();
  const auto bell = [&](double u) { return std::exp(-0.5 * u * u / variance); };
  // The amplitude, by least squares up to the corner.
  double above = 0, below = 0;
  constexpr int samples = 64;
  for (int i = 0; i < samples; ++i) {
    const double u = corner * (i + 0.5) / samples;
    above += response.at(u) * bell(u);
    below += bell(u) * bell(u);
  }
  const double unit = above / below;
  TofBell result;
  result.rate = static_cast<float>(0.5 * std::numbers::log2e / variance);
  result.unit = static_cast<float>(unit);
  result.whole_mm = static_cast<float>(corner);
  result.y = end_ramp(response);
  if (response.takes_whole_bins()) return result;
  // Response over bell is y + y (1 - y) (p + q y), through two places between.
  const auto beside = [&](double y) {
    const double u = reach - y * (reach - corner);
    return (response.at(u) / (unit * bell(u)) - y) / (y * (1 - y));
  };
  constexpr double y1 = 0.25, y2 = 0.75;
  const double q = (beside(y2) - beside(y1)) / (y2 - y1), p = beside(y1) - q * y1;
  result.ramp[0] = static_cast<float>(1 + p);
  result.ramp[1] = static_cast<float>(q - p);
  result.ramp[2] = static_cast<float>(-q);
  return result;
}

TofPieces::TofPieces(const TofResponse& response, double half_mm) {
  const double sigma = response.sigma_mm(), corner = response.corner_mm(), reach = response.reach_mm();
  const double unit = response.at(0);
  unit_ = static_cast<float>(unit);
  const double end = reach + half_mm;
  const int count = std::clamp(static_cast<int>(end / (0.0125 * sigma)), 64, 4095);
  step_mm_ = end / count;
  const double half = half_mm + 0.5 * step_mm_;
  whole_mm_ = static_cast<float>(corner);
  end_ = end_ramp(response);
  // At the corner the response's slope falls by the density at the cut: about there it is a smooth function times this.
  const double rate = response.density_at_cut() / response.at(corner);
  corner_ = {static_cast<float>(1 + rate * corner), static_cast<float>(rate)};
  for (int i = 0; i <= count; ++i) {
    std::optional<Fit> best;
    const auto offer = [&](int kind, const TofRamp& ramp) {
      const auto found = fit(response, unit, i * step_mm_, half, kind, ramp);
      if (found && (!best || found->mean_square < best->mean_square)) best = found;
    };
    offer(TofPiece::whole, {});
    if (!response.takes_whole_bins()) offer(TofPiece::corner, corner_);
    offer(TofPiece::end, end_);
    if (!best) best = Fit{{-100, 0, 0, TofPiece::end}, 0, 0};  // beyond the end
    pieces_.push_back(best->piece);
    errors_.push_back(static_cast<float>(best->error));
    good_.push_back(best->error <= 3e-5 && best->error <= 2e-4 * response.at(i * step_mm_) / unit);
  }
}

TofPieceView TofPieces::view(const TofPiece* pieces) const {
  const auto last = static_cast<double>(pieces_.size() - 1);
  return {pieces,
          static_cast<float>(step_mm_),
          static_cast<float>(1 / step_mm_),
          static_cast<float>(last * step_mm_),
          corner_,
          end_};
}

std::shared_ptr<const TofPieces> TofPieceCache::pieces(double sigma_mm, double width_mm, double cut_sigma,
                                                       double half_mm) {
  const Key key{sigma_mm, width_mm, cut_sigma, half_mm};
  const std::lock_guard lock(mutex_);
  if (!last_ || key != key_) {
    last_ = std::make_shared<const TofPieces>(TofResponse(sigma_mm, width_mm, cut_sigma), half_mm);
    key_ = key;
  }
  return last_;
}

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
