// A pipeline as the user wrote it, checked: YAML, includes and options become gadgets with
// parameters and typed edges. Nothing is constructed here; every error of the configuration is
// found and reported at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/gadget/registry.hpp"
#include "core/value/params.hpp"
#include "core/value/value.hpp"

namespace tofstream {

// What the program returns to the shell.
enum ExitCode { exit_ok = 0, exit_run = 1, exit_config = 2, exit_abort = 130 };

// Thrown with every problem of a configuration; what() has a line for each, "file:line:column: message".
class ConfigErrors : public std::runtime_error {
 public:
  explicit ConfigErrors(std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

enum class EdgePolicy { block, drop_oldest, spill };
constexpr auto enum_names(EdgePolicy) {
  return names(EdgePolicy::block, "block", EdgePolicy::drop_oldest, "drop_oldest", EdgePolicy::spill, "spill");
}

// The bounds of an edge: `edge: {policy: ..., messages: ..., bytes: ...}` of the gadget that reads
// from it; under an input's name, `edge: {image: {messages: 1}}`, those of one input.
struct EdgeSettings {
  EdgePolicy policy = EdgePolicy::block;
  std::size_t messages = 64;
  std::size_t bytes = std::size_t{256} << 20;
  std::optional<std::size_t> disk_bytes;
  std::filesystem::path spill_folder;

  static constexpr auto params = describe(
      param<&EdgeSettings::policy>(
          "policy",
          "What a full edge does: block its writer, drop the oldest message, or spill to disk what came last"),
      param<&EdgeSettings::messages>("messages", range(1, 1e6),
                                     "Messages that may wait; policy spill goes by bytes alone"),
      param<&EdgeSettings::bytes>("bytes", at_least(0), unit("byte"), "Bytes that may wait in memory"),
      param<&EdgeSettings::disk_bytes>("disk_bytes", unit("byte"),
                                       "Bytes that policy spill may put on disk before it blocks; none: all that fits"),
      param<&EdgeSettings::spill_folder>(
          "spill_folder", "Where policy spill puts them; none: the system's folder for temporary files (TMPDIR)"));
};

// How messages of several writers into one input follow each other.
enum class MergeOrder { unordered, ordered };
constexpr auto enum_names(MergeOrder) {
  return names(MergeOrder::unordered, "unordered", MergeOrder::ordered, "ordered");
}

// Which messages of several inputs belong to one call: the next of each, or those of equal MessageInfo::origin.
enum class JoinMode { in_order, sequence };
constexpr auto enum_names(JoinMode) {
  return names(JoinMode::in_order, "in_order", JoinMode::sequence, "sequence");
}

// Deliberate faults, for authors and tests: `fault: {throw_at: 5}`. Messages are counted from 0 as the gadget takes
// them; those of a source as it gives them. A rank above 0 counts what the first one asks it to project.
struct FaultSettings {
  std::optional<std::uint64_t> rank, throw_at, drop_at, duplicate_at, kill_at, delay_at;
  double delay_ms = 0;

  static constexpr auto params = describe(
      param<&FaultSettings::rank>("rank", range(0, 63),
                                  "The rank that meets the fault, where ranks share the gadget's work; without it the "
                                  "first, 0"),
      param<&FaultSettings::throw_at>("throw_at", "The message at which the gadget throws"),
      param<&FaultSettings::drop_at>("drop_at", "The message that is lost, and booked so"),
      param<&FaultSettings::duplicate_at>("duplicate_at", "The message that comes twice"),
      param<&FaultSettings::kill_at>("kill_at", "The message at which the process is killed, as by the kernel"),
      param<&FaultSettings::delay_at>("delay_at", "The message that is delayed; without it every one is"),
      param<&FaultSettings::delay_ms>("delay_ms", range(0, 600'000), unit("ms"), "How long a delay lasts"));

  bool any() const { return throw_at || drop_at || duplicate_at || kill_at || delay_ms > 0; }
  bool is_of(std::uint64_t which) const { return any() && rank.value_or(0) == which; }
};

// Something that a gadget reads when it is made, as a parameter names it (core/value/param_rules.hpp, Reads).
struct NamedInput {
  std::string parameter;  // "gadgets.feed.path"
  std::string kind;       // "scanners"; "": a file or folder
  std::string name;
  Location where;
};

// An output that feeds an input, by its gadget's full name; the port is empty where none is given.
struct SourceName {
  std::string gadget;
  std::string port;
  Value written;  // as the user wrote it, and where
};

struct InputSources {
  std::string input;  // empty where `from` names none
  Location where;
  std::vector<SourceName> sources;  // in the order written
};

// The bounds of the edges into one input.
struct InputEdge {
  EdgeSettings settings;
  bool messages_given = false;
  Location where;  // of the policy; without one, of the settings as a whole
};

// A gadget from the file to the run: what the user wrote, and what the checks made of it.
struct PipelineGadget {
  // As written, once includes, options, variables and nested pipelines are in place (core/pipeline/nested.hpp).
  std::string name;  // "outer/inner" in a nested pipeline
  Location where;
  Value settings;         // all its keys
  std::size_t level = 0;  // the file that it is in, of FlatPipeline::levels
  std::vector<InputSources> from;

  // As checked (core/pipeline/pipeline_gadget.hpp).
  const GadgetInfo* info = nullptr;               // null where its type is unknown
  std::shared_ptr<const GadgetInfo> specialised;  // owns `info` where it depends on the parameters
  bool has_ports = false;        // false where its type is unknown, or depends on parameters that are wrong
  std::vector<InputEdge> edges;  // of each input, where it has ports
  std::shared_ptr<const void> params;
  Value resolved;  // the parameters, every default spelled out
  std::vector<NamedInput> reads;
  unsigned parallel = 1;  // messages in work at a time
  MergeOrder merge = MergeOrder::unordered;
  JoinMode join = JoinMode::in_order;
  FaultSettings fault;
};

// From output `from_port` of gadget `from` to input `to_port` of gadget `to` (indices into
// Pipeline::gadgets).
struct PipelineEdge {
  std::size_t from = 0;
  std::size_t from_port = 0;
  std::size_t to = 0;
  std::size_t to_port = 0;
  EdgeSettings settings;
  bool is_feedback = false;
  Location where;
  std::string name;  // "branch.low -> projected.events"; port names only where there are several
};

struct Pipeline {
  std::string name;
  std::vector<PipelineGadget> gadgets;  // in topological order, feedback edges left out
  std::vector<PipelineEdge> edges;
  Value resolved;                 // the whole pipeline with every default, for run.json; it can be run again
  std::vector<Problem> warnings;  // what may go wrong while it runs, with its place and a remedy
};

// What a command line adds to the file.
struct PipelineOptions {
  std::vector<std::string> sets;       // "gadget.param=yaml" or "key.nested=yaml"
  std::optional<std::string> input;    // parameter `path` of the one source
  std::optional<std::string> backend;  // top-level key `backend`
};

// Reads and checks a pipeline file. Throws ConfigErrors.
Pipeline load_pipeline(const std::filesystem::path& file, const PipelineOptions& options = {},
                       const Registry& known = registry());

// As load_pipeline, from text; `name` stands for the file in messages, and includes are relative to
// its folder.
Pipeline parse_pipeline(std::string_view text, const std::string& name, const PipelineOptions& options = {},
                        const Registry& known = registry());

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
