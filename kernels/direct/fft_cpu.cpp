// One kernel for all voxels in Fourier space, on the CPU: the transform of the very kernel that one_stage sums, so
// both agree to rounding. Volumes are padded with zeros, so nothing comes around from the other side. Both can be had
// as they were published, to show what that costs (Ha et al. 2013, figure 5).
//
// Such a kernel is its own mirror image, so its spectrum is real. Two views are therefore one: with the kernels
// k1 + i k2 an image becomes h1 + i h2, and the real part of (k1 - i k2) * (y1 + i y2) is the sum of both back
// projections.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/fft_volume.hpp"
#include "kernels/direct/kernel_tables.hpp"
#include "kernels/math/units.hpp"

namespace tofstream {

namespace {

using Volume = std::vector<std::complex<float>>;

class CpuDirectFft final : public DirectProjector {
 public:
  CpuDirectFft(const Grid& grid, const ViewSet& set, const DirectSettings& settings)
      : DirectProjector(grid, set, settings), fft_(padded_size(0), padded_size(1), padded_size(2)) {}

  void forward(const Views& views, const float* image, float* expectation, Stream) override {
    require_views(views);
    Volume source(fft_.points());
    for_each_voxel([&](std::int64_t voxel, std::size_t point) { source[point] = image[voxel]; });
    fft_.forward(source);
    for (int v = 0; v < views.views; v += 2) {
      Volume histo = spectra(views, v);
      for (std::size_t i = 0; i < histo.size(); ++i) histo[i] = product(histo[i], source[i]);
      fft_.inverse(histo);
      for (int second = 0; second < views_at(views, v); ++second)
        take(histo, second, expectation + (v + second) * points());
    }
  }

  void back(const Views& views, const float* values, float* image, Stream) override {
    require_views(views);
    if (views.views == 0) return;
    Volume sum(fft_.points()), histo;
    for (int v = 0; v < views.views; v += 2) {
      const Volume spectrum = spectra(views, v);
      const bool is_pair = views_at(views, v) == 2;
      histo.assign(fft_.points(), {});
      for_each_voxel([&](std::int64_t voxel, std::size_t point) {
        const auto value = [&](int view) { return values ? values[view * points() + voxel] : 1.0f; };
        histo[point] = {value(v), is_pair ? value(v + 1) : 0.0f};
      });
      fft_.forward(histo);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += product(std::conj(spectrum[i]), histo[i]);
    }
    fft_.inverse(sum);
    std::vector<float> gathered(static_cast<std::size_t>(grid().voxels()));
    take(sum, 0, gathered.data());
    for (std::int64_t voxel = 0; voxel < grid().voxels(); ++voxel)
      image[voxel] += gathered[static_cast<std::size_t>(voxel)];
  }

 private:
  /// Without the standard's care for infinities, which takes a call.
  static std::complex<float> product(std::complex<float> a, std::complex<float> b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
  static int views_at(const Views& views, int v) { return std::min(2, views.views - v); }

  int padded_size(int axis) const { return fft_padded_size(grid(), settings(), profiles(), frames(), axis); }

  /// Calls visit(voxel, point of the padded volume).
  template <class Visit>
  void for_each_voxel(const Visit& visit) const {
    for (int k = 0; k < grid().size[2]; ++k)
      for (int j = 0; j < grid().size[1]; ++j)
        for (int i = 0; i < grid().size[0]; ++i) visit(grid().index(i, j, k), fft_.index(i, j, k));
  }

  /// The spectrum of k1 + i k2 of views v and, where there is one, v + 1.
  Volume spectra(const Views& views, int v) const {
    Volume result(fft_.points());
    const bool is_sampled = settings().fft_spectrum == FftSpectrum::sampled;
    for (int second = 0; second < views_at(views, v); ++second) {
      const std::complex<float> unit = second == 0 ? std::complex<float>(1, 0) : std::complex<float>(0, 1);
      if (is_sampled)
        add_kernel(frame(views, v + second), unit, result);
      else
        add_spectrum(frame(views, v + second), unit, result);
    }
    if (is_sampled) fft_.forward(result);
    return result;
  }

  void add_kernel(const ViewFrame& look, std::complex<float> unit, Volume& kernels) const {
    const auto wrapped = [&](int offset, int axis) {
      const int size = fft_.size(axis);
      return (offset % size + size) % size;
    };
    const KernelTables tables(grid(), look, settings().kernel, profiles());
    for (const KernelRun& run : tables.runs())
      for (int m = 0; m < run.count; ++m)
        kernels[fft_.index(wrapped(run.dx, 0), wrapped(run.dy, 1), wrapped(run.dz + m, 2))] +=
            unit * tables.values(0, 0)[run.first + m];
  }

  /// exp(-(sigma w)^2 / 2) along each of the frame's axes. The highest frequency of an even size stands for itself and
  /// its negative: their mean keeps the kernel real.
  void add_spectrum(const ViewFrame& look, std::complex<float> unit, Volume& spectrum) const {
    const DirectKernel& kernel = settings().kernel;
    const double tof = static_cast<double>(kernel.tof_sigma_mm), radial = profiles()[0][0].sigma_mm;
    const double axial = static_cast<double>(kernel.axial_fwhm_mm) / fwhm_per_sigma;
    const auto frequency = [&](int number, int axis, int side) {
      const int size = fft_.size(axis);
      const int from_zero = 2 * number == size ? side * number : (2 * number > size ? number - size : number);
      return 2 * std::numbers::pi * from_zero / (size * static_cast<double>(grid().voxel_mm[axis]));
    };
    for (int k = 0; k < fft_.size(2); ++k)
      for (int j = 0; j < fft_.size(1); ++j)
        for (int i = 0; i < fft_.size(0); ++i) {
          double sum = 0;
          for (int sides = 0; sides < 8; ++sides) {
            const auto side = [&](int axis) { return sides >> axis & 1 ? 1 : -1; };
            const Vec3d w = {frequency(i, 0, side(0)), frequency(j, 1, side(1)), frequency(k, 2, side(2))};
            const double t = tof * look.t(w), s = radial * look.s(w), z = axial * look.z(w);
            sum += std::exp(-0.5 * (t * t + s * s + z * z));
          }
          spectrum[fft_.index(i, j, k)] += unit * static_cast<float>(sum / 8);
        }
  }

  /// The real part, or the imaginary one. Where a sum of what is not negative is 0, the transforms leave some rounding
  /// of either sign, which EM would divide by: it becomes 0.
  void take(const Volume& volume, int second, float* values) const {
    const float scale = 1 / static_cast<float>(fft_.points());
    float largest = 0;
    for_each_voxel([&](std::int64_t voxel, std::size_t point) {
      values[voxel] = scale * (second == 0 ? volume[point].real() : volume[point].imag());
      largest = std::max(largest, std::abs(values[voxel]));
    });
    constexpr float rounding = 1e-6f;
    for (std::int64_t voxel = 0; voxel < grid().voxels(); ++voxel)
      if (std::abs(values[voxel]) < rounding * largest) values[voxel] = 0;
  }

  VolumeFft fft_;
};

}  // namespace

std::unique_ptr<ViewProjector> make_direct_fft_cpu(const Grid& grid, const ViewSet& set,
                                                   const DirectSettings& settings) {
  return std::make_unique<CpuDirectFft>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
