// Parts of a run: see group_command.hpp.
#include "tools/command/group_command.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/subset/frame_table.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

std::string text_at(const PipelineGadget& gadget, std::string_view parameter) {
  const Value* value = gadget.resolved.find(parameter);
  return value && value->kind == Value::Kind::scalar ? value->text : "";
}

// A gadget that cuts a scan into images of their own says so by this parameter.
bool cuts_images(const PipelineGadget& gadget) {
  return gadget.info && std::ranges::find(gadget.info->params, "groups", &ParamInfo::name) != gadget.info->params.end();
}

[[noreturn]] void refuse(const PipelineGadget& gadget, const std::string& why) {
  throw InputError(
      fmt::format("{}{}gadget '{}': {}", gadget.where.text(), gadget.where.file ? ": " : "", gadget.name, why));
}

// Every group reads the input itself, from its beginning.
void require_files(const PipelineGadget& source) {
  const std::string_view use = source.info->name;
  if (!source.info->stream_end.empty())
    refuse(source, fmt::format("groups: each group reads the whole input, which {} gives only once: reconstruct a "
                               "recording of it (tofstream record), or leave groups out",
                               use));
  const bool is_repeatable = !source.reads.empty() || !text_at(source, "seed").empty();
  if (!is_repeatable)
    refuse(source,
           fmt::format("groups: each group reads the whole input, and nobody knows whether {} gives the same to "
                       "each: leave groups out",
                       use));
  const std::string path = text_at(source, "path");
  std::error_code none;
  if (path == "-" || std::filesystem::is_fifo(path, none))
    refuse(source,
           "groups: each group reads the whole input, which a pipe gives only once: write it to a file, or "
           "leave groups out");
}

// Only the last image of other groups comes.
void require_final_alone(const PipelineGadget& gadget) {
  const Value* at = gadget.resolved.find("at_iterations");
  const std::string every = text_at(gadget, "every");
  if (every != "final" && !every.empty() && gadget.info->outputs.empty())
    refuse(gadget, fmt::format("groups: images of other groups come once they are complete, and not for every: {}: "
                               "take every: final, or leave groups out",
                               every));
  if (at && !at->items.empty())
    refuse(gadget,
           "groups: images of other groups come once they are complete: leave at_iterations out, or leave groups out");
}

// As many as are known before the scan.
std::optional<std::size_t> images_of(const PipelineGadget& gadget) {
  if (const std::string gates = text_at(gadget, "gates"); !gates.empty())
    return static_cast<std::size_t>(std::atoi(gates.c_str()));
  const Value* frames = gadget.resolved.find("frames");
  std::vector<std::string> words;
  if (frames)
    for (const Value& word : frames->items) words.push_back(word.text);
  try {
    if (!words.empty()) return read_frames(words).size();
    if (const std::string table = text_at(gadget, "frame_table"); !table.empty()) return read_frame_table(table).size();
  } catch (const std::exception&) {
    return {};  // the gadget says it
  }
  return {};
}

void require_several(const PipelineGadget& gadget, int groups) {
  const std::string_view kind = text_at(gadget, "gates").empty() ? "frames" : "gates";
  if (text_at(gadget, "together") == "true")
    refuse(gadget, "groups: frames that are reconstructed together are one image: leave groups out (ranks share it)");
  if (text_at(gadget, "start") == "previous")
    refuse(gadget,
           "groups: with start: previous a frame waits for the one before it: take start: start_image, or "
           "leave groups out");
  if (text_at(gadget, "images") == "one")
    refuse(gadget, "groups: of one image of all gates there is nothing to share: leave groups out (ranks share it)");
  const auto images = images_of(gadget);
  if (images && *images < static_cast<std::size_t>(groups))
    refuse(gadget, fmt::format("groups: {} groups are more than the {} {}: write {}", groups, *images, kind,
                               *images > 1 ? fmt::format("groups: {} or fewer", *images) : "no groups"));
}

// What is upstream of what reads subsets, along feedback edges too.
std::vector<bool> leads_to_projectors(const Pipeline& pipeline) {
  std::vector<bool> leads(pipeline.gadgets.size(), false);
  for (const PipelineEdge& edge : pipeline.edges)
    if (cuts_images(pipeline.gadgets[edge.from])) leads[edge.to] = true;
  for (bool is_changed = true; std::exchange(is_changed, false);)
    for (const PipelineEdge& edge : pipeline.edges)
      if (leads[edge.to] && !leads[edge.from]) leads[edge.from] = is_changed = true;
  return leads;
}

}  // namespace

int groups_of(const Pipeline& pipeline) {
  int groups = 1;
  for (const PipelineGadget& gadget : pipeline.gadgets)
    if (cuts_images(gadget)) groups = std::max(groups, std::atoi(text_at(gadget, "groups").c_str()));
  return groups;
}

void require_shareable(const Pipeline& pipeline) {
  const int groups = groups_of(pipeline);
  if (groups == 1) return;
  const PipelineGadget* cutter = nullptr;
  for (const PipelineGadget& gadget : pipeline.gadgets) {
    if (gadget.info->inputs.empty()) require_files(gadget);
    require_final_alone(gadget);
    if (!cuts_images(gadget)) continue;
    if (cutter)
      refuse(gadget,
             fmt::format("groups: '{}' makes images too, and groups share those of one gadget: leave groups out",
                         cutter->name));
    cutter = &gadget;
    require_several(gadget, groups);
  }
}

std::vector<std::string> gadgets_of_groups(const Pipeline& pipeline) {
  const std::vector<bool> leads = leads_to_projectors(pipeline);
  std::vector<bool> is_behind(pipeline.gadgets.size(), false);
  for (bool is_changed = true; std::exchange(is_changed, false);)
    for (const PipelineEdge& edge : pipeline.edges)
      if ((is_behind[edge.from] || cuts_images(pipeline.gadgets[edge.from])) && !is_behind[edge.to])
        is_behind[edge.to] = is_changed = true;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < leads.size(); ++i)
    if (leads[i] && is_behind[i]) names.push_back(pipeline.gadgets[i].name);
  return names;
}

Pipeline part_of_group(Pipeline pipeline, int group) {
  const std::vector<bool> is_kept = leads_to_projectors(pipeline);
  std::vector<std::size_t> place(is_kept.size());
  std::vector<PipelineGadget> gadgets;
  for (std::size_t i = 0; i < is_kept.size(); ++i) {
    if (!is_kept[i]) continue;
    place[i] = gadgets.size();
    PipelineGadget& gadget = gadgets.emplace_back(std::move(pipeline.gadgets[i]));
    if (gadget.fault.is_of(static_cast<std::uint64_t>(group)))
      gadget.fault.rank.reset();
    else
      gadget.fault = {};
  }
  std::erase_if(pipeline.edges, [&](const PipelineEdge& edge) { return !is_kept[edge.from] || !is_kept[edge.to]; });
  for (PipelineEdge& edge : pipeline.edges) {
    edge.from = place[edge.from];
    edge.to = place[edge.to];
  }
  pipeline.gadgets = std::move(gadgets);
  return pipeline;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
