// The sum over a view's planes of each plane convolved with its point spread, and the transpose, on the CPU: one
// class for each form of the point spread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "kernels/spect/columns.hpp"
#include "kernels/spect/lattice.hpp"
#include "kernels/spect/plane_kernels.hpp"

namespace tofstream {

struct ColumnRange {
  int begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

/// The planes of one view, as the rotation makes and takes them. Each is asked for once, the nearest to the camera
/// first.
class ViewPlanes {
 public:
  virtual ~ViewPlanes() = default;
  /// The first plane before the collimator's face.
  virtual int first_plane() const = 0;
  /// Writes the columns that are not 0, `stride` apart, column 0 at `planes`; says which.
  virtual ColumnRange fetch(int plane, std::int64_t stride, float* columns) = 0;
  /// Which columns of a plane are wanted.
  virtual ColumnRange wanted(int plane) = 0;
  /// Takes one of these; may change it.
  virtual void take(int plane, int column, float* rows) = 0;
};

/// How numbers of planes and of the detector lie in memory: columns of rows, with zeros after a column's rows and
/// columns of zeros on both sides, so that no convolution need look where it ends.
struct BlurLayout {
  explicit BlurLayout(const ViewLattice& lattice, KernelReach widest);

  int columns, rows;              // of planes
  int inner_columns, inner_rows;  // of the detector
  int margin_u, margin_w, first, last;
  KernelReach reach;
  std::int64_t stride;  // of columns
  std::int64_t plane_size() const { return columns * stride; }
  /// Floats before and after a plane that are read, and are zero.
  std::int64_t guard() const { return 2 * (reach.u + margin_u + 1) * stride; }
};

/// Zeros, in the middle of which a plane or a detector lies.
class GuardedPlane {
 public:
  explicit GuardedPlane(const BlurLayout& layout)
      : guard_(layout.guard()), values_(static_cast<std::size_t>(layout.plane_size() + 2 * layout.guard()), 0.0f) {}
  float* data() { return values_.data() + guard_; }
  const float* data() const { return values_.data() + guard_; }
  void clear() { values_.assign(values_.size(), 0.0f); }

 private:
  std::int64_t guard_;
  std::vector<float> values_;
};

/// For one thread, one view after the other.
class PlaneBlur {
 public:
  virtual ~PlaneBlur() = default;
  /// detector = the sum of the convolved planes; its columns are those of the lattice without margins.
  virtual void forward(double radius_mm, ViewPlanes& planes, GuardedPlane& detector) = 0;
  /// Gives each plane the detector's transposed convolution.
  virtual void back(double radius_mm, const GuardedPlane& detector, ViewPlanes& planes) = 0;
};

/// All that threads share of one form: kernels by radius and plane.
class PlaneBlurMaker {
 public:
  PlaneBlurMaker(const ViewLattice& lattice, const ViewSet& set, const SpectSettings& settings);
  std::unique_ptr<PlaneBlur> make() const;
  const BlurLayout& layout() const { return layout_; }

 private:
  PsfForm form_;
  bool is_mirrored_;                                              // A^T's kernels
  std::map<double, std::vector<SeparableKernel>> separable_;      // or increments
  std::map<double, std::vector<PlaneKernel>> tables_, mirrored_;  // mirrored_: A^T's tables
  BlurLayout layout_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
