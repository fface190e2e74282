// A toy PETSIRD scanner with every feature that a header can have, streams made of it, and a handler that
// records what a decoder delivers.
#pragma once

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gadgets/io/petsird/decoder.hpp"
#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/event_codec.hpp"
#include "gadgets/io/petsird/writer.hpp"

namespace tofstream::petsird::toy {

using Bytes = std::vector<std::byte>;

inline Transform rotation_about_z(double degrees, std::array<float, 3> shift = {}) {
  const double angle = degrees * std::acos(-1.0) / 180;
  const auto c = static_cast<float>(std::cos(angle));
  const auto s = static_cast<float>(std::sin(angle));
  return {c, -s, 0, shift[0], s, c, 0, shift[1], 0, 0, 1, shift[2]};
}

inline Transform shift_by(float x, float y, float z) {
  return {1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, z};
}

/// A box with one corner at the origin.
inline BoxShape box(float dx, float dy, float dz) {
  BoxShape corners{};
  for (unsigned i = 0; i < 8; ++i) {
    corners[i] = {(i & 1U) != 0 ? dx : 0, (i & 2U) != 0 ? dy : 0, (i & 4U) != 0 ? dz : 0};
  }
  return corners;
}

/// Type 0: 3 modules of 4 elements, 2 energies (24 bins); type 1: 2 modules of 2 elements, 1 energy (4 bins).
/// ToF bins: 5 for (0,0), 1 for (1,0), 4 of unequal width and not symmetric for (1,1).
inline ScannerInformation scanner() {
  ScannerInformation s;
  s.model_name = "TOY \xCE\xB3";
  DetectorModule large;
  large.detecting_elements.object = {box(20, 4, 4), 1};
  for (const float y : {-4.0F, 0.0F}) {
    for (const float z : {-4.0F, 0.0F}) {
      large.detecting_elements.transforms.push_back(shift_by(100, y, z));
    }
  }
  large.non_detecting_elements = {{{AnnulusShape{1, 2, 3, {0, 6.25F}}, 2}, {shift_by(0, 0, 9)}}};
  DetectorModule small;
  small.detecting_elements.object = {box(10, 2, 6), 1};
  small.detecting_elements.transforms = {rotation_about_z(90, {0, 60, 1}), rotation_about_z(30, {50, 5, -2})};
  s.geometry.replicated_modules = {
      {large, {rotation_about_z(0), rotation_about_z(120, {1, 2, 3}), rotation_about_z(240)}},
      {small, {rotation_about_z(10), rotation_about_z(190, {0, 0, 7})}}};
  s.geometry.non_detecting_volumes = {{SolidVolume<GeometricShape>{box(1, 2, 3), 2}}};
  s.bulk_materials = {{1, "LYSO", 7.1F, {{175, 71}, {16, 8}}, {0.9F, 0.1F}}, {2, "air", 0.0012F, {}, {}}};
  s.gantry_alignment = shift_by(0, 0, -50);
  s.collimator_type = "NONE";
  s.tof_bin_edges_mm = {{{-50, -30, -10, 10, 30, 50}}, {{-100, 100}, {-40, -8, 4, 16, 40}}};
  s.tof_resolution_fwhm_mm = {{30}, {500, 24}};
  s.event_energy_bin_edges_keV = {{430, 500, 650}, {450, 650}};
  s.energy_resolution_at_511 = {0.11F, 0.12F};
  s.singles_histogram_level = SinglesHistogramLevel::module;
  s.singles_histogram_energy_bin_edges_keV = {{300, 650}, {300, 650}};
  s.single_event_policy = SingleEventPolicy::other;
  s.delayed_event_policy = CoincidencePolicy::multiples_as_all_coincidences;
  s.triple_event_policy = MultiplesPolicy::reject_higher_multiples;

  DetectionEfficiencies& e = s.efficiencies;
  e.method_description = "made up";
  e.calibration_factor = 2.5F;
  e.detection_bin_efficiencies.resize(2);
  for (int bin = 0; bin < 24; ++bin) e.detection_bin_efficiencies[0].push_back(0.5F + 0.01F * static_cast<float>(bin));
  e.detection_bin_efficiencies[1] = {1.0F, 1.25F, 1.5F, 1.75F};
  e.module_pair_sgid_lut = {{{{-1}, {0, -1}, {1, 0, -1}}}, {{{0, 0, 0}, {-1, 0, 0}}, {{-1}, {0, -1}}}};
  const auto table = [](std::size_t rows, std::size_t columns, float first) {
    Table<float> values(rows, std::vector<float>(columns));
    for (auto& row : values) {
      for (float& value : row) value = first += 0.125F;
    }
    return values;
  };
  e.module_pair_efficiencies = {{{{table(8, 8, 1), 0}, {table(8, 8, 20), 1}}},
                                {{{table(2, 8, 40), 0}}, {{table(2, 2, 60), 0}}}};
  return s;
}

inline ExamInformation exam() {
  ExamInformation e;
  e.subject = {"Ada", "42"};
  e.institution = {"Institute", "Street 1"};
  e.modality = "PT";
  e.study_instance_uid = "1.2.3";
  e.start_of_study_ns = 1'700'000'000'000'000'000;
  e.start_of_acquisition_ns = -5;
  e.patient = {"42", "F", 1.7F, 60, 20.8F};
  e.patient_orientation = {"BIPED", {"a", "b", "c", "d", "e"}, {}, {}};
  e.radiopharmaceuticals = {{1.5F, 10, 20, 370, "1.2.3.4", 0.5F, {"FDG", "", "", "", ""}, {"F-18", "", "", "", ""}}};
  e.external_signals = {{ExternalSignalType::respiration_trace, "belt", 3}};
  return e;
}

inline Header header() {
  return {scanner(), exam()};
}

/// Everything that a handler receives, with the pieces of a list joined.
struct Recording final : Handler {
  struct List {
    EventKind kind;
    TypePair types;
    std::vector<CoincidenceEvent> events;
    bool operator==(const List&) const = default;
  };
  struct Block {
    BlockKind kind;
    TimeInterval interval;
    std::vector<List> lists;  // those with events
    std::optional<OtherBlock> other;
    bool operator==(const Block&) const = default;
  };

  Version version = Version::unknown;
  Header header;
  std::vector<Block> blocks;
  std::vector<std::string> warnings;
  std::size_t largest_piece = 0, put_by_cores = 0;
  std::size_t most_by_cores = 30'000;
  struct Piece {
    std::size_t block;
    List of;
    std::shared_ptr<const std::vector<CoincidenceEvent>> events;
    std::size_t count;
  };
  std::vector<Piece> pieces;  // incomplete
  std::shared_ptr<std::vector<CoincidenceEvent>> coming;
  std::size_t blocks_ended = 0;

  void on_schema(const Schema& schema) override { version = schema.version(); }
  void on_header(Header&& h) override { header = std::move(h); }
  void on_block_begin(BlockKind kind, TimeInterval interval) override { blocks.push_back({kind, interval, {}, {}}); }
  void on_events(EventKind kind, TypePair types, std::span<const CoincidenceEvent> events) override {
    append(kind, types, events);
    largest_piece = std::max(largest_piece, events.size());
  }
  std::size_t room(EventKind, TypePair) override { return most_by_cores; }
  PutEvents writer(EventKind, TypePair) override {
    coming = std::make_shared<std::vector<CoincidenceEvent>>(most_by_cores);
    return [to = coming](std::size_t first, std::span<const CoincidenceEvent> events) {
      std::ranges::copy(events, to->begin() + static_cast<std::ptrdiff_t>(first));
    };
  }
  void on_put(EventKind kind, TypePair types, std::size_t events) override {
    pieces.push_back({blocks.size() - 1, {kind, types, {}}, coming, events});
    put_by_cores += events;
  }
  void append(EventKind kind, TypePair types, std::span<const CoincidenceEvent> events) {
    pieces.push_back({blocks.size() - 1,
                      {kind, types, {}},
                      std::make_shared<std::vector<CoincidenceEvent>>(events.begin(), events.end()),
                      events.size()});
  }
  void on_decoded() override {
    for (const Piece& piece : std::exchange(pieces, {})) {
      auto& lists = blocks[piece.block].lists;
      if (lists.empty() || lists.back().kind != piece.of.kind || lists.back().types != piece.of.types)
        lists.push_back(piece.of);
      const auto events = std::span(*piece.events).first(piece.count);
      lists.back().events.insert(lists.back().events.end(), events.begin(), events.end());
    }
  }
  void on_other_block(const OtherBlock& block) override { blocks.back().other = block; }
  void on_block_end(BlockKind) override { ++blocks_ended; }
  void on_warning(std::string_view text) override { warnings.emplace_back(text); }
};

/// Decodes bytes in chunks of a size (0: all at once), each in a block of memory of its own, so that a sanitizer
/// sees any read beyond it.
inline StreamCounts decode(std::span<const std::byte> bytes, Recording& recording, std::size_t chunk = 0) {
  Decoder decoder(recording);
  while (!bytes.empty()) {
    const std::size_t size = chunk == 0 ? bytes.size() : std::min(chunk, bytes.size());
    const Bytes copy(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    decoder.push(copy);
    bytes = bytes.subspan(size);
  }
  decoder.finish();
  return decoder.counts();
}

/// The message of the Error that decoding ends with; empty if it does not.
inline std::string error_of(std::span<const std::byte> bytes, std::size_t chunk = 0) {
  Recording recording;
  try {
    decode(bytes, recording, chunk);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

inline ByteSink sink_to(Bytes& bytes) {
  return [&bytes](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); };
}

/// Events of a pair of types, all different, in the standard's order.
inline std::vector<CoincidenceEvent> events(std::uint32_t count, EventLimits limits, bool same_type) {
  std::vector<CoincidenceEvent> events;
  std::uint32_t random = 12345 + limits.bins1;
  const auto next = [&](std::uint32_t below) {
    random = random * 1664525U + 1013904223U;
    return static_cast<std::uint32_t>((std::uint64_t{random} * below) >> 32);
  };
  while (events.size() < count) {
    CoincidenceEvent event{next(limits.bins1), next(limits.bins2), next(limits.tof_bins)};
    if (same_type && event.bin1 < event.bin2) std::swap(event.bin1, event.bin2);
    events.push_back(event);
  }
  return events;
}

inline const std::vector<OtherBlock>& other_blocks() {
  static const std::vector<OtherBlock> blocks{
      ExternalSignalBlock{{0, 4}, 3, {0.5F, -1.25F, 3e8F}},
      ExternalSignalBlock{{2, 2}, 300, {}},
      BedMovementBlock{{4, 5}, shift_by(0, 0, -120.5F)},
      GantryMovementBlock{{4, 5}, {rotation_about_z(1), shift_by(0, 0, 1)}},
      SinglesHistogramBlock{{0, 300}, {{0, 1, 1ULL << 40U}, {7, ~0ULL}}},
      DeadTimeBlock{{0, 300}, {{std::vector<float>(24, 0.9F), {1, 1, 1, 0.5F}}, {}}},
      DeadTimeBlock{{300, 400},
                    {{std::vector<float>(24, 0.8F), {1, 1, 1, 1}},
                     {{{{1}, {1, 1}, {0.5F, 1, 1}}}, {{{1, 1, 1}, {1, 1, 1}}, {{1}, {1, 1}}}}}}};
  return blocks;
}

/// A stream of the toy scanner: event blocks (one large, one empty) among all other kinds.
inline Bytes stream(std::uint32_t large_list = 3000) {
  Bytes bytes;
  Writer writer(sink_to(bytes), header());
  const auto p00 = events(large_list, {24, 24, 5}, true);
  const auto p10 = events(7, {4, 24, 1}, false);
  const auto p11 = events(2, {4, 4, 4}, true);
  const auto d10 = events(3, {4, 24, 1}, false);
  writer.write_events({0, 4}, {p00, p10, p11}, {{}, d10});
  for (const OtherBlock& block : other_blocks()) writer.write_block(block);
  writer.write_events({4, 300}, {});
  writer.write_events({300, 301}, {p11, {}, p11});
  writer.finish();
  return bytes;
}

inline Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

}  // namespace tofstream::petsird::toy
// SPDX-License-Identifier: Apache-2.0
