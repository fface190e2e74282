// The point spread in Fourier space: see fft_blur.hpp. Planes are real: two columns are transformed as one of complex
// numbers, and half of the frequencies along w is kept.
#include "kernels/spect/fft_blur.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

#include <kissfft/kissfft.hh>

#include "kernels/math/fft_size.hpp"

namespace tofstream {

namespace {

using Complex = std::complex<float>;
using Spectrum = std::vector<Complex>;  // [frequency along w][frequency, or column, along u]

/// Transforms of planes that are padded with zeros. For one thread.
class PlaneFft {
 public:
  PlaneFft(int columns, int rows)
      : columns_(quick_fft_size(columns)),
        rows_(quick_fft_size(rows)),
        kept_(rows_ / 2 + 1),
        along_(size(rows_), false),
        along_inverse_(size(rows_), true),
        across_(size(columns_), false),
        across_inverse_(size(columns_), true),
        in_(size(std::max(rows_, columns_))),
        out_(in_.size()) {}

  int columns() const { return columns_; }
  int rows() const { return rows_; }
  std::size_t spectrum_size() const { return size(kept_) * size(columns_); }

  /// Transforms `rows` rows of the columns in `range`; the others are 0.
  void forward(const float* plane, std::int64_t stride, ColumnRange range, int rows, Spectrum& spectrum) {
    spectrum.assign(spectrum_size(), Complex());
    for (int c = range.begin; c < range.end; c += 2) {
      const float* const a = plane + c * stride;
      const float* const b = c + 1 < range.end ? a + stride : nullptr;
      std::fill(in_.begin(), in_.end(), Complex());
      for (int r = 0; r < rows; ++r) in_[size(r)] = {a[r], b ? b[r] : 0.0f};
      along_.transform(in_.data(), out_.data());
      for (int f = 0; f < kept_; ++f) {
        const Complex here = out_[size(f)], there = std::conj(out_[size(f == 0 ? 0 : rows_ - f)]);
        spectrum[at(f, c)] = 0.5f * (here + there);
        if (b) spectrum[at(f, c + 1)] = Complex(0, -0.5f) * (here - there);
      }
    }
    for (int f = 0; f < kept_; ++f) {
      across_.transform(spectrum.data() + at(f, 0), out_.data());
      std::copy_n(out_.begin(), columns_, spectrum.begin() + static_cast<std::ptrdiff_t>(at(f, 0)));
    }
  }

  /// Calls take(column, its rows) for the columns in `range`; the spectrum is used up.
  template <class Take>
  void inverse(Spectrum& spectrum, ColumnRange range, int rows, Take&& take) {
    for (int f = 0; f < kept_; ++f) {
      across_inverse_.transform(spectrum.data() + at(f, 0), out_.data());
      std::copy_n(out_.begin(), columns_, spectrum.begin() + static_cast<std::ptrdiff_t>(at(f, 0)));
    }
    const float scale = 1 / (static_cast<float>(rows_) * static_cast<float>(columns_));
    std::vector<float>& first = columns_of_pair_[0];
    std::vector<float>& second = columns_of_pair_[1];
    first.assign(size(rows), 0.0f);
    second.assign(size(rows), 0.0f);
    for (int c = range.begin; c < range.end; c += 2) {
      const bool is_pair = c + 1 < range.end;
      for (int f = 0; f < kept_; ++f) {
        const Complex a = spectrum[at(f, c)], b = is_pair ? spectrum[at(f, c + 1)] : Complex();
        const Complex i(0, 1);
        in_[size(f)] = a + i * b;
        if (f > 0) in_[size(rows_ - f)] = std::conj(a) + i * std::conj(b);
      }
      // What is its own mirror image, also where the loop has come to it twice.
      in_[0] = {spectrum[at(0, c)].real(), is_pair ? spectrum[at(0, c + 1)].real() : 0.0f};
      along_inverse_.transform(in_.data(), out_.data());
      for (int r = 0; r < rows; ++r) {
        first[size(r)] = scale * out_[size(r)].real();
        second[size(r)] = scale * out_[size(r)].imag();
      }
      take(c, first.data());
      if (is_pair) take(c + 1, second.data());
    }
  }

 private:
  static std::size_t size(int n) { return static_cast<std::size_t>(n); }
  std::size_t at(int frequency, int column) const { return size(frequency) * size(columns_) + size(column); }

  int columns_, rows_, kept_;
  kissfft<float> along_, along_inverse_, across_, across_inverse_;
  std::vector<Complex> in_, out_;
  std::vector<float> columns_of_pair_[2];
};

class FftBlur final : public PlaneBlur {
 public:
  FftBlur(const BlurLayout& layout, const std::map<double, std::vector<PlaneKernel>>& kernels, bool mirrored)
      : layout_(layout),
        kernels_(kernels),
        mirrored_(mirrored),
        // What the kernel brings around from the other side must not reach the detector.
        fft_(std::max({layout.columns - layout.margin_u + layout.reach.u, layout.columns, 2 * layout.reach.u + 1}),
             std::max({layout.rows - layout.margin_w + layout.reach.w, layout.rows, 2 * layout.reach.w + 1})),
        plane_(layout),
        column_(static_cast<std::size_t>(layout.stride)) {}

  void forward(double radius_mm, ViewPlanes& planes, GuardedPlane& detector) override {
    use_radius(radius_mm);
    sum_.assign(fft_.spectrum_size(), Complex());
    for (int k = planes.first_plane(); k <= layout_.last; ++k) {
      const ColumnRange range = planes.fetch(k, layout_.stride, plane_.data());
      if (range.empty()) continue;
      fft_.forward(plane_.data(), layout_.stride, range, layout_.rows, spectrum_);
      const Spectrum& kernel = spectrum_of(k);
      for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += product(kernel[i], spectrum_[i]);
    }
    detector.clear();
    float largest = 0;
    fft_.inverse(sum_, {layout_.margin_u, layout_.margin_u + layout_.inner_columns}, layout_.rows,
                 [&](int c, const float* rows) {
                   float* const out = detector.data() + (c - layout_.margin_u) * layout_.stride;
                   std::copy_n(rows + layout_.margin_w, layout_.inner_rows, out);
                   largest = std::max(largest, largest_of(out, layout_.inner_rows));
                 });
    for (int u = 0; u < layout_.inner_columns; ++u)
      drop_rounding(detector.data() + u * layout_.stride, layout_.inner_rows, largest);
  }

  void back(double radius_mm, const GuardedPlane& detector, ViewPlanes& planes) override {
    use_radius(radius_mm);
    plane_.clear();
    for (int u = 0; u < layout_.inner_columns; ++u)
      std::copy_n(detector.data() + u * layout_.stride, layout_.inner_rows,
                  plane_.data() + (u + layout_.margin_u) * layout_.stride + layout_.margin_w);
    fft_.forward(plane_.data(), layout_.stride, {0, layout_.columns}, layout_.rows, sum_);
    float largest = 0;
    for (int c = 0; c < layout_.columns; ++c)
      largest = std::max(largest, largest_of(plane_.data() + c * layout_.stride, layout_.rows));
    for (int k = planes.first_plane(); k <= layout_.last; ++k) {
      const ColumnRange range = planes.wanted(k);
      if (range.empty()) continue;
      const Spectrum& kernel = spectrum_of(k);
      spectrum_.resize(sum_.size());
      for (std::size_t i = 0; i < sum_.size(); ++i)
        spectrum_[i] = product(mirrored_ ? std::conj(kernel[i]) : kernel[i], sum_[i]);
      fft_.inverse(spectrum_, range, layout_.rows, [&](int c, const float* rows) {
        std::fill(column_.begin(), column_.end(), 0.0f);
        std::copy_n(rows, layout_.rows, column_.begin());
        drop_rounding(column_.data(), layout_.rows, largest);
        planes.take(k, c, column_.data());
      });
    }
  }

 private:
  /// Without the standard's care for infinities, which takes a call.
  static Complex product(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }

  static float largest_of(const float* values, int n) {
    float largest = 0;
    for (int i = 0; i < n; ++i) largest = std::max(largest, std::abs(values[i]));
    return largest;
  }
  /// Where the sum is 0, the transforms leave some rounding of either sign, which EM would divide by or keep for
  /// good.
  static void drop_rounding(float* values, int n, float largest) {
    constexpr float rounding = 1e-6f;
    for (int i = 0; i < n; ++i)
      if (std::abs(values[i]) < rounding * largest) values[i] = 0;
  }

  /// Transforms of kernels are kept as long as views have one radius.
  void use_radius(double radius_mm) {
    if (radius_mm == radius_mm_) return;
    radius_mm_ = radius_mm;
    spectra_.assign(static_cast<std::size_t>(layout_.last) + 1, {});
  }

  const Spectrum& spectrum_of(int k) {
    Spectrum& spectrum = spectra_[static_cast<std::size_t>(k)];
    if (!spectrum.empty()) return spectrum;
    const PlaneKernel& kernel = kernels_.at(radius_mm_)[static_cast<std::size_t>(k)];
    const int columns = fft_.columns(), rows = fft_.rows();
    std::vector<float> wrapped(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows), 0.0f);
    for (int j = 0; j < kernel.along; ++j)
      for (int i = 0; i < kernel.across; ++i) {
        const int column = (i - kernel.across / 2 + columns) % columns, row = (j - kernel.along / 2 + rows) % rows;
        wrapped[static_cast<std::size_t>(column * rows + row)] =
            kernel.values[static_cast<std::size_t>(j * kernel.across + i)];
      }
    fft_.forward(wrapped.data(), rows, {0, columns}, rows, spectrum);
    return spectrum;
  }

  const BlurLayout& layout_;
  const std::map<double, std::vector<PlaneKernel>>& kernels_;
  bool mirrored_;
  PlaneFft fft_;
  GuardedPlane plane_;
  std::vector<float> column_;
  Spectrum spectrum_, sum_;
  double radius_mm_ = 0;
  std::vector<Spectrum> spectra_;  // of planes
};

}  // namespace

std::unique_ptr<PlaneBlur> make_fft_blur(const BlurLayout& layout,
                                         const std::map<double, std::vector<PlaneKernel>>& kernels, bool mirrored) {
  return std::make_unique<FftBlur>(layout, kernels, mirrored);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
