// two_stage in CUDA: the order of its stages, see two_stage_cuda.cuh.
#include <algorithm>
#include <optional>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/two_stage_along.cuh"
#include "kernels/direct/two_stage_gather.cuh"

namespace tofstream {

namespace {

using namespace two_stage;

class TwoStageCuda final : public DirectProjector {
 public:
  TwoStageCuda(const Grid& grid, const ViewSet& set, const DirectSettings& settings)
      : DirectProjector(grid, set, settings, Backend::cuda), on_image_(settings.lattice == HistoLattice::image) {
    const std::vector<DeviceStages> stages = make_stages();
    lattice_ = lattice_of(stages);
    gathered_ = lattice_;
    gathered_.rows = column_stride();
    int taps = 0, rows = 0;
    for (const DeviceStages& place : stages) {
      taps = std::max(taps, place.taps.blocks);
      rows = std::max(rows, place.between.size[2]);
    }
    const int points_of_line = lattice_.made - 2 * lattice_.margin;
    convolution_.emplace(lattice_, points_of_line, taps, stages.front().fine);
    if (!on_image_) collected_.emplace(gathered_, rows);
    collects_ = collected_ && collected_->fit();
    const StageViews all{stages_.data(), all_places_.data(), static_cast<int>(stages.size())};
    std::size_t most_bytes = most_bytes_of_direct_tables;
    const RadialSteps steps = profiles().steps();
    in_.emplace(grid, stages, all, steps, lattice_, column_stride(), false, true, most_bytes);
    if (on_image_) {
      out_.emplace(grid, stages, all, steps, lattice_, lattice_.rows, true, false, most_bytes);
      int most_weights = 0;
      for (const DeviceStages& place : stages) most_weights = std::max(most_weights, place.out.law.count_z);
      histo_.emplace(grid, lattice_, most_weights);
    }
    image_columns_ = Buffer<float>::zeros(Memory::device, column_floats());
    synchronize(nullptr);  // what is here may next be used on any stream
  }

  void forward(const Views& views, const float* image, float* expectation, Stream stream) override {
    require_views(views);
    queue_to_columns(image, grid(), 1, {image_columns_.data(), column_stride(), 0}, stream);
    for_each_group(
        views,
        [&](const StageViews& group, int first) {
          float* const histo = expectation + first * points();
          in_->queue_to_points(group, {image_columns_.data(), 0, gathered_points_.data(), gathered_.floats()}, stream);
          float* const between = on_image_ ? points_.data() : nullptr;
          convolution_->queue_inwards(group, gathered_, gathered_points_.data(), grid().size[2], between, histo,
                                      points(), stream);
          if (!on_image_) return;
          histo_->prepare(group, stream);
          out_->queue_to_voxels(group, {points_.data(), lattice_.floats(), rows_.data(), row_floats()}, stream);
          histo_->queue_to_voxels(group, rows_.data(), histo_columns(), stream);
          queue_from_columns(histo_columns(), grid(), group.count, histo, stream);
        },
        stream);
  }

  void back(const Views& views, const float* values, float* image, Stream stream) override {
    require_views(views);
    if (views.views == 0) return;
    int sums = 0;
    for_each_group(
        views,
        [&](const StageViews& group, int first) {
          const float* const histo = values ? values + first * points() : nullptr;
          if (on_image_) {
            queue_to_columns(histo, grid(), group.count, histo_columns(), stream);
            histo_->prepare(group, stream);
            histo_->queue_to_rows(group, histo_columns(), rows_.data(), stream);
            out_->queue_to_points(group, {rows_.data(), row_floats(), other_points_.data(), lattice_.floats()}, stream);
            convolution_->queue_outwards(group, other_points_.data(), nullptr, 0, points_.data(), stream);
          } else if (!collects_) {
            convolution_->queue_outwards(group, nullptr, histo, points(), points_.data(), stream);
          }
          if (collects_)
            collected_->queue(group, histo, points(), gathered_points_.data(), stream);
          else
            queue_from_points(group, lattice_, points_.data(), gathered_, gathered_points_.data(), stream);
          if (first == 0) {
            sums = in_->sums_of(group.count);
            make_room(sums_, Memory::device, sums * column_floats(), stream);
          }
          in_->queue_to_sums(group, {gathered_points_.data(), gathered_.floats(), sums_.data(), column_floats()}, sums,
                             first > 0, stream);
        },
        stream);
    queue_add_columns({sums_.data(), column_stride(), column_floats()}, grid(), sums, image, stream);
  }

 private:
  int column_stride() const { return to_four(grid().size[2]); }
  std::int64_t column_floats() const { return grid().stride(2) * column_stride(); }
  /// Of columns of voxels on rows of the lattice.
  std::int64_t row_floats() const { return grid().stride(2) * lattice_.rows; }
  StageColumns histo_columns() { return {histo_columns_.data(), column_stride(), column_floats()}; }

  /// What is the same in each call: the views' splits.
  std::vector<DeviceStages> make_stages() {
    const std::size_t places = frames().size();
    std::vector<std::optional<TwoStageSplit>> splits(places);
    tbb::parallel_for(std::size_t{0}, places, [&](std::size_t p) {
      splits[p].emplace(grid(), frames()[p], settings().kernel, profiles(), settings().lattice);
    });
    std::vector<RadialGaussian> parts_of_all;
    std::vector<float> rest, along, taps;
    std::vector<std::int32_t> starts, first_rows;
    std::vector<RadialLaw> laws;
    std::vector<std::size_t> part_begins;  // of laws
    const auto add_laws = [&](const TwoStageSplit& split, const ResamplingKernel& kernel) {
      for (std::size_t a = 0; a < kernel.radial.size(); ++a) {
        const RadialProfile& radial = kernel.radial[a];
        part_begins.push_back(parts_of_all.size());
        laws.push_back({nullptr, static_cast<int>(radial.size()), radial_reach_mm(radial, split.cut), kernel.sums[a]});
        parts_of_all.insert(parts_of_all.end(), radial.begin(), radial.end());
      }
    };
    std::vector<DeviceStages> stages(places);
    std::vector<std::size_t> in_laws(places), out_laws(places), rest_begins(places);
    for (std::size_t p = 0; p < places; ++p) {
      const TwoStageSplit& split = *splits[p];
      DeviceStages& to = stages[p];
      to.between = split.between;
      to.frame = frames()[p];
      to.fine = split.fine;
      in_laws[p] = laws.size();
      add_laws(split, split.in);
      to.in = {law_of(split, split.in), nullptr, static_cast<int>(split.in.radial.size())};
      out_laws[p] = laws.size();
      if (split.out) {
        add_laws(split, *split.out);
        to.out = {law_of(split, *split.out), nullptr, static_cast<int>(split.out->radial.size())};
      }
      const std::vector<float> weights = split.rest_weights(static_cast<double>(settings().kernel.cut_sigma));
      to.reach = static_cast<int>(weights.size() / 2);
      to.blocks = static_cast<int>(parts(static_cast<std::int64_t>(weights.size()), tap_block));
      const WeightsAlongZ at_points = weights_at_points(grid(), split, to.reach);
      add_along(at_points, to, along, starts);
      add_taps(at_points, to, taps);
      first_rows.insert(first_rows.end(), at_points.starts.begin(), at_points.starts.end());
      rest_begins[p] = rest.size();
      rest.insert(rest.end(), weights.begin(), weights.end());
      rest.resize(rest_begins[p] + static_cast<std::size_t>(to.blocks * tap_block), 0.0f);
    }
    radial_parts_ = Buffer<RadialGaussian>::from(parts_of_all).to(Memory::device);
    for (std::size_t a = 0; a < laws.size(); ++a) laws[a].parts = radial_parts_.data() + part_begins[a];
    radial_laws_ = Buffer<RadialLaw>::from(laws).to(Memory::device);
    rest_ = Buffer<float>::from(rest).to(Memory::device);
    along_ = Buffer<float>::from(along).to(Memory::device);
    along_starts_ = Buffer<std::int32_t>::from(starts).to(Memory::device);
    taps_ = Buffer<float>::from(taps).to(Memory::device);
    first_rows_ = Buffer<std::int32_t>::from(first_rows).to(Memory::device);
    std::vector<std::int32_t> all;
    std::size_t of_view = 0, taps_of_view = 0, start_of_view = 0;
    for (std::size_t p = 0; p < places; ++p) {
      DeviceAlong& to = stages[p].along;
      const auto width = static_cast<std::size_t>(stages[p].between.size[0] + 2 * stages[p].reach);
      to.weights = along_.data() + of_view;
      to.starts = along_starts_.data() + start_of_view;
      stages[p].taps.weights = taps_.data() + taps_of_view;
      stages[p].taps.first_rows = first_rows_.data() + start_of_view;
      of_view += width * static_cast<std::size_t>(to.count);
      taps_of_view += width * static_cast<std::size_t>(stages[p].fine * stages[p].taps.blocks * tap_block);
      start_of_view += width;
      stages[p].in.radial = radial_laws_.data() + in_laws[p];
      stages[p].out.radial = radial_laws_.data() + out_laws[p];
      stages[p].rest = rest_.data() + rest_begins[p];
      all.push_back(static_cast<std::int32_t>(p));
    }
    stages_ = Buffer<DeviceStages>::from(stages).to(Memory::device);
    all_places_ = Buffer<std::int32_t>::from(all).to(Memory::device);
    synchronize(nullptr);  // the host's copies may go
    return stages;
  }

  /// Adds a view's weights along z as AlongZ reads them.
  static void add_along(const WeightsAlongZ& from, DeviceStages& stages, std::vector<float>& weights,
                        std::vector<std::int32_t>& starts) {
    const int most_skipped = stages.fine == 1 ? 3 : 0, count = to_four(from.count + most_skipped);
    stages.along.count = count;
    for (std::size_t place = 0; place < from.starts.size(); ++place) {
      const std::int32_t start = from.starts[place], skipped = stages.fine == 1 ? (start % 4 + 4) % 4 : 0;
      const float* const own = from.at(static_cast<std::int64_t>(place));
      starts.push_back(start - skipped);
      weights.insert(weights.end(), static_cast<std::size_t>(skipped), 0.0f);
      weights.insert(weights.end(), own, own + from.count);
      weights.resize(weights.size() + static_cast<std::size_t>(count - skipped - from.count), 0.0f);
    }
  }

  /// The same as lines read them.
  static void add_taps(const WeightsAlongZ& from, DeviceStages& stages, std::vector<float>& weights) {
    const int fine = stages.fine;
    stages.taps.blocks = static_cast<int>(parts((from.count + fine - 1) / fine, tap_block));
    for (std::size_t place = 0; place < from.starts.size(); ++place)
      for (int phase = 0; phase < fine; ++phase) {
        const float* const own = from.at(static_cast<std::int64_t>(place));
        const std::size_t end = weights.size() + static_cast<std::size_t>(stages.taps.blocks * tap_block);
        for (int m = phase; m < from.count; m += fine) weights.push_back(own[m]);
        weights.resize(end, 0.0f);
      }
  }

  /// Room for the points of any view.
  static StageLattice lattice_of(const std::vector<DeviceStages>& stages) {
    StageLattice lattice;
    int points = 0;
    for (const DeviceStages& place : stages) {
      points = std::max(points, place.between.size[0]);
      lattice.lines = std::max(lattice.lines, place.between.size[1]);
      lattice.rows = std::max(lattice.rows, to_four(place.between.size[2]));
      lattice.margin = std::max(lattice.margin, place.reach);
    }
    lattice.made = points + 2 * lattice.margin;
    lattice.width = lattice.made + spare_points;
    return lattice;
  }

  /// Calls work(group, first view) for some views at a time.
  template <class Work>
  void for_each_group(const Views& views, const Work& work, Stream stream) {
    const std::int64_t a_view = gathered_.floats() + (collects_ ? 0 : lattice_.floats()) +
                                (on_image_ ? row_floats() + column_floats() + lattice_.floats() : 0);
    const auto held = static_cast<std::int64_t>(most_bytes_of_direct_stages / sizeof(float)) / a_view;
    constexpr std::int64_t most = 1 << 14;  // a grid of blocks has no more than 65535 along y
    const auto group = static_cast<int>(std::clamp<std::int64_t>(held, 1, std::min<std::int64_t>(views.views, most)));
    make_points(gathered_points_, gathered_, group, stream);
    if (!collects_) make_points(points_, lattice_, group, stream);
    if (on_image_) {
      make_points(other_points_, lattice_, group, stream);
      make_room(rows_, Memory::device, row_floats() * group, stream);
      make_room(histo_columns_, Memory::device, column_floats() * group, stream);
    }
    for (int first = 0; first < views.views; first += group)
      work(StageViews{stages_.data(), views.index + first, std::min(group, views.views - first)}, first);
  }
  /// Points that nothing writes stay 0.
  static void make_points(Buffer<float>& buffer, const StageLattice& lattice, int views, Stream stream) {
    if (buffer.size() < views * lattice.floats())
      buffer = Buffer<float>::zeros(Memory::device, views * lattice.floats(), stream);
  }

  bool on_image_, collects_ = false;
  StageLattice lattice_, gathered_;  // the latter with voxels' rows
  Buffer<RadialGaussian> radial_parts_;
  Buffer<RadialLaw> radial_laws_;
  Buffer<float> rest_, along_, taps_;
  Buffer<std::int32_t> along_starts_, first_rows_;
  Buffer<DeviceStages> stages_;
  Buffer<std::int32_t> all_places_;
  std::optional<Convolution> convolution_;
  std::optional<CollectedLines> collected_;
  std::optional<PlaneResampling> in_, out_;
  std::optional<HistoColumns> histo_;
  Buffer<float> image_columns_, sums_, gathered_points_, points_, other_points_, rows_, histo_columns_;
};

}  // namespace

std::unique_ptr<ViewProjector> make_two_stage_cuda(const Grid& grid, const ViewSet& set,
                                                   const DirectSettings& settings) {
  return std::make_unique<TwoStageCuda>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
