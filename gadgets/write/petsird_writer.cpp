// Writes events as a PETSIRD file that the standard's own tools read. The file appears by rename when it is whole.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/atomic_file.hpp"
#include "core/gadget.hpp"
#include "gadgets/io/petsird/from_scanner.hpp"
#include "gadgets/io/petsird/quantity.hpp"
#include "gadgets/io/petsird/singles.hpp"
#include "gadgets/io/petsird/tof_bins.hpp"
#include "gadgets/io/petsird/writer.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"
#include "gadgets/motion/still.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/types/host_batch.hpp"

namespace tofstream {
namespace {

struct PetsirdWriter {
  struct Params {
    std::string scanner;
    std::filesystem::path file = "scan.petsird";
    double crystal_efficiency_spread = 0;
    bool delayeds = false;
    bool singles = false;
    double block_s = 0.1;
  };
  static constexpr auto params = describe(
      param<&Params::scanner>(
          "scanner", reads_one_of("scanners"),
          "The scanner that recorded the events, of share/scanners or a YAML file; none: the header "
          "is made of the places of the events' detectors, and has no efficiencies"),
      param<&Params::file>("file", in_run_folder, "Name in the output folder"),
      param<&Params::crystal_efficiency_spread>("crystal_efficiency_spread", range(0, 0.99),
                                                "As in the simulator: the efficiencies in the header are made from it"),
      param<&Params::delayeds>("delayeds", "The events hold delayed coincidences too"),
      param<&Params::singles>("singles", "They hold singles of each detector too"),
      param<&Params::block_s>(
          "block_s", range(1e-3, 1e6), unit("s"),
          "Longest time block: a longer batch becomes several, over which its events are spread evenly"));
  static constexpr bool own_thread = true;
  // The coincidences of one batch, in memory as large as the largest batch: two detection bins and a ToF bin for each
  // event.
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) {
    return {.host_bytes = inputs[0],
            .lower = "batch_events",
            .note = "while it starts, also the scanner's pair efficiencies: at most 256 MiB, three times"};
  }

  PetsirdWriter(const Params& p, Context& context)
      : block_s_(p.block_s),
        is_named_(!p.scanner.empty()),
        has_singles_(p.singles),
        has_delayeds_(p.delayeds),
        file_(context.output_file(p.file)) {
    if (is_named_) describe_by(p, context);
  }

  // Delayeds wait for the prompts of the same time, since a block's time is that of all its lists.
  void process(const EventBatch& batch, Context& context) {
    require_writable(batch);
    if (!on_host(batch.memory())) return process(host_batch(batch), context);
    if (edges_mm_.empty()) {
      // Those before the first events do not say whether these have ToF, and where its bins lie.
      if (batch.count == 0) return before_events_.push_back(batch);
      describe_by(batch, context);
      for (const EventBatch& empty : std::exchange(before_events_, {})) process(empty, context);
    }
    if (!writer_) begin(batch.quantity.get());
    warn_of_terms(batch, context);
    if (batch.singles) return take_singles(*batch.singles);
    const Stretch stretch{batch.start_s, batch.duration_s};
    if (batch.delayed) {
      write_waiting();
      delayeds_stretch_ = stretch;
      fill(delayeds_, batch, context);
      return;
    }
    if (delayeds_stretch_ != stretch) write_waiting();
    fill(prompts_, batch, context);
    write(prompts_, stretch);
  }

  void flush(Context& context) {
    if (edges_mm_.empty()) throw std::runtime_error("no events came, and no `scanner` is named: no file is written");
    if (!writer_) begin(nullptr);
    write_waiting();
    write_singles();
    writer_->finish();
    file_.commit();
    context.report("file", file_.path().string());
    warn_of_rounding(context);
  }

 private:
  using Coincidences = std::vector<petsird::CoincidenceEvent>;

  void describe_by(const Params& p, Context& context) {
    const std::filesystem::path scanner = find_shared("scanners", p.scanner);
    const ScannerKind& kind = formats::scanner_kind_of(scanner);
    if (!kind.petsird_holds_events)
      throw std::runtime_error(
          fmt::format("{}: this is {}, whose events PETSIRD cannot hold", scanner.string(), kind.words));
    ScannerHeader made = formats::petsird_header_of(scanner, p.crystal_efficiency_spread);
    if (!made.has_efficiencies)
      context.log().warning(
          "the tables of pair efficiencies would be too large, and a header cannot say how crystals' layers differ: "
          "efficiencies of pairs are left out, and images of this file are on no absolute scale");
    take_header(std::move(made.header));
  }

  // Without `scanner`: all that the first events say of theirs.
  void describe_by(const EventBatch& batch, Context& context) {
    if (!batch.scanner || !batch.tof_width_mm.empty())
      throw std::runtime_error(
          "the events do not say which scanner recorded them, or have ToF bins of unequal width: name `scanner`");
    petsird::DescribedScanner made =
        batch.tof_mm.empty() ? petsird::header_of(*batch.scanner, TofModel{})
                             : petsird::header_of(*batch.scanner, batch.tof, static_cast<double>(batch.tof_mm[0]));
    if (!made.left_out.empty())
      context.log().warning(
          fmt::format("left out of the header of {}: {}", file_.path().string(), fmt::join(made.left_out, "; ")));
    take_header(std::move(made.header));
  }

  void take_header(petsird::Header header) {
    edges_mm_ = header.scanner.tof_bin_edges_mm.at(0).at(0);
    if (has_singles_) petsird::state_singles(header.scanner);
    if (has_delayeds_) header.scanner.delayed_event_policy = header.scanner.prompt_event_policy;
    header_ = std::move(header);
  }

  void require_writable(const EventBatch& batch) const {
    require_still(batch, "petsird_writer");
    if (!batch.counts.empty())
      throw std::runtime_error("bins of a histogram came, and PETSIRD holds single events: they cannot be written");
    if (batch.count > 0 && !batch.detectors)
      throw std::runtime_error("events without detectors came, and PETSIRD's name two detectors of a scanner");
  }

  void warn_of_rounding(Context& context) const {
    constexpr double visible = 0.02;
    const double off = seconds_ > 0 ? 1e-3 * static_cast<double>(ms_) / seconds_ - 1 : 0;
    if (std::abs(off) <= visible) return;
    context.log().warning(fmt::format(
        "the events of {:.4g} ms are written as those of {} ms, since a file's times are whole ms: rates and "
        "activities will be off by {:.0f} %; simulate more events, or less activity",
        1e3 * seconds_, ms_, std::abs(100 * off)));
  }

  void warn_of_terms(const EventBatch& batch, Context& context) {
    if (batch.multiplicative.empty() && batch.additive.empty()) return;
    if (!std::exchange(is_warned_, true))
      context.log().warning(fmt::format(
          "{}: the events' own factors and rates of randoms and scatter are left out, for which PETSIRD has "
          "no place: a reconstruction of it is not corrected by them",
          file_.path().string()));
  }

  // The first events say which corrections a reader should make, if they are simulated ones of a named scanner.
  void begin(const Quantity* quantity) {
    if (quantity && is_named_) petsird::state_simulation(header_, *quantity);
    writer_.emplace([this](std::span<const std::byte> bytes) { file_.write(bytes); }, std::move(header_));
  }

  /// The scan time of a batch.
  struct Stretch {
    double start_s = 0, duration_s = 0;
    friend bool operator==(const Stretch&, const Stretch&) = default;
  };

  // Writes delayeds whose time has no prompts.
  void write_waiting() {
    if (!delayeds_.empty()) write({}, delayeds_stretch_);
  }

  // Joined until they cover a second, since times are whole ms.
  void take_singles(const SinglesCounts& singles) {
    if (singles_.counts.empty()) singles_.start_s = singles.start_s;
    singles_.counts.resize(std::max(singles_.counts.size(), singles.counts.size()));
    for (std::size_t d = 0; d < singles.counts.size(); ++d) singles_.counts[d] += singles.counts[d];
    singles_.duration_s = singles.start_s + singles.duration_s - singles_.start_s;
    if (singles_.duration_s >= 1) write_singles();
  }

  void write_singles() {
    if (singles_.counts.empty()) return;
    const auto ms = [](double seconds) { return static_cast<std::uint32_t>(std::llround(1000 * seconds)); };
    writer_->write_block(petsird::SinglesHistogramBlock{
        {ms(singles_.start_s), ms(singles_.start_s + singles_.duration_s)}, {std::move(singles_.counts)}});
    singles_ = {};
  }

  // In blocks of equal times, none longer than asked for except by rounding to ms.
  void write(std::span<const petsird::CoincidenceEvent> prompts, const Stretch& stretch) {
    constexpr double rounding = 1e-9;  // for batches meant to be a whole number of blocks
    const auto blocks = static_cast<std::size_t>(std::max(1.0, std::ceil(stretch.duration_s / block_s_ - rounding)));
    const auto ms = [&](std::size_t block) {
      const double share = static_cast<double>(block) / static_cast<double>(blocks);
      return static_cast<std::uint32_t>(std::llround(1000 * (stretch.start_s + stretch.duration_s * share)));
    };
    const auto part = [&](std::span<const petsird::CoincidenceEvent> events, std::size_t block) {
      const std::size_t begin = events.size() * block / blocks, end = events.size() * (block + 1) / blocks;
      return events.subspan(begin, end - begin);
    };
    for (std::size_t block = 0; block < blocks; ++block) {
      petsird::EventLists delayeds;
      if (!delayeds_.empty()) delayeds.push_back(part(delayeds_, block));
      writer_->write_events({ms(block), ms(block + 1)}, {part(prompts, block)}, delayeds);
    }
    seconds_ += stretch.duration_s;
    ms_ += ms(blocks) - ms(0);
    delayeds_.clear();
  }

  void fill(Coincidences& coincidences, const EventBatch& batch, Context& context) const {
    const EventView events = batch.view();
    coincidences.resize(static_cast<std::size_t>(batch.count));
    std::uint64_t outside = 0;
    std::size_t kept = 0;
    for (std::int64_t i = 0; i < batch.count; ++i) {
      const std::uint32_t bin =
          events.tof_mm ? petsird::tof_bin_of(edges_mm_, static_cast<double>(events.tof_mm[i])) : 0;
      if (bin == petsird::no_tof_bin) {
        ++outside;
        continue;
      }
      coincidences[kept++] = {events.detector1[i], events.detector2[i], bin};
    }
    coincidences.resize(kept);
    context.books().written(kept);
    if (outside > 0) context.books().rejected(outside, "ToF outside the scanner's bins");
  }

  const double block_s_;
  const bool is_named_, has_singles_, has_delayeds_;
  bool is_warned_ = false;
  petsird::BinEdges edges_mm_;  // empty until the header is there
  AtomicFile file_;
  petsird::Header header_;  // until the first events
  std::vector<EventBatch> before_events_;
  std::optional<petsird::Writer> writer_;
  Coincidences prompts_, delayeds_;
  Stretch delayeds_stretch_;
  double seconds_ = 0;     // of the events that are written
  std::int64_t ms_ = 0;    // which the file says that they took
  SinglesCounts singles_;  // not written yet
};

TOFSTREAM_GADGET(PetsirdWriter, "petsird_writer", "Writes list mode in the standard's binary form");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
