// What the benchmarks of projectors share: see bench_projecting.hpp.
#include "tools/bench/bench_projecting.hpp"

#include <limits>
#include <utility>

#include <tbb/parallel_for.h>

#include "kernels/project/expectation.hpp"
#include "kernels/project/reference.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

class WrongProjector final : public Projector {
 public:
  WrongProjector(std::unique_ptr<Projector> right, double share) : right_(std::move(right)), share_(share) {}

  const Grid& grid() const override { return right_->grid(); }
  Backend backend() const override { return right_->backend(); }
  float reach_mm() const override { return right_->reach_mm(); }
  void forward(const EventView& events, const float* image, float* expectation, Stream stream) override {
    right_->forward(events, image, expectation, stream);
  }
  void back(const EventView& events, const float* values, float* image, Stream stream) override {
    enlarge(image, [&] { right_->back(events, values, image, stream); });
  }
  EmTally em_step(const EventView& events, const float* image, float* accumulator, Stream stream) override {
    EmTally tally;
    enlarge(accumulator, [&] { tally = right_->em_step(events, image, accumulator, stream); });
    return tally;
  }

 private:
  template <class Add>
  void enlarge(float* image, const Add& add) const {
    const std::vector<float> before(image, image + grid().voxels());
    add();
    for (std::size_t v = 0; v < before.size(); ++v) image[v] += static_cast<float>(share_) * (image[v] - before[v]);
  }

  const std::unique_ptr<Projector> right_;
  const double share_;
};

}  // namespace

std::vector<double> reference_em_step(const Projector& reference, const EventView& events, const Image& image) {
  struct Touched {
    std::int64_t voxel;
    double value;
  };
  const auto& wide = dynamic_cast<const ReferenceProjector&>(reference);
  const std::vector<double> voxels(image.voxels.data(), image.voxels.data() + image.voxels.size());
  std::vector<double> sums(voxels.size(), 0.0);
  constexpr std::int64_t at_once = 256;  // lines in memory
  std::vector<std::vector<Touched>> lines(at_once);
  for (std::int64_t begin = 0; begin < events.count; begin += at_once) {
    const std::int64_t count = std::min(at_once, events.count - begin);
    tbb::parallel_for(std::int64_t{0}, count, [&](std::int64_t k) {
      auto& line = lines[static_cast<std::size_t>(k)];
      line.clear();
      double expectation = events.additive ? static_cast<double>(events.additive[begin + k]) : 0.0;
      wide.for_each_voxel(events, begin + k, [&](std::int64_t voxel, double weight) {
        line.push_back({voxel, weight});
        expectation += weight * voxels[static_cast<std::size_t>(voxel)];
      });
      if (!usable(expectation)) line.clear();
      for (Touched& touched : line) touched.value /= expectation;
    });
    for (std::int64_t k = 0; k < count; ++k)
      for (const Touched& touched : lines[static_cast<std::size_t>(k)])
        sums[static_cast<std::size_t>(touched.voxel)] += touched.value;
  }
  return sums;
}

double touched_nrms(const Image& result, const std::vector<double>& expected) {
  double squares = 0, low = std::numeric_limits<double>::infinity(), high = -low;
  std::int64_t touched = 0;
  for (std::size_t v = 0; v < expected.size(); ++v) {
    const auto value = static_cast<double>(result.voxels[static_cast<std::int64_t>(v)]);
    if (value == 0 && expected[v] == 0) continue;
    ++touched;
    squares += (value - expected[v]) * (value - expected[v]);
    low = std::min(low, expected[v]);
    high = std::max(high, expected[v]);
  }
  if (touched == 0 || !(high > low)) return std::numeric_limits<double>::quiet_NaN();  // nothing was compared
  return std::sqrt(squares / static_cast<double>(touched)) / (high - low);
}

double em_step_nrms(Projector& projector, const EventView& there, const Projector& reference, const EventView& here,
                    const Image& image) {
  const Memory memory = memory_of(projector.backend());
  const Image image_there = image.to(memory);
  Image result = Image::zeros(image.grid, memory);
  projector.em_step(there, image_there.voxels.data(), result.voxels.data());
  const Image result_here = result.to(Memory::host);
  synchronize(nullptr);
  return touched_nrms(result_here, reference_em_step(reference, here, image));
}

std::unique_ptr<Projector> made_wrong(std::unique_ptr<Projector> projector, double share) {
  if (share == 0) return projector;
  if (projector->backend() != Backend::cpu) throw InputError("--wrong is for --backend cpu");
  return std::make_unique<WrongProjector>(std::move(projector), share);
}

}  // namespace tofstream::command
