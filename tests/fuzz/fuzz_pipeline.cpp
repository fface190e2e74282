// Fuzzes the reading of pipelines: arbitrary text must give a pipeline, or a bounded number of problems of one line
// each; and a good pipeline must be the same when its resolved form is read again. No file is opened: the text contains
// the files that it includes or nests, each after a line `# file: NAME`.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/gadget.hpp"
#include "core/gadget/value_json.hpp"
#include "core/pipeline/memory_estimate.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/value/document.hpp"

namespace tofstream {
namespace {

struct Batch {
  std::size_t bytes() const { return 1000; }
};
struct Picture {};

enum class Mode { fast, exact };
constexpr auto enum_names(Mode) {
  return names(Mode::fast, "fast", Mode::exact, "exact");
}

/// A parameter of each type.
struct EveryType {
  struct Inner {
    float width = 1;
    std::vector<std::string> labels;
    static constexpr auto params =
        describe(param<&Inner::width>("width", positive, unit("mm"), "Real"), param<&Inner::labels>("labels", "Texts"));
  };
  bool flag = false;
  int small = 1;
  std::int64_t large = 1;
  std::uint64_t natural = 1;
  double real = 1;
  std::string text = "near";
  std::filesystem::path path;
  Mode mode = Mode::fast;
  std::array<int, 3> size = {1, 2, 3};
  std::vector<double> list;
  std::optional<std::uint8_t> byte;
  std::vector<Inner> inner;
  Value anything;
  static constexpr auto params = describe(
      param<&EveryType::flag>("flag", "Bool"), param<&EveryType::small>("small", range(0, 9), live, "Integer"),
      param<&EveryType::large>("large", "Integer"), param<&EveryType::natural>("natural", at_least(1), "Integer"),
      param<&EveryType::real>("real", range(-1, 1e9), unit("mm"), "Real"),
      param<&EveryType::text>("text", one_of("near", "far"), "Choice"), param<&EveryType::path>("path", "Path"),
      param<&EveryType::mode>("mode", "Enumeration"), param<&EveryType::size>("size", range(1, 4096), "Three"),
      param<&EveryType::list>("list", "Reals"), param<&EveryType::byte>("byte", "May be null"),
      param<&EveryType::inner>("inner", "Structs"), param<&EveryType::anything>("anything", "Any tree"));
};

struct Source {
  using Params = EveryType;
  static constexpr auto params = EveryType::params;
  static MemoryNeed memory(const Params& p) {
    return {.host_bytes = memory_product(static_cast<std::size_t>(p.natural), 4), .message_bytes = p.natural};
  }
  void run(Emit<Batch>&, std::stop_token) {}
  void update(const Params&) {}
};
TOFSTREAM_GADGET(Source, "source", "Batches");

struct Pass {
  using Params = EveryType;
  static constexpr auto params = EveryType::params;
  static MemoryNeed memory(std::span<const std::size_t> inputs) { return {.message_bytes = inputs[0]}; }
  Batch operator()(const Batch& batch, const Params&) const { return batch; }
};
TOFSTREAM_GADGET(Pass, "pass", "One for one");

struct Split {
  struct Out {
    std::shared_ptr<const Batch> even, odd;
    static constexpr auto outputs = ports(port<&Out::even>("even"), port<&Out::odd>("odd"));
  };
  void process(const Batch&, Emit<Out>&) {}
  void flush(Emit<Out>&) {}
};
TOFSTREAM_GADGET(Split, "split", "Two outputs");

struct Pair {
  struct In {
    std::shared_ptr<const Batch> left, right;
    static constexpr auto inputs = ports(port<&In::left>("left"), port<&In::right>("right", optional));
  };
  void process(const In&, Emit<Batch>&) {}
};
TOFSTREAM_GADGET(Pair, "pair", "Joins");

struct Project {
  struct In {
    std::shared_ptr<const Batch> events;
    std::shared_ptr<const Picture> image;
    static constexpr auto inputs = ports(port<&In::events>("events"), port<&In::image>("image", feedback));
  };
  void process(const In&, Emit<Picture>&) {}
};
TOFSTREAM_GADGET(Project, "project", "On a cycle");

struct Update {
  void start(Emit<Picture>&) {}
  void process(const Picture&, Emit<Picture>&) {}
};
TOFSTREAM_GADGET(Update, "update", "Opens a cycle");

struct Sink {
  static constexpr bool own_thread = true;
  void process(const Batch&) {}
};
TOFSTREAM_GADGET(Sink, "sink", "Ends");

std::map<std::string, std::string, std::less<>> files;  // in the text, by name without folder

/// The text up to the first mark; the rest becomes `files`.
std::string_view take_files(std::string_view text) {
  constexpr std::string_view mark = "\n# file: ";
  files.clear();
  const std::size_t end = text.find(mark);
  for (std::size_t at = end; at != std::string_view::npos;) {
    const std::size_t name = at + mark.size();
    const std::size_t line_end = std::min(text.find('\n', name), text.size());
    at = text.find(mark, line_end);
    files.emplace(text.substr(name, line_end - name), text.substr(line_end, at - line_end));
  }
  return text.substr(0, end);
}

void require(bool holds) {
  if (!holds) std::abort();
}

void check_good(const Pipeline& pipeline) {
  const std::string resolved = to_json(pipeline.resolved).dump();
  const Pipeline again = parse_pipeline(resolved, "main.yaml");
  require(to_json(again.resolved).dump() == resolved);
  require(again.edges.size() == pipeline.edges.size());
  const MemoryEstimate estimate = estimate_memory(pipeline);
  require(estimate.host.at_least <= estimate.host.at_most);
}

}  // namespace

Value load_document(const std::filesystem::path& file, Problems& problems) {
  const auto found = files.find(file.filename().string());
  if (found != files.end()) return parse_document(found->second, file.string(), problems);
  problems.add({std::make_shared<const std::string>(file.string()), 0, 0}, "cannot be read");
  return {};
}

}  // namespace tofstream

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tofstream;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    check_good(parse_pipeline(take_files(text), "main.yaml"));
  } catch (const ConfigErrors& errors) {
    require(!errors.problems().empty() && errors.problems().size() <= Problems::most + 1);
    for (const Problem& problem : errors.problems()) require(!problem.message.empty());
  }
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
