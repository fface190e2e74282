// Convolutions of planes on the CPU: see plane_blur.hpp.
#include "kernels/spect/plane_blur.hpp"

#include <algorithm>

#include "kernels/spect/fft_blur.hpp"

namespace tofstream {

namespace {

int reach_of_half(const std::vector<float>& half) {
  return static_cast<int>(half.size()) - 1;
}

/// Sums planes by sixteen: an error of rounding then grows with the root of fewer terms.
class PlaneSum {
 public:
  PlaneSum(const ColumnMath& math, const BlurLayout& layout) : math_(math), layout_(layout), part_(layout) {}
  float* part() { return part_.data(); }
  void plane_done(GuardedPlane& sum) {
    if (++planes_ == planes_a_part) flush(sum);
  }
  void flush(GuardedPlane& sum) {
    const std::int64_t size = layout_.inner_columns * layout_.stride;
    math_.add_scaled(part_.data(), 1.0f, size, sum.data());
    std::fill_n(part_.data(), size, 0.0f);
    planes_ = 0;
  }

 private:
  static constexpr int planes_a_part = 16;
  const ColumnMath& math_;
  const BlurLayout& layout_;
  GuardedPlane part_;
  int planes_ = 0;
};

/// Forms that convolve each plane by itself: `Kernel` is what a plane is convolved with, one for each radius and plane.
template <class Kernel>
class PlaneByPlaneBlur : public PlaneBlur {
 public:
  using Kernels = std::map<double, std::vector<Kernel>>;
  PlaneByPlaneBlur(const BlurLayout& layout, const Kernels& kernels, const Kernels& back_kernels)
      : layout_(layout), plane_(layout), sum_(math_, layout), kernels_(kernels), back_kernels_(back_kernels) {}

  void forward(double radius_mm, ViewPlanes& planes, GuardedPlane& detector) final {
    const auto& kernels = kernels_.at(radius_mm);
    detector.clear();
    for (int k = planes.first_plane(); k <= layout_.last; ++k) {
      const ColumnRange range = planes.fetch(k, layout_.stride, plane_.data());
      if (range.empty()) continue;
      add_plane(kernels[static_cast<std::size_t>(k)], range);
      sum_.plane_done(detector);
    }
    sum_.flush(detector);
  }

  void back(double radius_mm, const GuardedPlane& detector, ViewPlanes& planes) final {
    const auto& kernels = back_kernels_.at(radius_mm);
    for (int k = planes.first_plane(); k <= layout_.last; ++k) {
      const ColumnRange range = planes.wanted(k);
      for (int c = range.begin; c < range.end; ++c)
        planes.take(k, c, back_column(kernels[static_cast<std::size_t>(k)], detector, c));
    }
  }

 protected:
  /// sum_ += the plane, of which these columns are not 0, convolved.
  virtual void add_plane(const Kernel& kernel, ColumnRange range) = 0;
  /// Column c of the plane that the transpose makes of the detector.
  virtual float* back_column(const Kernel& kernel, const GuardedPlane& detector, int c) = 0;

  /// Detector's columns that a plane's reach.
  ColumnRange reached(ColumnRange range, int reach) const {
    return {std::max(0, range.begin - layout_.margin_u - reach),
            std::min(layout_.inner_columns, range.end - layout_.margin_u + reach)};
  }

  const ColumnMath& math_ = column_math();
  const BlurLayout& layout_;
  GuardedPlane plane_;
  PlaneSum sum_;

 private:
  const Kernels& kernels_;
  const Kernels& back_kernels_;
};

/// Along w, then along u; back along u, then along w.
class SeparableBlur final : public PlaneByPlaneBlur<SeparableKernel> {
 public:
  SeparableBlur(const BlurLayout& layout, const Kernels& kernels)
      : PlaneByPlaneBlur(layout, kernels, kernels), blurred_(layout), column_(layout) {}

 private:
  void add_plane(const SeparableKernel& kernel, ColumnRange range) override {
    const std::int64_t stride = layout_.stride, inner = padded_length(layout_.inner_rows);
    const int reach_u = reach_of_half(kernel.u), reach_w = reach_of_half(kernel.w);
    for (int c = range.begin; c < range.end; ++c)
      math_.blur_along(plane_.data() + c * stride + layout_.margin_w, kernel.w.data(), reach_w, inner,
                       blurred_.data() + c * stride);
    std::fill_n(blurred_.data() + (range.begin - 2 * reach_u) * stride, 2 * reach_u * stride, 0.0f);
    std::fill_n(blurred_.data() + range.end * stride, 2 * reach_u * stride, 0.0f);
    const ColumnRange on_detector = reached(range, reach_u);
    for (int u = on_detector.begin; u < on_detector.end; ++u)
      math_.blur_across(blurred_.data() + (u + layout_.margin_u) * stride, stride, kernel.u.data(), reach_u, inner,
                        true, sum_.part() + u * stride);
  }

  float* back_column(const SeparableKernel& kernel, const GuardedPlane& detector, int c) override {
    math_.blur_across(detector.data() + (c - layout_.margin_u) * layout_.stride, layout_.stride, kernel.u.data(),
                      reach_of_half(kernel.u), padded_length(layout_.inner_rows), false, column_.data());
    math_.blur_along(column_.data() - layout_.margin_w, kernel.w.data(), reach_of_half(kernel.w),
                     padded_length(layout_.rows), blurred_.data());
    return blurred_.data();
  }

  GuardedPlane blurred_, column_;
};

/// From the farthest plane on, each sum is blurred by what the kernel grows between two planes and joined by the next
/// plane: acc = G_k (acc + f_k); back in the other direction: q_k = G_k q_(k - 1).
class IncrementalBlur final : public PlaneBlur {
 public:
  using Kernels = std::map<double, std::vector<SeparableKernel>>;
  IncrementalBlur(const BlurLayout& layout, const Kernels& kernels)
      : layout_(layout), kernels_(kernels), sum_(layout), along_(layout) {}

  void forward(double radius_mm, ViewPlanes& planes, GuardedPlane& detector) override {
    const auto& kernels = kernels_.at(radius_mm);
    fetch_all(planes);
    sum_.clear();
    for (int k = layout_.last; k >= planes.first_plane(); --k) {
      const ColumnRange range = ranges_[static_cast<std::size_t>(k - layout_.first)];
      for (int c = range.begin; c < range.end; ++c)
        math_.add_scaled(plane(k) + c * layout_.stride, 1.0f, padded_length(layout_.rows),
                         sum_.data() + c * layout_.stride);
      blur(kernels[static_cast<std::size_t>(k)]);
    }
    detector.clear();
    for (int u = 0; u < layout_.inner_columns; ++u)
      std::copy_n(sum_.data() + (u + layout_.margin_u) * layout_.stride + layout_.margin_w, layout_.inner_rows,
                  detector.data() + u * layout_.stride);
  }

  void back(double radius_mm, const GuardedPlane& detector, ViewPlanes& planes) override {
    const auto& kernels = kernels_.at(radius_mm);
    sum_.clear();
    for (int u = 0; u < layout_.inner_columns; ++u)
      std::copy_n(detector.data() + u * layout_.stride, layout_.inner_rows,
                  sum_.data() + (u + layout_.margin_u) * layout_.stride + layout_.margin_w);
    column_.resize(static_cast<std::size_t>(layout_.stride));
    for (int k = planes.first_plane(); k <= layout_.last; ++k) {
      blur(kernels[static_cast<std::size_t>(k)]);
      const ColumnRange range = planes.wanted(k);
      for (int c = range.begin; c < range.end; ++c) {
        std::copy_n(sum_.data() + c * layout_.stride, layout_.stride, column_.data());
        planes.take(k, c, column_.data());
      }
    }
  }

 private:
  float* plane(int k) { return volume_.data() + (k - layout_.first) * layout_.plane_size(); }

  void fetch_all(ViewPlanes& planes) {
    const auto count = static_cast<std::size_t>(layout_.last - layout_.first + 1);
    volume_.resize(count * static_cast<std::size_t>(layout_.plane_size()));
    ranges_.assign(count, {});
    for (int k = planes.first_plane(); k <= layout_.last; ++k)
      ranges_[static_cast<std::size_t>(k - layout_.first)] = planes.fetch(k, layout_.stride, plane(k));
  }

  void blur(const SeparableKernel& kernel) {
    const std::int64_t stride = layout_.stride, rows = padded_length(layout_.rows);
    for (int c = 0; c < layout_.columns; ++c) {
      float* const out = along_.data() + c * stride;
      math_.blur_along(sum_.data() + c * stride, kernel.w.data(), reach_of_half(kernel.w), rows, out);
      std::fill(out + layout_.rows, out + stride, 0.0f);  // what leaves the plane does not come back
    }
    for (int c = 0; c < layout_.columns; ++c)
      math_.blur_across(along_.data() + c * stride, stride, kernel.u.data(), reach_of_half(kernel.u), rows, false,
                        sum_.data() + c * stride);
  }

  const ColumnMath& math_ = column_math();
  const BlurLayout& layout_;
  const Kernels& kernels_;
  GuardedPlane sum_, along_;
  std::vector<float> volume_, column_;
  std::vector<ColumnRange> ranges_;
};

/// Element by element of a kernel in two dimensions.
class TableBlur final : public PlaneByPlaneBlur<PlaneKernel> {
 public:
  TableBlur(const BlurLayout& layout, const Kernels& kernels, const Kernels& mirrored)
      : PlaneByPlaneBlur(layout, kernels, mirrored), out_(layout) {}

 private:
  void add_plane(const PlaneKernel& kernel, ColumnRange range) override {
    const ColumnRange on_detector = reached(range, kernel.across / 2);
    const std::int64_t inner = padded_length(layout_.inner_rows);
    for (int u = on_detector.begin; u < on_detector.end; ++u) {
      std::fill_n(out_.data(), inner, 0.0f);  // a column of a plane is a sum of its own, for the sake of rounding
      add_column(kernel, plane_.data() + layout_.margin_w, u + layout_.margin_u, range, inner);
      math_.add_scaled(out_.data(), 1.0f, inner, sum_.part() + u * layout_.stride);
    }
  }

  float* back_column(const PlaneKernel& kernel, const GuardedPlane& detector, int c) override {
    const std::int64_t rows = padded_length(layout_.rows);
    std::fill_n(out_.data(), rows, 0.0f);
    add_column(kernel, detector.data() - layout_.margin_w, c - layout_.margin_u, {0, layout_.inner_columns}, rows);
    return out_.data();
  }

  /// out_ += what the columns in `range` give to column `at`.
  void add_column(const PlaneKernel& kernel, const float* columns, int at, ColumnRange range, std::int64_t length) {
    const int reach_u = kernel.across / 2, reach_w = kernel.along / 2;
    for (int i = -reach_u; i <= reach_u; ++i) {
      const int from = at - i;
      if (from < range.begin || from >= range.end) continue;
      math_.convolve(columns + from * layout_.stride, kernel.values.data() + i + reach_u, kernel.across, reach_w,
                     length, out_.data());
    }
  }

  GuardedPlane out_;
};

PlaneKernel mirror_image(const PlaneKernel& kernel) {
  PlaneKernel result = kernel;
  std::ranges::reverse(result.values);
  return result;
}

KernelReach widest_of(const ViewLattice& lattice, const ViewSet& set, const SpectSettings& settings) {
  KernelReach widest;
  for (const double radius : radii_of(set)) {
    const KernelReach reach = widest_reach(lattice, settings, radius);
    widest = {std::max(widest.u, reach.u), std::max(widest.w, reach.w)};
  }
  return widest;
}

}  // namespace

BlurLayout::BlurLayout(const ViewLattice& lattice, KernelReach widest)
    : columns(lattice.columns()),
      rows(lattice.rows()),
      inner_columns(lattice.nu * lattice.oversample),
      inner_rows(lattice.nw * lattice.oversample),
      margin_u(lattice.margin_u),
      margin_w(lattice.margin_w),
      first(lattice.first),
      last(lattice.last),
      reach(widest),
      stride(padded_length(lattice.rows() + widest.w + lattice.margin_w)) {}

PlaneBlurMaker::PlaneBlurMaker(const ViewLattice& lattice, const ViewSet& set, const SpectSettings& settings)
    : form_(settings.form),
      is_mirrored_(settings.adjoint == AdjointKind::exact),
      layout_(lattice, widest_of(lattice, set, settings)) {
  for (const double radius : radii_of(set)) {
    if (form_ == PsfForm::none || form_ == PsfForm::separable)
      separable_[radius] = separable_kernels(lattice, settings, radius);
    else if (form_ == PsfForm::incremental)
      separable_[radius] = incremental_kernels(lattice, settings, radius);
    else
      tables_[radius] = plane_kernels(lattice, settings, radius);
  }
  if (form_ != PsfForm::table) return;
  mirrored_ = tables_;
  if (is_mirrored_)
    for (auto& [radius, kernels] : mirrored_) std::ranges::transform(kernels, kernels.begin(), mirror_image);
}

std::unique_ptr<PlaneBlur> PlaneBlurMaker::make() const {
  if (form_ == PsfForm::incremental) return std::make_unique<IncrementalBlur>(layout_, separable_);
  if (form_ == PsfForm::fft) return make_fft_blur(layout_, tables_, is_mirrored_);
  if (!tables_.empty()) return std::make_unique<TableBlur>(layout_, tables_, mirrored_);
  return std::make_unique<SeparableBlur>(layout_, separable_);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
