// Priors on the CPU, and the choice of backend: see prior.hpp.
#include "kernels/prior/prior.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "kernels/memory/refuse.hpp"
#include "kernels/prior/chosen_neighbours.hpp"
#include "kernels/prior/neighbour_rows.hpp"
#include "kernels/prior/prior_cuda.hpp"

namespace tofstream {
namespace {

void require_number(const char* name, double value, bool may_be_zero) {
  if (std::isfinite(value) && (value > 0 || (may_be_zero && value == 0))) return;
  throw std::invalid_argument(
      fmt::format("{} must be finite and {}, not {}", name, may_be_zero ? "not negative" : "positive", value));
}

/// Each row's value is summed on its own, and rows in their order, so that the sum does not depend on threads.
template <class RowValue>
double sum_of_rows(const int (&size)[3], const RowValue& row_value) {
  std::vector<double> rows(static_cast<std::size_t>(size[1]) * static_cast<std::size_t>(size[2]));
  detail::for_each_row(size, [&](int j, int k) {
    rows[static_cast<std::size_t>(j) + static_cast<std::size_t>(size[1]) * static_cast<std::size_t>(k)] =
        row_value(j, k);
  });
  double sum = 0;
  for (const double row : rows) sum += row;
  return sum;
}

/// What all priors do with images.
class PriorOnImages : public Prior {
 public:
  explicit PriorOnImages(PriorSettings settings) : settings_(std::move(settings)) {
    require_number("beta", settings_.beta, true);
  }

  Image gradient(const Image& image, Stream stream) const override {
    return part(detail::PriorPart::gradient, image, stream);
  }
  Image hessian_diagonal(const Image& image, Stream stream) const override {
    return part(detail::PriorPart::hessian_diagonal, image, stream);
  }
  Image majorant_curvature(const Image& image, Stream stream) const override {
    return part(detail::PriorPart::majorant_curvature, image, stream);
  }

 protected:
  virtual void sum(const Image& image, detail::PriorPart part, float* sums, Stream stream) const = 0;

  const PriorSettings& settings() const { return settings_; }
  const float* kappa() const { return settings_.kappa ? settings_.kappa->voxels.data() : nullptr; }

  void check(const Image& image) const {
    if (image.grid.has_blobs())
      throw std::invalid_argument("a prior is on voxels, and this image is of blobs: write basis: voxels");
    if (settings_.kappa) require_same(image, settings_.kappa->grid, settings_.kappa->voxels.memory(), "kappa");
    if (settings_.chosen)
      require_same(image, settings_.chosen->grid(), settings_.chosen->bits().memory(), "the choice of neighbours");
  }
  static void require_same(const Image& image, const Grid& grid, Memory memory, const char* name) {
    if (!(grid == image.grid))
      throw std::invalid_argument(fmt::format("prior: {} lies on another grid than the image", name));
    if (on_host(memory) != on_host(image.voxels.memory()))
      throw std::invalid_argument(fmt::format("prior: {} lies in other memory than the image", name));
  }

 private:
  Image part(detail::PriorPart which, const Image& image, Stream stream) const {
    check(image);
    Image sums{image.grid, Buffer<float>(image.voxels.memory(), image.voxels.size(), stream)};
    sum(image, which, sums.voxels.data(), stream);
    return sums;
  }

  PriorSettings settings_;
};

class NeighbourPrior final : public PriorOnImages {
 public:
  NeighbourPrior(const Potential& potential, PriorSettings settings)
      : PriorOnImages(std::move(settings)), potential_(potential) {
    std::visit([](const auto& psi) { psi.validate(); }, potential_);
    if (this->settings().border == Border::replicate && this->settings().chosen)
      throw std::invalid_argument("neighbours that are chosen lie inside the image: leave border at exclude");
  }

  double value(const Image& image, Stream stream) const override {
    check(image);
    const detail::NeighbourArrays<float> arrays = arrays_of(image);
    if (!on_host(image.voxels.memory())) return detail::value_cuda(arrays, potential_, stream);
    return std::visit(
        [&](const auto& psi) {
          return sum_of_rows(arrays.size, [&](int j, int k) {
            std::vector<double> sums(static_cast<std::size_t>(arrays.size[0]));
            detail::sum_row(arrays, detail::HalfValue{}, psi, j, k, sums.data());
            double sum = 0;
            for (const double voxel : sums) sum += voxel;
            return sum;
          });
        },
        potential_);
  }

  float least_ratio() const override {
    return std::visit([](const auto& psi) { return psi.least_ratio; }, potential_);
  }

 private:
  void sum(const Image& image, detail::PriorPart part, float* sums, Stream stream) const override {
    const detail::NeighbourArrays<float> arrays = arrays_of(image);
    if (!on_host(image.voxels.memory())) return detail::sum_cuda(arrays, potential_, part, sums, stream);
    std::visit(
        [&](const auto& psi) {
          detail::with_part(part, [&](auto which) { detail::sum_neighbours(arrays, which, psi, sums); });
        },
        potential_);
  }

  detail::NeighbourArrays<float> arrays_of(const Image& image) const {
    const int* size = image.grid.size;
    detail::NeighbourArrays<float> arrays{.image = image.voxels.data(),
                                          .kappa = kappa(),
                                          .chosen = settings().chosen ? settings().chosen->bits().data() : nullptr,
                                          .size = {size[0], size[1], size[2]},
                                          .replicate = settings().border == Border::replicate};
    set_weights(image.grid, arrays.weights);
    return arrays;
  }

  void set_weights(const Grid& grid, float (&weights)[27]) const {
    const Vec3d edges = grid.voxel_mm.as<double>();
    const double shortest = std::min({edges.x, edges.y, edges.z});
    for (int dk = -1; dk <= 1; ++dk)
      for (int dj = -1; dj <= 1; ++dj)
        for (int di = -1; di <= 1; ++di) {
          const int steps = std::abs(di) + std::abs(dj) + std::abs(dk);
          const bool is_one = steps == 1 || (steps > 1 && settings().neighbours == Neighbours::all);
          if (!is_one) continue;
          const double distance = std::hypot(di * edges.x, dj * edges.y, dk * edges.z);
          weights[detail::NeighbourArrays<float>::offset(di, dj, dk)] =
              static_cast<float>(settings().beta * shortest / distance);
        }
  }

  Potential potential_;
};

/// Edges of an anatomical image; none without it.
struct SharedEdges {
  std::shared_ptr<const Image> anatomy;
  double eta = 1;
};

class TotalVariation final : public PriorOnImages {
 public:
  TotalVariation(double epsilon, SharedEdges edges, PriorSettings settings)
      : PriorOnImages(std::move(settings)), epsilon_(epsilon), edges_(std::move(edges)) {
    require_number("epsilon", epsilon, false);
    require_number("eta", edges_.eta, false);
    if (!std::isfinite(static_cast<float>(1 / edges_.eta)))
      throw std::invalid_argument(
          fmt::format("eta is {:g}, too small for float32: give the anatomy in another unit", edges_.eta));
    if (this->settings().chosen || this->settings().border != Border::exclude ||
        this->settings().neighbours != Neighbours::all)
      throw std::invalid_argument("total variation has neighbours of its own: leave them, border and choice alone");
  }

  double value(const Image& image, Stream stream) const override;
  float least_ratio() const override { return 0; }

 private:
  void sum(const Image& image, detail::PriorPart part, float* sums, Stream stream) const override;

  /// Gives what `use` makes of the image's terms, with the anatomy's edges or without.
  template <class Use>
  auto with_arrays(const Image& image, const Use& use) const {
    if (!edges_.anatomy) return use(arrays_of(image, detail::NoEdges{}));
    require_same(image, edges_.anatomy->grid, edges_.anatomy->voxels.memory(), "the anatomy");
    return use(arrays_of(
        image, detail::AnatomyEdges<float>{edges_.anatomy->voxels.data(), static_cast<float>(1 / edges_.eta)}));
  }

  template <class Edges>
  detail::TotalVariationArrays<float, Edges> arrays_of(const Image& image, Edges with) const {
    const Grid& grid = image.grid;
    const Vec3d edges = grid.voxel_mm.as<double>();
    const double shortest = std::min({edges.x, edges.y, edges.z});
    return {.image = image.voxels.data(),
            .kappa = kappa(),
            .size = {grid.size[0], grid.size[1], grid.size[2]},
            .beta = static_cast<float>(settings().beta),
            .epsilon = static_cast<float>(epsilon_),
            .scales = {static_cast<float>(shortest / edges.x), static_cast<float>(shortest / edges.y),
                       static_cast<float>(shortest / edges.z)},
            .edges = with};
  }

  double epsilon_;
  SharedEdges edges_;
};

double TotalVariation::value(const Image& image, Stream stream) const {
  check(image);
  return with_arrays(image, [&](const auto& arrays) {
    if (!on_host(image.voxels.memory())) return detail::value_cuda(arrays, stream);
    return sum_of_rows(arrays.size, [&](int j, int k) {
      double sum = 0;
      for (int i = 0; i < arrays.size[0]; ++i) sum += arrays.template sum<double>(detail::HalfValue{}, i, j, k);
      return sum;
    });
  });
}

void TotalVariation::sum(const Image& image, detail::PriorPart part, float* sums, Stream stream) const {
  with_arrays(image, [&](const auto& arrays) {
    if (!on_host(image.voxels.memory())) return detail::sum_cuda(arrays, part, sums, stream);
    detail::with_part(part, [&](auto which) {
      detail::for_each_row(arrays.size, [&](int j, int k) {
        float* row = sums + image.grid.index(0, j, k);
        for (int i = 0; i < arrays.size[0]; ++i) row[i] = arrays.template sum<float>(which, i, j, k);
      });
    });
  });
}

}  // namespace

void HuberPotential::validate() const {
  require_number("delta", delta, false);
}

void LogCoshPotential::validate() const {
  require_number("scale", scale, false);
}

void RelativeDifferencePotential::validate() const {
  require_number("gamma", gamma, true);
  require_number("epsilon", epsilon, true);
}

std::shared_ptr<const Prior> neighbour_prior(const Potential& potential, const PriorSettings& settings) {
  return std::make_shared<const NeighbourPrior>(potential, settings);
}

std::shared_ptr<const Prior> total_variation_prior(double epsilon, const PriorSettings& settings) {
  return std::make_shared<const TotalVariation>(epsilon, SharedEdges{}, settings);
}

std::shared_ptr<const Prior> parallel_level_sets_prior(double epsilon, double eta, std::shared_ptr<const Image> anatomy,
                                                       const PriorSettings& settings) {
  if (!anatomy) throw std::invalid_argument("parallel level sets are those of an anatomical image: give one");
  return std::make_shared<const TotalVariation>(epsilon, SharedEdges{std::move(anatomy), eta}, settings);
}

#ifndef TOFSTREAM_HAVE_CUDA
namespace detail {

void sum_cuda(const NeighbourArrays<float>&, const Potential&, PriorPart, float*, Stream) {
  refuse_cuda();
}
void sum_cuda(const TotalVariationArrays<float>&, PriorPart, float*, Stream) {
  refuse_cuda();
}
void sum_cuda(const ParallelLevelSetsArrays<float>&, PriorPart, float*, Stream) {
  refuse_cuda();
}
double value_cuda(const NeighbourArrays<float>&, const Potential&, Stream) {
  refuse_cuda();
}
double value_cuda(const TotalVariationArrays<float>&, Stream) {
  refuse_cuda();
}
double value_cuda(const ParallelLevelSetsArrays<float>&, Stream) {
  refuse_cuda();
}

}  // namespace detail
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
