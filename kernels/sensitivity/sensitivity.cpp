// Enumeration and stratified sampling of detector pairs, projected batch by batch: see
// sensitivity.hpp.
#include "kernels/sensitivity/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/analysis/compare.hpp"
#include "kernels/sensitivity/attenuate.hpp"
#include "kernels/sensitivity/pair_list.hpp"

namespace tofstream {

namespace {

using detail::PairList;

constexpr std::int64_t chunk = 4096;  // numbers that one task turns into pairs

/// A well mixed 64-bit number of a counter (the finaliser of SplitMix64, Steele et al. 2014).
std::uint64_t mixed(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15u * (counter + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Which pairs are projected: all `pairs` of them, or one from each of `cells` cells of equal size.
/// Cell k of a sample belongs to replicate (k + a random shift of its group) mod replicates.
struct Plan {
  std::int64_t pairs = 0;
  std::int64_t cells = 0;
  int replicates = 1;
  std::uint64_t seed = 0;

  bool exact() const { return cells == pairs; }
  std::int64_t draws() const { return cells / replicates; }  // of one replicate

  struct Draw {
    std::int64_t number;  // of the pair
    float weight;         // pairs it stands for
  };
  /// The n-th draw of a replicate; numbers ascend with n.
  Draw draw(int replicate, std::int64_t n) const {
    if (exact()) return {n, 1.0f};
    const auto shift = mixed(~seed, static_cast<std::uint64_t>(n));
    const auto shifted =
        (static_cast<std::uint64_t>(replicate) + (shift >> 33)) % static_cast<std::uint64_t>(replicates);
    const std::int64_t cell = n * replicates + static_cast<std::int64_t>(shifted);
    const std::int64_t begin = cell_begin(cell), size = cell_begin(cell + 1) - begin;
    const double u = static_cast<double>(mixed(seed, static_cast<std::uint64_t>(cell)) >> 11) * 0x1p-53;
    const auto inside = static_cast<std::int64_t>(u * static_cast<double>(size));
    return {begin + std::min(inside, size - 1), static_cast<float>(size) * static_cast<float>(replicates)};
  }

 private:
  /// pairs * cell / cells, without a product that overflows.
  std::int64_t cell_begin(std::int64_t cell) const { return pairs / cells * cell + pairs % cells * cell / cells; }
};

Plan make_plan(std::int64_t pairs, const SensitivitySettings& settings) {
  if (pairs <= settings.exact_pairs || pairs <= settings.sampled_pairs) return {pairs, pairs, 1, settings.seed};
  const std::int64_t draws = std::max<std::int64_t>(settings.sampled_pairs / settings.replicates, 1);
  return {pairs, draws * settings.replicates, settings.replicates, settings.seed};
}

void validate(const SensitivitySettings& s) {
  const auto refuse = [](const char* name, auto value) {
    throw std::invalid_argument(fmt::format("sensitivity: {} cannot be {}", name, value));
  };
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (s.exact_pairs < 0) refuse("exact_pairs", s.exact_pairs);
  if (s.sampled_pairs < 1 || s.sampled_pairs > most) refuse("sampled_pairs", s.sampled_pairs);
  if (s.replicates < 2 || s.replicates > 1024) refuse("replicates", s.replicates);
  if (s.batch_pairs < 1 || s.batch_pairs > most) refuse("batch_pairs", s.batch_pairs);
  if (!(s.margin_voxels >= 0 && std::isfinite(s.margin_voxels))) refuse("margin_voxels", s.margin_voxels);
}

/// The image's box with a margin, and whether the line between two points meets it.
class Reach {
 public:
  Reach(const Grid& grid, float margin_voxels) {
    const float margin = margin_voxels * std::max({grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z});
    for (int a = 0; a < 3; ++a) {
      low_[a] = grid.origin_mm[a] - 0.5f * grid.voxel_mm[a] - margin;
      high_[a] = grid.origin_mm[a] + (static_cast<float>(grid.size[a]) - 0.5f) * grid.voxel_mm[a] + margin;
    }
  }
  bool touches(Vec3 p, Vec3 q) const {
    float enter = 0, leave = 1;
    for (int a = 0; a < 3; ++a) {
      const float d = q[a] - p[a];
      if (d == 0) {
        if (p[a] < low_[a] || p[a] > high_[a]) return false;
        continue;
      }
      const float t1 = (low_[a] - p[a]) / d, t2 = (high_[a] - p[a]) / d;
      enter = std::max(enter, std::min(t1, t2));
      leave = std::min(leave, std::max(t1, t2));
    }
    return enter <= leave;
  }

 private:
  float low_[3], high_[3];
};

/// Pairs that can touch the image, with what they are to add per unit of line integral.
struct PairBatch {
  explicit PairBatch(std::int64_t capacity)
      : detector1(Memory::host, capacity),
        detector2(Memory::host, capacity),
        values(Memory::host, capacity),
        found(static_cast<std::size_t>((capacity + chunk - 1) / chunk)) {}
  Buffer<std::uint32_t> detector1, detector2;
  Buffer<float> values;
  std::int64_t count = 0;
  std::vector<std::int64_t> found;  // pairs that each chunk of draws has left
};

/// Fills a batch with the draws [begin, end) of a replicate: chunks in parallel, each into its own
/// part of the arrays, then moved together, in order.
void fill(PairBatch& batch, const Scanner& scanner, const PairList& list, const Reach& reach, const Plan& plan,
          int replicate, std::int64_t begin, std::int64_t end) {
  const std::int64_t chunks = (end - begin + chunk - 1) / chunk;
  const Detector* table = scanner.detectors->on(Memory::host);
  tbb::parallel_for(std::int64_t{0}, chunks, [&](std::int64_t c) {
    std::int64_t at = c * chunk;
    const std::int64_t first = begin + c * chunk, last = std::min(end, first + chunk);
    PairList::Walk walk(list, plan.draw(replicate, first).number);
    for (std::int64_t n = first; n < last; ++n) {
      const Plan::Draw draw = plan.draw(replicate, n);
      const PairList::Pair pair = walk.pair(draw.number);
      if (!reach.touches(table[pair.detector1].position_mm, table[pair.detector2].position_mm)) continue;
      const float value = walk.efficiency(pair) * draw.weight;
      if (!(value > 0)) continue;
      batch.detector1[at] = pair.detector1;
      batch.detector2[at] = pair.detector2;
      batch.values[at++] = value;
    }
    batch.found[static_cast<std::size_t>(c)] = at - c * chunk;
  });
  batch.count = 0;
  for (std::int64_t c = 0; c < chunks; ++c) {
    const std::int64_t n = batch.found[static_cast<std::size_t>(c)];
    const auto together = [&](auto& array) { std::copy_n(array.data() + c * chunk, n, array.data() + batch.count); };
    together(batch.detector1);
    together(batch.detector2);
    together(batch.values);
    batch.count += n;
  }
}

/// Projects batches into an image in the projector's memory.
class BatchProjector {
 public:
  BatchProjector(const Scanner& scanner, Projector& projector, std::int64_t capacity, const Image* mu, Stream stream)
      : projector_(projector),
        stream_(stream),
        memory_(memory_of(projector.backend())),
        detectors_(scanner.detectors->on(memory_, stream)),
        image_(Image::zeros(projector.grid(), memory_, stream)) {
    if (memory_ == Memory::device) {
      detector1_ = Buffer<std::uint32_t>(memory_, capacity, stream);
      detector2_ = Buffer<std::uint32_t>(memory_, capacity, stream);
      values_ = Buffer<float>(memory_, capacity, stream);
    }
    if (!mu) return;
    mu_ = mu->voxels.to(memory_, stream);
    integrals_ = Buffer<float>(memory_, capacity, stream);
  }

  void add(PairBatch& batch) {
    if (batch.count == 0) return;
    EventView view;
    view.count = batch.count;
    view.detectors = detectors_;
    view.detector1 = here(batch.detector1, detector1_, batch.count);
    view.detector2 = here(batch.detector2, detector2_, batch.count);
    float* values = here(batch.values, values_, batch.count);
    if (!mu_.empty()) {
      projector_.forward(view, mu_.data(), integrals_.data(), stream_);
      detail::attenuate(values, integrals_.data(), batch.count, memory_, stream_);
    }
    projector_.back(view, values, image_.voxels.data(), stream_);
    synchronize_device();  // before the batch is filled again
  }

  /// What was added since the last call, on the host; the image starts again at 0.
  Image take() {
    Image result = image_.to(Memory::host, stream_);
    synchronize_device();
    image_.voxels.clear(stream_);
    return result;
  }

 private:
  /// The first `count` elements of a host array in the projector's memory.
  template <class T>
  T* here(Buffer<T>& host, Buffer<T>& device, std::int64_t count) {
    if (memory_ == Memory::host) return host.data();
    detail::copy(device.data(), memory_, host.data(), Memory::host, static_cast<std::size_t>(count) * sizeof(T),
                 stream_);
    return device.data();
  }
  void synchronize_device() {
    if (memory_ == Memory::device) synchronize(stream_);
  }

  Projector& projector_;
  Stream stream_;
  Memory memory_;
  const Detector* detectors_;
  Image image_;
  Buffer<std::uint32_t> detector1_, detector2_;
  Buffer<float> values_, mu_, integrals_;
};

/// Mean of replicate images and the sum of their squared deviations from it (Welford).
class ReplicateMean {
 public:
  explicit ReplicateMean(const Grid& grid) : mean_(Image::zeros(grid)), deviations_(Image::zeros(grid)) {}

  void add(const Image& replicate) {
    ++count_;
    const float share = 1.0f / static_cast<float>(count_);
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, mean_.voxels.size(), 1 << 15), [&](const auto& range) {
      for (std::int64_t v = range.begin(); v < range.end(); ++v) {
        const float delta = replicate.voxels[v] - mean_.voxels[v];
        mean_.voxels[v] += share * delta;
        deviations_.voxels[v] += delta * (replicate.voxels[v] - mean_.voxels[v]);
      }
    });
  }
  /// RMS standard error of the mean / RMS of the mean.
  double relative_error() const {
    double error2 = 0, mean2 = 0;
    for (std::int64_t v = 0; v < mean_.voxels.size(); ++v) {
      error2 += static_cast<double>(deviations_.voxels[v]);
      mean2 += static_cast<double>(mean_.voxels[v]) * static_cast<double>(mean_.voxels[v]);
    }
    error2 /= static_cast<double>(count_) * (count_ - 1);
    return mean2 > 0 ? std::sqrt(error2 / mean2) : 0;
  }
  Image take_mean() { return std::move(mean_); }

 private:
  Image mean_, deviations_;
  int count_ = 0;
};

}  // namespace

Sensitivity compute_sensitivity(const Scanner& scanner, Projector& projector, const SensitivitySettings& settings,
                                const Image* mu_per_mm, Stream stream, const SensitivityProgress& progress) {
  validate(settings);
  scanner.validate();
  if (mu_per_mm) require_same_grid(mu_per_mm->grid, projector.grid());
  const PairList list(scanner);
  if (list.size() == 0) throw std::invalid_argument("the scanner has no pair of detectors in coincidence");
  const Plan plan = make_plan(list.size(), settings);
  const Reach reach(projector.grid(), settings.margin_voxels);

  Sensitivity result{.image = {}, .exact = plan.exact(), .pairs = plan.pairs};
  const std::int64_t capacity = std::min(settings.batch_pairs, plan.draws());
  PairBatch batch(capacity);
  BatchProjector target(scanner, projector, capacity, mu_per_mm, stream);
  const auto project_replicate = [&](int replicate) {
    for (std::int64_t begin = 0; begin < plan.draws(); begin += capacity) {
      const std::int64_t end = std::min(begin + capacity, plan.draws());
      fill(batch, scanner, list, reach, plan, replicate, begin, end);
      target.add(batch);
      result.projected += batch.count;
      if (progress) progress(static_cast<double>(replicate * plan.draws() + end) / static_cast<double>(plan.cells));
    }
    return target.take();
  };
  if (plan.exact()) {
    result.image = project_replicate(0);
  } else {
    ReplicateMean mean(projector.grid());
    for (int r = 0; r < plan.replicates; ++r) mean.add(project_replicate(r));
    result.relative_error = mean.relative_error();
    result.image = mean.take_mean();
  }
  return result;
}

}  // namespace tofstream
