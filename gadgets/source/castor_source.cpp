// Reads CASToR's data files of PET, list mode and histograms, with the scanner that they name.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/gadget.hpp"
#include "gadgets/io/castor/event_reader.hpp"
#include "gadgets/io/castor/geometry.hpp"
#include "gadgets/io/castor/listed_lines.hpp"
#include "gadgets/io/castor/quantity.hpp"
#include "gadgets/io/castor/to_scanner.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {
namespace castor {

constexpr auto enum_names(Frame) {
  return names(Frame::castor, "castor", Frame::gantry, "gantry");
}

}  // namespace castor

namespace {

struct CastorSource {
  struct Params {
    std::filesystem::path path, geometry, normalisation;
    castor::Frame frame = castor::Frame::castor;
    int batch_events = 1 << 18;
    double reference_s = 1;
    bool tof = true;
  };
  static constexpr auto params = describe(
      param<&Params::path>("path", required, reads_file, "Header of the data (.cdh)"),
      param<&Params::geometry>("geometry", reads_file,
                               "The scanner's file (.geom or .hscan) or the folder of it; none: beside the header, or "
                               "in $CASTOR_CONFIG/scanner"),
      param<&Params::normalisation>(
          "normalisation", reads_file,
          "Header of the file that lists the lines which can count, with their factors of normalisation and "
          "attenuation, for the sensitivity: of a normalisation, or of a histogram that lists all its lines, such as "
          "`path` itself; none: the sensitivity takes all pairs of crystals alike"),
      param<&Params::frame>("frame",
                            "castor: y points up, as CASToR's documentation says, and is turned over; gantry: y points "
                            "down, as in PETSIRD and DICOM, for files whose writer kept that"),
      param<&Params::batch_events>("batch_events", range(1, 1 << 28), "Events in a batch"),
      param<&Params::reference_s>("reference_s", range(1e-9, 1e9), unit("s"),
                                  "Length of scan time whose decays the image counts, as the gadget that makes subsets "
                                  "has it: put another one at the pipeline's top"),
      param<&Params::tof>("tof", "Give events their ToF; without it randoms and scatter are those of whole lines"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params& p) {
    constexpr std::size_t event_bytes = 56, batch_bytes = 28;
    const auto events = static_cast<std::size_t>(p.batch_events);
    return {.host_bytes = event_bytes * events,
            .message_bytes = batch_bytes * events,
            .lower = "batch_events",
            .note =
                "as much again as the records of a batch take in the file; of a histogram 48 bytes for each bin "
                "with counts"};
  }

  explicit CastorSource(const Params& p)
      : header_(castor::read_data_header(p.path)),
        geometry_(castor::read_geometry(castor::find_geometry(header_, p.geometry))),
        made_(castor::to_scanner(geometry_, header_, p.frame)),
        lines_(lines_of(p)),
        scanner_(with_lines()),
        quantity_(std::make_shared<const Quantity>(
            castor::quantity_of(header_, p.reference_s, lines_ ? &lines_->header() : nullptr))),
        reader_(header_, scanner_, {p.batch_events, p.tof, p.reference_s}) {}

  void run(Emit<EventBatch>& emit, std::stop_token stop, Context& context) {
    say_what_came(context);
    std::uint64_t received = 0, impossible = 0;
    while (!stop.stop_requested()) {
      auto batch = reader_.next();
      context.books().received(reader_.received() - std::exchange(received, reader_.received()));
      if (reader_.impossible() > impossible)
        context.books().rejected(reader_.impossible() - std::exchange(impossible, reader_.impossible()),
                                 "a correction factor of 0");
      if (!batch) break;
      batch->quantity = quantity_;
      context.progress(100 * reader_.done(), 100, "%");
      emit(std::move(*batch));
    }
    if (header_.mode == castor::DataMode::histogram)
      context.report("empty_bins", static_cast<std::int64_t>(reader_.empty_bins()));
  }

 private:
  std::shared_ptr<const castor::ListedLines> lines_of(const Params& p) const {
    if (p.normalisation.empty()) return nullptr;
    return std::make_shared<const castor::ListedLines>(castor::read_data_header(p.normalisation), header_,
                                                       made_.scanner);
  }

  std::shared_ptr<const Scanner> with_lines() const {
    if (!lines_) return made_.scanner;
    auto scanner = std::make_shared<Scanner>(*made_.scanner);
    scanner->lines = lines_;
    return scanner;
  }

  void say_what_came(Context& context) const {
    context.report("scanner", scanner_->name);
    context.report("detectors", scanner_->detectors->size());
    context.report("geometry", geometry_.file.string());
    if (lines_) context.report("lines", lines_->size());
    for (const std::string& note : made_.notes)  // of the sensitivity of pairs
      if (!lines_) context.log().warning(note);
    if (!header_.unread.empty())
      context.log().info(fmt::format("not used of {}: {}", header_.file.string(), fmt::join(header_.unread, "; ")));
    if (!geometry_.unread.empty())
      context.log().info(fmt::format("not used of {}: {}", geometry_.file.string(), fmt::join(geometry_.unread, "; ")));
    if (!header_.isotope.empty())
      context.log().info(
          fmt::format("the decay of {} is not corrected: values are means over the scan, and are not "
                      "divided by its branching ratio",
                      header_.isotope));
    if (header_.mode == castor::DataMode::list && !reader_.has_times())
      context.log().info("the events' times do not ascend within the scan: they are taken as evenly spread over it");
  }

  const castor::DataHeader header_;
  const castor::Geometry geometry_;
  const castor::MadeScanner made_;
  const std::shared_ptr<const castor::ListedLines> lines_;
  const std::shared_ptr<const Scanner> scanner_;
  const std::shared_ptr<const Quantity> quantity_;
  castor::EventReader reader_;
};

TOFSTREAM_GADGET(CastorSource, "castor_source", "Reads CASToR's list mode and histograms of PET");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
