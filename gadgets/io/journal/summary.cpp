// A journal in figures: see summary.hpp.
#include "gadgets/io/journal/summary.hpp"

#include <algorithm>
#include <numeric>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tofstream::journal {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t most_streams = 1000;  // that are told apart: a file of nothing but numbers must not take memory

void count_frame(Summary& summary, std::span<const std::byte> bytes) {
  ++summary.frames;
  const auto decoded = wire::decode_frame(bytes);
  if (const auto* bad = std::get_if<wire::BadFrame>(&decoded)) {
    ++summary.bad_frames[static_cast<std::size_t>(bad->fault)];
    return;
  }
  const wire::FrameHeader& header = std::get<wire::Frame>(decoded).header;
  if (summary.streams.size() >= most_streams && !summary.streams.contains(header.stream)) return;
  StreamSummary& stream = summary.streams[header.stream];
  if (stream.order.take(header) != wire::Arrival::wanted) return;
  stream.bytes += bytes.size();
  stream.end_ns = std::max(stream.end_ns, header.start_ns + header.duration_ns);
}

ordered_json to_json(std::uint64_t number, const StreamSummary& stream) {
  const auto& counts = stream.order.counts();
  return {{"stream", fmt::format("{:016x}", number)},
          {"ended", stream.order.has_ended()},
          {"frames", counts.frames},
          {"events", counts.events},
          {"seconds", s_per_ns * static_cast<double>(stream.end_ns)},
          {"bytes", stream.bytes},
          {"missing_frames", stream.order.missing_frames()},
          {"missing_events", stream.order.missing_events()},
          {"late_frames", counts.late},
          {"duplicate_frames", counts.duplicates},
          {"frames_before_header", counts.before_header}};
}

}  // namespace

Summary summarise(const std::filesystem::path& journal) {
  Reader reader(journal);
  Summary summary{.segments = reader.segments(), .bytes = reader.bytes()};
  while (const auto entry = reader.next()) {
    if (summary.first_ingress_ns == 0) summary.first_ingress_ns = entry->ingress_ns;
    summary.last_ingress_ns = entry->ingress_ns;
    if (entry->kind == EntryKind::frame)
      count_frame(summary, entry->bytes);
    else
      ++summary.notes[std::string(entry->name)];
  }
  summary.counts = reader.counts();
  return summary;
}

ordered_json to_json(const Summary& summary) {
  ordered_json result{
      {"segments", summary.segments},
      {"bytes", summary.bytes},
      {"entries", summary.counts.entries},
      {"frames", summary.frames},
      {"received_for_s", s_per_ns * static_cast<double>(summary.last_ingress_ns - summary.first_ingress_ns)},
      {"bad_frames", std::accumulate(summary.bad_frames.begin(), summary.bad_frames.end(), std::uint64_t{0})}};
  for (std::size_t k = 0; k < summary.bad_frames.size(); ++k)
    if (summary.bad_frames[k] > 0)
      result[fmt::format("bad_frames_{}", wire::frame_fault_names[k])] = summary.bad_frames[k];
  result["missing_entries"] = summary.counts.missing_entries;
  result["damaged_places"] = summary.counts.damaged_places;
  result["damaged_bytes"] = summary.counts.damaged_bytes;
  result["torn_bytes"] = summary.counts.torn_bytes;
  for (const auto& [name, count] : summary.notes) result["notes"][name] = count;
  result["streams"] = ordered_json::array();
  for (const auto& [number, stream] : summary.streams) result["streams"].push_back(to_json(number, stream));
  return result;
}

}  // namespace tofstream::journal
// SPDX-License-Identifier: Apache-2.0
