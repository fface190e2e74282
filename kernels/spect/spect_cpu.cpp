// The rotation projector on the CPU. Forward: views in parallel. Back: the planes of a group of views in parallel,
// then slabs of the image, each of which adds the views in their order: the same bits on any number of threads. The
// image is kept in columns along z, which a plane's rows are made of in whole vectors.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "kernels/project/view_ratio.hpp"
#include "kernels/spect/footprint.hpp"
#include "kernels/spect/plane_blur.hpp"
#include "kernels/spect/spect_backends.hpp"

namespace tofstream {

namespace {

/// An image as columns of rows of the lattice, or of voxels along z where each plane has rows of its own (cone).
struct ImageColumns {
  std::int64_t length = 0;  // padded
  std::vector<float> values;

  ImageColumns(std::int64_t columns, int rows)
      : length(padded_length(rows)), values(static_cast<std::size_t>(columns * length), 0.0f) {}
};

/// What a projector's threads share of its geometry.
struct RotationSetup {
  RotationSetup(const Grid& image, const ViewSet& views, const SpectSettings& chosen)
      : grid(image),
        set(views),
        settings(chosen),
        lattice(lattice_of(image, views, chosen)),
        support(support_of(image, chosen.box)),
        forward_kind(is_conserving(chosen) ? Footprint::conserving : Footprint::interpolating),
        back_kind(chosen.adjoint == AdjointKind::paper ? Footprint::paper_back : forward_kind),
        scale(static_cast<float>(static_cast<double>(chosen.counts_per_decay) * lattice.volume_mL)),
        blurs(lattice, views, chosen) {
    for (const ViewPlace& place : set.places) looks.push_back(LatticeView::of(place));
    if (settings.mu_per_mm) mu_support.assign(static_cast<std::size_t>(settings.mu_per_mm->grid.stride(2)), 1);
  }
  bool rows_differ_by_plane() const { return settings.beam == Beam::cone; }
  int image_rows(const Grid& which) const { return rows_differ_by_plane() ? which.size[2] : lattice.rows(); }

  Grid grid;
  ViewSet set;
  SpectSettings settings;
  ViewLattice lattice;
  std::vector<char> support, mu_support;
  Footprint forward_kind, back_kind;
  float scale;
  PlaneBlurMaker blurs;
  std::vector<LatticeView> looks;  // of all places
};

/// The image's columns as a view whose middle lies at its centre_w sees them.
ImageColumns columns_of(const RotationSetup& setup, const LatticeView& look, const Grid& grid, const float* image,
                        Footprint kind) {
  ImageColumns result(grid.stride(2), setup.image_rows(grid));
  const auto taps = setup.rows_differ_by_plane() ? std::vector<RowTap>() : row_taps(setup.lattice, look, 0, grid, kind);
  tbb::parallel_for(0, grid.size[1], [&](int y) {
    float* const columns = result.values.data() + y * grid.size[0] * result.length;
    const auto add = [&](int row, int z, float weight) {
      const float* const from = image + grid.index(0, y, z);
      for (int x = 0; x < grid.size[0]; ++x) columns[x * result.length + row] += weight * from[x];
    };
    for (const RowTap& tap : taps) add(tap.row, tap.z, tap.weight);
    if (setup.rows_differ_by_plane())
      for (int z = 0; z < grid.size[2]; ++z) add(z, z, 1);
  });
  return result;
}

/// The transpose: image += scale times what the columns make of it.
void add_columns(const RotationSetup& setup, const LatticeView& look, const ImageColumns& sum, float* image) {
  const Grid& grid = setup.grid;
  const auto taps =
      setup.rows_differ_by_plane() ? std::vector<RowTap>() : row_taps(setup.lattice, look, 0, grid, setup.back_kind);
  tbb::parallel_for(0, grid.size[1], [&](int y) {
    const float* const columns = sum.values.data() + y * grid.size[0] * sum.length;
    const auto add = [&](int row, int z, float weight) {
      float* const to = image + grid.index(0, y, z);
      for (int x = 0; x < grid.size[0]; ++x)
        if (setup.support[static_cast<std::size_t>(y * grid.size[0] + x)])
          to[x] += weight * columns[x * sum.length + row];
    };
    for (const RowTap& tap : taps) add(tap.row, tap.z, tap.weight);
    if (setup.rows_differ_by_plane())
      for (int z = 0; z < grid.size[2]; ++z) add(z, z, 1);
  });
}

/// How much of a view's planes leaves them, from the nearest plane on.
class ViewAttenuation {
 public:
  explicit ViewAttenuation(const RotationSetup& setup)
      : setup_(setup),
        stride_(padded_length(setup.lattice.rows())),
        steps_(static_cast<std::size_t>(setup.lattice.columns() * stride_)),
        before_(steps_.size()),
        factor_(steps_.size()),
        mu_(static_cast<std::size_t>(stride_)) {
    for (int c = 0; c < setup.lattice.columns(); ++c)
      for (int r = 0; r < setup.lattice.rows(); ++r) steps_[static_cast<std::size_t>(c * stride_ + r)] = step_mm(c, r);
  }

  void begin(const LatticeView& look, const ImageColumns& mu) {
    look_ = &look;
    mu_columns_ = &mu;
    taps_.emplace(setup_.lattice, look, setup_.settings.mu_per_mm->grid, setup_.mu_support, Footprint::interpolating,
                  0);
    std::ranges::fill(before_, 0.0f);
    next_ = 0;
  }

  /// Makes the factors of a plane's columns; planes ascend.
  void advance_to(int plane, ColumnRange wanted) {
    for (; next_ < plane; ++next_) pass(next_, {});
    pass(next_++, wanted);
  }
  const float* factor(int column) const { return factor_.data() + column * stride_; }

 private:
  float step_mm(int column, int row) const {
    const ViewLattice& lattice = setup_.lattice;
    const double u = lattice.beam == Beam::parallel ? 0 : lattice.u_mm(column) / lattice.focal_mm;
    const double w = lattice.beam == Beam::cone ? lattice.w_mm(row) / lattice.focal_mm : 0;
    return static_cast<float>(lattice.step * std::sqrt(1 + u * u + w * w));
  }

  void pass(int plane, ColumnRange wanted) {
    const ViewTaps::Plane& points = taps_->plane(plane);
    if (setup_.rows_differ_by_plane())
      rows_ = row_taps(setup_.lattice, *look_, plane, setup_.settings.mu_per_mm->grid, Footprint::interpolating);
    for (int c = points.begin; c < points.end; ++c) {
      if (c >= wanted.begin && c < wanted.end) continue;
      mu_of(points.first_point + c - points.begin);
      math_.add_scaled(mu_.data(), 1.0f, stride_, before_.data() + c * stride_);
    }
    for (int c = wanted.begin; c < wanted.end; ++c) {
      if (c >= points.begin && c < points.end)
        mu_of(points.first_point + c - points.begin);
      else
        std::ranges::fill(mu_, 0.0f);
      math_.attenuate(mu_.data(), steps_.data() + c * stride_, stride_, before_.data() + c * stride_,
                      factor_.data() + c * stride_);
    }
  }

  void mu_of(std::int64_t point) {
    const std::int64_t length = mu_columns_->length;
    if (!setup_.rows_differ_by_plane())
      return math_.gather(taps_->at(point), mu_columns_->values.data(), length, length, mu_.data());
    along_z_.resize(static_cast<std::size_t>(length));
    math_.gather(taps_->at(point), mu_columns_->values.data(), length, length, along_z_.data());
    std::ranges::fill(mu_, 0.0f);
    for (const RowTap& tap : rows_)
      mu_[static_cast<std::size_t>(tap.row)] += tap.weight * along_z_[static_cast<std::size_t>(tap.z)];
  }

  const RotationSetup& setup_;
  const ColumnMath& math_ = column_math();
  std::int64_t stride_;
  std::vector<float> steps_, before_, factor_, mu_, along_z_;
  std::vector<RowTap> rows_;
  std::optional<ViewTaps> taps_;
  const LatticeView* look_ = nullptr;
  const ImageColumns* mu_columns_ = nullptr;
  int next_ = 0;
};

/// A view's planes before the point spread, as A^T makes them: a column for each point of its footprints.
struct ViewPoints {
  const ViewTaps* taps = nullptr;
  std::vector<float> values;
};

/// One thread's planes of the view that it is at: rotated for A, or kept for A^T.
class RotatedPlanes final : public ViewPlanes {
 public:
  explicit RotatedPlanes(const RotationSetup& setup) : setup_(setup) {
    if (setup.settings.mu_per_mm) attenuation_.emplace(setup);
  }

  void begin(const LatticeView& look, const ViewTaps& taps, const ImageColumns* image, const ImageColumns* mu) {
    look_ = &look;
    taps_ = &taps;
    image_ = image;
    if (attenuation_) attenuation_->begin(look, *mu);
  }
  void keep_in(ViewPoints* kept, std::int64_t length) {
    kept_ = kept;
    kept_length_ = length;
  }

  int first_plane() const override { return look_->first_plane(setup_.lattice); }

  ColumnRange fetch(int plane, std::int64_t stride, float* columns) override {
    const ColumnRange range = begin_plane(plane, setup_.forward_kind);
    const ViewTaps::Plane& points = taps_->plane(plane);
    for (int c = range.begin; c < range.end; ++c) {
      float* const out = columns + c * stride;
      const auto taps = taps_->at(points.first_point + c - points.begin);
      if (setup_.rows_differ_by_plane())
        gather_rows(taps, out);
      else
        math_.gather(taps, image_->values.data(), image_->length, image_->length, out);
      if (attenuation_) math_.multiply(attenuation_->factor(c), padded_length(setup_.lattice.rows()), out);
    }
    return range;
  }

  ColumnRange wanted(int plane) override { return begin_plane(plane, setup_.back_kind); }

  void take(int plane, int column, float* rows) override {
    if (attenuation_) math_.multiply(attenuation_->factor(column), padded_length(setup_.lattice.rows()), rows);
    const ViewTaps::Plane& points = taps_->plane(plane);
    float* const out = kept_->values.data() + (points.first_point + column - points.begin) * kept_length_;
    if (!setup_.rows_differ_by_plane()) {
      std::copy_n(rows, kept_length_, out);
      return;
    }
    std::fill_n(out, kept_length_, 0.0f);
    for (const RowTap& tap : rows_) out[tap.z] += tap.weight * rows[tap.row];
  }

 private:
  ColumnRange begin_plane(int plane, Footprint kind) {
    const ViewTaps::Plane& points = taps_->plane(plane);
    const ColumnRange range{points.begin, points.end};
    if (attenuation_) attenuation_->advance_to(plane, range);
    if (setup_.rows_differ_by_plane()) rows_ = row_taps(setup_.lattice, *look_, plane, setup_.grid, kind);
    return range;
  }

  void gather_rows(std::span<const ColumnTap> taps, float* out) {
    along_z_.resize(static_cast<std::size_t>(image_->length));
    math_.gather(taps, image_->values.data(), image_->length, image_->length, along_z_.data());
    std::fill_n(out, padded_length(setup_.lattice.rows()), 0.0f);
    for (const RowTap& tap : rows_) out[tap.row] += tap.weight * along_z_[static_cast<std::size_t>(tap.z)];
  }

  const RotationSetup& setup_;
  const ColumnMath& math_ = column_math();
  std::optional<ViewAttenuation> attenuation_;
  const LatticeView* look_ = nullptr;
  const ViewTaps* taps_ = nullptr;
  const ImageColumns* image_ = nullptr;
  ViewPoints* kept_ = nullptr;
  std::int64_t kept_length_ = 0;
  std::vector<RowTap> rows_;
  std::vector<float> along_z_;
};

class CpuRotationProjector final : public ViewProjector {
 public:
  CpuRotationProjector(const Grid& grid, const ViewSet& set, const SpectSettings& settings)
      : setup_(grid, set, settings), workers_([this] { return Worker(setup_); }) {}

  const Grid& grid() const override { return setup_.grid; }
  Backend backend() const override { return Backend::cpu; }

  void forward(const Views& views, const float* image, float* expectation, Stream) override {
    require_views_of(setup_.set, views);
    for (const auto& row : by_rows(views)) {
      const auto& members = row.second;
      const LatticeView& look = look_of(views, members.front());
      const ImageColumns columns = columns_of(setup_, look, setup_.grid, image, setup_.forward_kind);
      const ImageColumns* const mu = mu_columns(look);
      tbb::parallel_for(std::size_t{0}, members.size(), [&](std::size_t i) {
        project(look_of(views, members[i]), columns, mu, expectation + members[i] * setup_.set.pixels());
      });
    }
  }

  void back(const Views& views, const float* values, float* image, Stream) override {
    require_views_of(setup_.set, views);
    for (const auto& [centre_w, members] : by_rows(views)) {
      const LatticeView& look = look_of(views, members.front());
      const ImageColumns* const mu = mu_columns(look);
      BackSums sums(setup_);
      const std::size_t group = views_a_group();
      for (std::size_t begin = 0; begin < members.size(); begin += group)
        back_group(views, std::span(members).subspan(begin, std::min(group, members.size() - begin)), values, mu, sums);
      sums.flush();
      add_columns(setup_, look, sums.sum, image);
    }
  }

  EmTally em_step(const Views& views, const float* image, float* accumulator, Stream) override {
    std::vector<float> ratio(static_cast<std::size_t>(views.count));
    forward(views, image, ratio.data(), nullptr);
    const EmTally tally = view_ratio(views, ratio.data(), Backend::cpu);
    back(views, ratio.data(), accumulator, nullptr);
    return tally;
  }

  void add_sensitivity(const Views& views, float* image, Stream) override {
    add_efficiencies(*this, views, image, nullptr);
  }

  Image support() const override { return support_image(setup_.grid, setup_.support); }

 private:
  /// Views whose planes are in memory at the same time; fewer of a large image. Their sum goes into the image's before
  /// the next ones: an error of rounding then grows with the root of fewer terms.
  std::size_t views_a_group() const {
    const Grid& grid = setup_.grid;
    const double mm2 = static_cast<double>(grid.size[0]) * static_cast<double>(grid.voxel_mm.x) *
                       static_cast<double>(grid.size[1]) * static_cast<double>(grid.voxel_mm.y);
    const double points = mm2 / (setup_.lattice.pu * setup_.lattice.step);
    const double bytes = points * static_cast<double>(setup_.image_rows(grid)) * sizeof(float);
    return static_cast<std::size_t>(std::clamp(static_cast<double>(most_bytes_of_planes_cpu) / bytes, 1.0,
                                               static_cast<double>(most_views_a_group_cpu)));
  }
  static constexpr int slab = 4;  // rows of voxels that a thread adds to at a time

  struct Worker {
    explicit Worker(const RotationSetup& setup)
        : planes(setup), blur(setup.blurs.make()), detector(setup.blurs.layout()) {}
    RotatedPlanes planes;
    std::unique_ptr<PlaneBlur> blur;
    GuardedPlane detector;
  };

  struct BackSums {
    explicit BackSums(const RotationSetup& setup)
        : sum(setup.grid.stride(2), setup.image_rows(setup.grid)), part(sum) {}
    void flush() {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, sum.values.size(), 1 << 14), [&](const auto& range) {
        for (std::size_t i = range.begin(); i < range.end(); ++i) {
          sum.values[i] += part.values[i];
          part.values[i] = 0;
        }
      });
    }
    ImageColumns sum, part;
  };

  const LatticeView& look_of(const Views& views, int view) const {
    return setup_.looks[static_cast<std::size_t>(views.records[view].view)];
  }

  /// The views whose lattices have rows in the same places.
  std::map<double, std::vector<int>> by_rows(const Views& views) const {
    std::map<double, std::vector<int>> result;
    for (int v = 0; v < views.views; ++v) result[look_of(views, v).centre_w_mm].push_back(v);
    return result;
  }

  const ImageColumns* mu_columns(const LatticeView& look) {
    const auto& mu = setup_.settings.mu_per_mm;
    if (!mu) return nullptr;
    const auto known = mu_columns_.find(look.centre_w_mm);
    if (known != mu_columns_.end()) return &known->second;
    ImageColumns columns = columns_of(setup_, look, mu->grid, mu->voxels.data(), Footprint::interpolating);
    return &mu_columns_.emplace(look.centre_w_mm, std::move(columns)).first->second;
  }

  ViewTaps taps_of(const LatticeView& look, Footprint kind) const {
    return {setup_.lattice, look, setup_.grid, setup_.support, kind, setup_.lattice.first};
  }

  void project(const LatticeView& look, const ImageColumns& columns, const ImageColumns* mu, float* pixels) {
    Worker& worker = workers_.local();
    const ViewTaps taps = taps_of(look, setup_.forward_kind);
    worker.planes.begin(look, taps, &columns, mu);
    worker.blur->forward(look.radius_mm, worker.planes, worker.detector);
    const int nu = setup_.lattice.nu, nw = setup_.lattice.nw, points = setup_.lattice.oversample;
    const std::int64_t stride = setup_.blurs.layout().stride;
    for (int w = 0; w < nw; ++w)
      for (int u = 0; u < nu; ++u) {
        float sum = 0;
        for (int i = 0; i < points; ++i)
          for (int j = 0; j < points; ++j) sum += worker.detector.data()[(u * points + i) * stride + w * points + j];
        pixels[w * nu + u] = setup_.scale * sum;
      }
  }

  /// Puts a view's pixels onto the lattice; null stands for ones.
  void fill_detector(const float* pixels, GuardedPlane& detector) const {
    detector.clear();
    const int nu = setup_.lattice.nu, points = setup_.lattice.oversample;
    const BlurLayout& layout = setup_.blurs.layout();
    for (int c = 0; c < layout.inner_columns; ++c)
      for (int r = 0; r < layout.inner_rows; ++r)
        detector.data()[c * layout.stride + r] =
            pixels ? setup_.scale * pixels[r / points * nu + c / points] : setup_.scale;
  }

  void back_group(const Views& views, std::span<const int> members, const float* values, const ImageColumns* mu,
                  BackSums& sums) {
    std::vector<std::optional<ViewTaps>> taps(members.size());
    kept_.resize(std::max(kept_.size(), members.size()));
    tbb::parallel_for(std::size_t{0}, members.size(), [&](std::size_t i) {
      const LatticeView& look = look_of(views, members[i]);
      Worker& worker = workers_.local();
      ViewPoints& kept = kept_[i];
      kept.taps = &taps[i].emplace(taps_of(look, setup_.back_kind));
      kept.values.resize(std::max(kept.values.size(), static_cast<std::size_t>(kept.taps->points() * sums.sum.length)));
      fill_detector(values ? values + members[i] * setup_.set.pixels() : nullptr, worker.detector);
      worker.planes.begin(look, *kept.taps, nullptr, mu);
      worker.planes.keep_in(&kept, sums.sum.length);
      worker.blur->back(look.radius_mm, worker.detector, worker.planes);
    });
    const int slabs = (setup_.grid.size[1] + slab - 1) / slab;
    tbb::parallel_for(0, slabs, [&](int s) {
      const int begin = s * slab * setup_.grid.size[0], end = begin + slab * setup_.grid.size[0];
      for (std::size_t i = 0; i < members.size(); ++i) add_points(kept_[i], begin, end, sums.part);
    });
    sums.flush();
  }

  /// Adds a view's points to the image's columns [begin, end).
  static void add_points(const ViewPoints& view, int begin, int end, ImageColumns& image) {
    const ColumnMath& math = column_math();
    for (std::int64_t point = 0; point < view.taps->points(); ++point) {
      std::span<const ColumnTap> taps = view.taps->at(point);
      if (taps.empty() || taps.back().column < begin || taps.front().column >= end) continue;
      while (taps.front().column < begin) taps = taps.subspan(1);
      while (taps.back().column >= end) taps = taps.first(taps.size() - 1);
      if (!taps.empty())
        math.scatter(taps, view.values.data() + point * image.length, image.length, image.length, image.values.data());
    }
  }

  RotationSetup setup_;
  tbb::enumerable_thread_specific<Worker> workers_;
  std::map<double, ImageColumns> mu_columns_;  // by centre_w
  std::vector<ViewPoints> kept_;
};

}  // namespace

std::unique_ptr<ViewProjector> make_rotation_cpu(const Grid& grid, const ViewSet& set, const SpectSettings& settings) {
  return std::make_unique<CpuRotationProjector>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
