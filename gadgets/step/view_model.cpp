// The system model of views: see view_model.hpp.
#include "gadgets/step/view_model.hpp"

#include <algorithm>
#include <cstddef>
#include <list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/wire/packed_data.hpp"
#include "gadgets/step/step-inl.hpp"
#include "kernels/grid/choose_grid.hpp"
#include "kernels/types/float_counts.hpp"
#include "kernels/types/parts.hpp"

namespace tofstream {

template class Step<ViewBatch>;

namespace {

// The sensitivities of the subsets that were asked for last. Each is made from scratch and kept by what it is made of,
// so that a run that follows another has the same bits.
class SubsetSensitivities {
 public:
  using Make = std::function<Image(const ViewSubset&)>;

  /// `by_numbers`: what the views' numbers do not tell is alike in all subsets.
  const std::shared_ptr<const Image>& of(const ViewSubset& subset, bool by_numbers, std::size_t most,
                                         const Make& make) {
    Key key = by_numbers ? numbers_of(subset) : key_of(subset);
    const auto known = std::ranges::find(kept_, key, &Kept::key);
    if (known != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, known);
    } else {
      kept_.push_front({std::move(key), std::make_shared<const Image>(make(subset))});
      if (kept_.size() > most) kept_.pop_back();
    }
    return kept_.front().image;
  }

 private:
  // The sums of two batches are not those of one to the last bit.
  struct View {
    bool begins_batch;
    int number;
    double seconds = 0;
    double exposure = 0;
    double reference_s = 0;
    std::shared_ptr<const ViewBatch> with_efficiencies = {};  // the batch; null where it has none of its own
    bool operator==(const View&) const = default;
  };
  using Key = std::vector<View>;
  struct Kept {
    Key key;
    std::shared_ptr<const Image> image;
  };

  static Key key_of(const ViewSubset& subset) {
    Key key;
    for (const auto& batch : subset.batches)
      for (const ViewRecord& record : batch->records)
        key.push_back({&record == batch->records.data(), record.view,
                       batch->set->places[static_cast<std::size_t>(record.view)].duration_s, record.exposure,
                       batch->reference_s, batch->multiplicative.size() > 0 ? batch : nullptr});
    return key;
  }

  static Key numbers_of(const ViewSubset& subset) {
    Key key;
    for (const auto& batch : subset.batches)
      for (const ViewRecord& record : batch->records) key.push_back({&record == batch->records.data(), record.view});
    return key;
  }

  std::list<Kept> kept_;  // the last one asked for first
};

double weight_of(const ViewBatch& batch, const ViewRecord& record) {
  const double duration_s = batch.set->places[static_cast<std::size_t>(record.view)].duration_s;
  return (duration_s > 0 ? duration_s / batch.reference_s : 1) * record.exposure;
}

// The sensitivity of views whose efficiencies were announced is for 1 s; the weight is a subset's share of the time.
double common_weight(const ViewSubset& subset) {
  const double weight = weight_of(*subset.batches.front(), subset.batches.front()->records.front());
  for (const auto& batch : subset.batches)
    for (const ViewRecord& record : batch->records)
      if (weight_of(*batch, record) != weight)
        throw std::runtime_error(
            "histo-images of one subset were exposed for different times: give those of one scan, as histo_deposit "
            "does");
  return weight;
}

class ViewModel final : public SystemModel<ViewBatch> {
 public:
  explicit ViewModel(ViewModelSettings settings) : settings_(std::move(settings)) {}

  void prepare(const ViewSubset& first, const Estimate& estimate, Context& context) override {
    const ViewBatch* sample = first.sample();
    set_ = sample ? sample->set : nullptr;
    if (!set_)
      throw std::runtime_error("the views do not say which camera recorded them: take them from a source of views");
    const Backend backend = settings_.backend;
    projector_ = settings_.projector(grid_for(first, estimate, context), backend, *set_, context);
    context.report("backend", std::string(backend == Backend::cuda ? "cuda" : "cpu"));
    calibration_ = settings_.calibration();
    quantity_.set(calibration_.holds, calibration_.remedy);
    is_announced_whole_ = first.announced && !first.announced->multiplicative.empty();
    whole_ = std::make_shared<const Image>(is_announced_whole_ ? added_up({first.announced}, Weights::one)
                                                               : sensitivity_of_all(sample->reference_s));
  }

  ViewProjector& projector() override { return *projector_; }

  Views view(const ViewBatch& data, Buffer<float>& room) const override { return float_view(data, room); }

  void pack_geometry(wire::PackWriter& to) const override { wire::pack(to, *set_); }

  std::unique_ptr<Projector<Views>> another_projector(Context& context) const override {
    return settings_.projector(projector_->grid(), projector_->backend(), *set_, context);
  }

  SubsetSensitivity sensitivity(const ViewSubset& subset) override {
    if (subset.batches.empty()) return {whole_};
    if (set_->has_own_efficiencies() && !is_announced_whole_ && !subset.batches.front()->multiplicative.empty())
      throw std::runtime_error(
          "histo-images came before the sensitivity of all of them: group them by view_subsets, which waits for it");
    most_kept_ = std::max<std::size_t>(most_kept_, static_cast<std::size_t>(std::max(subset.step.subsets, 0)) + 2);
    const Weights weights = is_announced_whole_ ? Weights::one : Weights::own;
    const auto& image = kept_.of(subset, is_announced_whole_, most_kept_,
                                 [&](const ViewSubset& s) { return added_up(s.batches, weights); });
    return {image, is_announced_whole_ ? common_weight(subset) : 1, whole_};
  }

  std::shared_ptr<const Quantity> quantity(const ViewSubset& subset, const NamedCorrection* by_terms,
                                           Context& context) override {
    return quantity_.of(calibrated(subset.quantity), by_terms, context);
  }

  // Histo-images are of pairs of photons.
  Modality modality() const override { return set_->kind == ViewKind::camera ? Modality::spect : Modality::pet; }

  DataWords words() const override { return {"counts", "no expectation: nothing of the image is seen there"}; }

  Missed missed() const override {
    return {fmt::format("activity outside the image falsifies the image: write image: auto, or image: {}, which holds "
                        "what the camera sees",
                        grid_in_words(settings_.grid(*set_, {.voxel_mm = projector_->grid().voxel_mm}))),
            false};
  }

 private:
  // The estimate's grid or, where the camera decides, one that holds what it sees.
  Grid grid_for(const ViewSubset& first, const Estimate& estimate, Context& context) const {
    const Grid grid = estimate.wish ? settings_.grid(*set_, *estimate.wish) : estimate.image->grid;
    context.report("image", grid_in_words(grid));
    if (!estimate.wish) return grid;
    if (!estimate.image && !first.batches.empty())
      throw std::runtime_error(fmt::format(
          "the gadget before this one gives a subset before it names a camera, too late to choose the image's grid: "
          "write image: {}",
          grid_in_words(grid)));
    if (estimate.image && !(estimate.image->grid == grid))
      throw std::runtime_error(
          fmt::format("the checkpoint's image is {}, and for this camera and `image` it would be {}",
                      grid_in_words(estimate.image->grid), grid_in_words(grid)));
    context.log().info(fmt::format("the image that holds what the camera sees: {}", grid_in_words(grid)));
    return grid;
  }

  // What the views show, in the projector's unit. A rate needs their time.
  std::shared_ptr<const Quantity> calibrated(const std::shared_ptr<const Quantity>& views) {
    if (!views || views == views_) return views ? calibrated_ : nullptr;
    auto made = std::make_shared<Quantity>(*views);
    if (made->reference_s > 0 && !calibration_.keeps_unit) {
      made->unit = calibration_.unit;
      made->scale = calibration_.scale;
    }
    views_ = views;
    return calibrated_ = std::move(made);
  }

  // All places of the set with the times that were planned, so that it is known before the first view.
  Image sensitivity_of_all(double reference_s) {
    ViewBatch all{.set = set_};
    for (std::size_t v = 0; v < set_->places.size(); ++v) all.records.push_back({.view = static_cast<int>(v)});
    all.count = set_->pixels() * static_cast<std::int64_t>(all.records.size());
    all.weigh(reference_s);
    return added_up({std::make_shared<const ViewBatch>(std::move(all))}, Weights::own);
  }

  enum class Weights { own, one };

  // Views that are copied to the projector's memory at a time, since all of them need not have room there.
  static std::vector<Range> parts_of(const ViewBatch& batch) {
    constexpr std::int64_t most_bytes = std::int64_t{256} << 20;
    const std::int64_t views = range_size(batch);
    const std::int64_t a_view = static_cast<std::int64_t>(batch.bytes()) / std::max<std::int64_t>(views, 1);
    const std::int64_t at_a_time = std::max<std::int64_t>(1, most_bytes / std::max<std::int64_t>(a_view, 1));
    std::vector<Range> parts;
    for (std::int64_t first = 0; first < views; first += at_a_time)
      parts.push_back({first, std::min(at_a_time, views - first)});
    return parts;
  }

  Image added_up(const std::vector<std::shared_ptr<const ViewBatch>>& batches, Weights weights) {
    const Memory memory = memory_of(settings_.backend);
    Image sum = Image::zeros(projector_->grid(), memory);
    const auto add = [&](const ViewBatch& batch) {
      Views views = batch.view();
      if (weights == Weights::one) views.weight = nullptr;
      projector_->add_sensitivity(views, sum.voxels.data());
    };
    for (const auto& batch : batches) {
      if (on_host(batch->memory()) == on_host(memory)) {
        add(*batch);
        continue;
      }
      for (const Range part : parts_of(*batch)) {
        const ViewBatch there = range_of(*batch, part, memory);
        add(there);
        synchronize(nullptr);
      }
    }
    synchronize(nullptr);
    return sum;
  }

  ViewModelSettings settings_;
  std::shared_ptr<const ViewSet> set_;
  std::unique_ptr<ViewProjector> projector_;
  std::shared_ptr<const Image> whole_;
  bool is_announced_whole_ = false;
  std::size_t most_kept_ = 4;
  SubsetSensitivities kept_;
  ViewCalibration calibration_;
  std::shared_ptr<const Quantity> views_, calibrated_;
  ImageQuantity quantity_;
};

}  // namespace

Views float_view(const ViewBatch& data, Buffer<float>& room) {
  Views view = data.view();
  if (data.whole_counts.empty()) return view;
  if (room.size() < data.count || room.memory() != data.memory()) room = Buffer<float>(data.memory(), data.count);
  to_float_counts(data.whole_counts.data(), data.count, room.data(), data.memory());
  view.counts = room.data();
  return view;
}

std::unique_ptr<SystemModel<ViewBatch>> view_model(ViewModelSettings settings) {
  return std::make_unique<ViewModel>(std::move(settings));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
