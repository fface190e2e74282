// The rotation projector in CUDA: its tables on the device, and the order of its kernels. Gaussians are applied as
// separable kernels, whatever of the two forms is asked for; a converging beam is a fan. What else there is, the
// general projector does (general_cuda.cu).
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/device/launch_graphs.hpp"
#include "kernels/project/view_ratio.hpp"
#include "kernels/spect/plane_kernels.hpp"
#include "kernels/spect/row_table.cuh"
#include "kernels/spect/spect_backends.hpp"
#include "kernels/spect/spect_cuda.cuh"

namespace tofstream {

namespace {

using namespace spect;

/// Columns of a map that have more than zeros: nothing is asked of the others.
std::vector<char> columns_with_values(const Image& map) {
  const std::int64_t columns = map.grid.stride(2);
  std::vector<char> result(static_cast<std::size_t>(columns));
  for (std::int64_t v = 0; v < map.grid.voxels(); ++v)
    if (map.voxels[v] > 0) result[static_cast<std::size_t>(v % columns)] = 1;
  return result;
}

/// What views whose middles lie at the same height share. Rows are counted from the first that the image reaches.
struct AtHeight {
  int first_row = 0, rows_reached = 1;
  RowTable rows, voxels;
  Buffer<float> mu_columns;  // empty: no attenuation
};

/// Footprints in memory of the device.
struct TapTable {
  TapTable(const DeviceCamera& camera, const ColumnGrid& grid, int places, int first_plane, bool with_range)
      : first(first_plane) {
    const std::int64_t planes = std::int64_t{places} * (camera.lattice.last - first_plane + 1);
    base = Buffer<std::int32_t>(Memory::device, planes * camera.lattice.columns());
    beyond = Buffer<float2>(Memory::device, planes * camera.lattice.columns());
    if (with_range) range = Buffer<int2>(Memory::device, planes);
    queue_taps(camera, grid, places, taps(), nullptr);
  }
  DeviceTaps taps() { return {base.data(), beyond.data(), range.data(), first}; }

  Buffer<std::int32_t> base;
  Buffer<float2> beyond;
  Buffer<int2> range;
  int first;
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
    for (const ViewPlace& place : set.places) places_.push_back(LatticeView::of(place));
    looks_ = Buffer<LatticeView>::from(places_).to(Memory::device);
    camera_.looks = looks_.data();
    support_host_ = support_of(grid, settings.box);
    support_ = Buffer<char>::from(support_host_).to(Memory::device);
    camera_.image = columns_of(grid, support_.data());
    if (settings.mu_per_mm) {
      mu_support_ = Buffer<char>::from(columns_with_values(*settings.mu_per_mm)).to(Memory::device);
      camera_.mu = columns_of(settings.mu_per_mm->grid, mu_support_.data());
      mu_ = settings.mu_per_mm->voxels.to(Memory::device);
    }
    make_kernels();
    const int places = static_cast<int>(places_.size());
    taps_.emplace(camera_, camera_.image, places, camera_.lattice.first, true);
    camera_.taps = taps_->taps();
    note_reached(taps_->range.to_vector());
    if (settings.mu_per_mm) {
      mu_taps_.emplace(camera_, camera_.mu, places, 0, false);
      camera_.mu_taps = mu_taps_->taps();
    }
    const std::int64_t columns = std::int64_t{camera_.image.columns()} * rounded_to_four(camera_.lattice.rows());
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
      const DeviceCamera camera = camera_at(here);
      queue_to_columns(here.rows.rows(), camera.rows, camera.image, camera.stride, image, image_columns_.data(),
                       stream);
      const Members on_device(views, members, stream);
      const int all = static_cast<int>(members.size());
      int group = views_within(most_point_bytes(), point_floats(camera, all), all);
      if (camera.mu_columns) group = std::min(group, views_within(most_plane_bytes(), plane_floats(camera), all));
      const int chunks = chunks_of(camera, group);
      make_room(points_, point_floats(camera, group) * group, stream);
      const PlaneVolume volume = camera.mu_columns ? volume_of(camera, group, stream) : PlaneVolume{};
      for (int first = 0; first < all; first += group) {
        const int count = std::min(group, all - first);
        if (camera.mu_columns) attenuate(camera, views, members, on_device, first, count, volume, stream);
        queue_forward(camera, on_device.views, first, count, chunks, volume, image_columns_.data(), scale_,
                      points_.data(), stream);
        queue_add_points(camera, on_device.views, first, count, chunks, points_.data(), expectation, stream);
      }
    }
  }

  void back(const Views& views, const float* values, float* image, Stream stream) override {
    require_views_of(set_, views);
    for (const auto& [height, members] : by_height(views)) {
      const AtHeight& here = at(height, views, members);
      const DeviceCamera camera = camera_at(here);
      const Members on_device(views, members, stream);
      const int all = static_cast<int>(members.size());
      const int group = views_within(most_plane_bytes(), plane_floats(camera), all);
      const PlaneVolume volume = volume_of(camera, group, stream);
      for (int first = 0; first < all; first += group) {
        const int count = std::min(group, all - first);
        if (camera.mu_columns) attenuate(camera, views, members, on_device, first, count, volume, stream);
        attenuated_.clear();
        queue_back_planes(camera, on_device.views, first, count, values, scale_, volume, stream);
        queue_gather(camera, on_device.views, first, count, volume, first > 0, sum_columns_.data(), stream);
      }
      queue_from_columns(here.voxels.rows(), grid_.size[2], camera.image, camera.stride, sum_columns_.data(), image,
                         stream);
    }
  }

  EmTally em_step(const Views& views, const float* image, float* accumulator, Stream stream) override {
    detail::require_counts(views);
    require_views_of(set_, views);
    if (views.views == 0) return {};
    make_room(ratio_, views.count, stream);
    if (sums_.begin(views)) graphs_.clear();
    const auto queue = [&](Stream on) {
      attenuated_.clear();  // what recorded work has left there is not known
      forward(views, image, ratio_.data(), on);
      sums_.queue_ratio(views, ratio_.data(), on);
      back(views, ratio_.data(), accumulator, on);
    };
    if (by_height(views).size() == 1)
      graphs_.run(arguments_of(views, image, accumulator), stream, queue);
    else
      queue(stream);
    return sums_.tally(views, stream);
  }

  void add_sensitivity(const Views& views, float* image, Stream stream) override {
    add_efficiencies(*this, views, image, stream);
  }

  Image support() const override { return support_image(grid_, support_host_); }

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

  DeviceCamera camera_at(const AtHeight& here) const {
    DeviceCamera camera = camera_;
    camera.mu_columns = settings_.mu_per_mm ? here.mu_columns.data() : nullptr;
    camera.first_row = here.first_row;
    camera.rows = here.rows_reached;
    camera.stride = rounded_to_four(here.rows_reached);
    return camera;
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

  /// No tile of a back projection begins where no view has an image.
  void note_reached(const std::vector<int2>& ranges) {
    camera_.reached_from = camera_.lattice.columns();
    for (const int2 range : ranges) {
      if (range.x >= range.y) continue;
      camera_.reached_from = std::min(camera_.reached_from, range.x);
      camera_.reached_to = std::max(camera_.reached_to, range.y);
    }
    camera_.reached_from = std::min(camera_.reached_from, camera_.reached_to);
  }

  void make_kernels() {
    const std::vector<double> radii = radii_of(set_);
    std::vector<std::vector<SeparableKernel>> all;
    SpectSettings separable = settings_;
    if (separable.form == PsfForm::incremental) separable.form = PsfForm::separable;
    KernelReach reach;
    for (const double radius : radii) {
      all.push_back(separable_kernels(camera_.lattice, separable, radius));
      const KernelReach here = reach_of(all.back());
      reach = {std::max(reach.u, here.u), std::max(reach.w, here.w)};
      const LatticeView look{.radius_mm = radius};
      camera_.least_scale_u = std::min(camera_.least_scale_u, look.scale_u(camera_.lattice, camera_.lattice.last));
    }
    const auto blocks = [](int taps) { return (taps + taps_a_block - 1) / taps_a_block * taps_a_block; };
    const int length = std::max(blocks(2 * reach.u + 1), blocks(rounded_to_four(reach.w) + reach.w + 1));
    std::vector<float> u, w;
    std::vector<short> reach_u, reach_w;
    // Both halves, from the tap -from on.
    const auto append = [&](const std::vector<float>& half, int from, std::vector<float>& to) {
      for (int i = 0; i < length; ++i) {
        const auto at = static_cast<std::size_t>(std::abs(i - from));
        to.push_back(at < half.size() ? half[at] : 0.0f);
      }
    };
    for (const auto& kernels : all)
      for (const SeparableKernel& kernel : kernels) {
        reach_u.push_back(static_cast<short>(kernel.u.size() - 1));
        reach_w.push_back(static_cast<short>(kernel.w.size() - 1));
        append(kernel.u, reach_u.back(), u);
        append(kernel.w, rounded_to_four(reach_w.back()), w);
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
    camera_.kernels = {kernel_u_.data(),  kernel_w_.data(), reach_u_.data(), reach_w_.data(),
                       radius_of_.data(), length,           reach.u,         reach.w};
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
    const auto all_taps = [&](const Grid& grid) {
      return row_taps(camera_.lattice, look, 0, grid, Footprint::interpolating);
    };
    const std::vector<RowTap> reached = all_taps(grid_);
    const auto [low, high] = std::ranges::minmax(reached.empty() ? std::vector<RowTap>(1) : reached, {}, &RowTap::row);
    const int first = low.row, rows = high.row - low.row + 1;
    const auto taps = [&](const Grid& grid) { return taps_from(first, rows, all_taps(grid)); };
    AtHeight made{first,
                  rows,
                  {taps(grid_), rows, &RowTap::row, &RowTap::z},
                  {taps(grid_), grid_.size[2], &RowTap::z, &RowTap::row},
                  {}};
    if (settings_.mu_per_mm) {
      const RowTable of_mu(taps(settings_.mu_per_mm->grid), rows, &RowTap::row, &RowTap::z);
      const int stride = rounded_to_four(rows);
      made.mu_columns = Buffer<float>(Memory::device, std::int64_t{camera_.mu.columns()} * stride);
      queue_to_columns(of_mu.rows(), rows, camera_.mu, stride, mu_.data(), made.mu_columns.data(), nullptr);
      synchronize(nullptr);
    }
    return heights_.emplace(height, std::move(made)).first->second;
  }

  /// Floats of one view's planes.
  static std::int64_t plane_floats(const DeviceCamera& camera) {
    return std::int64_t{volume_planes(camera)} * camera.lattice.columns() * camera.stride;
  }
  /// Floats of one view's points, where so many views are projected at once.
  static std::int64_t point_floats(const DeviceCamera& camera, int views) {
    return std::int64_t{camera.rows_of_points()} * camera.columns_of_points() * chunks_of(camera, views);
  }
  /// Bytes of planes, and of points, that are written of views at once. More is faster, since launches are longer
  /// (share/benchmarks, 'SPECT on the H200'); large images, of 256 voxels along each axis, shall stay within 1.5 GiB
  /// with their subsets' sensitivities.
  std::int64_t most_plane_bytes() const { return std::int64_t{is_large() ? 240 : 1024} << 20; }
  std::int64_t most_point_bytes() const { return std::int64_t{is_large() ? 48 : 128} << 20; }
  bool is_large() const {
    constexpr std::int64_t large_image = std::int64_t{32} << 20;
    return grid_.voxels() * static_cast<std::int64_t>(sizeof(float)) > large_image;
  }

  /// Views that are projected at once, of which so many floats each are written.
  static int views_within(std::int64_t bytes, std::int64_t floats, int views) {
    constexpr int most = 1 << 14;  // a grid of blocks has no more than 65535 along y
    const std::int64_t held = bytes / (floats * static_cast<std::int64_t>(sizeof(float)));
    return static_cast<int>(std::clamp<std::int64_t>(held, 1, std::min(views, most)));
  }
  PlaneVolume volume_of(const DeviceCamera& camera, int views, Stream stream) {
    make_room(volume_, plane_floats(camera) * views, stream);
    return {volume_.data(), volume_planes(camera)};
  }
  /// Recorded work has the addresses of all buffers.
  void make_room(Buffer<float>& buffer, std::int64_t floats, Stream stream) {
    if (buffer.size() >= floats) return;
    graphs_.clear();
    attenuated_.clear();
    buffer = Buffer<float>(Memory::device, floats, stream);
  }

  /// Fills the volume, unless it holds these members' already: the projection of an EM step leaves them to its
  /// transpose.
  void attenuate(const DeviceCamera& camera, const Views& views, const std::vector<std::int32_t>& members,
                 const Members& on_device, int first, int count, const PlaneVolume& volume, Stream stream) {
    std::vector<std::int32_t> places;
    for (int i = first; i < first + count; ++i)
      places.push_back(views.records[members[static_cast<std::size_t>(i)]].view);
    if (places == attenuated_) return;
    queue_attenuation(camera, on_device.views, first, count, volume, stream);
    attenuated_ = std::move(places);
  }

  /// All that an EM step's work depends on.
  static LaunchGraphs::Arguments arguments_of(const Views& views, const float* image, const float* accumulator) {
    LaunchGraphs::Arguments arguments;
    for (const void* const address :
         {static_cast<const void*>(image), static_cast<const void*>(accumulator),
          static_cast<const void*>(views.counts), static_cast<const void*>(views.multiplicative),
          static_cast<const void*>(views.additive), static_cast<const void*>(views.index),
          static_cast<const void*>(views.weight)})
      arguments.push_back(reinterpret_cast<std::uintptr_t>(address));
    for (int v = 0; v < views.views; ++v) arguments.push_back(static_cast<std::uintptr_t>(views.records[v].view));
    return arguments;
  }

  Grid grid_;
  ViewSet set_;
  SpectSettings settings_;
  float scale_;
  DeviceCamera camera_;
  std::vector<LatticeView> places_;
  std::vector<char> support_host_;
  Buffer<LatticeView> looks_;
  Buffer<char> support_, mu_support_;
  Buffer<float> mu_, kernel_u_, kernel_w_;
  Buffer<short> reach_u_, reach_w_;
  Buffer<int> radius_of_;
  std::optional<TapTable> taps_, mu_taps_;
  Buffer<float> image_columns_, sum_columns_, points_, volume_, ratio_;
  detail::StretchSums sums_;
  std::vector<std::int32_t> attenuated_;  // places whose left-over photons the volume holds
  LaunchGraphs graphs_;
  std::map<double, AtHeight> heights_;  // by centre_w
};

/// Whether these kernels can do it; all else is the general projector's.
bool is_usual(const SpectSettings& settings) {
  return settings.beam != Beam::cone && !is_conserving(settings) && settings.adjoint == AdjointKind::exact &&
         settings.form != PsfForm::fft && settings.form != PsfForm::table;
}

}  // namespace

std::unique_ptr<ViewProjector> make_rotation_cuda(const Grid& grid, const ViewSet& set, const SpectSettings& settings) {
  if (!is_usual(settings)) return make_rotation_general_cuda(grid, set, settings);
  return std::make_unique<RotationCuda>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
