// Any point spread in Fourier space, by cuFFT: the twin of fft_blur.cpp. Planes are transformed in place, and summed
// before one inverse transform a view. See general_cuda.cuh.
#include <map>
#include <utility>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/device/cufft_library.hpp"
#include "kernels/math/fft_size.hpp"
#include "kernels/spect/footprint_reader.cuh"
#include "kernels/spect/general_footprint.cuh"

namespace tofstream::spect {

namespace {

constexpr int largest_threads = 512;

/// Where one plane's kernel lies among the values of all.
struct PlacedKernel {
  std::int64_t first = 0;
  int across = 1, along = 1;
};

/// planes[k][column][row] = the kernels times `scale`, their middles at (0, 0), wrapped around; zeros are there.
__global__ void wrap_kernels(const PlacedKernel* kernels, int planes, int size, const float* values, float scale,
                             int columns, int rows, int stride, float* wrapped) {
  const std::int64_t item = elementwise::element();
  const int k = static_cast<int>(item / size), element = static_cast<int>(item % size);
  if (k >= planes) return;
  const PlacedKernel kernel = kernels[k];
  if (element >= kernel.across * kernel.along) return;
  const int i = element % kernel.across, j = element / kernel.across;
  const int column = (i - kernel.across / 2 + columns) % columns, row = (j - kernel.along / 2 + rows) % rows;
  wrapped[(std::int64_t{k} * columns + column) * stride + row] = scale * values[kernel.first + element];
}

/// Two products of complex numbers, of a kernel's and a plane's.
__device__ float4 two_products(float4 a, float4 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x, a.z * b.z - a.w * b.w, a.z * b.w + a.w * b.z};
}

/// sums[member] = the sum of its planes times their kernels; `size` floats a plane.
__global__ void sum_products(const float* kernels, const float* planes, int plane_count, std::int64_t size, int count,
                             float* sums) {
  const std::int64_t item = elementwise::element(), fours = size / 4;
  if (item >= fours * count) return;
  const std::int64_t member = item / fours, at = item % fours * 4;
  float4 total{}, part{};
  for (int k = 0; k < plane_count; ++k) {
    const float4 product =
        two_products(four_at(kernels, k * size + at), four_at(planes, (member * plane_count + k) * size + at));
    add_scaled(part, 1, product);
    if (k % planes_a_sum != planes_a_sum - 1) continue;
    add_scaled(total, 1, part);
    part = {};
  }
  add_scaled(total, 1, part);
  put_four(sums, member * size + at, total);
}

/// planes[member][k] = the detector's times the kernel of k, or times what the kernel's mirror image has.
__global__ void spread_products(const float* kernels, bool mirrored, const float* detectors, int plane_count,
                                std::int64_t size, int count, float* planes) {
  const std::int64_t item = elementwise::element(), fours = size / 4;
  if (item >= fours * plane_count * count) return;
  const std::int64_t at = item % fours * 4, plane = item / fours, k = plane % plane_count, member = plane / plane_count;
  float4 kernel = four_at(kernels, k * size + at);
  if (mirrored) kernel = {kernel.x, -kernel.y, kernel.z, -kernel.w};
  put_four(planes, plane * size + at, two_products(kernel, four_at(detectors, member * size + at)));
}

/// least[member] = the size below which a number is rounding, as fft_blur.cpp has it: of the points on the detector.
__global__ void __launch_bounds__(largest_threads)
    find_least(GeneralCamera camera, DetectorPoints points, float* least) {
  constexpr float rounding = 1e-6f;
  __shared__ float of_threads[largest_threads];
  const int rows = camera.inner_rows(), count = camera.inner_columns() * rows, me = static_cast<int>(threadIdx.x);
  float largest = 0;
  for (int i = me; i < count; i += largest_threads)
    largest =
        fmaxf(largest,
              fabsf(points.values[blockIdx.x * points.size() + std::int64_t{points.first_u + i / rows} * points.stride +
                                  points.first_w + i % rows]));
  of_threads[me] = largest;
  for (int half = largest_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (me < half) of_threads[me] = fmaxf(of_threads[me], of_threads[me + half]);
  }
  if (me == 0) least[blockIdx.x] = rounding * of_threads[0];
}

class FftCuda final : public GeneralBlur {
 public:
  FftCuda(const GeneralCamera& camera, const ViewSet& set, const SpectSettings& settings)
      : camera_(camera), settings_(settings) {
    const ViewLattice& lattice = camera.lattice;
    KernelReach reach;
    for (const double radius : radii_of(set)) {
      const KernelReach here = widest_reach(lattice, settings, radius);
      reach = {std::max(reach.u, here.u), std::max(reach.w, here.w)};
    }
    // What the kernel brings around from the other side must not reach the detector.
    columns_ =
        quick_fft_size(std::max({lattice.columns() - lattice.margin_u + reach.u, lattice.columns(), 2 * reach.u + 1}));
    rows_ = quick_fft_size(std::max({lattice.rows() - lattice.margin_w + reach.w, lattice.rows(), 2 * reach.w + 1}));
    (void)fft(FftKind::real_to_complex, camera.planes());  // where there is no cuFFT, this says so now
  }

  int columns() const override { return columns_; }
  int stride(int) const override { return stride(); }
  bool takes_part_of_rows() const override { return false; }
  bool wants_one_radius() const override { return true; }
  /// The detector, and what the transforms of the planes may need.
  std::int64_t floats_a_view() const override { return size() * (1 + camera_.planes()); }

  void forward(const GeneralGroup& group, const PlaneRanges&, const GeneralPlanes& planes, float scale,
               float* pixels) override {
    const float* const kernels = spectra_of(group.radius_mm, group.stream);
    transform(FftKind::real_to_complex, planes.values, group.count * camera_.planes(), group.stream);
    const DetectorPoints sums = points_of(group);
    sum_products<<<elementwise::blocks(size() / 4 * group.count), elementwise::threads, 0, group.stream>>>(
        kernels, planes.values, camera_.planes(), size(), group.count, sums.values);
    check_launch("convolve rotated planes in Fourier space");
    transform(FftKind::complex_to_real, sums.values, group.count, group.stream);
    queue_sum_points(camera_, group, sums, scale, least_of(group, sums), pixels);
  }

  const float* back(const GeneralGroup& group, const PlaneRanges&, const float* pixels, float scale,
                    const GeneralPlanes& planes) override {
    const float* const kernels = spectra_of(group.radius_mm, group.stream);
    const DetectorPoints given = points_of(group);
    queue_spread_pixels(camera_, group, pixels, scale, given);
    const float* const least = least_of(group, given);
    transform(FftKind::real_to_complex, given.values, group.count, group.stream);
    const std::int64_t fours = size() / 4 * camera_.planes() * group.count;
    spread_products<<<elementwise::blocks(fours), elementwise::threads, 0, group.stream>>>(
        kernels, settings_.adjoint == AdjointKind::exact, given.values, camera_.planes(), size(), group.count,
        planes.values);
    check_launch("convolve a detector in Fourier space");
    transform(FftKind::complex_to_real, planes.values, group.count * camera_.planes(), group.stream);
    return least;
  }

 private:
  int stride() const { return rounded_to_four(2 * (rows_ / 2 + 1)); }
  /// Floats of a plane, or of its frequencies.
  std::int64_t size() const { return std::int64_t{columns_} * stride(); }

  DetectorPoints points_of(const GeneralGroup& group) {
    return {detectors_.of(size() * group.count, group.stream), columns_, stride(), camera_.lattice.margin_u,
            camera_.lattice.margin_w};
  }

  const float* least_of(const GeneralGroup& group, const DetectorPoints& points) {
    float* const least = least_.of(group.count, group.stream);
    find_least<<<static_cast<unsigned>(group.count), largest_threads, 0, group.stream>>>(camera_, points, least);
    check_launch("find the largest of a detector's points");
    return least;
  }

  CudaFft& fft(FftKind kind, int planes) {
    const auto known = ffts_.find({kind, planes});
    if (known != ffts_.end()) return known->second;
    const FftSide real{{columns_, stride()}, 1, size()}, complex{{columns_, stride() / 2}, 1, size() / 2};
    const bool is_forward = kind == FftKind::real_to_complex;
    CudaFft made({kind, {columns_, rows_}, planes, is_forward ? real : complex, is_forward ? complex : real});
    return ffts_.emplace(std::pair(kind, planes), std::move(made)).first->second;
  }

  void transform(FftKind kind, float* planes, int count, Stream stream) {
    const CudaFft& made = fft(kind, count);
    const auto floats = static_cast<std::int64_t>((made.work_bytes() + sizeof(float) - 1) / sizeof(float));
    made.queue(planes, planes, floats > 0 ? work_.of(floats, stream) : nullptr, stream);
  }

  /// Transforms of the kernels of all planes, by 1 / (columns rows), which cuFFT leaves out.
  const float* spectra_of(double radius_mm, Stream stream) {
    const auto known = spectra_.find(radius_mm);
    if (known != spectra_.end()) return known->second.data();
    constexpr std::int64_t most_bytes = std::int64_t{256} << 20;
    const std::int64_t floats = size() * camera_.planes();
    if (static_cast<std::int64_t>(spectra_.size() + 1) * floats * static_cast<std::int64_t>(sizeof(float)) >
        most_bytes) {
      synchronize(stream);  // what reads them
      spectra_.clear();
    }
    auto made = Buffer<float>::zeros(Memory::device, floats, stream);
    put_kernels(radius_mm, made.data(), stream);
    transform(FftKind::real_to_complex, made.data(), camera_.planes(), stream);
    synchronize(stream);  // they may next be read on any stream
    return spectra_.emplace(radius_mm, std::move(made)).first->second.data();
  }

  void put_kernels(double radius_mm, float* planes, Stream stream) const {
    const std::vector<PlaneKernel> all = plane_kernels(camera_.lattice, settings_, radius_mm);
    std::vector<PlacedKernel> places;
    std::vector<float> values;
    int most = 1;
    for (int k = camera_.lattice.first; k <= camera_.lattice.last; ++k) {
      const PlaneKernel& kernel = all[static_cast<std::size_t>(k)];
      places.push_back({static_cast<std::int64_t>(values.size()), kernel.across, kernel.along});
      values.insert(values.end(), kernel.values.begin(), kernel.values.end());
      most = std::max(most, kernel.across * kernel.along);
    }
    const auto places_there = Buffer<PlacedKernel>::from({places.data(), places.size()}).to(Memory::device, stream);
    const auto values_there = Buffer<float>::from({values.data(), values.size()}).to(Memory::device, stream);
    const float scale = 1 / (static_cast<float>(columns_) * static_cast<float>(rows_));
    wrap_kernels<<<elementwise::blocks(std::int64_t{most} * camera_.planes()), elementwise::threads, 0, stream>>>(
        places_there.data(), camera_.planes(), most, values_there.data(), scale, columns_, rows_, stride(), planes);
    check_launch("lay a table's kernels out");
    synchronize(stream);  // the host's copies may go
  }

  const GeneralCamera& camera_;
  SpectSettings settings_;
  int columns_ = 0, rows_ = 0;
  std::map<std::pair<FftKind, int>, CudaFft> ffts_;
  std::map<double, Buffer<float>> spectra_;  // by radius
  GrowingFloats detectors_, work_, least_;
};

}  // namespace

std::unique_ptr<GeneralBlur> make_fft_cuda(const GeneralCamera& camera, const ViewSet& set,
                                           const SpectSettings& settings) {
  return std::make_unique<FftCuda>(camera, set, settings);
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
