// Batches of decays on a GPU: see history_batch.hpp. Most decays end with a first photon that flies past the detectors or
// loses its energy, some are scattered often, and of one in some tens or hundreds the coincidence is counted, at some hundred
// samples. Threads that each followed a decay to its end would mostly wait for the longest one of their warp. So a thread
// takes a photon only to its next scatter or out of matter, all threads of a warp together; what goes on waits in shared
// memory until there is one for each thread; and a warp lays down each coincidence together.
#include <cstddef>

#include "kernels/cuda/check.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/ring/scatter/history_batch.hpp"

namespace tofstream::ring_scatter {

namespace {

constexpr int history_threads = 128;

using DeviceCount = unsigned long long;  // of two's complement: sums of signed numbers come out right

constexpr int warp_threads = 32, warps = history_threads / warp_threads;
constexpr unsigned all_threads = 0xffffffff;

/// A photon on its way, with what its decay needs of the other one.
struct Flight {
  Photon photon;
  CounterRandom random;
  Vec3d from_mm, direction;                      // of the first photon: where the second one will start
  bool is_second = false, is_scattered = false;  // is_scattered: it met an electron where it is

  // The same room holds what is known of the first one while the second one flies.
  __device__ void keep(const FirstPhoton& one) {
    from_mm = one.at_mm;
    direction = {one.path_mm, one.weight, static_cast<double>(one.scatters)};
  }
  __device__ FirstPhoton kept() const { return {from_mm, direction.x, direction.y, static_cast<int>(direction.z)}; }
};

/// A warp's photons that go on.
class Flights {
 public:
  static constexpr int room = 2 * warp_threads;  // less than a warp's are left when as many come
  static constexpr std::size_t bytes = room * sizeof(Flight);

  __device__ Flights(unsigned char* memory, unsigned thread)
      : flights_(reinterpret_cast<Flight*>(memory)), thread_(thread) {}

  __device__ int count() const { return count_; }
  /// Each thread's, where it goes on. For all threads of the warp together, as take().
  __device__ void add(const Flight& flight, bool goes_on) {
    const unsigned going_on = __ballot_sync(all_threads, goes_on);
    if (goes_on) flights_[count_ + __popc(going_on & ((1u << thread_) - 1))] = flight;
    count_ += __popc(going_on);
    __syncwarp();
  }
  /// The last ones that came, one for each thread; false where there are no more.
  __device__ bool take(Flight& flight) {
    const int taken = count_ < warp_threads ? count_ : warp_threads;
    count_ -= taken;
    const bool is_one = static_cast<int>(thread_) < taken;
    if (is_one) flight = flights_[count_ + static_cast<int>(thread_)];
    __syncwarp();
    return is_one;
  }

 private:
  Flight* flights_;
  unsigned thread_;
  int count_ = 0;
};

/// A decay's first photon. False for one outside the detectors.
__device__ bool begins(const HistoryLaw& law, std::uint64_t number, Flight& flight) {
  flight.random = CounterRandom(law.seed, number);
  flight.photon = law.start(flight.random);
  flight.from_mm = flight.photon.at_mm;
  flight.direction = -1.0 * flight.photon.direction;
  flight.is_second = flight.is_scattered = false;
  return law.is_within(flight.photon);
}

/// Takes a photon to its next scatter or out of matter. True where its decay goes on.
__device__ bool goes_on(const HistoryLaw& law, Flight& flight, CountedCoincidence& found) {
  if (flight.is_scattered) {
    scatter(flight.photon, flight.random);
    if (flight.photon.energy_keV < law.least_keV) return false;
  }
  flight.is_scattered = collides(flight.photon, law.matter, flight.random);
  if (flight.is_scattered) return true;
  if (flight.is_second) {
    found = law.coincidence(flight.kept(), flight.photon);
    return false;
  }
  const FirstPhoton one = law.first_of(flight.photon);
  if (!(one.weight > 0)) return false;
  flight.photon = Photon{flight.from_mm, flight.direction};
  flight.is_second = true;
  flight.keep(one);
  return true;
}

__device__ CountedCoincidence of_thread(const CountedCoincidence& mine, int thread) {
  const auto from = [thread](auto value) { return __shfl_sync(all_threads, value, thread); };
  const SinogramPlace& at = mine.place;
  return {{from(at.s), from(at.phi), from(at.z_a), from(at.z_b), from(at.tof)}, from(mine.weight)};
}

/// Lays down what the warp's threads found, one after the other, each by all threads. Returns how many there were.
__device__ int lay_down_together(const CountedLattice& lattice, const CountedCoincidence& mine, unsigned thread,
                                 DeviceCount* counts) {
  constexpr unsigned of_a_line = warp_threads / CountedLattice::corners;
  const auto add = [counts](std::int64_t sample, double weight) {
    atomicAdd(counts + sample, static_cast<DeviceCount>(in_units(weight)));
  };
  const unsigned found = __ballot_sync(all_threads, mine.weight > 0);
  for (unsigned left = found; left != 0; left &= left - 1) {
    const CountedCoincidence one = of_thread(mine, __ffs(static_cast<int>(left)) - 1);
    lattice.lay_down_at(static_cast<int>(thread / of_a_line), one.place, one.weight,
                        static_cast<int>(thread % of_a_line), static_cast<int>(of_a_line), add);
  }
  return __popc(found);
}

__global__ void __launch_bounds__(history_threads)
    follow_histories(HistoryLaw law, CountedLattice lattice, std::int64_t first, std::int64_t count,
                     DeviceCount* counts, DeviceCount* recorded) {
  __shared__ alignas(16) unsigned char memory[warps * Flights::bytes];
  const unsigned thread = threadIdx.x % warp_threads, warp = threadIdx.x / warp_threads;
  Flights flights(memory + warp * Flights::bytes, thread);
  const std::int64_t stride = std::int64_t{gridDim.x} * history_threads;
  std::int64_t next = std::int64_t{blockIdx.x} * history_threads + warp * warp_threads;
  int found = 0;
  while (next < count || flights.count() > 0) {
    Flight flight;
    bool is_one = false;
    if (flights.count() >= warp_threads || next >= count) {
      is_one = flights.take(flight);
    } else {
      const std::int64_t number = next + thread;
      is_one = number < count && begins(law, static_cast<std::uint64_t>(first + number), flight);
      next += stride;
    }
    CountedCoincidence mine;
    const bool is_to_go_on = is_one && goes_on(law, flight, mine);
    flights.add(flight, is_to_go_on);
    found += lay_down_together(lattice, mine, thread, counts);
  }
  if (thread == 0 && found > 0) atomicAdd(recorded, static_cast<DeviceCount>(found));
}

class CudaHistoryBatches final : public HistoryBatches {
 public:
  CudaHistoryBatches(const HistoryLaw& law, const CountedLattice& lattice)
      : law_(law),
        lattice_(lattice),
        mu_(on_device(law.matter.mu.values, voxels_of(law.matter.mu))),
        sums_(on_device(law.decays.sums, law.decays.voxels)),
        guide_(on_device(law.decays.guide, std::int64_t{law.decays.guides} + 1)),
        counts_(Memory::device, lattice.values() + 1),
        there_(Memory::pinned, lattice.values() + 1) {
    synchronize(nullptr);
    law_.matter.mu.values = mu_.data();
    law_.decays.sums = sums_.data();
    law_.decays.guide = guide_.data();
  }

  const CountedBatch& follow(std::int64_t first, std::int64_t count) override {
    counts_.clear(nullptr);
    const std::int64_t values = lattice_.values(), blocks = (count + history_threads - 1) / history_threads;
    constexpr std::int64_t most_blocks = 132 * 4;  // as many as run at once: a warp's last decays leave threads idle
    follow_histories<<<static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks), history_threads>>>(
        law_, lattice_, first, count, counts_.data(), counts_.data() + values);
    check_launch("follow photons");
    detail::copy(there_.data(), Memory::pinned, counts_.data(), Memory::device, counts_.bytes(), nullptr);
    synchronize(nullptr);
    const auto* const begin = reinterpret_cast<const std::int64_t*>(there_.data());
    batch_ = {{begin, static_cast<std::size_t>(values)}, begin[values]};
    return batch_;
  }

 private:
  static std::int64_t voxels_of(const RayView& view) {
    return std::int64_t{view.size[0]} * view.size[1] * view.size[2];
  }

  template <class T>
  static Buffer<T> on_device(const T* from, std::int64_t count) {
    Buffer<T> there(Memory::device, count);
    detail::copy(there.data(), Memory::device, from, Memory::host, there.bytes(), nullptr);
    return there;
  }

  HistoryLaw law_;
  CountedLattice lattice_;
  Buffer<float> mu_;
  Buffer<double> sums_;
  Buffer<std::int32_t> guide_;
  Buffer<DeviceCount> counts_, there_;
  CountedBatch batch_;
};

}  // namespace

std::unique_ptr<HistoryBatches> make_history_batches_cuda(const HistoryLaw& law, const CountedLattice& lattice) {
  require_cuda();
  return std::make_unique<CudaHistoryBatches>(law, lattice);
}

}  // namespace tofstream::ring_scatter
// SPDX-License-Identifier: Apache-2.0
