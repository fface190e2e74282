// One kernel for all voxels in Fourier space, on CUDA: see fft_cpu.cpp, whose padding, kernels and rounding it has. A kernel
// is its own mirror image, so its spectrum is real: a number a frequency is kept of each view as long as there is room.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/device/cufft_library.hpp"
#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/direct_projector.hpp"
#include "kernels/direct/fft_volume.hpp"
#include "kernels/direct/kernel_tables.hpp"
#include "kernels/math/fft_size.hpp"
#include "kernels/math/units.hpp"

namespace tofstream {

namespace {

constexpr int fft_threads = 256;

unsigned fft_blocks(std::int64_t threads) {
  return static_cast<unsigned>((threads + fft_threads - 1) / fft_threads);
}

/// Sizes of a padded volume, x fastest, and of its kept frequencies.
struct PaddedVolume {
  int size[3] = {1, 1, 1};   // of it
  int image[3] = {1, 1, 1};  // of what it holds

  TOFSTREAM_HOST_DEVICE int kept() const { return size[0] / 2 + 1; }
  TOFSTREAM_HOST_DEVICE std::int64_t points() const { return std::int64_t{size[0]} * size[1] * size[2]; }
  /// From a volume to the next one: transforms want them at whole complex numbers.
  TOFSTREAM_HOST_DEVICE std::int64_t distance() const { return points() + points() % 2; }
  TOFSTREAM_HOST_DEVICE std::int64_t frequencies() const { return std::int64_t{kept()} * size[1] * size[2]; }
  TOFSTREAM_HOST_DEVICE std::int64_t voxels() const { return std::int64_t{image[0]} * image[1] * image[2]; }
};

/// volumes[slot] = images[slot] with zeros beyond them; null stands for ones.
__global__ void __launch_bounds__(fft_threads) pad(PaddedVolume of, const float* images, float* volumes) {
  const std::int64_t n = std::int64_t{blockIdx.x} * fft_threads + threadIdx.x, slot = blockIdx.y;
  if (n >= of.points()) return;
  const auto i = static_cast<int>(n % of.size[0]), j = static_cast<int>(n / of.size[0] % of.size[1]);
  const auto k = static_cast<int>(n / of.size[0] / of.size[1]);
  float value = 0;
  if (i < of.image[0] && j < of.image[1] && k < of.image[2])
    value = images ? images[slot * of.voxels() + i + of.image[0] * (j + std::int64_t{of.image[1]} * k)] : 1.0f;
  volumes[slot * of.distance() + n] = value;
}

/// products[slot] = the image's frequencies times those of view index[slot]'s kernel.
__global__ void __launch_bounds__(fft_threads)
    multiply_by_spectra(std::int64_t frequencies, const std::int32_t* index, const float* spectra, const float2* image,
                        float2* products) {
  const std::int64_t n = std::int64_t{blockIdx.x} * fft_threads + threadIdx.x, slot = blockIdx.y;
  if (n >= frequencies) return;
  const float weight = spectra[index[slot] * frequencies + n];
  products[slot * frequencies + n] = {weight * image[n].x, weight * image[n].y};
}

/// sum (+)= the views' frequencies times their kernels', in their order.
__global__ void __launch_bounds__(fft_threads)
    add_by_spectra(std::int64_t frequencies, int count, const std::int32_t* index, const float* spectra,
                   const float2* views, bool adds, float2* sum) {
  const std::int64_t n = std::int64_t{blockIdx.x} * fft_threads + threadIdx.x;
  if (n >= frequencies) return;
  float2 total = adds ? sum[n] : float2{};
  for (int slot = 0; slot < count; ++slot) {
    const float weight = spectra[index[slot] * frequencies + n];
    const float2 value = views[slot * frequencies + n];
    total.x += weight * value.x;
    total.y += weight * value.y;
  }
  sum[n] = total;
}

/// values[slot] = the volume's part that is the image, scaled; largest[slot] = the largest of their magnitudes, as bits.
__global__ void __launch_bounds__(fft_threads)
    crop(PaddedVolume of, const float* volumes, float* values, unsigned* largest) {
  __shared__ unsigned in_block;
  if (threadIdx.x == 0) in_block = 0;
  __syncthreads();
  const std::int64_t n = std::int64_t{blockIdx.x} * fft_threads + threadIdx.x, slot = blockIdx.y;
  if (n < of.voxels()) {
    const auto i = static_cast<int>(n % of.image[0]), j = static_cast<int>(n / of.image[0] % of.image[1]);
    const auto k = static_cast<int>(n / of.image[0] / of.image[1]);
    const float value = volumes[slot * of.distance() + i + of.size[0] * (j + std::int64_t{of.size[1]} * k)] /
                        static_cast<float>(of.points());
    values[slot * of.voxels() + n] = value;
    atomicMax(&in_block, __float_as_uint(fabsf(value)));  // floats that are not negative are ordered as their bits
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(largest + slot, in_block);
}

/// What the transforms leave of rounding becomes 0; adds: to what `to` has.
__global__ void __launch_bounds__(fft_threads)
    drop_rounding(std::int64_t voxels, const float* values, const unsigned* largest, bool adds, float* to) {
  constexpr float rounding = 1e-6f;
  const std::int64_t n = std::int64_t{blockIdx.x} * fft_threads + threadIdx.x, slot = blockIdx.y;
  if (n >= voxels) return;
  float value = values[slot * voxels + n];
  if (fabsf(value) < rounding * __uint_as_float(largest[slot])) value = 0;
  float& out = to[slot * voxels + n];
  out = adds ? out + value : value;
}

/// kernels[slot][point] += value, for the points of a view's kernel.
__global__ void __launch_bounds__(fft_threads)
    set_points(std::int64_t count, const std::int64_t* points, const float* values, float* volume) {
  const std::int64_t n = std::int64_t{blockIdx.x} * fft_threads + threadIdx.x;
  if (n < count) volume[points[n]] = values[n];
}

__global__ void __launch_bounds__(fft_threads)
    real_parts(std::int64_t frequencies, const float2* spectrum, float* real) {
  const std::int64_t n = std::int64_t{blockIdx.x} * fft_threads + threadIdx.x;
  if (n < frequencies) real[n] = spectrum[n].x;
}

/// A Gaussian's spectrum, as published: its values at the frequencies of all sides that a highest one stands for.
struct AnalyticSpectrum {
  ViewFrame look;
  double tof = 0, radial = 0, axial = 0;
  Vec3d voxel_mm;

  TOFSTREAM_HOST_DEVICE static double frequency(int number, int size, int side, double voxel_mm) {
    const int from_zero = 2 * number == size ? side * number : (2 * number > size ? number - size : number);
    return 2 * std::numbers::pi * from_zero / (size * voxel_mm);
  }
  TOFSTREAM_HOST_DEVICE float at(const PaddedVolume& of, int i, int j, int k) const {
    double sum = 0;
    for (int sides = 0; sides < 8; ++sides) {
      const Vec3d w = {frequency(i, of.size[0], sides & 1 ? 1 : -1, voxel_mm.x),
                       frequency(j, of.size[1], sides & 2 ? 1 : -1, voxel_mm.y),
                       frequency(k, of.size[2], sides & 4 ? 1 : -1, voxel_mm.z)};
      const double t = tof * look.t(w), s = radial * look.s(w), z = axial * look.z(w);
      sum += exp(-0.5 * (t * t + s * s + z * z));
    }
    return static_cast<float>(sum / 8);
  }
};

__global__ void __launch_bounds__(fft_threads) set_analytic(PaddedVolume of, AnalyticSpectrum spectrum, float* real) {
  const std::int64_t n = std::int64_t{blockIdx.x} * fft_threads + threadIdx.x;
  if (n >= of.frequencies()) return;
  const auto i = static_cast<int>(n % of.kept()), j = static_cast<int>(n / of.kept() % of.size[1]);
  real[n] = spectrum.at(of, i, j, static_cast<int>(n / of.kept() / of.size[1]));
}

class FftDirectCuda final : public DirectProjector {
 public:
  FftDirectCuda(const Grid& grid, const ViewSet& set, const DirectSettings& settings)
      : DirectProjector(grid, set, settings, Backend::cuda) {
    for (int axis = 0; axis < 3; ++axis) {
      of_.size[axis] = padded_size(axis);
      of_.image[axis] = grid.size[axis];
    }
    const auto volume = static_cast<std::size_t>(of_.points() + 2 * of_.frequencies()) * sizeof(float);
    const std::size_t most = std::clamp<std::size_t>(most_bytes_of_direct_volumes / volume, 1, frames().size());
    const std::size_t groups = (frames().size() + most - 1) / most;
    group_ = static_cast<int>((frames().size() + groups - 1) / groups);  // none much smaller than the others
    keeps_all_ =
        frames().size() * static_cast<std::size_t>(of_.frequencies()) * sizeof(float) <= most_bytes_of_direct_spectra;
    volumes_ = Buffer<float>(Memory::device, of_.distance() * group_);
    spectra_of_views_ = Buffer<float>(Memory::device, 2 * of_.frequencies() * group_);
    sum_ = Buffer<float>(Memory::device, 2 * of_.frequencies());
    cropped_ = Buffer<float>(Memory::device, grid.voxels() * group_);
    largest_ = Buffer<unsigned>(Memory::device, group_);
    kernels_ = Buffer<float>(Memory::device,
                             of_.frequencies() * (keeps_all_ ? static_cast<std::int64_t>(frames().size()) : group_));
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(group_));
    for (int i = 0; i < group_; ++i) numbers[static_cast<std::size_t>(i)] = i;
    numbers_ = Buffer<std::int32_t>::from(numbers).to(Memory::device);
    transforms(1, nullptr);
    transforms(group_, nullptr);
    if (keeps_all_)
      for (std::size_t place = 0; place < frames().size(); ++place)
        make_kernel(frames()[place], kernels_.data() + static_cast<std::int64_t>(place) * of_.frequencies(), nullptr);
    synchronize(nullptr);  // what is here may next be used on any stream
  }

  void forward(const Views& views, const float* image, float* expectation, Stream stream) override {
    require_views(views);
    if (views.views == 0) return;
    queue_pad(image, 1, stream);
    to_frequencies(1, sum_.data(), stream);
    for_each_group(views, stream, [&](int first, int count, const std::int32_t* index) {
      multiply_by_spectra<<<blocks(of_.frequencies(), count), fft_threads, 0, stream>>>(
          of_.frequencies(), index, kernels_.data(), complex(sum_), complex(spectra_of_views_));
      check_launch("multiply by kernels");
      back_from_frequencies(spectra_of_views_.data(), count, stream);
      take(count, false, expectation + first * points(), stream);
    });
  }

  void back(const Views& views, const float* values, float* image, Stream stream) override {
    require_views(views);
    if (views.views == 0) return;
    for_each_group(views, stream, [&](int first, int count, const std::int32_t* index) {
      queue_pad(values ? values + first * points() : nullptr, count, stream);
      to_frequencies(count, spectra_of_views_.data(), stream);
      add_by_spectra<<<fft_blocks(of_.frequencies()), fft_threads, 0, stream>>>(
          of_.frequencies(), count, index, kernels_.data(), complex(spectra_of_views_), first > 0, complex(sum_));
      check_launch("multiply by kernels");
    });
    back_from_frequencies(sum_.data(), 1, stream);
    take(1, true, image, stream);
  }

 private:
  /// Transforms of so many volumes at once.
  struct Transforms {
    CudaFft forward, inverse;
    Transforms(const PaddedVolume& of, int batch)
        : forward(shape(of, batch, FftKind::real_to_complex)), inverse(shape(of, batch, FftKind::complex_to_real)) {}
    static FftShape shape(const PaddedVolume& of, int batch, FftKind kind) {
      FftShape made{.kind = kind, .size = {of.size[2], of.size[1], of.size[0]}, .batch = batch};
      FftSide& real = kind == FftKind::real_to_complex ? made.in : made.out;
      real = {.embedded = {of.size[2], of.size[1], of.size[0]}, .distance = of.distance()};
      FftSide& complex = kind == FftKind::real_to_complex ? made.out : made.in;
      complex = {.embedded = {of.size[2], of.size[1], of.kept()}, .distance = of.frequencies()};
      return made;
    }
    std::size_t work_bytes() const { return std::max(forward.work_bytes(), inverse.work_bytes()); }
  };

  /// Made when as many volumes first come: a subset's views are as many each time.
  const Transforms& transforms(int batch, Stream stream) {
    const auto found = transforms_.try_emplace(batch, of_, batch).first;
    const auto work = static_cast<std::int64_t>(found->second.work_bytes());
    if (work_.size() < work) work_ = Buffer<char>(Memory::device, work, stream);
    return found->second;
  }

  static float2* complex(Buffer<float>& buffer) { return reinterpret_cast<float2*>(buffer.data()); }
  static dim3 blocks(std::int64_t threads, int count) { return {fft_blocks(threads), static_cast<unsigned>(count)}; }

  /// Room for the image and for what a kernel of any view brings around.
  int padded_size(int axis) const { return fft_padded_size(grid(), settings(), profiles(), frames(), axis); }

  void queue_pad(const float* images, int count, Stream stream) {
    pad<<<blocks(of_.points(), count), fft_threads, 0, stream>>>(of_, images, volumes_.data());
    check_launch("pad images");
  }
  void to_frequencies(int count, float* to, Stream stream) {
    const Transforms& of = transforms(count, stream);  // first: it may need more room to work in
    of.forward.queue(volumes_.data(), to, work_.data(), stream);
  }
  void back_from_frequencies(float* from, int count, Stream stream) {
    const Transforms& of = transforms(count, stream);
    of.inverse.queue(from, volumes_.data(), work_.data(), stream);
  }
  void take(int count, bool adds, float* to, Stream stream) {
    largest_.clear(stream);
    crop<<<blocks(of_.voxels(), count), fft_threads, 0, stream>>>(of_, volumes_.data(), cropped_.data(),
                                                                  largest_.data());
    check_launch("crop images");
    drop_rounding<<<blocks(of_.voxels(), count), fft_threads, 0, stream>>>(of_.voxels(), cropped_.data(),
                                                                           largest_.data(), adds, to);
    check_launch("drop rounding");
  }

  /// Calls work(first view, views, numbers of their kernels) for groups of views.
  template <class Work>
  void for_each_group(const Views& views, Stream stream, const Work& work) {
    for (int first = 0; first < views.views; first += group_) {
      const int count = std::min(group_, views.views - first);
      if (!keeps_all_)
        for (int i = 0; i < count; ++i)
          make_kernel(frame(views, first + i), kernels_.data() + i * of_.frequencies(), stream);
      work(first, count, keeps_all_ ? views.index + first : numbers_.data());
    }
  }

  /// The spectrum of a view's kernel, by way of the first of the volumes.
  void make_kernel(const ViewFrame& look, float* real, Stream stream) {
    if (settings().fft_spectrum == FftSpectrum::analytic) {
      const DirectKernel& kernel = settings().kernel;
      const AnalyticSpectrum spectrum{look, static_cast<double>(kernel.tof_sigma_mm), profiles()[0][0].sigma_mm,
                                      static_cast<double>(kernel.axial_fwhm_mm) / fwhm_per_sigma,
                                      grid().voxel_mm.as<double>()};
      set_analytic<<<fft_blocks(of_.frequencies()), fft_threads, 0, stream>>>(of_, spectrum, real);
      return check_launch("make the spectrum of a kernel");
    }
    const KernelTables tables(grid(), look, settings().kernel, profiles());
    std::vector<std::int64_t> at;
    std::vector<float> values;
    const auto wrapped = [&](int offset, int axis) {
      return (offset % of_.size[axis] + of_.size[axis]) % of_.size[axis];
    };
    for (const KernelRun& run : tables.runs())
      for (int m = 0; m < run.count; ++m) {
        at.push_back(wrapped(run.dx, 0) +
                     of_.size[0] * (wrapped(run.dy, 1) + std::int64_t{of_.size[1]} * wrapped(run.dz + m, 2)));
        values.push_back(tables.values(0, 0)[run.first + m]);
      }
    add_up_repeated(at, values);
    const Buffer<std::int64_t> points = Buffer<std::int64_t>::from(at).to(Memory::device, stream);
    const Buffer<float> weights = Buffer<float>::from(values).to(Memory::device, stream);
    detail::zero(volumes_.data(), Memory::device, static_cast<std::size_t>(of_.points()) * sizeof(float), stream);
    set_points<<<fft_blocks(points.size()), fft_threads, 0, stream>>>(points.size(), points.data(), weights.data(),
                                                                      volumes_.data());
    check_launch("place a kernel");
    to_frequencies(1, spectra_of_views_.data(), stream);
    real_parts<<<fft_blocks(of_.frequencies()), fft_threads, 0, stream>>>(of_.frequencies(), complex(spectra_of_views_),
                                                                          real);
    check_launch("make the spectrum of a kernel");
    synchronize(stream);  // the host's copies may go
  }

  /// With periodic ends a kernel may meet itself.
  static void add_up_repeated(std::vector<std::int64_t>& at, std::vector<float>& values) {
    std::vector<std::size_t> order(at.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return at[i]; });
    std::vector<std::int64_t> once;
    std::vector<float> sums;
    for (const std::size_t i : order)
      if (!once.empty() && once.back() == at[i]) {
        sums.back() += values[i];
      } else {
        once.push_back(at[i]);
        sums.push_back(values[i]);
      }
    at = std::move(once);
    values = std::move(sums);
  }

  PaddedVolume of_;
  int group_ = 1;
  bool keeps_all_ = false;  // the kernels' spectra
  Buffer<float> volumes_, spectra_of_views_, sum_, cropped_, kernels_;
  Buffer<unsigned> largest_;
  Buffer<std::int32_t> numbers_;
  Buffer<char> work_;
  std::map<int, Transforms> transforms_;  // by the number of volumes
};

}  // namespace

std::unique_ptr<ViewProjector> make_direct_fft_cuda(const Grid& grid, const ViewSet& set,
                                                    const DirectSettings& settings) {
  return std::make_unique<FftDirectCuda>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
