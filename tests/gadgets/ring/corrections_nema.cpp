// The NEMA phantom with attenuation, unequal crystals, randoms and a known scatter, through event_corrections: contrast
// and background against those of ideal data. Expected counts of drawn lines and ToF bins stand for events, so that any
// difference comes from the corrections and not from noise.
#include <array>
#include <numbers>
#include <random>

#include "core/testing.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ring/io/ring_scanner_yaml.hpp"
#include "gadgets/ring/io/scatter_nifti.hpp"
#include "kernels/analysis/contrast.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/ring/correct/randoms.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/simulate/event_simulator.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

const Grid nema_grid = Grid::centred(84, 68, 36, {4, 4, 4});
constexpr double randoms_cps = 1.5e5;

const RingScanner& ring() {
  static const RingScanner unequal = [] {
    RingScanner read = formats::read_ring_scanner(find_shared("scanners", "demo_ring"));
    read.crystal_efficiency_spread = 0.4;
    return read;
  }();
  return unequal;
}
const formats::PhantomFile& nema() {
  static const formats::PhantomFile file = formats::read_phantom(find_shared("phantoms", "nema_iq"));
  return file;
}

NemaLayout nema_layout() {
  NemaLayout layout;
  for (const auto& region : nema().regions) {
    const Vec3 centre = region.centre_mm.as<float>();
    const bool hot = region.role == formats::RegionRole::hot;
    if (hot || region.role == formats::RegionRole::cold)
      layout.spheres.push_back({centre, static_cast<float>(region.diameter_mm), hot});
    if (region.role == formats::RegionRole::background) layout.background_mm.push_back(centre);
  }
  return layout;
}

/// Stands for scatter: a source over and beyond the phantom whose line integrals have a closed form.
struct WideSource {
  static constexpr double radius_mm = 215, y_mm = 20, activity_Bq_mL = 100;

  static Phantom phantom() {
    Solid solid(Shape::cylinder, {0, y_mm, 0}, {radius_mm, radius_mm, 240});
    solid.activity_Bq_mL = activity_Bq_mL;
    return Phantom("wide source", {solid});
  }
  /// Its activity along the line with the Gaussian ToF response integrated over a bin of `width_mm`, in Bq/mL mm.
  static double integral(const Lor& lor, double sigma_mm, double width_mm) {
    const Vec3d a = lor.end1.as<double>(), b = lor.end2.as<double>(), middle = 0.5 * (a + b);
    const double length = norm(b - a);
    const Vec3d u = (1 / length) * (b - a), from{middle.x, middle.y - y_mm, 0};
    const double across2 = u.x * u.x + u.y * u.y, along = -(from.x * u.x + from.y * u.y) / across2;
    const double gap2 = from.x * from.x + from.y * from.y - along * along * across2;
    if (gap2 >= radius_mm * radius_mm) return 0;
    const double half = std::sqrt((radius_mm * radius_mm - gap2) / across2);
    // Antiderivative of the normal distribution function.
    const auto ramp = [](double x) {
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2) + std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    };
    const auto in_bin = [&](double end_mm) {
      const double low = (end_mm - static_cast<double>(lor.tof_mm) - 0.5 * width_mm) / sigma_mm;
      return sigma_mm * (ramp(low + width_mm / sigma_mm) - ramp(low));
    };
    const double inside = in_bin(std::min(along + half, 0.5 * length)) - in_bin(std::max(along - half, -0.5 * length));
    return activity_Bq_mL * std::max(inside, 0.0);  // rounding
  }
};

/// The wide source on a coarse lattice of lines and ToF, as a scatter simulation would give it.
ScatterEstimate coarse_scatter() {
  ScatterEstimate estimate{{21, 12, 5, 5, 31}, 20, 36, 15, {}};
  std::array<int, 5> at{};
  for (at[4] = 0; at[4] < estimate.size[4]; ++at[4])
    for (at[3] = 0; at[3] < estimate.size[3]; ++at[3])
      for (at[2] = 0; at[2] < estimate.size[2]; ++at[2])
        for (at[1] = 0; at[1] < estimate.size[1]; ++at[1])
          for (at[0] = 0; at[0] < estimate.size[0]; ++at[0])
            estimate.values.push_back(
                static_cast<float>(WideSource::integral(estimate.line(at, 260), ring().tof_sigma_mm(), 1)));
  return estimate;
}

/// event_corrections with all of these corrections, and with its files in its own folder.
struct Corrections {
  Corrections() : mu(nema().phantom.mu_image(nema_grid)), gadget("event_corrections", parameters()) {}
  std::string parameters() const {
    write_nifti(folder / "mu.nii.gz", mu);
    write_scatter(folder / "scatter.nii.gz", coarse_scatter());
    return fmt::format(
        "{{mu_map: {0}/mu.nii.gz, scatter: {{file: {0}/scatter.nii.gz}}, randoms: {{from: delayeds}}, reference_s: 1, "
        "backend: cpu}}",
        folder.path().string());
  }
  TemporaryFolder folder;
  Image mu;
  RegisteredGadgetTest<EventBatch> gadget;
};

/// Lines and ToF bins drawn evenly among those that the phantom reaches, with its projection.
struct Sample {
  EventBatch events;
  std::vector<float> projection;  // (A f)_i of the phantom f
};
Sample draw(const std::shared_ptr<const Scanner>& scanner, ListModeProjector& projector, int drawn) {
  std::mt19937 random(7);
  const auto detectors = static_cast<std::uint32_t>(scanner->detectors->size());
  const auto bins = static_cast<std::uint32_t>(ring().tof_bins);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  EventBatch all;
  all.count = drawn;
  all.scanner = scanner;
  all.detectors = scanner->detectors;
  all.tof = scanner->tof.front();
  all.duration_s = 1;
  all.detector1 = all.detector2 = Buffer<std::uint32_t>(Memory::host, drawn);
  all.tof_mm = Buffer<float>(Memory::host, drawn);
  for (int i = 0; i < drawn;) {
    const std::uint32_t a = below(detectors), b = below(detectors);
    if (!scanner->in_coincidence(a, b)) continue;
    all.detector1[i] = std::max(a, b);
    all.detector2[i] = std::min(a, b);
    all.tof_mm[i++] = (static_cast<float>(below(bins)) - 0.5f * static_cast<float>(bins - 1)) * all.tof.bin_width_mm;
  }
  const Image phantom = nema().phantom.activity_image(nema_grid);
  std::vector<float> projection(static_cast<std::size_t>(drawn));
  projector.forward(all.view(), phantom.voxels.data(), projection.data());
  Sample sample;
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < drawn; ++i)
    if (projection[static_cast<std::size_t>(i)] > 0) kept.push_back(i);
  for_each_array(all, [&]<class T>(Buffer<T>& array) {
    if (array.empty()) return;
    Buffer<T> fewer(Memory::host, static_cast<std::int64_t>(kept.size()));
    for (std::size_t k = 0; k < kept.size(); ++k) fewer[static_cast<std::int64_t>(k)] = array[kept[k]];
    array = std::move(fewer);
  });
  for (const std::int64_t i : kept) sample.projection.push_back(projection[static_cast<std::size_t>(i)]);
  all.count = static_cast<std::int64_t>(kept.size());
  sample.events = std::move(all);
  return sample;
}

/// OSEM of expected counts: x <- x / (A^T m) * A^T(y / (A x + c/m)), over every eighth line at a time.
Image reconstruct(const EventBatch& events, const std::vector<float>& counts, ListModeProjector& projector,
                  int iterations) {
  constexpr std::int64_t subsets = 8;
  const std::int64_t n = events.count / subsets;
  std::vector<float> values(static_cast<std::size_t>(n));
  const auto back = [&](const EventView& view) {
    Image image = Image::zeros(nema_grid);
    projector.back(view, values.data(), image.voxels.data());
    return image;
  };
  std::vector<Image> inverse;
  for (std::int64_t k = 0; k < subsets; ++k) {
    for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = events.multiplicative[k * n + i];
    inverse.push_back(inverse_sensitivity(back(events.view().slice(k * n, n))));
  }
  Image estimate = Image::filled(nema_grid, 1000);
  for (std::int64_t update = 0; update < iterations * subsets; ++update) {
    const std::int64_t k = update % subsets;
    const EventView view = events.view().slice(k * n, n);
    projector.forward(view, estimate.voxels.data(), values.data());
    for (std::int64_t i = 0; i < n; ++i) {
      float& value = values[static_cast<std::size_t>(i)];
      value += view.additive ? view.additive[i] : 0.0f;
      value = value > 0 ? counts[static_cast<std::size_t>(k * n + i)] / value : 0.0f;
    }
    em_update(estimate, inverse[static_cast<std::size_t>(k)], back(view), 1);
  }
  return estimate;
}

}  // namespace

TEST_CASE("NEMA: corrected data give the contrast and background of ideal data within 3%") {
  const auto projector = make_joseph_projector(nema_grid, {}, Backend::cpu);
  // Next to no activity: only the delayeds of this scan are used.
  SimulationOptions options{.seed = 4, .activity_scale = 1e-3, .randoms_cps = randoms_cps, .delayeds = true};
  EventSimulator simulator(ring(), nema().phantom, options);
  const auto scanner = simulator.scanner();
  const Sample sample = draw(scanner, *projector, 500'000);
  const EventView lines = sample.events.view();

  Corrections corrections;
  SimulatedEvents made = simulator.next_seconds(10);
  corrections.gadget.send(std::move(made.delayeds));
  EventBatch events = sample.events;
  events.duration_s = 10;  // the delayeds' time
  corrections.gadget.send(std::move(events));
  corrections.gadget.finish();

  EventBatch ideal = sample.events;
  ideal.multiplicative = Buffer<float>(Memory::host, ideal.count);
  const RandomsModel randoms = randoms_of_rate(*scanner, randoms_cps);
  RingScanner equal = ring();
  equal.crystal_efficiency_spread = 0;
  const auto geometry = make_scanner(equal);
  std::vector<float> ideal_counts, counts;
  double trues = 0, scattered = 0, accidental = 0;
  for (std::int64_t i = 0; i < lines.count; ++i) {
    const std::uint32_t a = lines.detector1[i], b = lines.detector2[i];
    const Lor lor = lines.lor(i);
    const double efficiency = static_cast<double>(scanner->efficiency(a, b)), width = ring().tof_bin_mm();
    const double projection = static_cast<double>(sample.projection[static_cast<std::size_t>(i)]);
    const double t =
        efficiency * std::exp(-nema().phantom.attenuation(lor.end1.as<double>(), lor.end2.as<double>())) * projection;
    const double s = efficiency * WideSource::integral(lor, ring().tof_sigma_mm(), width);
    const double r = static_cast<double>(randoms.rate(a, b)) / ring().tof_bins;
    ideal.multiplicative[i] = geometry->efficiency(a, b);
    ideal_counts.push_back(static_cast<float>(static_cast<double>(ideal.multiplicative[i]) * projection));
    counts.push_back(static_cast<float>(t + s + r));
    trues += t, scattered += s, accidental += r;
  }
  // The corrections are not small.
  CHECK(scattered > 0.2 * trues);
  CHECK(accidental > 0.2 * trues);

  // So many iterations because randoms and scatter slow EM down in cold spheres.
  const Image expected = reconstruct(ideal, ideal_counts, *projector, 24);
  const Image corrected = reconstruct(*corrections.gadget.out.all().back(), counts, *projector, 24);
  const NemaResult one = nema_image_quality(expected, nema_layout());
  const NemaResult two = nema_image_quality(corrected, nema_layout());
  for (std::size_t s = 0; s < one.spheres.size(); ++s) {
    CAPTURE(one.spheres[s].diameter_mm);
    CHECK(two.spheres[s].contrast_percent == approx(one.spheres[s].contrast_percent).epsilon(0.03));
    CHECK(two.spheres[s].background_mean == approx(one.spheres[s].background_mean).epsilon(0.005));
    CHECK(two.spheres[s].background_variability_percent < 3);
  }
}
// SPDX-License-Identifier: Apache-2.0
