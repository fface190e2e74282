// `tofstream new-gadget NAME`: a gadget that builds and passes its test at once, in this source tree or as a plug-in of
// its own.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/version.hpp"
#include "core/gadget/registry.hpp"
#include "core/value/document.hpp"
#include "core/value/params.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/scaffold.hpp"

namespace tofstream::command {

namespace {

namespace fs = std::filesystem;

enum class Kind { pure, stateful, source, sink };
constexpr auto enum_names(Kind) {
  return names(Kind::pure, "pure", Kind::stateful, "stateful", Kind::source, "source", Kind::sink, "sink");
}

struct NewGadgetOptions {
  std::string name, kind = "pure", in, out, family;
  fs::path dir = ".";
  bool cuda = false;
};

// A type of message, as share/templates/payloads.yaml describes it.
struct PayloadFacts {
  std::string name, type, header = "gadgets/payloads.hpp", make, keys, feed, fed_by, drain;
  bool books = false;
  static constexpr auto params =
      describe(param<&PayloadFacts::type>("type", required, "The C++ type"),
               param<&PayloadFacts::header>("header", "The header that declares it"),
               param<&PayloadFacts::make>("make", required, "A function made_NAME() that makes one"),
               param<&PayloadFacts::books>("books", "It holds events, which must be booked"),
               param<&PayloadFacts::keys>("keys", "Top-level keys that the feed needs"),
               param<&PayloadFacts::feed>("feed", required, "Gadgets that give it"),
               param<&PayloadFacts::fed_by>("fed_by", required, "The one of them that does"),
               param<&PayloadFacts::drain>("drain", "Gadgets that take it from NAME"));
};

std::vector<PayloadFacts> known_payloads() {
  Problems problems;
  const Value document = load_document(find_shared_file("templates/payloads.yaml"), problems);
  std::vector<PayloadFacts> payloads;
  for (const Value::Entry& entry : document.entries) {
    PayloadFacts facts;
    facts.name = entry.key;
    read_params(detail::infos_of<PayloadFacts>(), &facts, {entry.value, entry.key, problems});
    payloads.push_back(std::move(facts));
  }
  if (!problems.empty()) throw std::runtime_error(problems.all().front().text());
  return payloads;
}

PayloadFacts payload(const std::string& name) {
  const std::vector<PayloadFacts> all = known_payloads();
  std::vector<std::string> known;
  for (const PayloadFacts& facts : all) {
    if (name == facts.name || name == facts.type) return facts;
    known.push_back(facts.name);
  }
  const std::string hint = did_you_mean(name, known);
  throw InputError(fmt::format("there is no template for messages of type '{}'{}", name,
                               hint.empty() ? fmt::format(": take one of {}", fmt::join(known, ", ")) : hint));
}

// What a file and a gadget can be called.
void check_identifier(const std::string& name, const char* what, const char* example) {
  const auto allowed = [](char c) {
    return std::islower(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c)) || c == '_';
  };
  if (name.empty() || name.size() > 40 || !std::islower(static_cast<unsigned char>(name.front())) ||
      name.back() == '_' || name.find("__") != std::string::npos || !std::ranges::all_of(name, allowed))
    throw InputError(
        fmt::format("'{}' cannot name {}: take small letters, digits and single underscores, a letter "
                    "first, such as {}",
                    name, what, example));
}

void check_name(const std::string& name) {
  check_identifier(name, "a gadget", "energy_window");
  if (name == "pipeline" || registry().find(name))
    throw InputError(fmt::format("there is a gadget '{}' already: choose another name", name));
}

std::string camel_case(const std::string& name) {
  std::string text;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') text += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return text;
}

// The tofstream source tree that the folder lies in; a build folder inside it is none of it.
std::optional<fs::path> source_tree(const fs::path& dir) {
  for (fs::path up = fs::weakly_canonical(fs::absolute(dir)); up.has_relative_path(); up = up.parent_path()) {
    if (fs::exists(up / "CMakeCache.txt")) return std::nullopt;
    std::ifstream file(up / "CMakeLists.txt");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("project(tofstream ")) return up;
  }
  return std::nullopt;
}

std::string indented(const std::string& text) {
  std::string result;
  bool begins = true;
  for (const char c : text) {
    if (begins && c != '\n') result += "  ";
    begins = c == '\n';
    result += c;
  }
  return result;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// What a gadget is to be: kind, types, the template's name, one line of documentation.
struct Plan {
  Kind kind = Kind::pure;
  std::optional<PayloadFacts> in, out;
  std::string stem, doc;
};

Plan planned(const NewGadgetOptions& options) {
  Plan plan;
  for (const auto& [kind, name] : enum_names(Kind{}).all)
    if (options.kind == name) plan.kind = kind;
  if (plan.kind == Kind::source && !options.in.empty()) throw InputError("a source takes nothing: leave out --in");
  if (plan.kind == Kind::sink && !options.out.empty()) throw InputError("a sink gives nothing: leave out --out");
  if (options.cuda && (plan.kind != Kind::pure || !options.in.empty() || !options.out.empty()))
    throw InputError("--cuda makes a gadget that takes and gives images: leave out --kind, --in and --out");
  const std::string first = options.cuda ? "estimate" : "events";
  const std::string in = !options.in.empty() ? options.in : (!options.out.empty() ? options.out : first);
  if (plan.kind != Kind::source) plan.in = payload(in);
  if (plan.kind != Kind::sink) plan.out = payload(!options.out.empty() ? options.out : in);
  const bool converts = plan.in && plan.out && plan.in->name != plan.out->name;
  if (converts && plan.kind == Kind::stateful)
    throw InputError("a stateful template gives what it takes: leave out --out, and change the type in the file");
  if (options.cuda) {
    plan.stem = "cuda", plan.doc = "Multiplies an image by a factor, where it lies";
  } else if (plan.kind == Kind::source) {
    plan.stem = "source", plan.doc = "Makes messages";
  } else if (plan.kind == Kind::sink) {
    plan.stem = "sink", plan.doc = "Counts messages and their bytes";
  } else if (plan.kind == Kind::stateful) {
    plan.stem = "stateful", plan.doc = "Passes on one message of several";
  } else if (converts) {
    plan.stem = "convert", plan.doc = fmt::format("Makes {} of {}", plan.out->name, plan.in->name);
  } else if (plan.in->name == "events") {
    plan.stem = "pure.events", plan.doc = "Rejects events far from the middle of their line";
  } else {
    plan.stem = "pure", plan.doc = "Leaves small messages out";
  }
  return plan;
}

// The words that files in and out of the tree share.
Scaffold scaffold_of(const NewGadgetOptions& options, const Plan& plan) {
  Scaffold scaffold;
  const PayloadFacts& in = plan.in ? *plan.in : *plan.out;
  const PayloadFacts& out = plan.out ? *plan.out : in;
  scaffold.set("name", options.name);
  scaffold.set("file", options.name);
  scaffold.set("Struct", camel_case(options.name));
  scaffold.set("doc", plan.doc);
  scaffold.set("in", in.name);
  scaffold.set("In", in.type);
  scaffold.set("out", out.name);
  scaffold.set("Out", out.type);
  scaffold.set("version", std::string(version()));
  scaffold.set("make", out.make);
  scaffold.set("test_make", plan.in ? in.make : "");
  scaffold.set("book_dropped",
               in.books ? "\n    else\n      context.books().rejected(in.event_count(), context.name());" : "");
  scaffold.set("book_received", out.books ? "\n      context.books().received(made.event_count());" : "");
  scaffold.set("book_written", in.books ? "\n    context.books().written(in.event_count());" : "");
  const std::string from = plan.in ? ", from: " + plan.in->fed_by : "";
  scaffold.set("keys", plan.in ? plan.in->keys : "");
  scaffold.set("gadgets",
               indented((plan.in ? plan.in->feed : "") + fmt::format("mine: {{use: {}{}}}\n", options.name, from) +
                        (plan.out ? replaced(plan.out->drain, "NAME", "mine") : "")));
  scaffold.set("tests", Scaffold::read_template(plan.stem + ".test.cpp.in"));
  return scaffold;
}

// Lines that include these headers and those of what travels in and out.
std::string includes_of(const Plan& plan, std::set<std::string> headers) {
  for (const auto& facts : {plan.in, plan.out})
    if (facts) headers.insert(facts->header);
  return fmt::format("#include \"{}\"", fmt::join(headers, "\"\n#include \""));
}

void in_tree(const NewGadgetOptions& options, const Plan& plan, const fs::path& root, Scaffold& scaffold) {
  const std::string family = !options.family.empty()     ? options.family
                             : plan.kind == Kind::source ? "source"
                             : plan.kind == Kind::sink   ? "write"
                             : options.cuda              ? "filter"
                                                         : "correct";
  scaffold.set("includes", includes_of(plan, {"core/gadget.hpp", "kernels/sort/select.hpp"}));
  scaffold.set("test_includes", includes_of(plan, {"core/testing.hpp"}));
  scaffold.set("open", "namespace tofstream {\nnamespace {\n");
  scaffold.set("close", "\n}  // namespace\n}  // namespace tofstream");
  scaffold.set("namespace_open", "namespace tofstream {\n");
  scaffold.set("namespace_close", "\n}  // namespace tofstream");
  scaffold.set("kernel_header", fmt::format("kernels/{}/{}.hpp", family, options.name));
  scaffold.set("guard_open", "#ifndef TOFSTREAM_HAVE_CUDA\n");
  scaffold.set("guard_close", "#endif\n");
  scaffold.set("Test", plan.out ? "RegisteredGadgetTest<@Out@>" : "RegisteredGadgetTest<void>");
  scaffold.set("test_name", "\"@name@\", ");
  scaffold.set("test_all", "\"@name@\"");
  scaffold.set("direct", "");
  scaffold.set("example", "share/examples/gadgets/@name@.yaml");
  scaffold.set("schema",
               "# yaml-language-server: $schema=../../../build/release/share/tofstream/schema/pipeline.schema.json\n");
  scaffold.set("run", "tofstream run @example@");
  scaffold.add(root / "gadgets" / family / (options.name + ".cpp"), plan.stem + ".cpp.in");
  scaffold.add(root / "tests" / "gadgets" / (options.name + ".cpp"), "test.in_tree.in");
  scaffold.add(root / "share" / "examples" / "gadgets" / (options.name + ".yaml"), "example.yaml.in");
  if (!options.cuda) return;
  const fs::path kernel = root / "kernels" / family / options.name;
  scaffold.add(kernel.string() + ".hpp", "cuda.hpp.in");
  scaffold.add(kernel.string() + ".cu", "cuda.cu.in");
  scaffold.add(kernel.string() + "_without_cuda.cpp", "cuda.nocuda.cpp.in");
}

void out_of_tree(const NewGadgetOptions& options, const Plan& plan, Scaffold& scaffold) {
  if (!options.family.empty()) throw InputError("--family is for a gadget in tofstream's own tree: leave it out");
  scaffold.set("includes", "#include <tofstream/gadget.hpp>");
  scaffold.set("open", "namespace {\n\nusing namespace tofstream;\n");
  scaffold.set("close", "\n}  // namespace");
  scaffold.set("namespace_open", "");
  scaffold.set("namespace_close", "");
  scaffold.set("kernel_header", "@file@_kernel.hpp");
  scaffold.set("guard_open", "");
  scaffold.set("guard_close", "");
  scaffold.set("Test", "GadgetTest<@Struct@>");
  scaffold.set("test_name", "");
  scaffold.set("test_all", "\"{}\"");
  scaffold.set("direct", Scaffold::read_template(plan.stem + ".direct.in"));
  scaffold.set("example", "@file@.yaml");
  scaffold.set("schema", "");
  scaffold.set("run", "tofstream run @example@ --plugins build");
  scaffold.set("kernel_setup", options.cuda ? Scaffold::read_template("kernel_setup.in") : "");
  scaffold.set("kernel_source", options.cuda ? " ${kernel}" : "");
  const fs::path folder = options.dir / options.name;
  scaffold.add(folder / (options.name + ".cpp"), plan.stem + ".cpp.in");
  scaffold.add(folder / ("test_" + options.name + ".cpp"), "test.out_of_tree.in");
  scaffold.add(folder / (options.name + ".yaml"), "example.yaml.in");
  scaffold.add(folder / "CMakeLists.txt", "CMakeLists.txt.in");
  scaffold.add(folder / "README.md", "README.md.in");
  if (!options.cuda) return;
  scaffold.add(folder / (options.name + "_kernel.hpp"), "cuda.hpp.in");
  scaffold.add(folder / (options.name + ".cu"), "cuda.cu.in");
  scaffold.add(folder / (options.name + "_without_cuda.cpp"), "cuda.nocuda.cpp.in");
}

// What makes CMake find this tofstream's package: nothing where it looks by itself. A build folder has none, so that it
// is installed first.
struct CMakeFinds {
  std::string install_first, option;
};
CMakeFinds cmake_finds() {
  std::error_code none;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", none).parent_path().parent_path();
  if (prefix == "/usr" || prefix == "/usr/local") return {};
  if (fs::exists(prefix / "CMakeCache.txt", none))
    return {fmt::format("cmake --install {} --prefix $HOME/tofstream && ", prefix.string()),
            " -DCMAKE_PREFIX_PATH=$HOME/tofstream"};
  return {"", fmt::format(" -DCMAKE_PREFIX_PATH={}", prefix.string())};
}

void new_gadget(const NewGadgetOptions& options) {
  check_name(options.name);
  if (!options.family.empty()) check_identifier(options.family, "a family", "correct");
  const Plan plan = planned(options);
  Scaffold scaffold = scaffold_of(options, plan);
  const std::optional<fs::path> root = source_tree(options.dir);
  if (root)
    in_tree(options, plan, *root, scaffold);
  else
    out_of_tree(options, plan, scaffold);
  for (const fs::path& file : scaffold.write()) fmt::print("{}\n", file.lexically_normal().string());
  if (root)
    fmt::print(
        "Next: build, with the target `pages` for the reference, then tofstream run share/examples/gadgets/{}.yaml\n",
        options.name);
  else {
    const CMakeFinds finds = cmake_finds();
    fmt::print("Next: {}cd {} && cmake -B build{} && cmake --build build && ctest --test-dir build\n",
               finds.install_first, (options.dir / options.name).lexically_normal().string(), finds.option);
  }
}

}  // namespace

void add_new_gadget(Command& app) {
  auto& command = app.add_command("new-gadget", "Write a gadget that builds: source, test and an example pipeline");
  auto options = std::make_shared<NewGadgetOptions>();
  command.add_option("name", options->name, "Its name in pipelines, such as energy_window").required();
  command.add_option("--kind", options->kind, "pure, stateful, source or sink")
      .one_of({"pure", "stateful", "source", "sink"})
      .shows_default();
  command.add_option("--in", options->in, "What it takes: events (default), views, estimate or bytes");
  command.add_option("--out", options->out, "What it gives; by default what it takes");
  command.add_flag("--cuda", options->cuda, "A gadget on images with a CUDA kernel, and the same on the host");
  command.add_option("--family", options->family, "In tofstream's own tree: the folder below gadgets/");
  command
      .add_option("--dir", options->dir, "Where to write: in tofstream's tree, or the folder of a new plug-in's folder")
      .shows_default();
  command.footer(
      "Example: tofstream new-gadget energy_window --kind pure\nIts last line says how to build what it wrote.");
  command.on_run([options] { new_gadget(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
