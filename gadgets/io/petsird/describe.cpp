// Collects and prints what a stream holds.
#include "gadgets/io/petsird/describe.hpp"

#include <algorithm>
#include <fstream>
#include <istream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/petsird/detection_bins.hpp"
#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/quantity.hpp"
#include "gadgets/io/petsird/ring_size.hpp"
#include "gadgets/io/quantity_json.hpp"
#include "gadgets/io/unpack.hpp"

namespace tofstream::petsird {
namespace {

using nlohmann::json;

json module_types_json(const ScannerInformation& scanner) {
  json types = json::array();
  for (std::size_t type = 0; type < module_types(scanner); ++type) {
    const BinCounts counts = bin_counts(scanner, type);
    types.push_back({{"modules", counts.modules},
                     {"elements", counts.elements},
                     {"energy_bins", counts.energies},
                     {"detection_bins", counts.bins()},
                     {"energy_edges_keV", scanner.event_energy_bin_edges_keV[type]}});
  }
  return types;
}

/// One value if there is one type of modules, else rows.
template <class T, class Get>
json for_pairs(const Table<T>& table, Get get) {
  json rows = json::array();
  for (const std::vector<T>& row : table) {
    json values = json::array();
    for (const T& entry : row) values.push_back(get(entry));
    rows.push_back(std::move(values));
  }
  return table.size() == 1 ? rows[0][0] : rows;
}

json sums_json(const EventSums& sums) {
  return {{"sum_bin1", sums.bin1}, {"sum_bin2", sums.bin2}, {"sum_tof", sums.tof}};
}

json blocks_json(const StreamCounts& counts) {
  json blocks;
  for (std::size_t kind = 0; kind < counts.blocks.size(); ++kind) {
    blocks[block_kind_names[kind]] = counts.blocks[kind];
  }
  return blocks;
}

}  // namespace

void Summariser::on_schema(const Schema& schema) {
  summary_.schema_sha256 = schema.sha256();
  summary_.version = schema.version();
}

void Summariser::on_header(Header&& header) {
  summary_.quantity = quantity_of(header);
  auto& tables = header.scanner.efficiencies.module_pair_efficiencies;
  for (const auto& row : tables) {
    for (const auto& entry : row) summary_.efficiency_tables += entry.size();
  }
  tables.clear();
  summary_.header = std::move(header);
}

void Summariser::on_block_begin(BlockKind /*kind*/, TimeInterval interval) {
  summary_.first_start_ms = std::min(summary_.first_start_ms, interval.start_ms);
  summary_.last_stop_ms = std::max(summary_.last_stop_ms, interval.stop_ms);
  prompts_in_block_ = 0;
}

void Summariser::on_list_begin(EventKind kind, TypePair /*types*/, std::uint64_t events) {
  if (kind == EventKind::prompt) prompts_in_block_ += events;
}

void Summariser::on_events(EventKind kind, TypePair types, std::span<const CoincidenceEvent> events) {
  EventSums& sums = kind == EventKind::prompt ? summary_.prompts : summary_.delayeds;
  sums.events += events.size();
  std::uint64_t smaller_first = 0;
  for (const CoincidenceEvent& event : events) {
    sums.bin1 += event.bin1;
    sums.bin2 += event.bin2;
    sums.tof += event.tof;
    smaller_first += event.bin1 < event.bin2 ? 1 : 0;
  }
  if (types.first == types.second) summary_.smaller_bin_first += smaller_first;
  constexpr std::size_t shown = 5;
  auto& first = summary_.first_prompts;
  if (kind == EventKind::prompt && first.size() < shown) {
    first.insert(first.end(), events.begin(),
                 events.begin() + static_cast<std::ptrdiff_t>(std::min(events.size(), shown - first.size())));
  }
}

void Summariser::on_block_end(BlockKind kind) {
  if (kind != BlockKind::event) return;
  summary_.fewest_prompts = std::min(summary_.fewest_prompts, prompts_in_block_);
  summary_.most_prompts = std::max(summary_.most_prompts, prompts_in_block_);
}

void Summariser::on_warning(std::string_view text) {
  summary_.warnings.emplace_back(text);
}

Summary Summariser::summary(const Decoder& decoder) const {
  Summary summary = summary_;
  summary.counts = decoder.counts();
  summary.bytes = decoder.offset();
  if (summary.counts.blocks[static_cast<std::size_t>(BlockKind::event)] == 0) {
    summary.fewest_prompts = 0;
  }
  if (summary.counts.delayeds > 0)
    summary.quantity[Correction::randoms] = {CorrectionState::called_for, "the stream has delayed coincidences"};
  if (summary.counts.time_blocks() == 0) summary.first_start_ms = 0;
  if (summary.counts.rejected > 0) {
    summary.warnings.push_back(fmt::format("{} events out of range were rejected", summary.counts.rejected));
  }
  if (summary.smaller_bin_first > 0) {
    summary.warnings.push_back(fmt::format(
        "{} events hold the smaller bin first, against the standard's order since v0.10", summary.smaller_bin_first));
  }
  return summary;
}

namespace {

Summary summarise_stream(std::istream& file) {
  Summariser summariser;
  Decoder decoder(summariser);
  Unpacker unpacker;
  const auto decode = [&](std::vector<std::byte>&& bytes) { decoder.push(bytes); };
  while (file) {
    std::vector<std::byte> buffer(1 << 18);
    file.read(reinterpret_cast<char*>(buffer.data()), static_cast<std::streamsize>(buffer.size()));
    buffer.resize(static_cast<std::size_t>(file.gcount()));
    unpacker.push(std::move(buffer), decode);
  }
  unpacker.finish(decode);
  if (file.bad()) throw Error("cannot be read to its end; check the disk");
  decoder.finish();
  return summariser.summary(decoder);
}

}  // namespace

Summary summarise_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(fmt::format("{} cannot be read; give an existing file", path.string()));
  try {
    return summarise_stream(file);
  } catch (const std::runtime_error& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
}

double seconds_of(const Summary& summary) {
  return 1e-3 * static_cast<double>(summary.last_stop_ms - summary.first_start_ms);
}

json to_json(const Summary& summary) {
  const ScannerInformation& scanner = summary.header.scanner;
  const StreamCounts& counts = summary.counts;
  const auto bins = [](const BinEdges& edges) { return edges.size() - 1; };
  json first = json::array();
  for (const CoincidenceEvent& event : summary.first_prompts) {
    first.push_back({event.bin1, event.bin2, event.tof});
  }
  std::size_t modules = 0;
  for (const auto& type : scanner.geometry.replicated_modules) modules += type.transforms.size();
  const RingSize size = ring_size(scanner);
  const double seconds = seconds_of(summary);
  return {{"format", "PETSIRD"},
          {"encoding", "yardl binary 1"},
          {"schema_sha256", summary.schema_sha256},
          {"schema_version", version_name(summary.version)},
          {"bytes", summary.bytes},
          {"model", scanner.model_name},
          {"modules", modules},
          {"module_types", module_types_json(scanner)},
          {"detection_bins", detection_bins(scanner)},
          {"tof_bins", for_pairs(scanner.tof_bin_edges_mm, bins)},
          {"scanner",
           {{"diameter_mm", size.diameter_mm},
            {"axial_length_mm", size.axial_length_mm},
            {"crystals", size.crystals},
            {"rings", size.rings},
            {"crystal_mm", {size.tangential_mm, size.axial_mm, size.depth_mm}}}},
          {"quantity", tofstream::to_json(summary.quantity)},
          {"prompts_per_s", seconds > 0 ? static_cast<double>(counts.prompts) / seconds : 0.0},
          {"tof_fwhm_mm", for_pairs(scanner.tof_resolution_fwhm_mm, [](float fwhm) { return fwhm; })},
          {"efficiency_tables", summary.efficiency_tables},
          {"time_blocks", counts.time_blocks()},
          {"time_blocks_by_kind", blocks_json(counts)},
          {"start_ms", summary.first_start_ms},
          {"duration_ms", summary.last_stop_ms - summary.first_start_ms},
          {"prompts", counts.prompts},
          {"delayeds", counts.delayeds},
          {"singles", counts.singles},
          {"triples", counts.triples},
          {"quadruples", counts.quadruples},
          {"rejected", counts.rejected},
          {"ignored", counts.ignored},
          {"prompts_per_block", {{"min", summary.fewest_prompts}, {"max", summary.most_prompts}}},
          {"prompt_checksums", sums_json(summary.prompts)},
          {"delayed_checksums", sums_json(summary.delayeds)},
          {"first_prompts", first},
          {"warnings", summary.warnings}};
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
