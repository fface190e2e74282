// A Gaussian point spread, or none: rows first, then columns; back columns first. See general_cuda.cuh.
#include <optional>

#include "kernels/cuda/check.hpp"
#include "kernels/spect/general_footprint.cuh"

namespace tofstream::spect {

namespace {

constexpr int spread_threads = 128;

/// The halves of all planes' kernels at each radius: weights[(radius * planes + k) * length + distance].
struct HalfKernels {
  const float* weights = nullptr;
  const int* reaches = nullptr;  // [radius * planes + k]
  int length = 1;
};
struct SeparableKernels {
  HalfKernels u, w;
  const int* radius_of = nullptr;  // of each place
};

/// One plane's half.
struct HalfKernel {
  const float* weights;
  int reach;
  __device__ HalfKernel(const HalfKernels& all, std::int64_t number)
      : weights(all.weights + number * all.length), reach(all.reaches[number]) {}
  /// The sum of values[at + i] over [begin, end), with the kernel's middle at `at`; values are `stride` apart.
  __device__ float sum(const float* values, int at, std::int64_t stride, int begin, int end) const {
    float result = 0;
    const int last = min(reach, end - 1 - at);
    for (int i = max(-reach, begin - at); i <= last; ++i) result += weights[abs(i)] * values[(at + i) * stride];
    return result;
  }
};

/// Rows at the detector's height of each column of planes: values[((member * planes + k - first) * columns + c) *
/// stride + w], columns being the lattice's.
using HalfBlurred = GeneralPlanes;

/// A block's column of a plane.
struct ColumnOfPlane {
  int c, k, place;
  int2 range;
  std::int64_t column;  // of planes or HalfBlurred

  __device__ ColumnOfPlane(const GeneralCamera& camera, const DeviceViews& views, int first, const PlaneRanges& ranges,
                           const GeneralPlanes& planes)
      : c(static_cast<int>(blockIdx.x)),
        k(camera.lattice.first + static_cast<int>(blockIdx.y)),
        place(views.index[views.view(first + static_cast<int>(blockIdx.z))]),
        range(ranges.of(camera.lattice, place, k)),
        column(planes.column(camera.lattice, static_cast<int>(blockIdx.z), k, c)) {}
  __device__ std::int64_t kernel(const SeparableKernels& kernels, const GeneralCamera& camera) const {
    return std::int64_t{kernels.radius_of[place]} * camera.lattice.planes + k;
  }
};

__global__ void __launch_bounds__(spread_threads)
    blur_rows(GeneralCamera camera, DeviceViews views, int first, int first_row, int rows, PlaneRanges ranges,
              SeparableKernels kernels, GeneralPlanes planes, HalfBlurred half) {
  const ColumnOfPlane here(camera, views, first, ranges, planes);
  if (!is_within(here.c, here.range)) return;
  const HalfKernel kernel(kernels.w, here.kernel(kernels, camera));
  const float* const from = planes.values + here.column * planes.stride;
  float* const to =
      half.values + half.column(camera.lattice, static_cast<int>(blockIdx.z), here.k, here.c) * half.stride;
  for (int w = static_cast<int>(threadIdx.x); w < camera.inner_rows(); w += spread_threads)
    to[w] = kernel.sum(from, w + camera.lattice.margin_w - first_row, 1, 0, rows);
}

/// A thread a point of the detector, for each sum of planes.
__global__ void __launch_bounds__(spread_threads)
    sum_columns(GeneralCamera camera, DeviceViews views, int first, PlaneRanges ranges, SeparableKernels kernels,
                HalfBlurred half, DetectorPoints points) {
  const ViewLattice& lattice = camera.lattice;
  const int rows = camera.inner_rows(), member = static_cast<int>(blockIdx.z), chunk = static_cast<int>(blockIdx.y);
  const int point = static_cast<int>(blockIdx.x) * spread_threads + static_cast<int>(threadIdx.x);
  if (point >= camera.inner_columns() * rows) return;
  const int u = point / rows, w = point % rows, place = views.index[views.view(first + member)];
  const int begin = lattice.first + chunk * planes_a_sum, end = min(begin + planes_a_sum, lattice.last + 1);
  float sum = 0;
  for (int k = begin; k < end; ++k) {
    const int2 range = ranges.of(lattice, place, k);
    if (range.x >= range.y) continue;
    const HalfKernel kernel(kernels.u, std::int64_t{kernels.radius_of[place]} * lattice.planes + k);
    sum += kernel.sum(half.values + half.column(lattice, member, k, 0) * half.stride + w, u + lattice.margin_u,
                      half.stride, range.x, range.y);
  }
  points.values[(std::int64_t{chunk} * gridDim.z + member) * points.size() + std::int64_t{u} * points.stride + w] = sum;
}

__global__ void __launch_bounds__(spread_threads)
    blur_columns_back(GeneralCamera camera, DeviceViews views, int first, PlaneRanges ranges, SeparableKernels kernels,
                      DetectorPoints points, HalfBlurred half) {
  const ColumnOfPlane here(camera, views, first, ranges, half);
  if (!is_within(here.c, here.range)) return;
  const HalfKernel kernel(kernels.u, here.kernel(kernels, camera));
  const float* const from = points.values + blockIdx.z * points.size();
  for (int w = static_cast<int>(threadIdx.x); w < camera.inner_rows(); w += spread_threads)
    half.values[here.column * half.stride + w] =
        kernel.sum(from + w, here.c - camera.lattice.margin_u, points.stride, 0, camera.inner_columns());
}

__global__ void __launch_bounds__(spread_threads)
    blur_rows_back(GeneralCamera camera, DeviceViews views, int first, int first_row, PlaneRanges ranges,
                   SeparableKernels kernels, HalfBlurred half, GeneralPlanes planes) {
  const ColumnOfPlane here(camera, views, first, ranges, planes);
  if (!is_within(here.c, here.range)) return;
  const HalfKernel kernel(kernels.w, here.kernel(kernels, camera));
  const float* const from =
      half.values + half.column(camera.lattice, static_cast<int>(blockIdx.z), here.k, here.c) * half.stride;
  for (int row = static_cast<int>(threadIdx.x); row < planes.stride; row += spread_threads)
    planes.values[here.column * planes.stride + row] =
        kernel.sum(from, row + first_row - camera.lattice.margin_w, 1, 0, camera.inner_rows());
}

class SeparableCuda final : public GeneralBlur {
 public:
  SeparableCuda(const GeneralCamera& camera, const ViewSet& set, const SpectSettings& settings)
      : camera_(camera), radius_of_(radius_numbers(set)) {
    SpectSettings separable = settings;
    if (separable.form == PsfForm::incremental) separable.form = PsfForm::separable;
    std::vector<SeparableKernel> all;
    for (const double radius : radii_of(set)) {
      const std::vector<SeparableKernel> of_radius = separable_kernels(camera.lattice, separable, radius);
      all.insert(all.end(), of_radius.begin(), of_radius.end());
    }
    u_.emplace(all, &SeparableKernel::u);
    w_.emplace(all, &SeparableKernel::w);
    synchronize(nullptr);
  }

  int columns() const override { return camera_.lattice.columns(); }
  int stride(int rows) const override { return rounded_to_four(rows); }
  std::int64_t floats_a_view() const override { return half_floats() + points().size() * plane_sums(camera_); }

  void forward(const GeneralGroup& group, const PlaneRanges& ranges, const GeneralPlanes& planes, float scale,
               float* pixels) override {
    const HalfBlurred half = half_of(group);
    blur_rows<<<by_column(group), spread_threads, 0, group.stream>>>(camera_, group.views, group.first, group.first_row,
                                                                     group.rows, ranges, kernels(), planes, half);
    check_launch("blur rows of rotated planes");
    DetectorPoints sums = points();
    sums.chunks = plane_sums(camera_);
    sums.values = points_.of(sums.size() * sums.chunks * group.count, group.stream);
    const int inner = camera_.inner_columns() * camera_.inner_rows();
    const dim3 grid(static_cast<unsigned>((inner + spread_threads - 1) / spread_threads),
                    static_cast<unsigned>(sums.chunks), static_cast<unsigned>(group.count));
    sum_columns<<<grid, spread_threads, 0, group.stream>>>(camera_, group.views, group.first, ranges, kernels(), half,
                                                           sums);
    check_launch("blur columns of rotated planes");
    queue_sum_points(camera_, group, sums, scale, nullptr, pixels);
  }

  const float* back(const GeneralGroup& group, const PlaneRanges& ranges, const float* pixels, float scale,
                    const GeneralPlanes& planes) override {
    const HalfBlurred half = half_of(group);
    DetectorPoints given = points();
    given.values = points_.of(given.size() * group.count, group.stream);
    queue_spread_pixels(camera_, group, pixels, scale, given);
    blur_columns_back<<<by_column(group), spread_threads, 0, group.stream>>>(camera_, group.views, group.first, ranges,
                                                                             kernels(), given, half);
    check_launch("blur a detector's columns");
    blur_rows_back<<<by_column(group), spread_threads, 0, group.stream>>>(
        camera_, group.views, group.first, group.first_row, ranges, kernels(), half, planes);
    check_launch("blur a detector's rows");
    return nullptr;
  }

 private:
  struct Halves {
    Halves(const std::vector<SeparableKernel>& all, std::vector<float> SeparableKernel::*half) {
      std::vector<int> reach;
      std::vector<float> values;
      for (const SeparableKernel& kernel : all) length = std::max(length, static_cast<int>((kernel.*half).size()));
      for (const SeparableKernel& kernel : all) {
        reach.push_back(static_cast<int>((kernel.*half).size()) - 1);
        values.insert(values.end(), (kernel.*half).begin(), (kernel.*half).end());
        values.resize(reach.size() * static_cast<std::size_t>(length), 0.0f);
      }
      weights = Buffer<float>::from(values).to(Memory::device);
      reaches = Buffer<int>::from(reach).to(Memory::device);
      synchronize(nullptr);  // the host's copies may go
    }
    HalfKernels kernels() const { return {weights.data(), reaches.data(), length}; }
    Buffer<float> weights;
    Buffer<int> reaches;
    int length = 1;
  };

  SeparableKernels kernels() const { return {u_->kernels(), w_->kernels(), radius_of_.data()}; }
  DetectorPoints points() const {
    return {.columns = camera_.inner_columns(), .stride = rounded_to_four(camera_.inner_rows())};
  }
  std::int64_t half_floats() const {
    return std::int64_t{camera_.planes()} * columns() * rounded_to_four(camera_.inner_rows());
  }
  HalfBlurred half_of(const GeneralGroup& group) {
    return {half_.of(half_floats() * group.count, group.stream), columns(), rounded_to_four(camera_.inner_rows())};
  }
  dim3 by_column(const GeneralGroup& group) const {
    return {static_cast<unsigned>(columns()), static_cast<unsigned>(camera_.planes()),
            static_cast<unsigned>(group.count)};
  }

  const GeneralCamera& camera_;
  Buffer<int> radius_of_;
  std::optional<Halves> u_, w_;
  GrowingFloats half_, points_;
};

}  // namespace

std::unique_ptr<GeneralBlur> make_separable_cuda(const GeneralCamera& camera, const ViewSet& set,
                                                 const SpectSettings& settings) {
  return std::make_unique<SeparableCuda>(camera, set, settings);
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
