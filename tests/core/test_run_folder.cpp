// One folder, one run: which runs are refused and why, what is cleared and what never is, and what run.json says
// meanwhile.
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "core/report/run_folder.hpp"
#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

std::string text_in(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void put(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

// Writes a file for each message, and a last one.
struct FileWriter {
  struct Params {
    std::filesystem::path file = "last.txt";
    std::string reads;
    bool throw_in_construct = false;
  };
  static constexpr auto params =
      describe(param<&Params::file>("file", "The last one's name"), param<&Params::reads>("reads", "A file to read"),
               param<&Params::throw_in_construct>("throw_in_construct", "Cannot be made"));

  FileWriter(const Params& p, Context& context) : p_(p) {
    context.output_file(p.file);
    if (p.throw_in_construct) throw std::runtime_error("cannot be made");
  }
  void process(const Batch& batch, Context& context) {
    if (Witness::current && Witness::current->on_sink) Witness::current->on_sink(batch.number);
    put(context.output_file("number_" + std::to_string(batch.number) + ".txt"), "number");
    context.books().written(batch.events);
  }
  void flush(Context& context) { put(context.output_file(p_.file), "last"); }

  Params p_;
};
TOFSTREAM_GADGET(FileWriter, "test_file_writer", "Writes files");

std::string writing(int messages, const std::string& more = "") {
  return "pipeline: writing\ngadgets:\n  feed: {use: count, messages: " + std::to_string(messages) +
         "}\n  last: {use: test_file_writer, from: feed" + more + "}\n";
}

// Every file of a folder with what is in it.
std::map<std::string, std::string> contents(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) files[entry.path().filename()] = text_in(entry.path());
  return files;
}

nlohmann::json run_json_of(const std::filesystem::path& folder) {
  return nlohmann::json::parse(text_in(folder / "run.json"));
}

std::vector<std::string> names(const std::vector<RunFile>& files) {
  std::vector<std::string> names;
  for (const RunFile& file : files) names.push_back(file.name);
  return names;
}

// Is refused in one line that says this, and leaves the folder unchanged.
void check_refused(const std::string& yaml, const EngineOptions& options, const std::string& says) {
  const auto before = contents(options.output_dir);
  const RunReport report = run_text(yaml, options);
  CHECK(report.exit_code == exit_config);
  CHECK_FALSE(report.began);
  REQUIRE(report.errors.size() == 1);
  CHECK_MESSAGE(report.errors[0].text().find(says) != std::string::npos, report.errors[0].text());
  CHECK_MESSAGE(report.errors[0].text().find("filesystem error") == std::string::npos, report.errors[0].text());
  CHECK(contents(options.output_dir) == before);
}

}  // namespace

TEST_CASE("run.json lists the files of its run, each with its gadget, and those alone") {
  TemporaryFolder folder;
  put(folder.path / "mine.txt", "not of the run");
  const RunReport report = run_text(writing(2), {.output_dir = folder.path, .more_files = {"page.html"}});
  REQUIRE(report.exit_code == 0);
  const std::vector<RunFile> files{{"last.txt", "last"}, {"number_0.txt", "last"}, {"number_1.txt", "last"}};
  CHECK(files_of_run(folder.path) == files);  // without page.html, which no run wrote
  CHECK(run_json_of(folder.path)["files"].back()["name"] == "page.html");
  CHECK(contents(folder.path).size() == 5);
}

TEST_CASE("run.json says from the start that the run goes on, and lists a file before it is there") {
  TemporaryFolder folder;
  Witness witness;
  std::vector<nlohmann::json> seen;
  witness.on_sink = [&](std::uint64_t) { seen.push_back(run_json_of(folder.path)); };
  REQUIRE(run_text(writing(2), {.output_dir = folder.path}).exit_code == 0);
  REQUIRE(seen.size() == 2);
  for (std::size_t k = 0; k < 2; ++k) {
    CHECK(seen[k]["outcome"] == "running");
    CHECK(seen[k]["exit_code"].is_null());
    CHECK(seen[k]["ended"].is_null());
    CHECK(seen[k]["files"].size() == 1 + k);
    CHECK(seen[k]["files"][k]["name"] == (k == 0 ? "last.txt" : "number_0.txt"));
  }
  CHECK(run_json_of(folder.path)["outcome"] == "done");
  CHECK(run_json_of(folder.path)["exit_code"] == 0);
}

TEST_CASE("a second run at the same time is refused, and is told who is there") {
  TemporaryFolder folder;
  Engine first(parse_pipeline("pipeline: first\ngadgets:\n  feed: {use: count, endless: true}\n"
                              "  last: {use: test_file_writer, from: feed, edge: {messages: 1}}\n",
                              "test.yaml"),
               {.output_dir = folder.path});
  Witness witness;
  std::atomic<bool> writes = false;
  witness.on_sink = [&](std::uint64_t) { writes = true; };
  RunReport report;
  std::thread running([&] { report = first.run(); });
  while (!writes) std::this_thread::yield();
  for (const EarlierRun earlier : {EarlierRun::refuse, EarlierRun::overwrite, EarlierRun::resume}) {
    const RunReport second = run_text(writing(1), {.output_dir = folder.path, .earlier_run = earlier});
    CHECK(second.exit_code == exit_config);
    REQUIRE(second.errors.size() == 1);
    const std::string says = "in use by run 'first', process " + std::to_string(::getpid()) + " on ";
    CHECK_MESSAGE(second.errors[0].what.find(says) != std::string::npos, second.errors[0].what);
  }
  first.request_stop();
  running.join();
  CHECK(report.exit_code == 0);
  CHECK(run_json_of(folder.path)["pipeline"] == "first");
}

TEST_CASE("a folder that holds another run is refused and left as it is") {
  TemporaryFolder folder;
  REQUIRE(run_text(writing(2), {.output_dir = folder.path}).exit_code == 0);
  check_refused(writing(1), {.output_dir = folder.path}, "holds the run 'writing' of 20");
  check_refused(writing(1), {.output_dir = folder.path}, "--overwrite");
}

TEST_CASE("an overwritten run's files go, and nothing else") {
  TemporaryFolder folder;
  REQUIRE(run_text(writing(3), {.output_dir = folder.path}).exit_code == 0);
  put(folder.path / "number_7.txt", "not of the run");
  std::filesystem::create_directory(folder.path / "kept");
  REQUIRE(run_text(writing(1), {.output_dir = folder.path, .earlier_run = EarlierRun::overwrite}).exit_code == 0);
  CHECK(names(files_of_run(folder.path)) == std::vector<std::string>{"last.txt", "number_0.txt"});
  const auto left = contents(folder.path);
  CHECK(left.size() == 4);
  CHECK(left.at("number_7.txt") == "not of the run");
  CHECK(std::filesystem::is_directory(folder.path / "kept"));
}

TEST_CASE("names in a run.json that was edited lead to nothing outside the folder") {
  TemporaryFolder folder;
  const auto out = folder.path / "out";
  std::filesystem::create_directories(out / "sub");
  std::filesystem::create_directory_symlink(folder.path, out / "link");
  put(folder.path / "kept.txt", "kept");
  put(out / "gone.txt", "gone");
  nlohmann::json run{{"pipeline", "edited"}, {"outcome", "done"}, {"files", nlohmann::json::array()}};
  for (const std::string& name : {std::string("../kept.txt"), (folder.path / "kept.txt").string(), std::string("sub"),
                                  std::string("link/kept.txt"), std::string(""), std::string("gone.txt")})
    run["files"].push_back({{"name", name}, {"gadget", ""}});
  put(out / "run.json", run.dump());
  REQUIRE(run_text(writing(1), {.output_dir = out, .earlier_run = EarlierRun::overwrite}).exit_code == 0);
  CHECK(text_in(folder.path / "kept.txt") == "kept");
  CHECK(std::filesystem::is_directory(out / "sub"));
  CHECK_FALSE(std::filesystem::exists(out / "gone.txt"));
}

TEST_CASE("a start that fails leaves the earlier run whole, overwriting or not") {
  TemporaryFolder folder;
  REQUIRE(run_text(writing(2), {.output_dir = folder.path}).exit_code == 0);
  const EngineOptions overwrite{.output_dir = folder.path, .earlier_run = EarlierRun::overwrite};
  check_refused(writing(1, ", throw_in_construct: true"), overwrite, "cannot be made");
  const std::string input = (folder.path / "number_1.txt").string();
  check_refused(writing(1, ", reads: " + input), overwrite, "this run reads " + input);
  check_refused(writing(1, ", reads: " + folder.path.string()), overwrite, "this run reads " + folder.path.string());
  put(folder.path / "other.txt", "not of the run");
  check_refused(writing(1, ", file: other.txt"), overwrite, "holds a file other.txt that no run.json there lists");
}

TEST_CASE("what is thrown once the folder is there keeps the run from beginning, and leaves the earlier one whole") {
  TemporaryFolder folder;
  REQUIRE(run_text(writing(2), {.output_dir = folder.path}).exit_code == 0);
  check_refused(writing(1),
                {.output_dir = folder.path,
                 .earlier_run = EarlierRun::overwrite,
                 .opened = [](RunControl&) { throw std::runtime_error("group 2 is not there"); }},
                "group 2 is not there");
}

TEST_CASE("a run that is aborted before it begins leaves the earlier one whole") {
  TemporaryFolder folder;
  REQUIRE(run_text(writing(2), {.output_dir = folder.path}).exit_code == 0);
  const auto before = contents(folder.path);
  Engine engine(parse_pipeline(writing(1), "test.yaml"),
                {.output_dir = folder.path, .earlier_run = EarlierRun::overwrite});
  engine.abort();
  CHECK(engine.run().exit_code == exit_abort);
  auto after = contents(folder.path);
  after.erase(".tofstream.lock");  // held until the engine is gone
  CHECK(after == before);
}

TEST_CASE("a folder whose run.json says too little is not touched") {
  TemporaryFolder folder;
  const EngineOptions overwrite{.output_dir = folder.path, .earlier_run = EarlierRun::overwrite};
  put(folder.path / "run.json", R"({"pipeline": "old", "outcome": "done"})");
  check_refused(writing(1), overwrite, "does not list its files");
  put(folder.path / "run.json", "{\"pipe");
  check_refused(writing(1), overwrite, "is no report of a run");
  CHECK_THROWS_WITH(files_of_run(folder.path / "none"),
                    doctest::Contains("no run.json says whose the files there are"));
}

TEST_CASE("a run that goes on with another has that one's files too") {
  TemporaryFolder folder;
  REQUIRE(run_text(writing(3), {.output_dir = folder.path}).exit_code == 0);
  REQUIRE(run_text(writing(1), {.output_dir = folder.path, .earlier_run = EarlierRun::resume}).exit_code == 0);
  CHECK(names(files_of_run(folder.path)) ==
        std::vector<std::string>{"last.txt", "number_0.txt", "number_1.txt", "number_2.txt"});
}

TEST_CASE("where no folder can be made, one line in our words says what is in the way") {
  TemporaryFolder folder;
  put(folder.path / "file", "not a folder");
  for (const auto& [out, says] :
       {std::pair(folder.path / "file", "file is a file, and no folder: name another"),
        std::pair(folder.path / "file" / "sub", "file is a file, and no folder: name another")}) {
    const RunReport report = run_text(writing(1), {.output_dir = out});
    CHECK(report.exit_code == exit_config);
    REQUIRE(report.errors.size() == 1);
    CHECK(report.errors[0].text().starts_with("output folder " + out.string() + ": "));
    CHECK_MESSAGE(report.errors[0].text().find(says) != std::string::npos, report.errors[0].text());
  }
}
// SPDX-License-Identifier: Apache-2.0
