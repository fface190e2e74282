// Times of EM steps: see listmode_timing.hpp.
#include "tools/bench/listmode_timing.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/simulate/workloads.hpp"
#include "kernels/ring/tor/choose_tube.hpp"
#include "kernels/sort/partition.hpp"
#include "tools/bench/bench_projecting.hpp"

namespace tofstream::command {

namespace {

constexpr std::int64_t drawn_at_once = 1'000'000;

/// Random LORs of a workload, a million from each seed, so that lists of any length begin with the same events.
EventBatch draw_events(const Workload& workload, std::int64_t count) {
  EventBatch all;
  all.count = count;
  all.tof = workload.tof;
  for (auto& end : all.ends) end = Buffer<float>(Memory::host, count);
  all.tof_mm = Buffer<float>(Memory::host, count);
  tbb::parallel_for(std::int64_t{0}, (count + drawn_at_once - 1) / drawn_at_once, [&](std::int64_t piece) {
    const std::int64_t begin = piece * drawn_at_once, n = std::min(drawn_at_once, count - begin);
    const EventBatch part = random_lors(workload, n, static_cast<std::uint64_t>(piece + 1));
    const auto put = [&](Buffer<float>& to, const Buffer<float>& from) {
      std::memcpy(to.data() + begin, from.data(), from.bytes());
    };
    for (int i = 0; i < 6; ++i) put(all.ends[i], part.ends[i]);
    put(all.tof_mm, part.tof_mm);
  });
  return all;
}

const Grid& grid_of(const ListmodeCase& c) {
  static std::map<std::string, Grid> grids;
  const auto found = grids.find(c.workload);
  return found != grids.end() ? found->second : grids[c.workload] = find_workload(c.workload).grid;
}

/// The tube as tor_projector takes it, narrow ones normalised by slices.
TorSettings tube_of(const ListmodeCase& c, CudaPath path) {
  TorSettings settings = tor_settings(grid_of(c), c.tube_width_voxels, path);
  settings.normalise = usual_normalise(static_cast<float>(c.tube_width_voxels));
  return settings;
}

std::unique_ptr<ListModeProjector> make_reference(const ListmodeCase& c) {
  if (c.projector == "joseph") return make_joseph_reference(grid_of(c), {});
  return make_tor_reference(grid_of(c), tube_of(c, CudaPath::automatic));
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

double relative_rms(const std::vector<float>& values, const std::vector<float>& of) {
  double squares = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const double difference = static_cast<double>(values[i]) - static_cast<double>(of[i]);
    squares += difference * difference;
  }
  return std::sqrt(squares / dot(of, of));
}

/// PeerTimes::inconsistency, of `count` events.
double inconsistency(const Peer& peer, const Image& image, std::int64_t count) {
  const Memory memory = image.voxels.memory();
  const std::vector<float> x = image.voxels.to_vector();
  Buffer<float> expectation = Buffer<float>::zeros(memory, count);
  Image back = Image::zeros(image.grid, memory), sum = Image::zeros(image.grid, memory);
  synchronize(nullptr);
  peer.forward(image.voxels.data(), expectation.data());
  peer.back(expectation.data(), back.voxels.data());
  if (peer.has_em_step()) peer.em_step(image.voxels.data(), sum.voxels.data());
  synchronize(nullptr);
  const std::vector<float> values = expectation.to_vector();
  const double of_back = std::abs(dot(x, back.voxels.to_vector()) / dot(values, values) - 1);
  if (!peer.has_em_step()) return of_back;
  const auto touched = std::ranges::count_if(values, [](float value) { return value > 0; });
  return std::max(of_back, std::abs(dot(x, sum.voxels.to_vector()) / static_cast<double>(touched) - 1));
}

}  // namespace

std::unique_ptr<ListModeProjector> ListmodeTiming::make(const ListmodeCase& c, CudaPath path,
                                                        bool deterministic) const {
  if (c.projector == "joseph")
    return made_wrong(make_joseph_projector(grid_of(c), {.cuda_path = path, .deterministic = deterministic}, backend_),
                      wrong_);
  TorSettings settings = tube_of(c, path);
  settings.deterministic = deterministic;
  return made_wrong(make_tor_projector(grid_of(c), settings, backend_), wrong_);
}

void ListmodeTiming::draw(const ListmodeCase& c) {
  if (workload_ == c.workload && here_.count >= c.events) return;
  workload_.clear();
  here_ = there_ = {};  // before others are made: there may be no room for both
  here_ = draw_events(find_workload(c.workload), c.events);
  if (backend_ == Backend::cuda) there_ = here_.to(Memory::device);
  synchronize(nullptr);
  workload_ = c.workload;
}

EventView ListmodeTiming::binned(const ListmodeCase& c, EventView events) {
  if (c.bin_sigma > 0) events.tof.bin_width_mm = static_cast<float>(c.bin_sigma) * events.tof.sigma_mm;
  return events;
}

EventView ListmodeTiming::here(const ListmodeCase& c) {
  draw(c);
  return binned(c, here_.view().slice(0, c.events));
}

EventView ListmodeTiming::there(const ListmodeCase& c) {
  draw(c);
  return binned(c, (backend_ == Backend::cuda ? there_ : here_).view().slice(0, c.events));
}

EventBatch ListmodeTiming::sorted(const ListmodeCase& c) const {
  return partition_and_sort(draw_events(find_workload(c.workload), c.events), backend_);
}

double ListmodeTiming::em_step_ms(const ListmodeCase& c, const EventView& events, bool deterministic) {
  const auto projector = make(c, CudaPath::automatic, deterministic);
  const Image image = test_image(grid_of(c)).to(memory_of(backend_));
  Image sum = Image::zeros(grid_of(c), memory_of(backend_));
  const auto plan = projector->plan(events);
  return median_ms(backend_, repeats_,
                   [&] { projector->planned_em_step(plan.get(), events, image.voxels.data(), sum.voxels.data()); });
}

double ListmodeTiming::pass_ms(const ListmodeCase& c, Order order, bool deterministic) {
  if (order == Order::random) return em_step_ms(c, there(c), deterministic);
  return em_step_ms(c, binned(c, sorted(c).view()), deterministic);
}

double ListmodeTiming::first_pass_ms(const ListmodeCase& c) {
  const EventView events = there(c);
  const auto projector = make(c, CudaPath::automatic, false);
  const Image image = test_image(grid_of(c)).to(memory_of(backend_));
  Image sum = Image::zeros(grid_of(c), memory_of(backend_));
  return median_ms(backend_, repeats_, [&] {
    const auto plan = projector->plan(events);
    projector->planned_em_step(plan.get(), events, image.voxels.data(), sum.voxels.data());
  });
}

double ListmodeTiming::plan_ms(const ListmodeCase& c) {
  const EventView events = there(c);
  const auto projector = make(c, CudaPath::automatic, false);
  return projector->plan(events) ? median_ms(backend_, repeats_, [&] { (void)projector->plan(events); }) : 0;
}

double ListmodeTiming::forward_ms(const ListmodeCase& c, Plan planned) {
  const EventView events = there(c);
  const auto projector = make(c, CudaPath::automatic, false);
  const Image image = test_image(grid_of(c)).to(memory_of(backend_));
  Buffer<float> expectation(memory_of(backend_), c.events);
  const auto plan = planned == Plan::made ? projector->plan(events) : nullptr;
  return median_ms(backend_, repeats_,
                   [&] { projector->planned_forward(plan.get(), events, image.voxels.data(), expectation.data()); });
}

double ListmodeTiming::back_ms(const ListmodeCase& c, float low, Plan planned) {
  const EventView events = there(c);
  const auto projector = make(c, CudaPath::automatic, false);
  const auto values = Buffer<float>::from(uniform_values(c.events, low, 1.5f)).to(memory_of(backend_));
  Image image = Image::zeros(grid_of(c), memory_of(backend_));
  const auto plan = planned == Plan::made ? projector->plan(events) : nullptr;
  return median_ms(backend_, repeats_,
                   [&] { projector->planned_back(plan.get(), events, values.data(), image.voxels.data()); });
}

bool ListmodeTiming::identical(const ListmodeCase& c, int runs) {
  const EventView events = there(c);
  const Image image = test_image(grid_of(c)).to(memory_of(backend_));
  std::vector<float> first;
  for (int run = 0; run < runs; ++run) {
    const auto projector = make(c, CudaPath::automatic, true);
    Image sum = Image::zeros(grid_of(c), memory_of(backend_));
    projector->em_step(events, image.voxels.data(), sum.voxels.data());
    std::vector<float> sums = sum.voxels.to_vector();
    if (run == 0)
      first = std::move(sums);
    else if (std::memcmp(sums.data(), first.data(), sum.voxels.bytes()) != 0)
      return false;
  }
  return true;
}

double ListmodeTiming::adjointness(const ListmodeCase& c, CudaPath path) {
  const EventView events = there(c);
  const Memory memory = memory_of(backend_);
  const auto projector = make(c, path, false);
  const auto plan = projector->plan(events);  // none on the direct path
  const std::vector<float> y = uniform_values(c.events, 0.5f, 1.5f);
  const Image x = test_image(grid_of(c)), x_there = x.to(memory);
  const Buffer<float> y_there = Buffer<float>::from(y).to(memory);
  Buffer<float> forward(memory, c.events);
  Image back = Image::zeros(grid_of(c), memory);
  projector->planned_forward(plan.get(), events, x_there.voxels.data(), forward.data());
  projector->planned_back(plan.get(), events, y_there.data(), back.voxels.data());
  const double by_forward = dot(forward.to_vector(), y), by_back = dot(back.voxels.to_vector(), x.voxels.to_vector());
  return std::abs(by_forward - by_back) / by_forward;
}

std::int64_t ListmodeTiming::checkable(const ListmodeCase& c) const {
  return std::min(c.events, checkable_events(c.projector != "joseph", grid_of(c), checked_events));
}

ListmodeTiming::ProjectionsAgreement ListmodeTiming::projections_agreement(const ListmodeCase& c) {
  const std::string key = fmt::format("{} {} {} {}", c.projector, c.tube_width_voxels, c.workload, c.bin_sigma);
  if (const auto found = projections_agreements_.find(key); found != projections_agreements_.end())
    return found->second;
  const auto projector = make(c, CudaPath::tiled, false);
  const std::int64_t count = checkable(c);
  const ProjectionsNrms nrms = planned_nrms(*projector, there(c).slice(0, count), *make_reference(c),
                                            here(c).slice(0, count), test_image(grid_of(c)));
  return projections_agreements_[key] = {{nrms.forward, count}, {nrms.back, count}};
}

ListmodeTiming::Agreement ListmodeTiming::agreement(const ListmodeCase& c, bool deterministic) {
  const std::string key =
      fmt::format("{} {} {} {} {}", c.projector, c.tube_width_voxels, c.workload, c.bin_sigma, deterministic);
  if (const auto found = agreements_.find(key); found != agreements_.end()) return found->second;
  // So few events would take the direct path on a GPU.
  const auto projector = make(c, CudaPath::tiled, deterministic);
  const auto reference = make_reference(c);
  const std::int64_t count = checkable(c);
  const double nrms =
      em_step_nrms(*projector, there(c).slice(0, count), *reference, here(c).slice(0, count), test_image(grid_of(c)));
  return agreements_[key] = {nrms, count};
}

ListmodeTiming::PeerTimes ListmodeTiming::peer(const ListmodeCase& c, Peer& peer, Order order) {
  const EventBatch sorted_there = order == Order::sorted ? sorted(c) : EventBatch{};
  const EventBatch sorted_here = sorted_there.to(Memory::host);
  const EventView events = order == Order::sorted ? sorted_there.view() : there(c);
  synchronize(nullptr);
  peer.set_events(order == Order::sorted ? sorted_here.view() : here(c), grid_of(c));

  const Memory memory = memory_of(backend_);
  const Image smooth = smooth_image(grid_of(c)).to(memory);
  Buffer<float> ours(memory, c.events), theirs = Buffer<float>::zeros(memory, c.events);
  make_joseph_projector(grid_of(c), {.edge = JosephSettings::Edge::clipped}, backend_)
      ->forward(events, smooth.voxels.data(), ours.data());
  peer.forward(smooth.voxels.data(), theirs.data());
  synchronize(nullptr);
  PeerTimes times{};
  times.deviation = relative_rms(theirs.to_vector(), ours.to_vector());

  const Image image = test_image(grid_of(c)).to(memory);
  const float* voxels = image.voxels.data();
  times.inconsistency = inconsistency(peer, image, c.events);
  Image back = Image::zeros(grid_of(c), memory);
  times.forward_ms = median_ms(backend_, repeats_, [&] { peer.forward(voxels, theirs.data()); });
  times.back_ms = median_ms(backend_, repeats_, [&] { peer.back(theirs.data(), back.voxels.data()); });
  if (peer.has_em_step())
    times.em_step_ms = median_ms(backend_, repeats_, [&] { peer.em_step(voxels, back.voxels.data()); });
  return times;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
