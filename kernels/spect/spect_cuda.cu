// The rotation projector in CUDA: its tables on the device, and the order of its kernels. Gaussians are applied as
// separable kernels, whatever of the two forms is asked for; a converging beam is a fan.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/project/view_ratio.hpp"
#include "kernels/spect/plane_kernels.hpp"
#include "kernels/spect/spect_backends.hpp"
#include "kernels/spect/spect_cuda.cuh"

namespace tofstream {

namespace {

using namespace spect;

constexpr int row_padding = 32;
constexpr std::int64_t most_plane_bytes = std::int64_t{128} << 20;  // of a group of views, and of their footprints

int padded_rows(int rows) {
  return (rows + row_padding - 1) / row_padding * row_padding;
}

/// A list of entries of each item on the device.
class RowTable {
 public:
  /// `item` and `of` say which of a tap's two numbers is which.
  RowTable(std::vector<RowTap> taps, int items, std::int32_t RowTap::*item, std::int32_t RowTap::*of) {
    std::ranges::stable_sort(taps, {}, item);
    std::vector<std::int32_t> begin(static_cast<std::size_t>(items) + 1), which;
    std::vector<float> weight;
    for (const RowTap& tap : taps) {
      ++begin[static_cast<std::size_t>(tap.*item) + 1];
      which.push_back(tap.*of);
      weight.push_back(tap.weight);
    }
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    begin_ = Buffer<std::int32_t>::from(begin).to(Memory::device);
    of_ = Buffer<std::int32_t>::from(which).to(Memory::device);
    weight_ = Buffer<float>::from(weight).to(Memory::device);
  }
  DeviceRows rows() const { return {begin_.data(), of_.data(), weight_.data()}; }

 private:
  Buffer<std::int32_t> begin_, of_;
  Buffer<float> weight_;
};

/// What views whose middles lie at the same height share.
struct AtHeight {
  RowTable rows, voxels;
  Buffer<float> mu_columns;  // empty: no attenuation
};

class RotationCuda final : public ViewProjector {
 public:
  RotationCuda(const Grid& grid, const ViewSet& set, const SpectSettings& settings)
      : grid_(grid),
        set_(set),
        settings_(settings),
        scale_(static_cast<float>(static_cast<double>(settings.counts_per_decay) *
                                  lattice_of(grid, set, settings).volume_mL)) {
    camera_.lattice = lattice_of(grid, set, settings);
    camera_.stride = padded_rows(camera_.lattice.rows());
    for (const ViewPlace& place : set.places) places_.push_back(LatticeView::of(place));
    looks_ = Buffer<LatticeView>::from(places_).to(Memory::device);
    camera_.looks = looks_.data();
    support_host_ = support_of(grid, settings.box);
    support_ = Buffer<char>::from(support_host_).to(Memory::device);
    camera_.image = columns_of(grid, support_.data());
    if (settings.mu_per_mm) {
      camera_.mu = columns_of(settings.mu_per_mm->grid, nullptr);
      mu_ = settings.mu_per_mm->voxels.to(Memory::device);
    }
    make_kernels();
    const std::int64_t columns = std::int64_t{grid.size[0]} * grid.size[1] * camera_.stride;
    image_columns_ = Buffer<float>(Memory::device, columns);
    sum_columns_ = Buffer<float>(Memory::device, columns);
    synchronize(nullptr);  // what is here may next be used on any stream
  }

  const Grid& grid() const override { return grid_; }
  Backend backend() const override { return Backend::cuda; }

  void forward(const Views& views, const float* image, float* expectation, Stream stream) override {
    require_views_of(set_, views);
    for (const auto& [height, members] : by_height(views)) {
      const AtHeight& here = at(height, views, members);
      DeviceCamera camera = camera_;
      camera.mu_columns = settings_.mu_per_mm ? here.mu_columns.data() : nullptr;
      queue_to_columns(here.rows.rows(), camera.lattice.rows(), camera.image, camera.stride, image,
                       image_columns_.data(), stream);
      const Members on_device(views, members, stream);
      const int all = static_cast<int>(members.size()), chunks = chunks_of(camera, all);
      const int finer = camera.lattice.oversample * camera.lattice.oversample;
      Buffer<float> points(Memory::device, set_.pixels() * all * finer * chunks, stream);
      for_each_group(all, views_with_taps(), on_device, camera, stream, [&](int first, int count) {
        queue_forward(camera, on_device.views, first, count, taps_.view(), mu_taps_.view(), image_columns_.data(),
                      scale_, points.data(), stream);
      });
      queue_add_points(camera.lattice, on_device.views, chunks, points.data(), expectation, stream);
    }
  }

  void back(const Views& views, const float* values, float* image, Stream stream) override {
    require_views_of(set_, views);
    for (const auto& [height, members] : by_height(views)) {
      const AtHeight& here = at(height, views, members);
      DeviceCamera camera = camera_;
      camera.mu_columns = settings_.mu_per_mm ? here.mu_columns.data() : nullptr;
      sum_columns_.clear(stream);
      const Members on_device(views, members, stream);
      const int group = std::min(views_a_group(), static_cast<int>(members.size()));
      Buffer<float> planes(Memory::device, plane_floats() * group, stream);
      for_each_group(static_cast<int>(members.size()), group, on_device, camera, stream, [&](int first, int count) {
        queue_back_planes(camera, on_device.views, first, count, taps_.view(), mu_taps_.view(), values, scale_,
                          planes.data(), stream);
        queue_gather(camera, on_device.views, first, count, taps_.view(), planes.data(), sum_columns_.data(), stream);
      });
      queue_from_columns(here.voxels.rows(), grid_.size[2], camera.image, camera.stride, sum_columns_.data(), image,
                         stream);
    }
  }

  EmTally em_step(const Views& views, const float* image, float* accumulator, Stream stream) override {
    Buffer<float> ratio(Memory::device, views.count, stream);
    forward(views, image, ratio.data(), stream);
    const EmTally tally = view_ratio(views, ratio.data(), Backend::cuda, stream);
    back(views, ratio.data(), accumulator, stream);
    synchronize(stream);
    return tally;
  }

  void add_sensitivity(const Views& views, float* image, Stream stream) override {
    Buffer<float> efficiency(Memory::device, views.count, stream);
    view_efficiencies(views, efficiency.data(), Backend::cuda, stream);
    back(views, efficiency.data(), image, stream);
  }

  Image support() const override {
    Image image = Image::zeros(grid_);
    for (std::int64_t v = 0; v < grid_.voxels(); ++v)
      image.voxels[v] = support_host_[static_cast<std::size_t>(v % grid_.stride(2))] ? 1.0f : 0.0f;
    return image;
  }

 private:
  /// The members' numbers on the device, for the time of a pass.
  struct Members {
    Members(const Views& of, const std::vector<std::int32_t>& members, Stream stream) {
      views.count = static_cast<int>(members.size());
      views.index = of.index;
      if (views.count == of.views) return;
      numbers = Buffer<std::int32_t>::from(members).to(Memory::device, stream);
      synchronize(stream);  // the host's copy may go
      views.members = numbers.data();
    }
    Buffer<std::int32_t> numbers;
    DeviceViews views;
  };

  /// Footprints of a group of views, in memory that is kept.
  struct GroupTaps {
    void make(const DeviceCamera& camera, const ColumnGrid& grid, const DeviceViews& views, int begin, int count,
              int first_plane, bool with_range, Stream stream) {
      const std::int64_t rows = std::int64_t{count} * (camera.lattice.last - first_plane + 1);
      const std::int64_t points = rows * camera.lattice.columns();
      if (base.size() < points) {
        base = Buffer<std::int32_t>(Memory::device, points, stream);
        weight = Buffer<float4>(Memory::device, points, stream);
      }
      if (with_range && range.size() < rows) range = Buffer<int2>(Memory::device, rows, stream);
      first = first_plane;
      queue_taps(camera, grid, views, begin, count, first_plane, base.data(), weight.data(),
                 with_range ? range.data() : nullptr, stream);
    }
    DeviceTaps view() const { return {base.data(), weight.data(), range.empty() ? nullptr : range.data(), first}; }

    Buffer<std::int32_t> base;
    Buffer<float4> weight;
    Buffer<int2> range;
    int first = 0;
  };

  /// Calls project(first member, members) for groups of views, of which the footprints are then there.
  template <class Project>
  void for_each_group(int all, int group, const Members& members, const DeviceCamera& camera, Stream stream,
                      const Project& project) {
    for (int first = 0; first < all; first += group) {
      const int count = std::min(group, all - first);
      taps_.make(camera, camera.image, members.views, first, count, camera.lattice.first, true, stream);
      if (camera.mu_columns) mu_taps_.make(camera, camera.mu, members.views, first, count, 0, false, stream);
      project(first, count);
    }
  }

  static ColumnGrid columns_of(const Grid& grid, const char* support) {
    return {grid.size[0],
            grid.size[1],
            static_cast<double>(grid.origin_mm.x),
            static_cast<double>(grid.origin_mm.y),
            1 / static_cast<double>(grid.voxel_mm.x),
            1 / static_cast<double>(grid.voxel_mm.y),
            support};
  }

  void make_kernels() {
    const std::vector<double> radii = radii_of(set_);
    std::vector<std::vector<SeparableKernel>> all;
    SpectSettings separable = settings_;
    if (separable.form == PsfForm::incremental) separable.form = PsfForm::separable;
    int reach = 0;
    for (const double radius : radii) {
      all.push_back(separable_kernels(camera_.lattice, separable, radius));
      const KernelReach here = reach_of(all.back());
      reach = std::max({reach, here.u, here.w});
    }
    const int length = reach + 1;
    std::vector<float> u, w;
    std::vector<short> reach_u, reach_w;
    for (const auto& kernels : all)
      for (const SeparableKernel& kernel : kernels) {
        reach_u.push_back(static_cast<short>(kernel.u.size() - 1));
        reach_w.push_back(static_cast<short>(kernel.w.size() - 1));
        for (int i = 0; i < length; ++i) {
          const auto at = static_cast<std::size_t>(i);
          u.push_back(at < kernel.u.size() ? kernel.u[at] : 0.0f);
          w.push_back(at < kernel.w.size() ? kernel.w[at] : 0.0f);
        }
      }
    std::vector<int> radius_of;
    for (const ViewPlace& place : set_.places)
      radius_of.push_back(
          static_cast<int>(std::ranges::find(radii, static_cast<double>(place.radius_mm)) - radii.begin()));
    kernel_u_ = Buffer<float>::from(u).to(Memory::device);
    kernel_w_ = Buffer<float>::from(w).to(Memory::device);
    reach_u_ = Buffer<short>::from(reach_u).to(Memory::device);
    reach_w_ = Buffer<short>::from(reach_w).to(Memory::device);
    radius_of_ = Buffer<int>::from(radius_of).to(Memory::device);
    synchronize(nullptr);  // the host's copies may go
    camera_.kernels = {kernel_u_.data(), kernel_w_.data(), reach_u_.data(), reach_w_.data(), radius_of_.data(), length};
  }

  std::map<double, std::vector<std::int32_t>> by_height(const Views& views) const {
    std::map<double, std::vector<std::int32_t>> members;
    for (int v = 0; v < views.views; ++v) members[look_of(views, v).centre_w_mm].push_back(v);
    return members;
  }
  const LatticeView& look_of(const Views& views, int view) const {
    return places_[static_cast<std::size_t>(views.records[view].view)];
  }

  const AtHeight& at(double height, const Views& views, const std::vector<std::int32_t>& members) {
    const auto known = heights_.find(height);
    if (known != heights_.end()) return known->second;
    const LatticeView& look = look_of(views, members.front());
    const int rows = camera_.lattice.rows();
    const auto taps = [&](const Grid& grid) {
      return row_taps(camera_.lattice, look, 0, grid, Footprint::interpolating);
    };
    AtHeight made{
        {taps(grid_), rows, &RowTap::row, &RowTap::z}, {taps(grid_), grid_.size[2], &RowTap::z, &RowTap::row}, {}};
    if (settings_.mu_per_mm) {
      const RowTable of_mu(taps(settings_.mu_per_mm->grid), rows, &RowTap::row, &RowTap::z);
      made.mu_columns = Buffer<float>(Memory::device, std::int64_t{camera_.mu.nx} * camera_.mu.ny * camera_.stride);
      queue_to_columns(of_mu.rows(), rows, camera_.mu, camera_.stride, mu_.data(), made.mu_columns.data(), nullptr);
      synchronize(nullptr);
    }
    return heights_.emplace(height, std::move(made)).first->second;
  }

  std::int64_t plane_floats() const {
    const ViewLattice& lattice = camera_.lattice;
    return std::int64_t{lattice.last - lattice.first + 1} * lattice.columns() * camera_.stride;
  }
  int views_with_taps() const {
    const ViewLattice& lattice = camera_.lattice;
    const std::int64_t bytes = std::int64_t{lattice.planes} * lattice.columns() *
                               static_cast<std::int64_t>(sizeof(float4) + sizeof(std::int32_t));
    return static_cast<int>(std::clamp<std::int64_t>(most_plane_bytes / bytes, 1, 1 << 14));
  }
  int views_a_group() const {
    const std::int64_t bytes = plane_floats() * static_cast<std::int64_t>(sizeof(float));
    return static_cast<int>(std::clamp<std::int64_t>(most_plane_bytes / bytes, 1, 1 << 14));
  }

  Grid grid_;
  ViewSet set_;
  SpectSettings settings_;
  float scale_;
  DeviceCamera camera_;
  std::vector<LatticeView> places_;
  std::vector<char> support_host_;
  Buffer<LatticeView> looks_;
  Buffer<char> support_;
  Buffer<float> mu_, kernel_u_, kernel_w_;
  Buffer<short> reach_u_, reach_w_;
  Buffer<int> radius_of_;
  Buffer<float> image_columns_, sum_columns_;
  GroupTaps taps_, mu_taps_;
  std::map<double, AtHeight> heights_;  // by centre_w
};

void require_what_cuda_has(const SpectSettings& settings) {
  const char* missing = settings.beam == Beam::cone              ? "cone beams"
                        : is_conserving(settings)                ? "rotation: conserving"
                        : settings.adjoint == AdjointKind::paper ? "adjoint: paper"
                        : settings.form == PsfForm::fft          ? "psf_form: fft"
                        : settings.form == PsfForm::table        ? "kernel tables"
                                                                 : nullptr;
  if (missing) throw std::invalid_argument(std::string("on a GPU there are no ") + missing + " yet: set backend: cpu");
}

}  // namespace

std::unique_ptr<ViewProjector> make_rotation_cuda(const Grid& grid, const ViewSet& set, const SpectSettings& settings) {
  require_what_cuda_has(settings);
  return std::make_unique<RotationCuda>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
