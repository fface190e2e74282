// A pipeline as the user wrote it, checked: YAML, includes and options become gadgets with
// parameters and typed edges. Nothing is constructed here; every error of the configuration is
// found and reported at once.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/params.hpp"
#include "core/registry.hpp"
#include "core/value.hpp"

namespace tofstream {

// What the program returns to the shell.
enum ExitCode { exit_ok = 0, exit_run = 1, exit_config = 2, exit_abort = 130 };

// Thrown with every problem of a configuration; what() has one a line, "file:line:column: message".
class ConfigErrors : public std::runtime_error {
 public:
  explicit ConfigErrors(std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

enum class EdgePolicy { block, drop_oldest };
constexpr auto enum_names(EdgePolicy) {
  return names(EdgePolicy::block, "block", EdgePolicy::drop_oldest, "drop_oldest");
}

// The bounds of an edge: `edge: {policy: ..., messages: ..., bytes: ...}` of the gadget that reads
// from it.
struct EdgeSettings {
  EdgePolicy policy = EdgePolicy::block;
  std::size_t messages = 4;
  std::size_t bytes = std::size_t{512} << 20;

  static constexpr auto params = describe(
      param<&EdgeSettings::policy>("policy", "What a full edge does: block its writer, or drop the oldest message"),
      param<&EdgeSettings::messages>("messages", range(1, 1e6), "Messages that may wait"),
      param<&EdgeSettings::bytes>("bytes", at_least(1), unit("byte"), "Bytes that may wait"));
};

struct PipelineGadget {
  std::string name;
  const GadgetInfo* info = nullptr;
  Location where;
  std::shared_ptr<const void> params;
  Value resolved;         // the parameters, every default spelled out
  unsigned parallel = 1;  // messages in work at a time
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
  Value resolved;  // the whole pipeline with every default, for run.json
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
