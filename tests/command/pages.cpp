// What `tofstream` says about itself: figures, schema, reference pages and completion; generated files are up to date.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include <boost/property_tree/xml_parser.hpp>

#include "tests/command/command.hpp"
#include "tests/support/skip.hpp"

using namespace tofstream;

namespace {

// Compares a command's output with the file for it in the source tree.
void check_up_to_date(const std::string& arguments, const std::filesystem::path& file) {
  if (!std::filesystem::exists("share/doc")) return skip_test("sources beside the test");
  const auto made = run_command(arguments);
  REQUIRE_MESSAGE(made.code == 0, made.err);
  CHECK_MESSAGE(made.out == text_of(file), file.string(), " is not what `tofstream ", arguments,
                "` prints: cmake --build build/release --target pages");
}

}  // namespace

TEST_CASE("the reference pages are up to date") {
  check_up_to_date("gadgets --markdown", "share/doc/reference/gadgets.md");
  check_up_to_date("reference", "share/doc/reference/command.md");
}

TEST_CASE("the manual page has every command and option, and no line that roff would take for another macro") {
  const auto made = run_command("reference --man");
  REQUIRE_MESSAGE(made.code == 0, made.err);
  CHECK(made.out.find(".TH TOFSTREAM 1 ") != std::string::npos);
  for (const char* part :
       {".SS run\n", ".SS new\\-gadget\n", ".SS completion\n", "\\fB\\-\\-plugins\\fR", "\\fB\\-\\-set\\fR"})
    CHECK_MESSAGE(made.out.find(part) != std::string::npos, part);
  CHECK(made.out.find(".SS reference") == std::string::npos);  // hidden
  const std::set<std::string> macros{".\\\"", ".TH", ".SH", ".SS", ".TP", ".PP", ".B",
                                     ".I",    ".RI", ".nf", ".fi", ".nh", ".ad"};
  std::istringstream lines(made.out);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with('.') || line.starts_with('\''))
      CHECK_MESSAGE(macros.contains(line.substr(0, line.find(' '))), line);
}

TEST_CASE("every pipeline names the schema that completes it") {
  const std::filesystem::path built = "build/release/share/tofstream/schema/pipeline.schema.json";
  for (const char* folder : {"pipelines", "share/examples/gadgets"}) {
    if (!std::filesystem::is_directory(folder)) return skip_test("sources beside the test");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      const std::string text = text_of(entry.path());
      const std::string mark = "# yaml-language-server: $schema=";
      CAPTURE(entry.path().string());
      const std::size_t at = text.find(mark);
      REQUIRE(at != std::string::npos);
      const std::string schema = text.substr(at + mark.size(), text.find('\n', at) - at - mark.size());
      CHECK(std::filesystem::weakly_canonical(entry.path().parent_path() / schema) ==
            std::filesystem::weakly_canonical(std::filesystem::absolute(built)));
    }
  }
}

TEST_CASE("graph writes a figure in the format that the file's ending says") {
  if (std::system("command -v dot >/dev/null") != 0) return skip_test("Graphviz");
  const TemporaryFolder folder;
  const std::string svg = (folder / "osem.svg").string(), dot = (folder / "osem.dot").string();
  const auto made = run_command("graph listmode_osem --set subsets.iterations=2 -o " + svg);
  REQUIRE_MESSAGE(made.code == 0, made.err);
  boost::property_tree::ptree tree;
  std::istringstream text(text_of(svg));
  REQUIRE_NOTHROW(boost::property_tree::read_xml(text, tree));  // throws if it is not well formed
  CHECK(tree.count("svg") == 1);
  CHECK(text.str().find("tor_projector") != std::string::npos);
  CHECK(text.str().find("stroke-dasharray") != std::string::npos);
  REQUIRE(run_command("graph listmode_osem -o " + dot).code == 0);
  CHECK(text_of(dot).starts_with("digraph"));
  CHECK(run_command("graph listmode_osem --format json").json()["gadgets"].size() == 9);
  CHECK(run_command("graph record").out.find("flowchart LR") != std::string::npos);
  // Nine gadgets in a row would be twice as wide as a screen.
  CHECK(run_command("graph listmode_osem").out.find("flowchart TB") != std::string::npos);
  CHECK(text_of(dot).find("rankdir=TB") != std::string::npos);
}

TEST_CASE("graph of a wrong pipeline and an unknown format say so") {
  const auto missing = run_command("graph nowhere");
  CHECK(missing.code == 2);
  CHECK(missing.err.find("nowhere") != std::string::npos);
  CHECK(run_command("graph listmode_osem --format tiff").code == 2);
}

TEST_CASE("without Graphviz SVG fails with one line that says what to do") {
  const std::string line = "PATH=/nowhere " + program().string() + " graph listmode_osem --format svg 2>&1";
  FILE* pipe = ::popen(line.c_str(), "r");
  REQUIRE(pipe);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  CHECK(WEXITSTATUS(::pclose(pipe)) == 1);
  CHECK(text.find("install the package graphviz") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
}

TEST_CASE("gadgets NAME shows ports, parameters and a complete example") {
  const auto text = run_command("gadgets tor_projector");
  REQUIRE(text.code == 0);
  for (const char* part : {"takes    events: subset of events, image: estimate (feedback)", "tube_width_voxels",
                           "example\n", "    gadgets:\n", "use: simulator"})
    CHECK_MESSAGE(text.out.find(part) != std::string::npos, part);
  const auto json = run_command("gadgets tor_projector --json").json();
  CHECK(json["inputs"][1]["feedback"] == true);
  CHECK(json["example"].get<std::string>().find("pipeline: tor_projector_example") != std::string::npos);
  const auto wrong = run_command("gadgets tor_projecter");
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("did you mean 'tor_projector'?") != std::string::npos);
}

TEST_CASE("every command's help has an example") {
  std::istringstream page(run_command("reference").out);
  std::string name;
  bool has_example = true;
  std::size_t commands = 0;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) {
      CHECK_MESSAGE(has_example, name);
      name = line;
      has_example = false;
      ++commands;
    }
    has_example = has_example || line.starts_with("Example");
  }
  CHECK_MESSAGE(has_example, name);
  CHECK(commands >= 12);
}

TEST_CASE("every command's example is one of its own, and sets parameters that there are") {
  const auto gadgets = run_command("gadgets --json");
  std::istringstream page(run_command("reference").out);
  std::string command;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) command = line.substr(3);
    if (line.starts_with("Example") && !command.empty()) CHECK_MESSAGE(line.find(command) != std::string::npos, line);
    const std::size_t set = line.find(" control results set ");
    if (set == std::string::npos) continue;
    const std::size_t dot = line.find('.', set);
    const std::string parameter = line.substr(dot + 1, line.find('=', dot) - dot - 1);
    CHECK_MESSAGE(gadgets.out.find("\"name\": \"" + parameter + "\"") != std::string::npos, parameter);
  }
}

TEST_CASE("bench names the program of the benchmarks, in its help too") {
  const auto help = run_command("bench --help");
  CHECK(help.out.find("\nExample: tofstream-bench ") != std::string::npos);
  CHECK(help.out.find("simulate_osem") == std::string::npos);  // the program's own example
  CHECK(run_command("bench").err.find("tofstream-bench --help") != std::string::npos);
}

TEST_CASE("the last line of new-gadget says how CMake finds tofstream, which a build folder must install first") {
  const TemporaryFolder folder;
  const std::string prefix = program().parent_path().parent_path().string();
  const bool is_build = std::filesystem::exists(prefix + "/CMakeCache.txt");
  const auto written = run_command("new-gadget near_middle --dir " + folder.path().string());
  REQUIRE(written.code == 0);
  const std::string plugin = (folder / "near_middle").string();
  const std::string next =
      is_build ? fmt::format(
                     "Next: cmake --install {} --prefix $HOME/tofstream && cd {} && cmake -B build "
                     "-DCMAKE_PREFIX_PATH=$HOME/tofstream && ",
                     prefix, plugin)
               : fmt::format("Next: cd {} && cmake -B build -DCMAKE_PREFIX_PATH={} && ", plugin, prefix);
  CHECK_MESSAGE(written.out.find(next) != std::string::npos, written.out);
}

TEST_CASE("list names what comes with the program, with a line each") {
  const auto pipelines = run_command("list pipelines");
  REQUIRE_MESSAGE(pipelines.code == 0, pipelines.err);
  CHECK(pipelines.out.find("\nlive_osem_replay      A journal of live_osem again: the image that was seen") !=
        std::string::npos);
  std::istringstream lines(pipelines.out);
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() > 40, line);
  CHECK(run_command("list scanners").out.find("demo_ring        Small ring for tests and the demonstration\n") !=
        std::string::npos);
  const auto phantoms = run_command("list phantoms --json").json();
  CHECK(std::ranges::all_of(phantoms, [](const auto& one) { return !one["description"].empty(); }));
  const auto wrong = run_command("list pipeline");
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("pipelines") != std::string::npos);
}

TEST_CASE("docs lists the documents, prints one or a section of it, and names the nearest") {
  const auto all = run_command("docs");
  REQUIRE_MESSAGE(all.code == 0, all.err);
  CHECK(all.out.find("\nnetwork ") != std::string::npos);
  CHECK(all.out.find("\nreference/command ") != std::string::npos);
  const auto whole = run_command("docs network");
  CHECK(whole.out.starts_with("# "));
  CHECK(run_command("docs share/doc/network.md").out == whole.out);  // as documents name each other
  const auto section = run_command("docs how-to 'look a gadget'");
  CHECK(section.out.starts_with("## Look a gadget up\n"));
  CHECK(section.out.find("## Complete and check") == std::string::npos);
  CHECK(std::filesystem::exists(
      run_command("docs how-to --path").out.substr(0, run_command("docs how-to --path").out.size() - 1)));
  const auto wrong = run_command("docs netwrok");
  CHECK(wrong.code == 2);
  CHECK(wrong.err ==
        "tofstream: there is no document 'netwrok', did you mean 'network'? (tofstream docs lists them)\n");
  const auto nothing = run_command("docs how-to nothing");
  CHECK(nothing.code == 2);
  CHECK(nothing.err.find("how-to has no section 'nothing'") != std::string::npos);
}

TEST_CASE("every document that a message, a pipeline or an example names is there") {
  if (!std::filesystem::exists("share/doc")) return skip_test("sources beside the test");
  const std::string mark = "tofstream docs ";
  std::size_t found = 0;
  for (const char* folder : {"core", "gadgets", "kernels", "tools", "pipelines", "share/examples", "share/templates"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file() || entry.path().filename() == "docs.cpp") continue;
      const std::string text = text_of(entry.path());
      for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
        const std::size_t begin = at + mark.size();
        const std::string name =
            text.substr(begin, text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", begin) - begin);
        CAPTURE(entry.path().string());
        CHECK_MESSAGE(std::filesystem::exists("share/doc/" + name + ".md"), name);
        ++found;
      }
    }
  CHECK(found > 10);
}

TEST_CASE("every pipeline that comes with tofstream is in the document that helps to choose one") {
  const std::filesystem::path document = "share/doc/which-pipeline.md";
  if (!std::filesystem::exists(document)) return skip_test("sources beside the test");
  const std::string text = text_of(document);
  for (const auto& pipeline : run_command("list pipelines --json").json())
    CHECK_MESSAGE(text.find("`" + pipeline["name"].get<std::string>() + "`") != std::string::npos,
                  pipeline["name"].get<std::string>());
}
// SPDX-License-Identifier: Apache-2.0
