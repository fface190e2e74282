// Writes simulated events as a PETSIRD file that the standard's own tools read; it appears by rename when it is whole.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/atomic_file.hpp"
#include "core/gadget.hpp"
#include "gadgets/formats/petsird/from_ring.hpp"
#include "gadgets/formats/petsird/tof_bins.hpp"
#include "gadgets/formats/petsird/writer.hpp"
#include "gadgets/formats/scanner_yaml.hpp"
#include "gadgets/formats/shared_files.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {
namespace {

struct PetsirdWriter {
  struct Params {
    std::string scanner;
    std::filesystem::path file = "scan.petsird";
    double crystal_efficiency_spread = 0;
    bool delayeds = false;
  };
  static constexpr auto params =
      describe(param<&Params::scanner>("scanner", required,
                                       "The scanner that recorded the events, of share/scanners or a YAML file"),
               param<&Params::file>("file", "Name in the output folder"),
               param<&Params::crystal_efficiency_spread>("crystal_efficiency_spread", range(0, 0.99),
                                                         "As the simulator has it: efficiencies for the header"),
               param<&Params::delayeds>("delayeds", "The events hold delayed coincidences too"));
  static constexpr bool own_thread = true;
  // The coincidences of one batch, which stay at the size of the largest: two detection bins and a ToF bin for each
  // event's two detectors and ToF.
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) {
    return {.host_bytes = inputs[0],
            .lower = "batch_events",
            .note = "while it starts, also the scanner's pair efficiencies: at most 256 MiB, three times"};
  }

  PetsirdWriter(const Params& p, Context& context) : edges_mm_(), file_(context.output_dir() / p.file) {
    RingScanner ring = formats::read_ring_scanner(find_shared("scanners", p.scanner));
    ring.crystal_efficiency_spread = p.crystal_efficiency_spread;
    auto made = petsird::header_of(ring);
    edges_mm_ = made.header.scanner.tof_bin_edges_mm.at(0).at(0);
    if (!made.has_efficiencies)
      context.log().warning(
          "the tables of pair efficiencies would be too large and are left out: images of this file are on no absolute "
          "scale");
    if (p.delayeds) made.header.scanner.delayed_event_policy = made.header.scanner.prompt_event_policy;
    writer_.emplace([this](std::span<const std::byte> bytes) { file_.write(bytes); }, std::move(made.header));
  }

  // Delayeds wait for the prompts of the same time, since a block's time is that of all its lists.
  void process(const EventBatch& batch, Context& context) {
    const petsird::TimeInterval interval = interval_of(batch);
    if (batch.delayed) {
      if (!delayeds_.empty()) write({}, delayeds_interval_);
      delayeds_interval_ = interval;
      fill(delayeds_, batch, context);
      return;
    }
    if (!delayeds_.empty() && delayeds_interval_ != interval) write({}, delayeds_interval_);
    fill(prompts_, batch, context);
    write(prompts_, interval);
  }

  void flush(Context& context) {
    if (!delayeds_.empty()) write({}, delayeds_interval_);
    writer_->finish();
    file_.commit();
    context.report("file", file_.path().string());
  }

 private:
  using Coincidences = std::vector<petsird::CoincidenceEvent>;

  static petsird::TimeInterval interval_of(const EventBatch& batch) {
    const auto ms = [](double seconds) { return static_cast<std::uint32_t>(std::llround(1000 * seconds)); };
    return {ms(batch.start_s), ms(batch.start_s + batch.duration_s)};
  }

  void write(std::span<const petsird::CoincidenceEvent> prompts, petsird::TimeInterval interval) {
    petsird::EventLists delayeds;
    if (!delayeds_.empty()) delayeds.push_back(delayeds_);
    writer_->write_events(interval, {prompts}, delayeds);
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

  petsird::BinEdges edges_mm_;
  AtomicFile file_;
  std::optional<petsird::Writer> writer_;
  Coincidences prompts_, delayeds_;
  petsird::TimeInterval delayeds_interval_;
};

TOFSTREAM_GADGET(PetsirdWriter, "petsird_writer", "Writes simulated list mode in the standard's binary form");

}  // namespace
}  // namespace tofstream
