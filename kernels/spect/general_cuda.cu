// The rotation projector in CUDA for all settings: what spect_cuda.cu has no kernels for. It makes and takes the
// rotated planes of a group of views in memory, and leaves the point spread to one of three forms: Gaussians as
// separable kernels, whatever of the two forms is asked for, tables by direct summation, and anything in Fourier space.
#include <map>
#include <optional>
#include <utility>

#include "kernels/cuda/check.hpp"
#include "kernels/project/view_ratio.hpp"
#include "kernels/spect/general_cuda.cuh"
#include "kernels/spect/row_table.cuh"
#include "kernels/spect/spect_backends.hpp"

namespace tofstream {

namespace {

using namespace spect;

ColumnGrid general_columns(const Grid& grid, const char* support) {
  return {grid.size[0],
          grid.size[1],
          static_cast<double>(grid.origin_mm.x),
          static_cast<double>(grid.origin_mm.y),
          1 / static_cast<double>(grid.voxel_mm.x),
          1 / static_cast<double>(grid.voxel_mm.y),
          support};
}

GeneralRows rows_along_z(const Grid& grid) {
  return {static_cast<double>(grid.origin_mm.z), static_cast<double>(grid.voxel_mm.z), grid.size[2]};
}

std::unique_ptr<GeneralBlur> make_blur(const GeneralCamera& camera, const ViewSet& set, const SpectSettings& settings) {
  if (settings.form == PsfForm::fft) return make_fft_cuda(camera, set, settings);
  if (settings.form == PsfForm::table) return make_table_cuda(camera, set, settings);
  return make_separable_cuda(camera, set, settings);
}

class GeneralCuda final : public ViewProjector {
 public:
  GeneralCuda(const Grid& grid, const ViewSet& set, const SpectSettings& settings)
      : grid_(grid),
        set_(set),
        settings_(settings),
        forward_kind_(is_conserving(settings) ? Footprint::conserving : Footprint::interpolating),
        back_kind_(settings.adjoint == AdjointKind::paper ? Footprint::paper_back : forward_kind_) {
    camera_.lattice = lattice_of(grid, set, settings);
    scale_ = static_cast<float>(static_cast<double>(settings.counts_per_decay) * camera_.lattice.volume_mL);
    for (const ViewPlace& place : set.places) places_.push_back(LatticeView::of(place));
    looks_ = Buffer<LatticeView>::from({places_.data(), places_.size()}).to(Memory::device);
    camera_.looks = looks_.data();
    support_host_ = support_of(grid, settings.box);
    support_ = Buffer<char>::from({support_host_.data(), support_host_.size()}).to(Memory::device);
    camera_.image = general_columns(grid, support_.data());
    camera_.image_edges = grid.voxel_mm.as<double>();
    camera_.image_rows = rows_along_z(grid);
    camera_.interpolates_rows = forward_kind_ == Footprint::interpolating;
    if (settings.mu_per_mm) {
      camera_.mu = general_columns(settings.mu_per_mm->grid, nullptr);
      camera_.mu_rows = rows_along_z(settings.mu_per_mm->grid);
      mu_ = settings.mu_per_mm->voxels.to(Memory::device);
    }
    make_ranges();
    blur_ = make_blur(camera_, set, settings);
    synchronize(nullptr);  // what is here may next be used on any stream
  }

  const Grid& grid() const override { return grid_; }
  Backend backend() const override { return Backend::cuda; }

  void forward(const Views& views, const float* image, float* expectation, Stream stream) override {
    require_views_of(set_, views);
    for (const auto& [place, members] : by_place(views)) {
      const auto [height, radius] = place;
      const AtHeight& here = at(height, views, members);
      const int stride = columns_stride(here, grid_);
      float* const columns = columns_.of(std::int64_t{camera_.image.columns()} * stride, stream);
      queue_to_columns(here.rows.rows(), rows_of(here, grid_), camera_.image, stride, image, columns, stream);
      for_each_group(views, radius, here, members, stream, [&](const GeneralGroup& group) {
        const GeneralPlanes planes = planes_of(group), rotated = is_cone() ? along_z_of(group) : planes;
        queue_rotate(camera_, forward_kind_, group, forward_ranges(), columns, stride, rotated);
        if (is_cone()) queue_rows_from_z(camera_, group, forward_ranges(), rotated, planes);
        attenuate(group, here, forward_ranges(), nullptr, planes);
        blur_->forward(group, forward_ranges(), planes, scale_, expectation);
      });
    }
  }

  void back(const Views& views, const float* values, float* image, Stream stream) override {
    require_views_of(set_, views);
    for (const auto& [place, members] : by_place(views)) {
      const auto [height, radius] = place;
      const AtHeight& here = at(height, views, members);
      const int stride = columns_stride(here, grid_);
      float* const columns = columns_.of(std::int64_t{camera_.image.columns()} * stride, stream);
      for_each_group(views, radius, here, members, stream, [&](const GeneralGroup& group) {
        const GeneralPlanes planes = planes_of(group), rotated = is_cone() ? along_z_of(group) : planes;
        const float* least = blur_->back(group, back_ranges(), values, scale_, planes);
        if (attenuate(group, here, back_ranges(), least, planes)) least = nullptr;
        if (is_cone()) {
          queue_z_from_rows(camera_, back_kind_ == Footprint::interpolating, group, back_ranges(), planes, least,
                            rotated);
          least = nullptr;
        }
        queue_gather_planes(camera_, back_kind_, group, back_ranges(), rotated, least, group.first > 0, columns,
                            stride);
      });
      queue_from_columns(here.voxels.rows(), grid_.size[2], camera_.image, stride, columns, image, stream);
    }
  }

  EmTally em_step(const Views& views, const float* image, float* accumulator, Stream stream) override {
    Buffer<float> ratio(Memory::device, views.count, stream);
    detail::require_counts(views);
    forward(views, image, ratio.data(), stream);
    sums_.begin(views);
    sums_.queue_ratio(views, ratio.data(), stream);
    back(views, ratio.data(), accumulator, stream);
    return sums_.tally(views, stream);
  }

  void add_sensitivity(const Views& views, float* image, Stream stream) override {
    add_efficiencies(*this, views, image, stream);
  }

  Image support() const override { return support_image(grid_, support_host_); }

 private:
  /// The height and radius that views share which are projected together; 0 for a radius that may differ.
  using SharedPlace = std::pair<double, double>;
  /// What views whose middles lie at the same height share.
  struct AtHeight {
    int first_row, rows_reached;
    RowTable rows, voxels;
    Buffer<float> mu_columns;  // empty: no attenuation
  };

  bool is_cone() const { return settings_.beam == Beam::cone; }
  /// Numbers of a column of an image: rows of the lattice, or voxels along z where each plane has rows of its own.
  int rows_of(const AtHeight& here, const Grid& grid) const { return is_cone() ? grid.size[2] : here.rows_reached; }
  int columns_stride(const AtHeight& here, const Grid& grid) const { return rounded_to_four(rows_of(here, grid)); }

  void make_ranges() {
    const auto places = static_cast<int>(places_.size());
    forward_ranges_ = Buffer<int2>(Memory::device, std::int64_t{places} * camera_.planes());
    queue_ranges(camera_, forward_kind_, places, forward_ranges_.data(), nullptr);
    if (back_kind_ == forward_kind_) return;
    back_ranges_ = Buffer<int2>(Memory::device, forward_ranges_.size());
    queue_ranges(camera_, back_kind_, places, back_ranges_.data(), nullptr);
  }
  PlaneRanges forward_ranges() const { return {forward_ranges_.data()}; }
  PlaneRanges back_ranges() const { return {back_ranges_.empty() ? forward_ranges_.data() : back_ranges_.data()}; }

  const LatticeView& look_of(const Views& views, int view) const {
    return places_[static_cast<std::size_t>(views.records[view].view)];
  }
  std::map<SharedPlace, std::vector<std::int32_t>> by_place(const Views& views) const {
    std::map<SharedPlace, std::vector<std::int32_t>> members;
    for (int v = 0; v < views.views; ++v) {
      const LatticeView& look = look_of(views, v);
      members[{look.centre_w_mm, blur_->wants_one_radius() ? look.radius_mm : 0}].push_back(v);
    }
    return members;
  }

  /// Pairs of row, of those that the image reaches or along z, and voxel.
  std::vector<RowTap> taps_along_z(const LatticeView& look, int first, int rows, const Grid& grid,
                                   Footprint kind) const {
    if (!is_cone()) return taps_from(first, rows, row_taps(camera_.lattice, look, 0, grid, kind));
    std::vector<RowTap> same;
    for (int z = 0; z < grid.size[2]; ++z) same.push_back({z, z, 1});
    return same;
  }

  /// The rows [x, y) that an image reaches, in A or A^T; all of them where there are planes of their own.
  int2 rows_reached(const LatticeView& look) const {
    if (is_cone() || !blur_->takes_part_of_rows()) return {0, camera_.lattice.rows()};
    std::vector<RowTap> taps = row_taps(camera_.lattice, look, 0, grid_, forward_kind_);
    const std::vector<RowTap> back = row_taps(camera_.lattice, look, 0, grid_, back_kind_);
    taps.insert(taps.end(), back.begin(), back.end());
    if (taps.empty()) return {0, 1};
    const auto [low, high] = std::ranges::minmax(taps, {}, &RowTap::row);
    return {low.row, high.row + 1};
  }

  const AtHeight& at(double height, const Views& views, const std::vector<std::int32_t>& members) {
    const auto known = heights_.find(height);
    if (known != heights_.end()) return known->second;
    const LatticeView& look = look_of(views, members.front());
    const int2 reached = rows_reached(look);
    const int first = reached.x, rows = reached.y - reached.x, in_columns = is_cone() ? grid_.size[2] : rows;
    AtHeight made{first,
                  rows,
                  {taps_along_z(look, first, rows, grid_, forward_kind_), in_columns, &RowTap::row, &RowTap::z},
                  {taps_along_z(look, first, rows, grid_, back_kind_), grid_.size[2], &RowTap::z, &RowTap::row},
                  {}};
    if (settings_.mu_per_mm) {
      const Grid& map = settings_.mu_per_mm->grid;
      const int of_map = rows_of(made, map), stride = columns_stride(made, map);
      const RowTable of_mu(taps_along_z(look, first, rows, map, Footprint::interpolating), of_map, &RowTap::row,
                           &RowTap::z);
      made.mu_columns = Buffer<float>(Memory::device, std::int64_t{camera_.mu.columns()} * stride);
      queue_to_columns(of_mu.rows(), of_map, camera_.mu, stride, mu_.data(), made.mu_columns.data(), nullptr);
    }
    synchronize(nullptr);
    return heights_.emplace(height, std::move(made)).first->second;
  }

  std::int64_t plane_floats(int rows) const {
    return std::int64_t{camera_.planes()} * blur_->columns() * blur_->stride(rows);
  }
  int along_z_stride() const { return rounded_to_four(grid_.size[2]); }
  std::int64_t along_z_floats() const {
    return std::int64_t{camera_.planes()} * camera_.lattice.columns() * along_z_stride();
  }
  GeneralPlanes planes_of(const GeneralGroup& group) {
    return {planes_.of(plane_floats(group.rows) * group.count, group.stream), blur_->columns(),
            blur_->stride(group.rows)};
  }
  GeneralPlanes along_z_of(const GeneralGroup& group) {
    return {along_z_.of(along_z_floats() * group.count, group.stream), camera_.lattice.columns(), along_z_stride()};
  }

  /// Calls work(group) for groups of these members whose planes fit into memory.
  template <class Work>
  void for_each_group(const Views& views, double radius_mm, const AtHeight& here,
                      const std::vector<std::int32_t>& members, Stream stream, Work&& work) const {
    constexpr int most = 1 << 14;  // a grid of blocks has no more than 65535 along z
    const int all = static_cast<int>(members.size());
    Buffer<std::int32_t> numbers;
    DeviceViews on_device{.count = all, .index = views.index};
    if (all < views.views) {
      numbers = Buffer<std::int32_t>::from({members.data(), members.size()}).to(Memory::device, stream);
      synchronize(stream);  // the host's copy may go
      on_device.members = numbers.data();
    }
    const std::int64_t a_view =
        plane_floats(here.rows_reached) + (is_cone() ? along_z_floats() : 0) + blur_->floats_a_view();
    const auto image_bytes = static_cast<std::size_t>(grid_.voxels()) * sizeof(float);
    const std::int64_t held = static_cast<std::int64_t>(bytes_of_general_planes(image_bytes)) /
                              (a_view * static_cast<std::int64_t>(sizeof(float)));
    const int group = static_cast<int>(std::clamp<std::int64_t>(held, 1, std::min(all, most)));
    for (int first = 0; first < all; first += group)
      work(GeneralGroup{on_device, first, std::min(group, all - first), here.first_row, here.rows_reached, radius_mm,
                        stream});
  }

  /// Whether there is attenuation.
  bool attenuate(const GeneralGroup& group, const AtHeight& here, const PlaneRanges& ranges, const float* least,
                 const GeneralPlanes& planes) const {
    if (!settings_.mu_per_mm) return false;
    queue_general_attenuation(camera_, group, ranges, here.mu_columns.data(),
                              columns_stride(here, settings_.mu_per_mm->grid), least, planes);
    return true;
  }

  Grid grid_;
  ViewSet set_;
  SpectSettings settings_;
  Footprint forward_kind_, back_kind_;
  float scale_ = 1;
  GeneralCamera camera_;
  std::vector<LatticeView> places_;
  std::vector<char> support_host_;
  Buffer<LatticeView> looks_;
  Buffer<char> support_;
  Buffer<float> mu_;
  Buffer<int2> forward_ranges_, back_ranges_;  // back_ranges_ empty: the same
  std::unique_ptr<GeneralBlur> blur_;
  GrowingFloats columns_, planes_, along_z_;
  detail::StretchSums sums_;
  std::map<double, AtHeight> heights_;  // by centre_w
};

}  // namespace

std::unique_ptr<ViewProjector> make_rotation_general_cuda(const Grid& grid, const ViewSet& set,
                                                          const SpectSettings& settings) {
  return std::make_unique<GeneralCuda>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
