// Events beside the body, and the scatter among them: see scatter_tails.hpp.
#include "kernels/ring/scatter/scatter_tails.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include <tbb/parallel_for.h>

#include "kernels/analysis/block_means.hpp"
#include "kernels/ring/sensitivity/pair_lines.hpp"
#include "kernels/ring/sensitivity/pair_sample.hpp"

namespace tofstream {

namespace {

constexpr float opaque_per_mm = 50;  // so that no line through a corner of the body counts as one beside it
constexpr float beside = 0.5f;       // what is left of a line that misses it is 1, of others less than this

/// Voxels of 8 mm or the map's own, with room for the margin about it: `opaque_per_mm` within the margin of matter.
Image body_of(const Image& mu_per_mm, double margin_mm, double least_mu_per_mm) {
  constexpr float wanted_mm = 8;
  std::array<int, 3> factors;
  for (int axis = 0; axis < 3; ++axis)
    factors[static_cast<std::size_t>(axis)] =
        std::clamp(static_cast<int>(wanted_mm / mu_per_mm.grid.voxel_mm[axis]), 1, mu_per_mm.grid.size[axis]);
  const Image mu = block_means(mu_per_mm, factors);
  Grid grid = mu.grid;
  int margin[3];
  for (int axis = 0; axis < 3; ++axis) {
    margin[axis] = static_cast<int>(std::ceil(margin_mm / static_cast<double>(grid.voxel_mm[axis])));
    grid.size[axis] += 2 * margin[axis];
    grid.origin_mm.set(axis, grid.origin_mm[axis] - static_cast<float>(margin[axis]) * grid.voxel_mm[axis]);
  }
  Image body = Image::zeros(grid);
  bool any = false;
  const auto fill_about = [&](int i, int j, int k) {
    any = true;
    const auto steps = [&](int axis, int step) {
      return static_cast<double>(static_cast<float>(step) * grid.voxel_mm[axis]);
    };
    for (int z = -margin[2]; z <= margin[2]; ++z)
      for (int y = -margin[1]; y <= margin[1]; ++y)
        for (int x = -margin[0]; x <= margin[0]; ++x)
          if (norm(Vec3d{steps(0, x), steps(1, y), steps(2, z)}) <= margin_mm)
            body.voxels[grid.index(i + margin[0] + x, j + margin[1] + y, k + margin[2] + z)] = opaque_per_mm;
  };
  for (int k = 0; k < mu.grid.size[2]; ++k)
    for (int j = 0; j < mu.grid.size[1]; ++j)
      for (int i = 0; i < mu.grid.size[0]; ++i)
        if (static_cast<double>(mu.voxels[mu.grid.index(i, j, k)]) >= least_mu_per_mm) fill_about(i, j, k);
  if (!any) throw std::invalid_argument("the mu map has no matter, so that nothing scatters");
  return body;
}

Grid box_about(const Grid& grid, double reach_mm) {
  Vec3 edges;
  for (int axis = 0; axis < 3; ++axis)
    edges.set(axis, static_cast<float>(grid.size[axis]) * grid.voxel_mm[axis] + 2 * static_cast<float>(reach_mm));
  Grid box = Grid::centred(1, 1, 1, edges);
  for (int axis = 0; axis < 3; ++axis)
    box.origin_mm.set(axis,
                      grid.origin_mm[axis] + 0.5f * static_cast<float>(grid.size[axis] - 1) * grid.voxel_mm[axis]);
  return box;
}

/// Some events of a batch on the host.
EventBatch those(const EventBatch& batch, const std::vector<std::int64_t>& numbers) {
  EventBatch some{.count = static_cast<std::int64_t>(numbers.size())};
  some.detectors = batch.detectors;
  some.tof = batch.tof;
  const auto take = [&]<class T>(Buffer<T>& to, const Buffer<T>& from) {
    if (from.empty()) return;
    to = Buffer<T>(Memory::host, some.count);
    for (std::int64_t i = 0; i < some.count; ++i) to[i] = from[numbers[static_cast<std::size_t>(i)]];
  };
  take(some.detector1, batch.detector1);
  take(some.detector2, batch.detector2);
  take(some.tof_mm, batch.tof_mm);
  take(some.tof_width_mm, batch.tof_width_mm);
  take(some.additive, batch.additive);
  take(some.counts, batch.counts);
  return some;
}

/// Which voxels lie within the body: they and all their neighbours are body.
std::vector<std::uint8_t> within(const Image& body) {
  const Grid& grid = body.grid;
  std::vector<std::uint8_t> made(static_cast<std::size_t>(grid.voxels()));
  const auto is_surrounded = [&](int i, int j, int k) {
    for (int z = k - 1; z <= k + 1; ++z)
      for (int y = j - 1; y <= j + 1; ++y)
        for (int x = i - 1; x <= i + 1; ++x)
          if (!(body.voxels[grid.index(x, y, z)] > 0)) return false;
    return true;
  };
  for (int k = 1; k + 1 < grid.size[2]; ++k)
    for (int j = 1; j + 1 < grid.size[1]; ++j)
      for (int i = 1; i + 1 < grid.size[0]; ++i)
        made[static_cast<std::size_t>(grid.index(i, j, k))] = is_surrounded(i, j, k);
  return made;
}

double middle_z(const SinogramPlace& place) {
  return 0.5 * static_cast<double>(place.z_a + place.z_b);
}

/// The two places about a z and the share of the second.
struct Between {
  std::size_t first = 0, second = 0;
  double share = 0;
};

Between between_places(const std::vector<double>& places, double z) {
  const auto after = static_cast<std::size_t>(std::ranges::lower_bound(places, z) - places.begin());
  if (after == 0) return {};
  if (after == places.size()) return {after - 1, after - 1, 0};
  return {after - 1, after, (z - places[after - 1]) / (places[after] - places[after - 1])};
}

/// Linear between the factors of places.
double factor_at(const Between& between, const std::vector<double>& factors) {
  return (1 - between.share) * factors[between.first] + between.share * factors[between.second];
}

/// EM from the factors that are there: each event asks for its share of a factor, `of_places` are expected of it.
void fit_factors(const auto& events, const std::vector<double>& of_places, TailFit& fit) {
  constexpr int most_iterations = 200;
  constexpr double small_change = 1e-7;
  std::vector<Between> between;  // places stay where they are
  for (const auto& event : events) between.push_back(between_places(fit.z_mm, event.z_mm));
  std::vector<double> sums(fit.z_mm.size());
  double change = 1;
  for (int iteration = 0; iteration < most_iterations && change > small_change; ++iteration) {
    std::ranges::fill(sums, 0.0);
    for (std::size_t n = 0; n < events.size(); ++n) {
      const Between& at = between[n];
      const double value = events[n].count / (events[n].randoms + factor_at(at, fit.factors));
      sums[at.first] += (1 - at.share) * value;
      sums[at.second] += at.share * value;
    }
    change = 0;
    for (std::size_t n = 0; n < sums.size(); ++n) {
      if (!(of_places[n] > 0)) continue;
      const double before = fit.factors[n];
      fit.factors[n] =
          std::clamp(before * sums[n] / of_places[n], ScatterTails::least_factor, ScatterTails::most_factor);
      change = std::max(change, std::abs(fit.factors[n] - before) / before);
    }
  }
}

/// Counts that are expected, by the z of their lines' middles.
class Expected {
 public:
  void add(double z_mm, double counts) { by_z_[static_cast<int>(std::floor(z_mm / step_mm))] += counts; }
  double all() const {
    double sum = 0;
    for (const auto& [step, counts] : by_z_) sum += counts;
    return sum;
  }
  /// In the middles of at most `most` equal shares, which are `apart_mm` wide on average.
  std::vector<double> places(int most, double apart_mm) const {
    const auto ends = middles_of_shares(10);
    const int wide = 1 + static_cast<int>((ends.back() - ends.front()) / apart_mm);
    return middles_of_shares(std::min(most, wide));
  }
  std::vector<double> of_places(const std::vector<double>& places) const {
    std::vector<double> made(places.size(), 0.0);
    for (const auto& [step, counts] : by_z_) {
      const Between between = between_places(places, middle_of(step));
      made[between.first] += (1 - between.share) * counts;
      made[between.second] += between.share * counts;
    }
    return made;
  }

 private:
  std::vector<double> middles_of_shares(int count) const {
    std::vector<double> made;
    const double share = all() / count;
    double sum = 0;
    for (const auto& [step, counts] : by_z_) {
      sum += counts;
      while (static_cast<int>(made.size()) < count && sum >= (static_cast<double>(made.size()) + 0.5) * share)
        made.push_back(middle_of(step));
    }
    made.erase(std::unique(made.begin(), made.end()), made.end());  // of std::ranges clang 14 takes no result
    return made;
  }
  static constexpr double step_mm = 0.25;  // fine beside crystals
  static double middle_of(int step) { return (step + 0.5) * step_mm; }
  std::map<int, double> by_z_;
};

}  // namespace

double TailFit::at(double z) const {
  if (factors.empty()) return 1;
  return factor_at(between_places(z_mm, z), factors);
}

ScatterTails::ScatterTails(const Image& mu_per_mm, double margin_mm, double reach_mm, double least_mu_per_mm,
                           std::int64_t most_pairs)
    : body_(body_of(mu_per_mm, margin_mm, least_mu_per_mm)),
      within_(within(body_)),
      through_body_(body_, Backend::cpu),
      box_(box_about(body_.grid, reach_mm)),
      most_pairs_(most_pairs) {}

void ScatterTails::add(const EventBatch& batch, std::int64_t most_events) {
  if (batch.count == 0 || !batch.detectors) return;
  noted_.scanner = batch.scanner;
  noted_.has_tof = !batch.tof_mm.empty() && batch.tof.sigma_mm > 0;
  noted_.exposed_s += batch.duration_s * batch.exposure;
  const std::uint64_t begin = std::exchange(noted_.seen, noted_.seen + static_cast<std::uint64_t>(batch.count));
  const EventBatch copy = on_host(batch.memory()) ? EventBatch{} : batch.to(Memory::host);
  const EventBatch& here = on_host(batch.memory()) ? batch : copy;
  const EventView all = here.view();
  const detail::Reach reach(box_, 0);
  const auto stride = static_cast<std::int64_t>(noted_.stride);
  std::vector<std::int64_t> numbers;  // of events that may have missed the body
  for (std::int64_t i = static_cast<std::int64_t>((noted_.stride - begin % noted_.stride) % noted_.stride);
       i < here.count; i += stride) {
    ++noted_.looked_at;
    const Lor lor = all.lor(i);
    if (reach.touches(lor.end1, lor.end2) && !is_seen_in_body(lor)) numbers.push_back(i);
  }
  const EventBatch some = those(here, numbers);
  const EventView events = some.view();
  Buffer<float> left(Memory::host, some.count);
  std::ranges::fill(left.span(), 1.0f);
  if (some.count > 0) through_body_.apply(events, left.data());
  for (std::int64_t i = 0; i < some.count; ++i) {
    if (left[i] < beside) continue;
    noted_.events.push_back({sinogram_place(events.lor(i)), events.additive ? events.additive[i] : 0.0f,
                             noted_.has_tof ? events.bin_width_mm(i) : 1.0f, events.counts ? events.counts[i] : 1.0f,
                             begin + static_cast<std::uint64_t>(numbers[static_cast<std::size_t>(i)])});
  }
  while (noted_.looked_at > static_cast<std::uint64_t>(most_events)) thin_out();
}

bool ScatterTails::is_seen_in_body(const Lor& lor) const {
  const Grid& grid = body_.grid;
  const Vec3 way = lor.end2 - lor.end1;
  float from = 0, to = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const float low = grid.origin_mm[axis] - 0.5f * grid.voxel_mm[axis],
                high = low + static_cast<float>(grid.size[axis]) * grid.voxel_mm[axis];
    if (way[axis] == 0) continue;
    const float a = (low - lor.end1[axis]) / way[axis], b = (high - lor.end1[axis]) / way[axis];
    from = std::max(from, std::min(a, b));
    to = std::min(to, std::max(a, b));
  }
  if (!(from < to)) return false;
  constexpr int samples = 12, apart = 5;  // in an order that begins in the middle and comes to all of them
  for (int n = 0; n < samples; ++n) {
    const float share = (static_cast<float>((samples / 2 + apart * n) % samples) + 0.5f) / samples;
    const Vec3 at = lor.end1 + (from + share * (to - from)) * way;
    int voxel[3];
    bool is_inside = true;
    for (int axis = 0; axis < 3; ++axis) {
      voxel[axis] = static_cast<int>(std::floor((at[axis] - grid.origin_mm[axis]) / grid.voxel_mm[axis] + 0.5f));
      is_inside = is_inside && voxel[axis] >= 0 && voxel[axis] < grid.size[axis];
    }
    if (is_inside && within_[static_cast<std::size_t>(grid.index(voxel[0], voxel[1], voxel[2]))] != 0) return true;
  }
  return false;
}

void ScatterTails::thin_out() {
  noted_.stride *= 2;
  noted_.looked_at /= 2;
  std::erase_if(noted_.events, [&](const TailEvent& event) { return event.number % noted_.stride != 0; });
}

std::vector<ScatterTails::Mixed> ScatterTails::mixed(const std::vector<TailEvent>& noted,
                                                     const ScatterEstimate& estimate) {
  // c / m of randoms, for a mm of ToF, does not depend on crystals' efficiencies: it changes slowly from line to line.
  struct Mean {
    double sum = 0, count = 0;
  };
  const auto width_of = [&](const TailEvent& event) { return estimate.has_tof() ? event.width_mm : 1.0f; };
  const auto cell_of = [](const TailEvent& event) {
    constexpr float radial_mm = 20, axial_mm = 50;
    return std::pair(static_cast<int>(std::abs(event.place.s) / radial_mm),
                     static_cast<int>(std::abs(event.place.z_b - event.place.z_a) / axial_mm));
  };
  std::map<std::pair<int, int>, Mean> cells;
  for (const TailEvent& event : noted)
    if (std::isfinite(event.additive)) {
      Mean& mean = cells[cell_of(event)];
      mean.sum += static_cast<double>(event.count * event.additive / width_of(event));
      mean.count += static_cast<double>(event.count);
    }
  std::vector<Mixed> made;
  for (const TailEvent& event : noted) {
    const float scatter = scatter_at(estimate, event.place);
    if (!(scatter > 0) || !std::isfinite(event.additive)) continue;
    const Mean& mean = cells.at(cell_of(event));
    if (event.count == 0) continue;
    made.push_back({static_cast<double>(event.place.s), middle_z(event.place),
                    mean.sum / mean.count / static_cast<double>(scatter), static_cast<double>(event.count)});
  }
  return made;
}

// They are the same for every estimate, and most of the time that a first fit takes.
void ScatterTails::find_pairs(const std::shared_ptr<const Scanner>& scanner) {
  if (std::exchange(scanner_of_pairs_, scanner) == scanner) return;
  pairs_.clear();
  const PairLinesCount count =
      for_each_pair_line(*scanner, box_, {.exact_pairs = most_pairs_, .sampled_pairs = most_pairs_}, &body_,
                         [&](const EventView& pairs, const float* values, double done) {
                           for (std::int64_t i = 0; i < pairs.count; ++i)
                             if (values[i] > 0) pairs_.push_back({sinogram_place(pairs.lor(i)), values[i]});
                           if (done <= 0.5) first_half_ = pairs_.size();
                         });
  if (count.exact()) first_half_ = 0;
}

CountsFit ScatterTails::fit_by_place(const std::vector<Mixed>& events, const std::vector<double>& counts,
                                     const TailFit& fit) const {
  struct Cell {
    double counted = 0, squares = 0;         // sums of p and p^2
    double halves[2] = {}, of_sampling = 0;  // expected of halves of the pairs, and the sum of their squares
    double expected() const { return halves[0] + halves[1]; }
  };
  std::map<std::pair<int, int>, Cell> cells;
  const auto cell_at = [&](double s, double z) -> Cell& {
    constexpr double radial_mm = 20, axial_mm = 40;
    return cells[{static_cast<int>(std::abs(s) / radial_mm), static_cast<int>(std::floor(z / axial_mm))}];
  };
  for (const Mixed& event : events) {
    const double factor = fit.at(event.z_mm), chance = factor / (event.randoms + factor);
    Cell& cell = cell_at(event.s_mm, event.z_mm);
    cell.counted += event.count * chance;
    cell.squares += event.count * chance * chance;
  }
  for (std::size_t n = 0; n < pairs_.size(); ++n) {
    const double z = middle_z(pairs_[n].place), here = counts[n] * fit.at(z);
    Cell& cell = cell_at(static_cast<double>(pairs_[n].place.s), z);
    cell.halves[n < first_half_ ? 0 : 1] += here;
    cell.of_sampling += here * here;
  }
  // The halves differ by chance, a cell by little that can be told of it alone.
  double apart2 = 0, of_sampling = 0;
  for (const auto& [place, cell] : cells) {
    apart2 += std::pow(cell.halves[0] - cell.halves[1], 2);
    of_sampling += cell.of_sampling;
  }
  const double sampling = first_half_ > 0 && of_sampling > 0 ? apart2 / of_sampling : 0;
  CountsFit made;
  for (const auto& [place, cell] : cells) {
    const double certain = cell.counted > 0 ? cell.squares / cell.counted : 1;
    made.add(cell.counted, cell.expected(), certain * cell.expected() + sampling * cell.of_sampling);
  }
  return made;
}

TailFit ScatterTails::fit(const Noted& noted, const ScatterEstimate& estimate, double reference_s,
                          double least_counts) {
  TailFit made;
  for (const TailEvent& event : noted.events) made.counts += static_cast<double>(event.count);
  if (!noted.scanner) return made;
  find_pairs(noted.scanner);
  const ScatterEstimate lines = estimate.has_tof() ? estimate.without_tof() : estimate;
  const double counts_of_rate = noted.exposed_s / static_cast<double>(noted.stride) / reference_s;
  std::vector<double> counts(pairs_.size());
  tbb::parallel_for(std::size_t{0}, pairs_.size(), [&](std::size_t n) {
    counts[n] = static_cast<double>(pairs_[n].value * scatter_at(lines, pairs_[n].place)) * counts_of_rate;
  });
  Expected expected;
  for (std::size_t n = 0; n < pairs_.size(); ++n) expected.add(middle_z(pairs_[n].place), counts[n]);
  made.scatter = expected.all();
  if (!(made.scatter > 0)) return made;
  constexpr double apart_mm = 40;  // scatter changes slowly along z
  made.z_mm = expected.places(std::max(static_cast<int>(std::min(made.scatter / least_counts, 1000.0)), 1), apart_mm);
  made.factors.assign(made.z_mm.size(), 1.0);
  const std::vector<double> of_places = expected.of_places(made.z_mm);
  const std::vector<Mixed> events = mixed(noted.events, noted.has_tof ? estimate : lines);
  fit_factors(events, of_places, made);
  double sum = 0, information = 0;
  for (std::size_t n = 0; n < made.factors.size(); ++n) {
    sum += of_places[n] * made.factors[n];
    made.is_at_bound = made.is_at_bound || made.factors[n] <= least_factor || made.factors[n] >= most_factor;
  }
  made.mean = sum / made.scatter;
  for (const Mixed& event : events) information += event.count / std::pow(event.randoms + made.at(event.z_mm), 2);
  made.error = information > 0 ? 1 / std::sqrt(information) : 0;
  made.by_place = fit_by_place(events, counts, made);
  return made;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
