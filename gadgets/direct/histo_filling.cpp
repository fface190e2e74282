// Histo-images while they fill: see histo_filling.hpp.
#include "gadgets/direct/histo_filling.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "gadgets/direct/histo_terms.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/motion/still.hpp"
#include "kernels/correct/isotopes.hpp"
#include "kernels/direct/direct.hpp"
#include "kernels/direct/steepest_line.hpp"
#include "kernels/types/host_batch.hpp"

namespace tofstream {
namespace {

// An event lies at the middle of its bin, whose width adds its variance; once more where it is spread over it.
float deposited_sigma_mm(const TofModel& tof, DepositSpread spread) {
  constexpr float uniform = 12;
  const float times = spread == DepositSpread::tof_bin ? 2 : 1;
  return std::sqrt(tof.sigma_mm * tof.sigma_mm + times * tof.bin_width_mm * tof.bin_width_mm / uniform);
}

void require_within_scanner(float acceptance_deg, const Scanner& scanner) {
  constexpr double rounding_deg = 1e-3;
  const double steepest_deg = steepest_line_deg(scanner);
  if (static_cast<double>(acceptance_deg) <= steepest_deg + rounding_deg) return;
  throw std::invalid_argument(fmt::format(
      "acceptance_deg: {:g} degrees is beyond the scanner, whose steepest line has {:.2f}: lower acceptance_deg to "
      "that or less, so that each view's lines lie on both sides of its direction",
      acceptance_deg, std::floor(100 * steepest_deg) / 100));
}

}  // namespace

MemoryNeed histo_memory(const HistoSettings& settings, std::size_t views_a_message, bool lives_there) {
  const auto views = static_cast<std::size_t>(settings.views.count());
  const std::size_t expected = settings.randoms.from != HistoRandomsFrom::none || !settings.scatter.file.empty();
  const std::size_t arrays = 2 + expected;  // of views: counts, sensitivity, randoms and scatter
  const std::size_t held = arrays + (settings.scatter.file.empty() ? 0 : 2);  // scatter apart, and what it is made from
  // Sums of 8 bytes, and terms or the counts.
  const std::size_t on_device =
      2 + (lives_there ? 1 + (settings.randoms.from != HistoRandomsFrom::none) + !settings.scatter.file.empty() : 1);
  const std::size_t image = settings.image.bytes();
  // Whole counts take 2 bytes for 4, and on the GPU for sums of 8.
  const bool is_whole = settings.counts == HistoCounts::whole;
  const std::size_t saved = is_whole ? image / 2 : 0, saved_there = is_whole ? image + image / 2 : 0;
  return {.host_bytes = memory_product(views, memory_product(held, image) - saved),
          .message_bytes = memory_product(views_a_message, memory_product(arrays, image) - saved),
          .stream_bytes = lives_there ? 0 : memory_product(views, memory_product(arrays, image) - saved),
          .gives_on_device = lives_there && wants_cuda(settings.backend),
          .room_bytes =
              wants_cuda(settings.backend) ? memory_product(views, memory_product(on_device, image) - saved_there) : 0,
          .room_on_device = wants_cuda(settings.backend),
          .lower = "views",
          .note = "where the image is not square, its views on `lattice: view` are as wide as its longer side"};
}

HistoFilling::HistoFilling(HistoSettings settings, Context& context)
    : p_(std::move(settings)), backend_(p_.backend), randoms_(p_.randoms) {
  validate(p_.views);
  if (p_.counts == HistoCounts::whole) require_whole_deposit(p_.deposit, p_.spread);
  if (p_.image.basis == Basis::blobs)
    throw std::invalid_argument("image: histo-images are for images of voxels, not of blobs");
  if (p_.mu_map.empty()) return;
  mu_ = read_mu_map(p_.mu_map);
  require_per_cm(p_.mu_map, *mu_);
  const std::string warning = other_mu_energy(p_.mu_map.string(), mu_map_energy_keV(p_.mu_map), annihilation_keV);
  if (!warning.empty()) context.log().warning(warning);
}

void HistoFilling::add(EventBatch batch, Context& context) {
  require_still(batch, "histo_deposit");
  if (batch.delayed) return randoms_.take_delayeds(batch, context);
  quantity_.add(batch.quantity);
  note_time(batch);
  if (batch.count > 0) require_depositable(batch);  // before the sensitivity, which takes its time
  if (batch.scanner && !has_begun()) {
    randoms_.begin(batch.scanner);
    scanner_ = batch.scanner;
    begin(*batch.scanner, context);
  }
  if (batch.count == 0) return;
  if (!has_begun())
    throw std::runtime_error(
        "the events do not say which scanner recorded them, so nobody knows their sensitivity: take them from a "
        "decoder or a simulator");
  if (batch.live && !std::exchange(has_pattern_, true))
    context.log().warning(
        "live fractions of pairs of modules differ, of which histo-images correct only the mean: reconstruct from list "
        "mode where that matters");
  randoms_.note_window(batch.tof);
  const DepositTally tally = deposit(std::move(batch));
  tally_ += tally;
  const auto reject = [&](std::uint64_t events_out, const char* why) {
    if (events_out > 0) context.books().rejected(events_out, why);
  };
  reject(tally.beyond_acceptance, "more oblique than acceptance_deg");
  reject(tally.outside, "deposited outside the histo-images");
  reject(tally.no_line, "no line, or a ToF that is not finite");
}

// The sensitivity comes first, so that what is wrong with the views is said before all events have come.
void HistoFilling::begin(const Scanner& scanner, Context& context) {
  require_within_scanner(p_.views.acceptance_deg, scanner);
  const Grid grid = p_.image.grid(&scanner);
  context.report("image", grid_in_words(grid));
  if (mu_)
    if (const std::string warning = incomplete_mu_map(p_.mu_map.string(), *mu_, scanner); !warning.empty())
      context.log().warning(warning);
  set_ = direct_view_set(grid, p_.views, p_.lattice);
  grid_ = grid;
  make_sensitivity(scanner, context);
  lay_down_scatter(scanner, context);
  events_.assign(set_.places.size(), 0);
  begin_deposit(context);
  context.report("backend", std::string(on_device_ ? "cuda" : "cpu"));
}

bool HistoFilling::device_has_room(std::size_t bytes) const {
  return free_device_bytes() > memory_sum(p_.device_reserve, bytes);
}

void HistoFilling::begin_deposit(Context& context) {
  const auto points = static_cast<std::size_t>(terms_.size());
  const std::size_t bytes_of_sum = p_.counts == HistoCounts::whole ? 2 : 8;
  if (backend_ == Backend::cuda && device_has_room(points * bytes_of_sum)) {
    try {
      on_device_.emplace(*grid_, p_.views, p_.lattice, p_.deposit, p_.spread, p_.counts);
      return;
    } catch (const OutOfMemory&) {  // less is free than was estimated
    }
  }
  if (backend_ == Backend::cuda)
    context.log().info(
        "the GPU has no room for the histo-images of all views: events are deposited on the host, and views copied to "
        "the GPU for each pass (device_reserve_gib says how much stays free)");
  on_host_.emplace(*grid_, p_.views, p_.lattice, p_.deposit, p_.spread);
  if (p_.counts == HistoCounts::whole)
    whole_counts_ = Buffer<std::uint16_t>::zeros(Memory::host, on_host_->points());
  else
    counts_ = Buffer<float>::zeros(Memory::host, on_host_->points());
}

void HistoFilling::make_sensitivity(const Scanner& scanner, Context& context) {
  HistoTerms made = histo_terms(*grid_, p_.views, p_.lattice, scanner,
                                {.most_lines = p_.most_lines, .mu_per_mm = mu_ ? &*mu_ : nullptr}, context);
  context.report("sensitivity_lines", made.lines.drawn);
  context.report("sensitivity_lines_accepted", made.accepted);
  if (made.lines.drawn < made.lines.all)
    context.log().info(
        fmt::format("the histo-images' sensitivity is from {} of {} lines", made.lines.drawn, made.lines.all));
  terms_ = std::move(made.values);
}

// Once for all, for 1 s: it comes before the first event, and grows with the time alone.
void HistoFilling::lay_down_scatter(const Scanner& scanner, Context& context) {
  if (p_.scatter.file.empty()) return;
  const auto estimate = scatter_of(scanner).read(p_.scatter.file);
  Buffer<float> unattenuated;
  if (mu_) {
    context.log().info("the scatter's lines are laid down once more, without attenuation");
    unattenuated = histo_terms(*grid_, p_.views, p_.lattice, scanner, {.most_lines = p_.most_lines}, context).values;
  }
  const HistoScatter laid(place(), scanner, (mu_ ? unattenuated : terms_).span());
  scatter_ = Buffer<float>(Memory::host, terms_.size());
  for (int v = 0; v < p_.views.count(); ++v)
    laid.add(*estimate, v, 1, nullptr, scatter_.data() + v * laid.points_of_view(), Memory::host);
  double rate = 0;
  for (const float of_point : scatter_.span()) rate += static_cast<double>(of_point);
  context.report("scatter_in_views_cps", rate);
}

void HistoFilling::require_depositable(const EventBatch& batch) {
  if (batch.tof_mm.empty() || !(batch.tof.sigma_mm > 0))
    throw std::runtime_error("histo-images need events with ToF: reconstruct others from list mode");
  if (!batch.tof_width_mm.empty())
    throw std::runtime_error(
        "the events' ToF bins differ in width, and histo-images have one resolution: reconstruct from list mode");
  if (!batch.counts.empty())
    throw std::runtime_error(
        "bins of a histogram came, and histo-images are filled with single events: reconstruct them from list mode, as "
        "castor_osem does");
  if (!batch.additive.empty())
    throw std::runtime_error(
        "the events have terms for randoms or scatter of their own, which do not tell those of a whole line: leave "
        "out randoms and scatter of event_corrections and give them here, or reconstruct from list mode");
  const float sigma_mm = deposited_sigma_mm(batch.tof, p_.spread);
  if (tof_sigma_mm_ == 0) tof_sigma_mm_ = sigma_mm;
  if (std::abs(sigma_mm - tof_sigma_mm_) > 1e-3f * tof_sigma_mm_)
    throw std::runtime_error(
        fmt::format("events of two ToF resolutions came, with a sigma of {:g} and {:g} mm: histo-images have one",
                    tof_sigma_mm_, sigma_mm));
}

void HistoFilling::note_time(const EventBatch& batch) {
  if (batch.duration_s > 0) start_s_ = std::min(start_s_, batch.start_s);
  duration_s_ += batch.duration_s;
  exposed_s_ += batch.duration_s * batch.exposure;
}

DepositTally HistoFilling::deposit(EventBatch batch) {
  if (!on_device_) {
    const EventBatch here = host_batch(std::move(batch));
    if (p_.counts == HistoCounts::whole) return on_host_->add(here.view(), whole_counts_.data(), events_.data());
    return on_host_->add(here.view(), counts_.data(), events_.data());
  }
  if (!on_host(batch.memory())) return on_device_->add(batch.view(), events_.data());
  return on_device_->add(batch.to(Memory::device).view(), events_.data());
}

void HistoFilling::report(Context& context) const {
  context.report("deposited", static_cast<std::int64_t>(tally_.deposited));
  context.report("rejected", static_cast<std::int64_t>(tally_.rejected()));
  context.log().info(fmt::format("{} of {} events deposited into {} views; {} are more oblique, {} lie outside",
                                 tally_.deposited, tally_.deposited + tally_.rejected(), set_.places.size(),
                                 tally_.beyond_acceptance, tally_.outside));
  if (tally_.deposited == 0)
    throw std::runtime_error(
        fmt::format("nothing was deposited: {} events are more oblique than acceptance_deg {:g}, {} lie outside the "
                    "histo-images of image: {}",
                    tally_.beyond_acceptance, p_.views.acceptance_deg, tally_.outside, grid_in_words(*grid_)));
}

void HistoFilling::lay_down_randoms(Context& context) {
  additive_ = randoms_.lay_down(place(), duration_s_, context);
}

void HistoFilling::bring_to_host() {
  if (!on_device_) return;
  if (p_.counts == HistoCounts::whole) {
    whole_counts_ = Buffer<std::uint16_t>(Memory::host, on_device_->points());
    on_device_->copy_whole_counts(0, p_.views.count(), whole_counts_.data(), Memory::host);
  } else {
    counts_ = on_device_->counts().to(Memory::host);
  }
  synchronize(nullptr);
  on_device_.reset();
}

std::shared_ptr<const ViewSet> HistoFilling::view_set(double start_s, double duration_s) const {
  auto set = std::make_shared<ViewSet>(set_);
  set->histo.tof_sigma_mm = tof_sigma_mm_;
  set->histo.deposit_variance = deposit_variance(p_.deposit);
  set->histo.scanner = scanner_;
  for (ViewPlace& place : set->places) {
    place.start_s = start_s;
    place.duration_s = duration_s;
  }
  return set;
}

ViewBatch HistoFilling::views(std::span<const int> numbers, std::shared_ptr<const ViewSet> set, double exposure) {
  const std::int64_t pixels = set->pixels();
  const Memory memory = this->memory();
  ViewBatch batch{.count = std::ssize(numbers) * pixels, .set = std::move(set), .quantity = quantity()};
  for (const int number : numbers) batch.records.push_back({.view = number, .exposure = exposure});
  batch.weigh(1);
  const auto part = [&]<class T>(const Buffer<T>& all) {
    Buffer<T> part(memory, batch.count);
    for (std::size_t v = 0; v < numbers.size(); ++v)
      detail::copy(part.data() + static_cast<std::int64_t>(v) * pixels, memory, all.data() + numbers[v] * pixels,
                   all.memory(), static_cast<std::size_t>(pixels) * sizeof(T), nullptr);
    return part;
  };
  if (!on_device_) {
    if (p_.counts == HistoCounts::whole)
      batch.whole_counts = part(whole_counts_);
    else
      batch.counts = part(counts_);
    batch.multiplicative = part(terms_);
    if (!additive_.empty()) batch.additive = part(additive_);
    add_scatter(batch);
    return batch;
  }
  bring_to_device(device_terms_, terms_);
  bring_to_device(device_additive_, additive_);
  bring_to_device(device_scatter_, scatter_);
  batch.index = batch.index.to(memory);
  batch.weight = batch.weight.to(memory);
  if (p_.counts == HistoCounts::whole)
    batch.whole_counts = Buffer<std::uint16_t>(memory, batch.count);
  else
    batch.counts = Buffer<float>(memory, batch.count);
  for (std::size_t v = 0; v < numbers.size(); ++v) {
    const auto at = static_cast<std::int64_t>(v) * pixels;
    if (p_.counts == HistoCounts::whole)
      on_device_->copy_whole_counts(numbers[v], 1, batch.whole_counts.data() + at, memory);
    else
      on_device_->copy_counts(numbers[v], 1, batch.counts.data() + at);
  }
  batch.multiplicative = part(device_terms_.empty() ? terms_ : device_terms_);
  if (!additive_.empty()) batch.additive = part(device_additive_.empty() ? additive_ : device_additive_);
  add_scatter(batch);
  synchronize(nullptr);
  return batch;
}

void HistoFilling::bring_to_device(Buffer<float>& there, const Buffer<float>& all) {
  if (all.empty() || !there.empty() || !device_has_room(all.bytes())) return;
  try {
    there = all.to(Memory::device);
  } catch (const OutOfMemory&) {  // less is free than was estimated: it comes from the host
    there = {};
  }
}

void HistoFilling::add_scatter(ViewBatch& batch) {
  if (scatter_.empty()) return;
  const bool comes_from_host = on_device_ && device_scatter_.empty();
  const Buffer<float>& all = on_device_ && !comes_from_host ? device_scatter_ : scatter_;
  const std::int64_t pixels = batch.set->pixels();
  Buffer<float> sum(memory(), batch.count);
  for (std::size_t v = 0; v < batch.records.size(); ++v) {
    const ViewRecord& record = batch.records[v];
    const double duration_s = batch.set->places[static_cast<std::size_t>(record.view)].duration_s;
    const double seconds = (duration_s > 0 ? duration_s : 1) * record.exposure;
    const auto at = static_cast<std::int64_t>(v) * pixels;
    const float* of_view = all.data() + record.view * pixels;
    Buffer<float> there;
    if (comes_from_host) {
      there = Buffer<float>(Memory::device, pixels);
      detail::copy(there.data(), Memory::device, of_view, Memory::host, there.bytes(), nullptr);
      of_view = there.data();
    }
    add_expected(batch.additive.empty() ? nullptr : batch.additive.data() + at, seconds, of_view, nullptr, pixels,
                 sum.data() + at, memory());
  }
  batch.additive = std::move(sum);
}

ViewBatch HistoFilling::all_without_counts(std::shared_ptr<const ViewSet> set) const {
  ViewBatch all{.count = std::ssize(set->places) * set->pixels(), .set = std::move(set)};
  for (std::size_t v = 0; v < all.set->places.size(); ++v) all.records.push_back({.view = static_cast<int>(v)});
  all.weigh(1);
  all.multiplicative = terms_;
  return all;
}

// The views' sensitivity attenuates, and the attenuation of the events' own terms cancels.
std::shared_ptr<const Quantity> HistoFilling::quantity() const {
  if (!quantity_.get()) return nullptr;
  auto made = std::make_shared<Quantity>(*quantity_.get());
  made->attenuated_by = {};
  if (!p_.mu_map.empty()) (*made)[Correction::attenuation] = {CorrectionState::made, p_.mu_map.string()};
  if (!additive_.empty()) (*made)[Correction::randoms] = {CorrectionState::made, randoms_.how()};
  if (!scatter_.empty()) (*made)[Correction::scatter] = {CorrectionState::made, p_.scatter.file.string()};
  return made;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
