// Reads projection data of PET as STIR writes them (Interfile): sinograms and viewgrams, with ToF or without.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/interfile/bin_reader.hpp"
#include "gadgets/io/interfile/quantity.hpp"
#include "gadgets/io/interfile/rings.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/types/recorded_lines.hpp"

namespace tofstream {
namespace {

// Rings and detectors are the same, and lie as far from the axis and from each other to 2 %: a header's depth of
// interaction is another program's mean.
void require_scanner(const interfile::ProjectionHeader& header, const std::string& name) {
  constexpr double exactly = 0, nearly = 0.02;
  const std::filesystem::path file = find_shared("scanners", name);
  const auto wanted = petsird::to_scanner(formats::petsird_header_of(file, 0).header.scanner);
  const interfile::ScannerFigures figures = interfile::rings_of(*wanted).figures;
  const auto require = [&](const char* what, double found, double expected, double tolerance) {
    if (std::abs(found - expected) > tolerance * expected)
      throw std::runtime_error(fmt::format("{}: sinograms of another scanner: {} is {:g}, and {:g} in {} ({})",
                                           header.file.string(), what, found, expected, wanted->name, file.string()));
  };
  require("the number of rings", header.scanner.rings, figures.rings, exactly);
  require("the number of detectors per ring", header.scanner.detectors, figures.detectors, exactly);
  require("the detectors' distance from the axis in mm", header.scanner.radius_mm(), figures.radius_mm(), nearly);
  require("the distance between rings in mm", header.scanner.ring_distance_mm, figures.ring_distance_mm, nearly);
}

const interfile::ProjectionHeader& checked(const interfile::ProjectionHeader& header, const std::string& scanner) {
  if (!scanner.empty()) require_scanner(header, scanner);
  return header;
}

struct InterfileSource {
  struct Params {
    std::filesystem::path path, normalisation, attenuation, additive, background;
    std::string scanner;
    int most_segment = -1;
    double duration_s = 0;
    int batch_events = 1 << 18;
    double reference_s = 1;
    bool tof = true, spread = false;
  };
  static constexpr auto params = describe(
      param<&Params::path>("path", required, reads_file, "Header of the data (.hs)"),
      param<&Params::normalisation>("normalisation", reads_file,
                                    "Header of factors that each bin's counts are multiplied with, as STIR has them; "
                                    "none: a bin's efficiency is the number of detector pairs that it joins"),
      param<&Params::attenuation>("attenuation", reads_file,
                                  "Header of attenuation correction factors, at least 1; none where the normalisation "
                                  "has them"),
      param<&Params::additive>("additive", reads_file,
                               "Header of STIR's additive projection data: expected randoms and scatter times "
                               "normalisation and attenuation factors, in the whole scan"),
      param<&Params::background>("background", reads_file,
                                 "Or: expected counts of randoms and scatter in the whole scan, without factors"),
      param<&Params::scanner>("scanner", reads_one_of("scanners"),
                              "The scanner that the data must be of, of share/scanners or a YAML file; none: any"),
      param<&Params::most_segment>("most_segment", range(-1, 10000),
                                   "Segments from minus this to this are used, as STIR numbers them; -1: all"),
      param<&Params::duration_s>("duration_s", range(0, 1e9), unit("s"), "Length of the scan; 0: as the header says"),
      param<&Params::batch_events>("batch_events", range(1, 1 << 28), "Bins with counts in a batch"),
      param<&Params::reference_s>("reference_s", range(1e-9, 1e9), unit("s"),
                                  "Length of scan time whose decays the image counts, as the gadget that makes subsets "
                                  "has it: put another one at the pipeline's top"),
      param<&Params::tof>("tof", "Give bins their ToF; without it those of a line are added up"),
      param<&Params::spread>("spread",
                             "Project the pairs of detectors that a bin joins (span, mashed views) one by one, as the "
                             "scan counted them; without it a bin is one line between the means of their ends, which "
                             "is faster and blurs"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params& p) {
    constexpr std::size_t bin_bytes = 32, batch_bytes = 40;
    const auto bins = static_cast<std::size_t>(p.batch_events);
    return {.host_bytes = bin_bytes * bins,
            .message_bytes = batch_bytes * bins,
            .lower = "batch_events",
            .note = "32 bytes for each bin with counts of the whole file"};
  }

  explicit InterfileSource(const Params& p)
      : header_(interfile::read_projection_header(p.path)),
        reader_(checked(header_, p.scanner), {.batch_events = p.batch_events,
                                              .tof = p.tof,
                                              .reference_s = p.reference_s,
                                              .duration_s = p.duration_s,
                                              .most_segment = p.most_segment,
                                              .spread = p.spread,
                                              .factors = {p.normalisation, p.attenuation},
                                              .additive = p.additive,
                                              .background = p.background}),
        quantity_(std::make_shared<const Quantity>(
            interfile::quantity_of(header_, {.has_normalisation = !p.normalisation.empty(),
                                             .has_attenuation = !p.attenuation.empty(),
                                             .has_background = !p.additive.empty() || !p.background.empty(),
                                             .reference_s = p.reference_s}))) {}

  void run(Emit<EventBatch>& emit, std::stop_token stop, Context& context) {
    say_what_came(context);
    bool is_booked = false;
    std::uint64_t given = 0;
    while (!stop.stop_requested()) {
      auto batch = reader_.next();
      if (!std::exchange(is_booked, true)) book(context);
      if (!batch) break;
      batch->quantity = quantity_;
      given += batch->event_count();
      context.progress(static_cast<double>(given), static_cast<double>(reader_.received()), "counts");
      emit(std::move(*batch));
    }
    context.report("empty_bins", static_cast<std::int64_t>(reader_.empty_bins()));
  }

 private:
  void book(Context& context) const {
    context.books().received(reader_.received());
    if (reader_.impossible() > 0) context.books().rejected(reader_.impossible(), "a correction factor of 0");
    if (reader_.other_segments() > 0) context.books().rejected(reader_.other_segments(), "segments that are not used");
  }

  void say_what_came(Context& context) const {
    context.report("scanner", reader_.scanner()->name);
    context.report("detectors", reader_.scanner()->detectors->size());
    context.report("bins", header_.bins());
    context.report("tof_positions", std::int64_t{header_.tof_positions});
    context.report("spread", reader_.scanner()->lines->are_spread());
    for (const std::string& note : header_.notes)
      context.log().warning(fmt::format("{}: {}", header_.file.string(), note));
    if (reader_.duration_s() == 0)
      context.log().info(
          fmt::format("{} states no scan time: images are relative, or give duration_s", header_.file.string()));
    if (!header_.isotope.empty())
      context.log().info(
          fmt::format("the decay of {} is not corrected: values are means over the scan", header_.isotope));
  }

  const interfile::ProjectionHeader header_;
  interfile::BinReader reader_;
  const std::shared_ptr<const Quantity> quantity_;
};

TOFSTREAM_GADGET(InterfileSource, "interfile_source",
                 "Reads projection data of PET as STIR writes them: sinograms, with ToF or without");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
