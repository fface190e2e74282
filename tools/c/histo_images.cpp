// The calls of histo-images: events laid down, and the terms of a scanner's lines. See tofstream.h.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "gadgets/io/memory_images.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "tools/c/event_arrays.hpp"
#include "tools/c/guard.hpp"
#include "tools/c/operator.hpp"

using namespace tofstream;
using namespace tofstream::c_api;

namespace {

std::int64_t checked_lines(std::int64_t most_lines, const char* argument) {
  constexpr std::int64_t usual = ScannerLinesSettings{}.most_lines, fewest = 1000;
  if (most_lines == 0) return usual;
  if (most_lines >= fewest) return most_lines;
  throw Wrong(fmt::format("{} is {}: it must be at least {}, or 0 for {}", argument, most_lines, fewest, usual));
}

// The coincidence window of these detectors: the scanner's where none is given and all its modules have one.
float window_of(float given_mm, const Scanner& scanner) {
  if (!(given_mm >= 0 && std::isfinite(given_mm)))
    throw Wrong(fmt::format("from.window_mm is {}: give a length, or 0 for the scanner's", given_mm));
  if (given_mm > 0) return given_mm;
  const float window_mm = scanner.tof.empty() ? 0 : scanner.tof.front().window_mm;
  const auto differs = [&](const TofModel& tof) { return tof.window_mm != window_mm; };
  if (window_mm > 0 && std::ranges::none_of(scanner.tof, differs)) return window_mm;
  throw Wrong("from.window_mm is 0, and the scanner does not say how wide its coincidence window is: give it");
}

// A copy. They are of the scanner that is named beside them.
EventBatch delayeds_of(const tof_events& given, const RecordedBy& by, const char* scanner) {
  tof_events delayeds = events_of(given);
  if (!delayeds.detector1 || !delayeds.detector2)
    throw Wrong("from.delayeds has no detector1 and detector2: randoms are estimated for each detector");
  if (delayeds.scanner && std::string(delayeds.scanner) != scanner)
    throw Wrong(
        fmt::format("from.delayeds.scanner is '{}', and from.scanner '{}': give one", delayeds.scanner, scanner));
  delayeds.scanner = scanner;
  delayeds.tof_mm = delayeds.tof_width_mm = nullptr;  // randoms have none
  return batch_of(view_of(delayeds, *by.scanner, Memory::host), by);
}

}  // namespace

extern "C" {

tof_status tof_deposit(tof_operator* op, const tof_events* events, int32_t nearest, float* data, tof_deposited* what,
                       void* stream) {
  return guarded([&] {
    require_handle(op, "op");
    require_given(events, "events");
    require_given(data, "data");
    require_memory(data, is_on_device(*op), "data");
    if (what) require_size(what->size, sizeof(tof_deposited), sizeof(tof_deposited), "what");
    const tof_events given = events_of(*events);
    const RecordedBy by = recorded_by(given.scanner);
    const EventView view = view_of(given, *by.scanner, memory_of(op->made.op->backend()));
    if (!view.has_tof()) throw Wrong("events.tof_mm is null: histo-images need events with time of flight");
    if (view.tof_width_mm)
      throw Wrong("events.tof_width_mm is given, and histo-images have one resolution: reconstruct these in list mode");
    if (view.multiplicative || view.additive)
      throw Wrong("events.multiplicative or additive is given: an operator's em_step takes them, for its histo-images");
    on_stream(*op, stream, [&](Stream here) {
      const LaidDown found = op->made.op->deposit(view, nearest != 0, data, here);
      if (!what) return;
      what->deposited = found.counted;
      what->beyond_acceptance = found.beyond_acceptance;
      what->outside = found.outside;
      what->no_line = found.no_line;
    });
  });
}

tof_status tof_direction_terms(tof_operator* op, const char* scanner, const tof_array* mu, int64_t most_lines,
                               float* data, tof_lines* what, void* stream) {
  return guarded([&] {
    require_handle(op, "op");
    require_given(scanner, "scanner");
    require_given(data, "data");
    require_memory(data, is_on_device(*op), "data");
    if (what) require_size(what->size, sizeof(tof_lines), sizeof(tof_lines), "what");
    ScannerLinesSettings settings;
    settings.most_lines = checked_lines(most_lines, "most_lines");
    std::optional<Image> map;
    if (mu) {
      const MemoryImages known(images_of(mu, 1));
      const std::string name = fmt::format("memory:{}", mu->name);
      map = read_mu_map(name);
      require_per_cm(name, *map);
      settings.mu_per_mm = &*map;
    }
    const RecordedBy by = recorded_by(scanner);
    on_stream(*op, stream, [&](Stream here) {
      const LinesOfViews found = op->made.op->terms(*by.scanner, settings, data, here);
      if (!what) return;
      what->all = found.all;
      what->drawn = found.drawn;
      what->accepted = found.accepted;
    });
  });
}

tof_status tof_direction_randoms(tof_operator* op, const tof_randoms* from, float* data, void* stream) {
  return guarded([&] {
    require_handle(op, "op");
    require_given(from, "from");
    require_given(data, "data");
    require_memory(data, is_on_device(*op), "data");
    const tof_randoms given = adopted(*from, "from");
    require_given(given.scanner, "from.scanner");
    if (!(given.seconds > 0 && std::isfinite(given.seconds)))
      throw Wrong(fmt::format("from.seconds is {}: it must be positive", given.seconds));
    if (given.delayeds ? given.rate_cps != 0 : !(given.rate_cps > 0 && std::isfinite(given.rate_cps)))
      throw Wrong(fmt::format("from.rate_cps is {}, and from.delayeds are {}: give one of them", given.rate_cps,
                              given.delayeds ? "given" : "not"));
    const RecordedBy by = recorded_by(given.scanner);
    RandomsOfViews randoms{.scanner = by.scanner,
                           .seconds = given.seconds,
                           .rate_cps = given.rate_cps,
                           .window_mm = window_of(given.window_mm, *by.scanner),
                           .most_lines = checked_lines(given.most_lines, "from.most_lines")};
    EventBatch delayeds;
    if (given.delayeds) {
      delayeds = delayeds_of(*given.delayeds, by, given.scanner);
      randoms.delayeds = &delayeds;
    }
    on_stream(*op, stream, [&](Stream here) { op->made.op->randoms(randoms, data, here); });
  });
}

}  // extern "C"
// SPDX-License-Identifier: Apache-2.0
