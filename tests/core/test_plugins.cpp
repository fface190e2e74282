// Plug-ins: what is loaded, and what is reported and skipped. The libraries of tests/core/plugins lie beside
// tofstream's.
#include <fstream>

#include "core/plugin/plugin_file.hpp"
#include "core/plugin/plugin_trial.hpp"
#include "core/plugin/plugins.hpp"
#include "gadgets.hpp"

using namespace tofstream;
namespace fs = std::filesystem;

namespace {

fs::path fixture(const std::string& name) {
  return fs::read_symlink("/proc/self/exe").parent_path() / ".." / "lib" / "test_plugins" / (name + ".so");
}

// The process loads the fixtures once; every case looks at the result.
const PluginScan& scan() {
  static const PluginScan once =
      load_plugins({fixture("good").parent_path(), fixture("good").parent_path(), "/no/such/folder"});
  return once;
}

const Plugin& plugin(const std::string& name) {
  const auto it =
      std::ranges::find_if(scan().plugins, [&](const Plugin& p) { return p.file.filename() == name + ".so"; });
  REQUIRE(it != scan().plugins.end());
  return *it;
}

std::string refusal(const fs::path& file) {
  try {
    read_plugin_records(file);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

std::string mismatch(void (*change)(PluginRecord&)) {
  PluginRecord record = own_record();
  change(record);
  try {
    check_record(record);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("the gadgets of a plug-in are used like any other, and know where they come from") {
  CHECK(plugin("good").loaded());
  CHECK(plugin("good").gadgets ==
        std::vector<std::string>{"plugin_numbers", "plugin_odd", "plugin_pair", "plugin_sum"});
  CHECK(plugin("good").version == header_version);
  REQUIRE(registry().find("plugin_sum"));
  CHECK(fs::path(registry().find("plugin_sum")->origin).filename() == "good.so");
  const RunReport report =
      test::run_text("gadgets: {numbers: {use: plugin_numbers, count: 4}, sum: {use: plugin_sum, from: numbers}}");
  CHECK(report.exit_code == exit_ok);
  CHECK(std::get<std::int64_t>(test::gadget(report, "sum").figures.at("sum")) == 10);
}

TEST_CASE("a bad plug-in is skipped with its reason, and the program's registry stays as it was") {
  CHECK(scan().plugins.size() == 8);  // each once, though its folder was named twice
  CHECK(plugin("future").problem ==
        "was built for plug-in ABI 99, and this program has 4: build it again with this tofstream's headers");
  // Whether an exception of a static constructor can be caught depends on the loader, and so on sanitizers.
  CHECK(plugin("throws").problem.find("no licence found") != std::string::npos);
  CHECK(plugin("throws").problem.ends_with(": fix it and build it again"));
  CHECK(plugin("crashes").problem == "crashes (signal 11, Segmentation fault): fix it and build it again");
  CHECK(plugin("unresolved").problem.starts_with("cannot be loaded (undefined symbol: "));
  CHECK(plugin("silent").problem.starts_with("declares no gadget for tofstream: use TOFSTREAM_GADGET"));
  CHECK(plugin("defaults").problem.starts_with("is refused: gadget 'plugin_defaults': default of size must be"));
  CHECK(registry().problems().empty());
  for (const char* name : {"plugin_future", "plugin_throws", "plugin_crashes", "plugin_unresolved", "plugin_defaults"})
    CHECK(!registry().find(name));
}

TEST_CASE("of a plug-in with a name that is taken nothing is added") {
  CHECK(plugin("later").problem ==
        fmt::format("is refused: two gadgets are named 'plugin_sum' (the other is of {}): rename one",
                    fs::canonical(fixture("good")).string()));
  CHECK(!registry().find("plugin_free"));
}

TEST_CASE("a folder that cannot be read is one line, and what can be read is loaded") {
  REQUIRE(scan().problems.size() == 1);
  CHECK(scan().problems[0].starts_with("/no/such/folder: this folder of plug-ins cannot be read ("));
  CHECK(scan().warnings().size() == 8);
  CHECK(scan().warnings()[1].find("/crashes.so: plug-in skipped: it crashes (signal 11") != std::string::npos);
}

TEST_CASE("a pipeline that uses a gadget of a skipped plug-in says so") {
  scan();
  std::string text;
  try {
    parse_pipeline("gadgets: {a: {use: plugin_future}}", "test.yaml");
  } catch (const ConfigErrors& errors) {
    text = errors.what();
  }
  CHECK(text.starts_with("test.yaml:1:20: gadgets.a: no gadget is called 'plugin_future': the plug-in /"));
  CHECK(text.find("/future.so has it, but was built for plug-in ABI 99, and this program has 4") != std::string::npos);
}

TEST_CASE("what is no library, or cut short, or of another processor, is told apart before it is loaded") {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path / "notes.so") << "not a library\n";
  CHECK(refusal(folder.path / "notes.so").starts_with("is no shared object"));
  std::ofstream(folder.path / "empty.so").flush();
  CHECK(refusal(folder.path / "empty.so").starts_with("is no shared object"));
  CHECK(refusal(folder.path / "missing.so") == "cannot be read (No such file or directory)");
  CHECK(refusal(folder.path).starts_with("is no shared object"));
  std::ifstream good(fixture("good"), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(good), {});
  for (const std::size_t length : {std::size_t{20}, std::size_t{64}, bytes.size() / 2, bytes.size() - 100}) {
    std::ofstream(folder.path / "short.so", std::ios::binary) << bytes.substr(0, length);
    CHECK(refusal(folder.path / "short.so") != "");
  }
  std::string foreign = bytes;
  foreign[18] = '\x08';  // e_machine: MIPS
  std::ofstream(folder.path / "foreign.so", std::ios::binary) << foreign;
  CHECK(refusal(folder.path / "foreign.so").starts_with("was built for another kind of processor"));
}

TEST_CASE("every difference of ABI is named, with what to do") {
  CHECK(mismatch([](PluginRecord&) {}) == "");
  CHECK(mismatch([](PluginRecord& r) { r.abi = 7; }).starts_with("was built for plug-in ABI 7"));
  CHECK(mismatch([](PluginRecord& r) { r.size += 8; }).find("build it again") != std::string::npos);
  CHECK(mismatch([](PluginRecord& r) {
          detail::put_text(r.version, "0.0.9");
        }).starts_with("was built for tofstream 0.0.9, and this is 0.1.0"));
  CHECK(
      mismatch([](PluginRecord& r) { detail::put_text(r.runtime, "libc++"); }).starts_with("was built with libc++ ("));
  CHECK(mismatch([](PluginRecord& r) { ++r.headers; }).find("not this program's: build it again") != std::string::npos);
  CHECK(own_record().headers != 0);
  CHECK(mismatch([](PluginRecord& r) { detail::put_text(r.compiler, "clang 19"); }) == "");
}

TEST_CASE("a child process reports how an attempt ended") {
  CHECK(in_child_process([] {}) == "");
  CHECK(in_child_process([] { throw std::runtime_error("no"); }) == "no");
  CHECK(in_child_process([] { throw 1; }) == "throws what is no std::exception");
  CHECK(in_child_process([] { std::abort(); }) == "crashes (signal 6, Aborted)");
  CHECK(in_child_process([] { std::terminate(); }) == "ends the program by std::terminate");
  CHECK(in_child_process([] { std::_Exit(0); }) == "ends the program");
}

TEST_CASE("plug-ins are looked for in named folders, then in TOFSTREAM_PLUGIN_PATH") {
  ::setenv("TOFSTREAM_PLUGIN_PATH", "/b:/c::", 1);
  const std::vector<fs::path> folders = plugin_folders({"/a"});
  ::unsetenv("TOFSTREAM_PLUGIN_PATH");
  REQUIRE(folders.size() >= 3);
  CHECK(std::vector<fs::path>(folders.begin(), folders.begin() + 3) == std::vector<fs::path>{"/a", "/b", "/c"});
}

TEST_CASE("what a library registers besides gadgets is added at once, or kept for who loads it as a plug-in") {
  Registry known;
  int added = 0;
  const auto extension = [&](const char* problem) {
    return Extension{[problem] { return std::string(problem); }, [&added] { ++added; }};
  };
  known.add(extension(""));
  CHECK(added == 1);
  known.add(extension("a name that is taken"));
  CHECK(added == 1);
  CHECK(known.problems() == std::vector<std::string>{"a name that is taken"});
  const Registered registered = known.captured([&] { known.add(extension("")); });
  CHECK(added == 1);
  CHECK(registered.extensions.size() == 1);
}

TEST_CASE("a gadget's name is one that YAML and a shell take without quotes") {
  for (const char* name : {"Near Middle", "near-middle", "2nd", "_x", "", "n\xc3\xa4he"}) {
    CAPTURE(name);
    GadgetInfo info;
    info.name = name;
    const auto problems = registry().problems_of(info);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].find("its name must be small letters, digits and underscores") != std::string::npos);
  }
  GadgetInfo right;
  right.name = "near_middle_2";
  CHECK(registry().problems_of(right).empty());
}
// SPDX-License-Identifier: Apache-2.0
