#include "core/pipeline/memory_estimate.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace tofstream {
namespace {

class Estimator {
 public:
  explicit Estimator(const Pipeline& pipeline) : pipeline_(pipeline) {
    estimate_.pipeline = pipeline.name;
    estimate_.gadgets.resize(pipeline.gadgets.size());
  }

  MemoryEstimate estimate() {
    // The size of a message may depend on that of another, which on a feedback cycle is known only later.
    constexpr int rounds = 3;
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < pipeline_.gadgets.size(); ++i) ask(i);
    for (std::size_t i = 0; i < pipeline_.gadgets.size(); ++i) add_gadget(i);
    for (const PipelineEdge& edge : pipeline_.edges) add_edge(edge);
    return std::move(estimate_);
  }

 private:
  void ask(std::size_t i) {
    const PipelineGadget& gadget = pipeline_.gadgets[i];
    GadgetMemory& memory = estimate_.gadgets[i];
    memory.name = gadget.name;
    memory.use = gadget.info->name;
    memory.says = gadget.info->memory != nullptr;
    if (memory.says) memory.need = gadget.info->memory(gadget.params.get(), input_bytes(i));
    if (memory.need.lies_with_inputs && takes_from_device(i)) {
      memory.need.device_bytes = memory_sum(memory.need.device_bytes, std::exchange(memory.need.host_bytes, 0));
      memory.need.gives_on_device = true;
    }
    memory.is_limit = memory.need.is_limit || reads_limit(i);
    const std::size_t call =
        memory_sum(memory.need.call_bytes, takes_from_device(i) ? memory.need.copy_bytes : std::size_t{0});
    memory.host_bytes = memory_sum(memory.need.host_bytes, memory_product(call, gadget.parallel));
    memory.kept_bytes = memory_sum(memory.need.room_bytes, memory.need.keeps_inputs ? stream_bytes(i) : 0);
  }

  std::size_t stream_bytes(std::size_t reader) const {
    std::size_t sum = 0;
    for (const PipelineEdge& edge : pipeline_.edges)
      if (edge.to == reader) sum = memory_sum(sum, estimate_.gadgets[edge.from].need.stream_bytes);
    return sum;
  }

  bool takes_from_device(std::size_t i) const {
    return std::ranges::any_of(pipeline_.edges, [&](const PipelineEdge& edge) {
      return edge.to == i && estimate_.gadgets[edge.from].need.gives_on_device;
    });
  }

  bool reads_limit(std::size_t i) const {
    return std::ranges::any_of(pipeline_.edges, [&](const PipelineEdge& edge) {
      return edge.to == i && estimate_.gadgets[edge.from].is_limit && message_bytes(edge.from) > 0;
    });
  }

  std::vector<std::size_t> input_bytes(std::size_t i) const {
    std::vector<std::size_t> bytes(pipeline_.gadgets[i].info->inputs.size());
    for (const PipelineEdge& edge : pipeline_.edges)
      if (edge.to == i) bytes[edge.to_port] = std::max(bytes[edge.to_port], message_bytes(edge.from));
    return bytes;
  }

  std::size_t message_bytes(std::size_t writer) const { return estimate_.gadgets[writer].need.message_bytes; }

  void add_gadget(std::size_t i) {
    const GadgetMemory& memory = estimate_.gadgets[i];
    for (const bool on_device : {false, true}) {
      MemoryBounds& sum = on_device ? estimate_.device : estimate_.host;
      const std::size_t held = on_device ? memory.need.device_bytes : memory.host_bytes;
      const std::size_t given = memory.need.gives_on_device == on_device ? memory.need.message_bytes : 0;
      if (!memory.is_limit) sum.at_least = memory_sum(sum.at_least, memory_sum(held, given));
      sum.at_most = memory_sum(sum.at_most, memory_sum(held, given));
    }
  }

  void add_edge(const PipelineEdge& edge) {
    const PipelineGadget& reader = pipeline_.gadgets[edge.to];
    EdgeMemory memory{edge.name,
                      reader.name,
                      "",
                      message_bytes(edge.from),
                      edge.settings.bytes,
                      false,
                      estimate_.gadgets[edge.from].need.gives_on_device,
                      edge.settings.policy == EdgePolicy::spill};
    if (reader.info->inputs.size() > 1) memory.input = reader.info->inputs[edge.to_port].name;
    memory.is_known = memory.message_bytes > 0;
    // An edge takes one message of any size; an edge that spills takes another one, which waits for the disk.
    if (memory.spills)
      memory.at_most = std::max(memory_product(2, memory.message_bytes), edge.settings.bytes);
    else if (memory.is_known)
      memory.at_most =
          std::max(memory.message_bytes,
                   std::min(edge.settings.bytes, memory_product(edge.settings.messages, memory.message_bytes)));
    MemoryBounds& sum = memory.on_device ? estimate_.device : estimate_.host;
    sum.at_most = memory_sum(sum.at_most, memory.at_most);
    estimate_.edges.push_back(std::move(memory));
  }

  const Pipeline& pipeline_;
  MemoryEstimate estimate_;
};

std::string largest_gadget(const MemoryEstimate& estimate, bool on_device) {
  const auto need = [&](const GadgetMemory& g) {
    return memory_sum(on_device ? g.need.device_bytes : g.host_bytes,
                      g.need.gives_on_device == on_device ? g.need.message_bytes : 0);
  };
  const auto most = std::ranges::max_element(estimate.gadgets, {}, need);
  return fmt::format("most of it {} for '{}' ({}){}", bytes_in_words(need(*most)), most->name, most->use,
                     *most->need.lower ? fmt::format(": lower {}", most->need.lower) : "");
}

std::string largest_edge(const MemoryEstimate& estimate, bool on_device) {
  const EdgeMemory* most = nullptr;
  for (const EdgeMemory& edge : estimate.edges)
    if (edge.on_device == on_device && (!most || edge.at_most > most->at_most)) most = &edge;
  if (!most) return largest_gadget(estimate, on_device);
  const std::string setting = most->is_known && !most->spills ? "messages" : "bytes";
  return fmt::format("most of it {} on {}: lower {}.edge.{}{}", bytes_in_words(most->at_most), most->name, most->reader,
                     most->input.empty() ? "" : most->input + ".", setting);
}

void compare(const MemoryEstimate& estimate, const MemoryBounds& need, std::size_t there, bool on_device,
             MemoryVerdict& verdict) {
  const char* what = on_device ? "GPU" : "host";
  if (need.at_least > there)
    verdict.errors.push_back(fmt::format("{} needs at least {} of {} memory, and there are {}; {}", estimate.pipeline,
                                         bytes_in_words(need.at_least), what, bytes_in_words(there),
                                         largest_gadget(estimate, on_device)));
  else if (need.at_most > there)
    verdict.warnings.push_back(
        fmt::format("{} may need up to {} of {} memory once its edges are full, and there are {}; "
                    "{}",
                    estimate.pipeline, bytes_in_words(need.at_most), what, bytes_in_words(there),
                    largest_edge(estimate, on_device)));
}

// Room that is left for what is kept.
struct Room {
  std::size_t on_device = 0, on_host = 0;
};

std::size_t left_of(std::size_t there, std::size_t needed) {
  return there > needed ? there - needed : 0;
}

// Takes the room for what a gadget keeps. Says where that lies, if all of it has no room in the first place.
std::string place_of_kept(const GadgetMemory& gadget, bool has_device, Room& room) {
  std::string where;
  std::size_t rest = gadget.kept_bytes;
  if (gadget.need.room_on_device && has_device) {
    rest = left_of(gadget.kept_bytes, room.on_device);
    if (rest > 0)
      where = fmt::format("the GPU has room for {}, and the rest is copied there for each pass",
                          bytes_in_words(room.on_device));
    room.on_device = left_of(room.on_device, gadget.kept_bytes);
  }
  if (!gadget.need.keeps_inputs) return where;  // what is not on the GPU is counted as held on the host
  if (const std::size_t beyond = left_of(rest, room.on_host); beyond > 0)
    where += fmt::format("{}the host has room for {}, and {} go to disk", where.empty() ? "" : "; ",
                         bytes_in_words(room.on_host), bytes_in_words(beyond));
  room.on_host = left_of(room.on_host, rest);
  return where;
}

// What is kept where there is room needs none, so that it is no error where there is little. Each gadget finds what
// those before it have left.
void compare_kept(const MemoryEstimate& estimate, const MachineMemory& machine, MemoryVerdict& verdict) {
  Room room{left_of(machine.device_bytes.value_or(0), estimate.device.at_least),
            left_of(machine.host_bytes, estimate.host.at_least)};
  for (const GadgetMemory& gadget : estimate.gadgets) {
    if (gadget.kept_bytes == 0) continue;
    if (const std::string where = place_of_kept(gadget, machine.device_bytes.has_value(), room); !where.empty())
      verdict.warnings.push_back(
          fmt::format("'{}' ({}) keeps {}: {}", gadget.name, gadget.use, bytes_in_words(gadget.kept_bytes), where));
  }
}

std::string note_of(const GadgetMemory& gadget) {
  std::string note = gadget.is_limit ? "at most: the data decide" : "";
  const auto add = [&](const std::string& more) { note += (note.empty() ? "" : "; ") + more; };
  if (gadget.kept_bytes > 0) add(fmt::format("and {} where there is room", bytes_in_words(gadget.kept_bytes)));
  if (*gadget.need.note) add(gadget.need.note);
  return note;
}

std::string or_dash(std::size_t bytes) {
  return bytes ? bytes_in_words(bytes) : "-";
}

}  // namespace

MemoryEstimate estimate_memory(const Pipeline& pipeline) {
  return Estimator(pipeline).estimate();
}

std::size_t host_memory_bytes() {
  const auto pages = static_cast<std::size_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  const auto page = static_cast<std::size_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
  std::size_t bytes = memory_product(pages, page);
  // kernels/memory/memory.cpp reads what the container has left; core and kernels may not include each other.
  std::string limit;  // of a container; "max" where there is none
  std::ifstream("/sys/fs/cgroup/memory.max") >> limit;
  std::size_t group = 0;
  if (std::from_chars(limit.data(), limit.data() + limit.size(), group).ec == std::errc{} && group > 0)
    bytes = std::min(bytes, group);
  return bytes;
}

MemoryVerdict compare_memory(const MemoryEstimate& estimate, const MachineMemory& machine) {
  MemoryVerdict verdict;
  compare(estimate, estimate.host, machine.host_bytes, false, verdict);
  if (machine.device_bytes) compare(estimate, estimate.device, *machine.device_bytes, true, verdict);
  compare_kept(estimate, machine, verdict);
  return verdict;
}

std::string bytes_in_words(std::size_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string memory_table(const MemoryEstimate& estimate, const MachineMemory& machine) {
  std::size_t width = 8;
  for (const GadgetMemory& g : estimate.gadgets) width = std::max(width, g.name.size() + g.use.size() + 3);
  for (const EdgeMemory& e : estimate.edges) width = std::max(width, e.name.size());
  const auto line = [&](const std::string& name, const std::string& host, const std::string& device,
                        const std::string& note) {
    return fmt::format("{:<{}} {:>12} {:>12}{}{}\n", name, width, host, device, note.empty() ? "" : "  ", note);
  };
  std::string table = line("held by", "host", "GPU", "");
  for (const GadgetMemory& g : estimate.gadgets)
    table += line(fmt::format("{} ({})", g.name, g.use), g.says ? or_dash(g.host_bytes) : "?",
                  g.says ? or_dash(g.need.device_bytes) : "?", g.says ? note_of(g) : "does not say");
  table += line("waiting on", "at most", "at most", "");
  for (const EdgeMemory& e : estimate.edges)
    table += line(e.name, e.on_device ? "-" : bytes_in_words(e.at_most), e.on_device ? bytes_in_words(e.at_most) : "-",
                  e.is_known ? fmt::format("messages of {}", bytes_in_words(e.message_bytes))
                             : "the edge's limit: the size of a message is unknown");
  table += line("at least", bytes_in_words(estimate.host.at_least), bytes_in_words(estimate.device.at_least), "");
  table += line("at most", bytes_in_words(estimate.host.at_most), bytes_in_words(estimate.device.at_most), "");
  return table + line("there is", bytes_in_words(machine.host_bytes),
                      machine.device_bytes ? bytes_in_words(*machine.device_bytes) : "no GPU", "");
}

nlohmann::ordered_json memory_json(const MemoryEstimate& estimate, const MachineMemory& machine) {
  using Json = nlohmann::ordered_json;
  Json gadgets = Json::array(), edges = Json::array();
  for (const GadgetMemory& g : estimate.gadgets) {
    Json json{{"name", g.name}, {"use", g.use}};
    if (g.says) {
      json["host_bytes"] = g.host_bytes;
      json["device_bytes"] = g.need.device_bytes;
      if (g.kept_bytes > 0) json["kept_bytes"] = g.kept_bytes;
      if (*g.need.note) json["note"] = g.need.note;
    }
    gadgets.push_back(std::move(json));
  }
  for (const EdgeMemory& e : estimate.edges) {
    Json json{{"edge", e.name}, {"at_most_bytes", e.at_most}, {"on_device", e.on_device}};
    if (e.is_known) json["message_bytes"] = e.message_bytes;
    edges.push_back(std::move(json));
  }
  const auto bounds = [](const MemoryBounds& b) { return Json{{"at_least", b.at_least}, {"at_most", b.at_most}}; };
  Json there{{"host_bytes", machine.host_bytes}};
  there["device_bytes"] = machine.device_bytes ? Json(*machine.device_bytes) : Json(nullptr);
  return {{"gadgets", gadgets},
          {"edges", edges},
          {"host", bounds(estimate.host)},
          {"device", bounds(estimate.device)},
          {"machine", there}};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
