// An operator at the two ends of a live scan: who waits says for whom, an interrupt ends it, and the books say what was
// not sent.
#include <chrono>
#include <csignal>

#include "tests/command/background_run.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A receiver that takes events and does nothing with them.
std::string receiver(const TemporaryFolder& folder, const std::string& endpoint) {
  const auto file = folder / "receiver.yaml";
  std::ofstream(file) << "pipeline: receiver\ngadgets:\n  feed: {use: zmq_source, endpoint: \"" << endpoint
                      << "\"}\n  end: {use: null_sink, from: feed.events}\n";
  return file.string();
}

std::string sender(const std::string& endpoint) {
  return "simulate_live --set endpoint=" + endpoint +
         " --set photons.seconds=600 --set photons.activity_scale=0.003 --set photons.batch_events=1000";
}

std::string top(const BackgroundRun& run) {
  const CommandResult page = run_command("top " + run.out.string() + " --once --interval 0.1");
  CHECK_MESSAGE(page.code == 0, page.err);
  return page.out;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a receiver says what it waits for, runs once data come, and was not busy while it waited") {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  BackgroundRun run(receiver(folder, endpoint));
  CHECK(run.says("feed: waiting for a sender at " + endpoint + "\n", 5s));
  std::this_thread::sleep_for(1s);
  const std::string waiting = top(run);
  CHECK_MESSAGE(waiting.starts_with("receiver   waiting   "), waiting);
  CHECK_MESSAGE(holds(waiting, "\nfeed      waiting for a sender at " + endpoint + "\n"), waiting);
  {
    const BackgroundRun scanner(sender(endpoint));
    run.wait_for_events();
    CHECK(run.says("feed: data come at " + endpoint + "\n", 5s));
    std::this_thread::sleep_for(1s);
    const std::string running = top(run);
    CHECK_MESSAGE(running.starts_with("receiver   running   "), running);
    CHECK(!holds(running, "waiting for a sender"));
    const auto status = run_command("control " + run.out.string() + " --json").json()["status"];
    CHECK(status["data_seconds"].get<double>() < status["seconds"].get<double>() - 1);
    CHECK(run_command("control " + run.out.string() + " stop").code == 0);
  }
  CHECK(run.wait() == 0);
  const auto json = run.json();
  CHECK(json["seconds"].get<double>() > 2);
  CHECK_MESSAGE(json["gadgets"]["feed"]["busy_seconds"].get<double>() < 1, json["gadgets"]["feed"]["busy_seconds"]);
  CHECK(!json["gadgets"]["feed"]["figures"].contains("waiting"));
}

TEST_CASE("a receiver that nobody has sent to ends by an interrupt at once") {
  const TemporaryFolder folder;
  BackgroundRun run(receiver(folder, "ipc://" + (folder / "socket").string()));
  CHECK(run.says("waiting for a sender", 5s));
  const auto began = Clock::now();
  run.signal(SIGINT);
  CHECK(run.wait() == 0);
  CHECK(Clock::now() - began < 5s);
  CHECK(run.json()["outcome"] == "stopped");
}

TEST_CASE("a file of which an interrupt leaves the rest unread is not told to be cut short") {
  const TemporaryFolder folder;
  const std::string file = (folder / "scan.petsird").string(), pipe = (folder / "pipe").string();
  const auto made = run_command("simulate --quiet --phantom uniform_cylinder --events 20000 -o " + file);
  REQUIRE_MESSAGE(made.code == 0, made.err);
  for (const std::string& sent : {std::string("true"), "head -c 100000 " + file}) {
    CAPTURE(sent);
    const auto ran = run_line(
        fmt::format("rm -f {0}; mkfifo {0}; ({1}; sleep 4) >{0} & timeout --foreground --preserve-status -s INT 2 "
                    "{2} run joseph_osem --quiet --backend cpu --overwrite --input {0} --out {3}",
                    pipe, sent, program().string(), (folder / "out").string()));
    CHECK_MESSAGE(ran.code == 0, ran.err);
    CHECK_MESSAGE(ran.err.find("stopped before the stream's header had come") != std::string::npos, ran.err);
    CHECK_FALSE(std::filesystem::exists(folder / "out" / "image.nii.gz"));
  }
}

TEST_CASE(
    "a sender whose receiver was stopped says so, and an interrupt ends it at once, with books of what was not sent") {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  BackgroundRun run(receiver(folder, endpoint));
  REQUIRE(run.says("waiting for a sender", 5s));
  BackgroundRun scanner(sender(endpoint));
  run.wait_for_events();
  CHECK(run_command("control " + run.out.string() + " stop").code == 0);
  CHECK(run.wait() == 0);

  CHECK(scanner.says("sent: no receiver at " + endpoint + " for 10 s; waiting (Ctrl-C ends)\n", 30s));
  const std::string waiting = top(scanner);
  CHECK_MESSAGE(holds(waiting, "\nsent      no receiver at " + endpoint + " for 1"), waiting);
  const auto began = Clock::now();
  scanner.signal(SIGINT);
  CHECK(scanner.wait() == 0);
  CHECK(Clock::now() - began < 10s);
  const auto json = scanner.json();
  CHECK(json["outcome"] == "stopped");
  CHECK(json["books"]["balanced"] == true);
  CHECK(json["books"]["written"].get<int>() > 0);
  CHECK(json["books"]["lost"]["not sent: the run was stopped while no receiver was there"].get<int>() > 0);
  CHECK(json["gadgets"]["sent"]["busy_seconds"].get<double>() < 5);
  CHECK(holds(scanner.said(), "not sent: the run was stopped while no receiver was there"));
}

TEST_CASE("a sender goes on when its receiver is there again, and nothing of what it had not sent is lost") {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  BackgroundRun scanner("simulate_live --set endpoint=" + endpoint +
                        " --set photons.seconds=1 --set photons.activity_scale=0.003 --set photons.batch_events=200");
  CHECK(scanner.says("sent: no receiver at " + endpoint + " for 10 s; waiting (Ctrl-C ends)\n", 30s));
  BackgroundRun run(receiver(folder, endpoint));
  CHECK(scanner.wait() == 0);
  CHECK(run.wait() == 0);
  CHECK(scanner.json()["books"]["lost"].empty());
  CHECK(run.json()["books"]["received"] == scanner.json()["books"]["written"]);
}

TEST_CASE("the end of a run says where its report is, in the terminal and in top") {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  BackgroundRun run(receiver(folder, endpoint));
  REQUIRE(run.says("waiting for a sender", 5s));
  std::jthread watcher([&] {
    const CommandResult watched = run_command("top " + run.out.string() + " --interval 0.1");
    CHECK(watched.code == 0);
    CHECK_MESSAGE(holds(watched.err, "has ended: stopped\n"), watched.err);
    CHECK_MESSAGE(holds(watched.err, "report: " + (run.out / "report.html").string() + "\n"), watched.err);
  });
  std::this_thread::sleep_for(1s);
  run.signal(SIGINT);
  CHECK(run.wait() == 0);
  watcher.join();
  CHECK(holds(run.said(), "report: " + (run.out / "report.html").string() + "\n"));
}
// SPDX-License-Identifier: Apache-2.0
