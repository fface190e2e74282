// ToF bins of the TOR and of blobs: whatever their width, they add up to non-ToF on every path, and the quadratics that
// approximate a bin's response (tof_profile.hpp) are as accurate as stated.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/ring/blob/blob_projector.hpp"
#include "kernels/ring/tor/tof_profile.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/blob_support.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

constexpr float sigma = 20;
constexpr float widths[] = {0.05f, 0.125f, 0.2f, 0.4f, 0.6f, 1, 1.58f, 2, 3, 4, 6};  // of bins, in sigma

/// The lines in every bin that can see the image, line after line.
std::vector<Lor> in_all_bins(const std::vector<Lor>& lines, float width, std::size_t* bins_a_line = nullptr) {
  const int half = static_cast<int>((150 + 3 * sigma) / (width * sigma) + 0.5f) + 1;
  std::vector<Lor> lors;
  for (Lor lor : lines)
    for (int bin = -half; bin <= half; ++bin) {
      lor.tof_mm = static_cast<float>(bin) * width * sigma;
      lors.push_back(lor);
    }
  if (bins_a_line) *bins_a_line = static_cast<std::size_t>(2 * half + 1);
  return lors;
}

/// Lines that end outside the image, so that tiles take them.
std::vector<Lor> lines_through(const Grid& grid) {
  return random_lines(grid, 14, 11, 150);
}

/// Each line's bins forward, and all lines' bins back, against non-ToF; and both halves of the EM step against each
/// other.
void check_sums(ListModeProjector& projector, const std::vector<Lor>& lines, float width) {
  const auto image = random_numbers(projector.grid().voxels(), 3, 0.5f, 1.5f);
  std::size_t bins = 0;
  const std::vector<Lor> parts = in_all_bins(lines, width, &bins);
  const std::vector<float> line_ones(lines.size(), 1.0f), part_ones(parts.size(), 1.0f);
  const Projections whole = project(projector, batch_of(lines), image, line_ones);
  const Projections found = project(projector, batch_of(parts, {sigma, width * sigma}), image, part_ones);
  std::vector<float> sums;
  for (std::size_t i = 0; i < parts.size(); i += bins) {
    const auto first = found.forward.begin() + static_cast<std::ptrdiff_t>(i);
    sums.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(bins), 0.0f));
  }
  CHECK(error_of_range(sums, whole.forward) < 1e-3);
  CHECK(error_of_range(found.back, whole.back) < 1e-3);
  // Lines that meet the image only with the end of a bin's support have ratios a million times the others', and tiles
  // add fixed-point numbers.
  CHECK(inner(found.em, image) == approx(static_cast<double>(found.tally.used)).epsilon(2e-4));
}

void check_all(Backend backend, CudaPath path) {
  CAPTURE(static_cast<int>(path));
  const Grid voxels = Grid::centred(24, 20, 16, {4, 4, 4}), blobs = blob_grid(14, 12, 9, 8.15f);
  for (const float width : widths) {
    CAPTURE(width);
    for (const float tube : {1.0f, 3.0f, 5.0f, 15.0f}) {
      CAPTURE(tube);
      const RadialResponse response = RadialResponse::gaussian(1.72f * tube, 2 * tube);
      const auto projector = make_tor_projector(voxels, {.response = response, .cuda_path = path}, backend);
      check_sums(*projector, lines_through(voxels), width);
    }
    check_sums(*make_blob_projector(blobs, {.cuda_path = path}, backend), lines_through(blobs), width);
  }
}

}  // namespace

TEST_CASE("a bell and pieces follow a ToF bin's response to what they say, whatever its width") {
  for (const double width : {0.01, 0.05, 0.125, 0.3, 0.5, 0.7, 1.0, 1.58, 2.0, 3.0, 4.0, 5.9, 6.0, 6.1, 8.0, 40.0}) {
    CAPTURE(width);
    const tor::TofResponse response(40, 40 * width, 3);
    const double peak = response.at(0), reach = response.reach_mm();
    double of_bell = 0;
    const tor::TofBell bell = tor::TofBell::make(response);
    // Half as far as a tube three voxels wide reaches along the line in a slice (sqrt(2) 6 mm), as far, and twice.
    for (const double stretch : {0.0, 4.0, 8.5}) {
      CAPTURE(stretch);
      const tor::TofPieces made(response, stretch);
      const tor::TofPieceView view = made.view(made.pieces().data());
      double worst = 0, squares = 0;
      int count = 0;
      for (double u = 0; u < reach + 1; u += 0.173)
        for (const double v : {-1.0, -0.6, 0.0, 0.3, 0.9}) {  // parts of the piece, which is taken around u
          const auto place = view.nearest(static_cast<float>(u));
          const tor::TofPiece& piece = view.pieces[place.piece];
          const double at = u + v * stretch, from = at - static_cast<double>(place.mm);
          const tor::TofRamp ramp = piece.ramp(view.corner, view.end);
          const double y = std::clamp(static_cast<double>(ramp.start) - static_cast<double>(ramp.rate) * at, 0.0, 1.0);
          const double found =
              static_cast<double>(made.unit()) * y *
              std::exp2(static_cast<double>(piece.level) +
                        from * (static_cast<double>(piece.slope) + from * static_cast<double>(piece.bend)));
          const double error = std::abs(found - response.at(at)) / peak;
          worst = std::max(worst, error);
          squares += error * error;
          ++count;
        }
      const double rms = std::sqrt(squares / count);
      if (stretch == 0) CHECK(worst < 3e-6);
      if (width > 0.5 && stretch == 4.0) {
        CHECK(worst < 1.5e-4);
        CHECK(rms < 8e-6);
      }
      if (width > 0.5 && stretch == 8.5) {
        CHECK(worst < 5e-4);
        CHECK(rms < 6e-5);
      }
    }
    if (width > tor::TofBell::widest) continue;
    for (double u = 0; u < reach + 1; u += 0.01) {
      if (response.takes_whole_bins() && std::abs(u - reach) < 1e-3) continue;  // within the step
      const double y = std::clamp(static_cast<double>(bell.y.start) - static_cast<double>(bell.y.rate) * u, 0.0, 1.0);
      const auto ramp = [&](int k) { return static_cast<double>(bell.ramp[k]); };
      const double found = static_cast<double>(bell.unit) * std::exp2(-static_cast<double>(bell.rate) * u * u) * y *
                           (ramp(0) + y * (ramp(1) + y * ramp(2)));
      of_bell = std::max(of_bell, std::abs(found - response.at(u)) / peak);
    }
    CHECK(of_bell < (response.takes_whole_bins() ? 1e-6 : 4e-5));
  }
}

TEST_CASE("ToF bins of the TOR and of blobs add up to non-ToF at every width, on the CPU") {
  check_all(Backend::cpu, CudaPath::automatic);
}

TEST_CASE("ToF bins of the TOR and of blobs add up to non-ToF at every width, on CUDA by tiles and directly") {
  if (!gpu_or_skip()) return;
  check_all(Backend::cuda, CudaPath::direct);
  check_all(Backend::cuda, CudaPath::tiled);
}

TEST_CASE("a point's share of the central ToF bin and of its neighbours is that of the Gaussian") {
  // Bins of 1.58 sigma, as biograph_vision has: 0.571 and 0.206 of the counts (sampled: 0.635 and 0.182).
  const Grid grid = Grid::centred(25, 25, 1, {4, 4, 4});
  std::vector<float> image(static_cast<std::size_t>(grid.voxels()), 0.0f);
  image[static_cast<std::size_t>(grid.index(12, 12, 0))] = 1;
  const auto projector = make_tor_projector(grid, {.response = RadialResponse::gaussian(5, 6)}, Backend::cpu);
  std::vector<Lor> lors;
  for (const int bin : {-1, 0, 1}) lors.push_back({{-200, 0, 0}, {200, 0, 0}, static_cast<float>(bin) * 1.58f * sigma});
  const auto whole = forward_of(*projector, batch_of({lors[1]}), image);
  const auto shares = forward_of(*projector, batch_of(lors, {sigma, 1.58f * sigma}), image);
  const double mass = std::erf(3 / std::sqrt(2.0)), r = 0.79 / std::sqrt(2.0);
  const auto share = [&](std::size_t bin) { return static_cast<double>(shares[bin] / whole[0]); };
  CHECK(share(1) == approx(std::erf(r) / mass).epsilon(2e-5));
  for (const std::size_t bin : {0u, 2u})
    CHECK(share(bin) == approx((std::erf(3 * r) - std::erf(r)) / (2 * mass)).epsilon(2e-5));
}
// SPDX-License-Identifier: Apache-2.0
