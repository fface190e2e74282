// Kappa, with which a prior's resolution is even (Fessler and Rogers 1996): sqrt(A^T((A 1) / (A x + c)^2)) of an image
// x that was reconstructed before. With B(x) = A^T(1 / (A x + c)), which projectors give, the sum is minus the
// derivative of B along an image of ones, of which this takes three points, so that every projector and correction is
// as in the reconstruction.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/memory_images.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {
namespace {

constexpr int kappa_passes = 3;  // over all data: of x, x + h and x + 2 h

Image read_reconstruction(const std::filesystem::path& path) {
  Image image = [&] {
    if (const Image* given = find_memory_image(path)) return *given;
    require_readable(path, "--set estimate.reconstruction=FILE names another");
    return read_nifti(path);
  }();
  validate(image.grid);
  for (float& value : image.voxels.span()) value = std::max(value, 0.0f);
  return image;
}

struct KappaImage {
  struct Params {
    std::filesystem::path reconstruction;
    double step = 2e-3;
    BackendChoice backend = BackendChoice::automatic;
  };
  static constexpr auto params = describe(
      param<&Params::reconstruction>("reconstruction", required, reads_file,
                                     "NIfTI of an image of the same data, on the grid that kappa is for"),
      param<&Params::step>("step", range(1e-6, 0.1),
                           "h, as a fraction of the image's mean: longer has less rounding, shorter less curvature"),
      param<&Params::backend>("backend", "Where the projector runs"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params&) { return {.note = "holds five images, in double precision, on the host"}; }

  explicit KappaImage(const Params& p) : backend_(p.backend), x_(read_reconstruction(p.reconstruction)) {
    const auto voxels = x_.voxels.span();
    h_ = p.step * std::accumulate(voxels.begin(), voxels.end(), 0.0) / static_cast<double>(voxels.size());
    if (!(h_ > 0 && std::isfinite(h_)))
      throw std::runtime_error(fmt::format("{}: the image has no activity", p.reconstruction.string()));
    for (auto& sum : back_) sum.assign(voxels.size(), 0.0);
  }

  void start(Emit<Estimate>& emit) { emit(at(0, {.iteration = 0})); }

  void process(std::shared_ptr<const Projected> projected, Emit<Estimate>& emit, Context& context) {
    const UpdateStep& step = projected->step;
    if (step.restart) throw std::runtime_error("kappa is of data that have ended: take subset_builder for subsets");
    if (step.iteration == 0) return emit(at(0, step));
    if (step.subsets == 0 || step.iterations != kappa_passes)
      throw std::runtime_error(
          fmt::format("kappa needs {} passes over all data: set subsets.iterations={}", kappa_passes, kappa_passes));
    add(*projected, back_[static_cast<std::size_t>(step.iteration - 1)]);
    if (step.iteration == 1) time_ += projected->support ? projected->time_fraction / step.subsets : projected->time_fraction;
    if (step.last) return emit(kappa(step, context));
    emit(at(step.ends_iteration ? step.iteration : step.iteration - 1, step));
  }

 private:
  /// x + n h
  Estimate at(int n, const UpdateStep& step) {
    if (!next_ || n != n_) {
      Image moved = x_;
      for (float& value : moved.voxels.span()) value += static_cast<float>(n * h_);
      next_ = std::make_shared<const Image>(moved.to(memory_of(backend_)));
      synchronize(nullptr);  // before the host's image is released
      n_ = n;
    }
    return {step, next_};
  }

  static void add(const Projected& projected, std::vector<double>& sum) {
    const auto back = projected.back_projection->voxels.to_vector();
    if (back.size() != sum.size()) throw std::runtime_error("the projector's image has another grid than kappa's");
    for (std::size_t v = 0; v < sum.size(); ++v) sum[v] += static_cast<double>(back[v]);
  }

  /// For the reference time, as the sensitivity is.
  Estimate kappa(const UpdateStep& step, Context& context) const {
    auto image = std::make_shared<Image>(Image::zeros(x_.grid));
    for (std::size_t v = 0; v < back_[0].size(); ++v) {
      // The derivative of the parabola through three points.
      const double fall = (3 * back_[0][v] - 4 * back_[1][v] + back_[2][v]) / (2 * h_);
      image->voxels[static_cast<std::int64_t>(v)] = static_cast<float>(std::sqrt(std::max(fall / time_, 0.0)));
    }
    context.report("largest_kappa", static_cast<double>(std::ranges::max(image->voxels.span())));
    return {step, std::move(image)};
  }

  GadgetBackend backend_;
  Image x_;
  double h_ = 0, time_ = 0;
  std::array<std::vector<double>, kappa_passes> back_;  // B of each point
  std::shared_ptr<const Image> next_;
  int n_ = 0;
};

TOFSTREAM_GADGET(KappaImage, "kappa_image",
                 "Makes kappa, with which a prior's resolution is even, from a reconstruction and its data");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
