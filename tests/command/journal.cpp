// Recording, replaying and resuming from the command line, even if the program is killed or the disk is full.
#include <cstdint>
#include <random>

#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

/// A folder with a socket, a journal and what programs say.
struct Bench {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  const std::string journal = (folder / "journal").string();

  std::string tofstream(const std::string& arguments) const { return program().string() + " " + arguments; }
  std::string sending(std::int64_t events, int batch) const {
    return tofstream("run simulate_live --quiet --set sent.repeat_header_s=0.05 --set sent.endpoint=" + endpoint +
                     " --set photons.events=" + std::to_string(events) + " --set photons.batch_events=" +
                     std::to_string(batch) + " --out " + (folder / "sent").string() + " >/dev/null");
  }
  std::string recording(const std::string& more = "") const {
    return tofstream("record " + journal + " --quiet --endpoint " + endpoint + more + " >/dev/null 2>>" +
                     (folder / "err").string());
  }
  nlohmann::json inspected() const { return run_command("inspect --json " + journal).json(); }
  std::string err() const { return text_of(folder / "err"); }
};

int exit_code_of(const std::string& line) {
  const int status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

nlohmann::json run_json(const std::filesystem::path& folder) {
  return nlohmann::json::parse(text_of(folder / "run.json"));
}

}  // namespace

TEST_CASE("a stream is recorded, inspected, and replayed into a pipeline and into another journal") {
  const Bench bench;
  REQUIRE(exit_code_of(bench.sending(20'000, 1000) + " & " + bench.recording() + "; code=$?; wait; exit $code") == 0);
  const auto about = bench.inspected();
  CHECK(about["frames"] >= 22);  // the header may come again
  CHECK(about["bad_frames"] == 0);
  CHECK(about["missing_entries"] == 0);
  REQUIRE(about["streams"].size() == 1);
  CHECK(about["streams"][0]["events"] == 20'000);
  CHECK(about["streams"][0]["ended"] == true);
  CHECK(about["streams"][0]["missing_events"] == 0);
  CHECK(run_json(bench.journal)["books"]["written"] == 20'000);
  const auto segment = run_command("inspect " + bench.journal + "/00000001.journal");
  CHECK(segment.out.find("\n  events                     20000\n") != std::string::npos);

  const std::string copy = (bench.folder / "copy").string();
  const auto replayed =
      run_command("replay " + bench.journal + " --speed 0 --quiet --pipeline record --set feed.journal=" + copy +
                  " --from-event 5500 --out " + (bench.folder / "out").string());
  CHECK_MESSAGE(replayed.code == 0, replayed.err);
  const auto copied = run_command("inspect --json " + copy).json();
  CHECK(copied["streams"][0]["events"] == 15'000);
  CHECK(copied["streams"][0]["missing_frames"] == 5);

  const auto again =
      exit_code_of(bench.tofstream("replay " + bench.journal + " --speed 1e6 --json --endpoint " + bench.endpoint +
                                   " >" + (bench.folder / "replay.json").string()) +
                   " & " +
                   bench.tofstream("record " + (bench.folder / "third").string() + " --quiet --endpoint " +
                                   bench.endpoint + " >/dev/null; code=$?; wait; exit $code"));
  CHECK(again == 0);
  CHECK(nlohmann::json::parse(text_of(bench.folder / "replay.json"))["frames"] == about["frames"]);
  CHECK(run_command("inspect --json " + (bench.folder / "third").string()).json()["streams"] == about["streams"]);
}

TEST_CASE("a replay into a pipeline follows no link and takes no folder that others laid in the temporary folder") {
  const Bench bench;
  REQUIRE(exit_code_of(bench.sending(2'000, 1000) + " & " + bench.recording() + "; code=$?; wait; exit $code") == 0);
  const auto temporary = bench.folder / "t", theirs = bench.folder / "theirs";
  std::filesystem::create_directory(temporary);
  std::filesystem::create_directory(theirs);
  std::ofstream(theirs / "socket") << "precious";
  // The shell becomes the program, so that its process id is known beforehand.
  const int code = exit_code_of(
      "TMPDIR=" + temporary.string() + " sh -c 'ln -s " + theirs.string() + " $TMPDIR/tofstream-replay-$$; exec " +
      bench.tofstream("replay " + bench.journal + " --speed 0 --quiet --pipeline record " + "--set feed.journal=" +
                      (bench.folder / "copy").string() + " --out " + (bench.folder / "out").string()) +
      "' >/dev/null");
  CHECK(code == 0);
  CHECK(text_of(theirs / "socket") == "precious");
  std::size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(temporary))
    left += !entry.path().filename().string().starts_with("tofstream-replay-");
  CHECK(left == 0);
}

TEST_CASE("a recorder that is killed, again and again, keeps a prefix, is continued, and counts what came between") {
  const Bench bench;
  constexpr int events = 600'000, batch = 500;
  std::mt19937 random(7);
  std::string line = bench.sending(events, batch) + " & sender=$!; ";
  for (int k = 0; k < 3; ++k)
    line += bench.recording(" --resume --sync-ms " + std::to_string(k - 1)) + " & sleep 0." +
            std::to_string(10 + random() % 20) + "; kill -KILL $!; wait $!; ";
  // Not checked: whether the end arrives, since what a killed program had yet to take is unknown.
  line += bench.recording(" --resume") + " & wait $sender; sleep 0.2; kill -INT $! 2>/dev/null; wait $!";
  REQUIRE_MESSAGE(exit_code_of(line) == 0, bench.err());
  const auto about = bench.inspected();
  CHECK(about["damaged_places"] == 0);
  CHECK(about["torn_bytes"] == 0);
  CHECK(about["missing_entries"] == 0);
  CHECK(about["bad_frames"] == 0);
  const auto& stream = about["streams"].at(0);
  CHECK(stream["events"].get<int>() > 0);
  CHECK(stream["duplicate_frames"] == 0);
  CHECK(stream["missing_events"].get<int>() == stream["missing_frames"].get<int>() * batch);
  const int accounted = stream["events"].get<int>() + stream["missing_events"].get<int>();
  CHECK((stream["ended"] == true ? accounted == events : accounted <= events));
}

TEST_CASE("a replay that nobody receives is ended by an interrupt, and says what was not sent") {
  const Bench bench;
  REQUIRE(exit_code_of(bench.sending(2'000, 1000) + " & " + bench.recording() + "; code=$?; wait; exit $code") == 0);
  const auto replayed = [&](const char* before) {
    return run_line("{ " + std::string(before) + bench.tofstream("replay " + bench.journal + " --endpoint ipc://") +
                    (bench.folder / "nobody").string() + " & sleep 0.5; kill -INT $!; wait $!; }");
  };
  for (const char* before : {"", "trap '' INT; "}) {  // a shell's background ignores interrupts
    const CommandResult ended = replayed(before);
    CHECK_MESSAGE(ended.code == 0, ended.err);
    CHECK_MESSAGE(ended.out.starts_with("interrupted: sent 0 frames, 0 bytes in "), ended.out);
    CHECK_MESSAGE(ended.out.find("; not sent: ") != std::string::npos, ended.out);
  }
}

TEST_CASE("a journal whose stream has ended is not continued, and the command says how one is that has not") {
  const Bench bench;
  REQUIRE(exit_code_of(bench.sending(2'000, 1000) + " & " + bench.recording() + "; code=$?; wait; exit $code") == 0);
  const std::string record = "record " + bench.journal + " --quiet --endpoint " + bench.endpoint;
  const CommandResult full = run_command(record);
  CHECK(full.code == 2);
  CHECK_MESSAGE(full.err.find("tofstream record --resume") != std::string::npos, full.err);
  const CommandResult again = run_command(record + " --resume");
  CHECK(again.code == 0);
  CHECK_MESSAGE(again.err.find("has ended, so nothing is received") != std::string::npos, again.err);
  CHECK_MESSAGE(again.out.find("0 events written, 0 received; 2,000 were in the journal before\n") == 0, again.out);
}

TEST_CASE("a record that is interrupted ends well") {
  const Bench bench;
  const std::string line = bench.recording() + " & sleep 0.3; kill -INT $!; wait $!";
  CHECK(exit_code_of(line) == 0);
  CHECK(run_json(bench.journal)["stopped"] == true);
}

TEST_CASE("a disk that is full under a journal ends the run with one clear error, and leaves a sound journal") {
  const Bench bench;
  const int code = exit_code_of(bench.sending(400'000, 1000) + " 2>/dev/null & sender=$!; (ulimit -f 6144; " +
                                bench.recording() + "); code=$?; kill -KILL $sender; exit $code");
  CHECK(code == 1);
  CHECK_MESSAGE(bench.err().find("00000001.journal: File too large: the journal ends with its ") != std::string::npos,
                bench.err());
  const auto about = bench.inspected();
  CHECK(about["torn_bytes"] == 0);
  CHECK(about["damaged_places"] == 0);
  CHECK(about["streams"].at(0)["events"] > 0);
}

TEST_CASE("a disk that is full where nothing was to be kept only holds the sender back") {
  const Bench bench;
  REQUIRE(exit_code_of(bench.sending(300'000, 20'000) + " & " + bench.recording() + "; code=$?; wait; exit $code") ==
          0);
  std::ofstream(bench.folder / "p.yaml")
      << "gadgets:\n"
      << "  feed: {use: zmq_source, memory_mib: 1, spill_folder: " << bench.folder.path().string() << "}\n"
      << "  end: {use: null_sink, from: feed.events, edge: {messages: 1}, fault: {delay_at: 1, delay_ms: 1000}}\n";
  const auto out = bench.folder / "out";
  const int code = exit_code_of("ulimit -f 1024; " +  // the report has room; units of 512 or 1024 bytes
                                bench.tofstream("replay " + bench.journal + " --speed 0 --quiet --pipeline " +
                                                (bench.folder / "p.yaml").string() + " --out " + out.string() +
                                                " >/dev/null 2>" + (bench.folder / "err").string()));
  CHECK_MESSAGE(code == 0, bench.err());
  CHECK_MESSAGE(bench.err().find("frames cannot wait on disk, so the sender waits: cannot write") != std::string::npos,
                bench.err());
  const auto report = run_json(out);
  CHECK(report["books"]["written"] == 300'000);
  CHECK(report["books"]["lost"].empty());
}

TEST_CASE("an endpoint in the place of the journal's folder is no folder") {
  const CommandResult told = run_command("record tcp://127.0.0.1:5999");
  CHECK(told.code == 2);
  CHECK(told.err ==
        "tofstream: 'tcp://127.0.0.1:5999' is an endpoint, and a folder is wanted: tofstream record FOLDER --endpoint "
        "tcp://127.0.0.1:5999\n");
}

TEST_CASE("the folder of another run is no place for a journal") {
  const TemporaryFolder folder;
  const std::string results = (folder / "results").string();
  REQUIRE(run_command("run simulate_osem --quiet --set photons.events=2000 --set image.voxel_mm=20 --out " + results)
              .code == 0);
  const std::string before = text_of(folder / "results/run.json");
  const CommandResult told = run_command("record " + results + " --endpoint ipc://" + (folder / "socket").string());
  CHECK(told.code == 2);
  CHECK(told.err == "tofstream: " + results + " holds a run of 'simulate_osem': name another folder for the journal\n");
  CHECK(text_of(folder / "results/run.json") == before);
}

TEST_CASE("what is no journal is refused in one line") {
  const TemporaryFolder folder;
  const std::string name = folder.path().string();
  for (const std::string& command : {"inspect " + name, "replay " + name}) {
    const auto result = run_command(command);
    CHECK(result.code == 2);
    CHECK_MESSAGE(result.err == "tofstream: " + name + " is no journal: it has no segments (00000001.journal, ...)\n",
                  result.err);
  }
}
// SPDX-License-Identifier: Apache-2.0
