// `tofstream dispatch` as operators run it: servers that are killed under their clients, that drain and come back; and
// what is wrong, told in one line.
#include "tests/command/fleet.hpp"

#include <csignal>

using namespace tofstream;

TEST_CASE_FIXTURE(Fleet,
                  "a server killed under four clients: each is told, what they send again gives the same images, and "
                  "it may come back") {
  start_server(0);
  start_dispatcher();  // which waits for the other for a moment, and goes on
  REQUIRE(send("before").code == 0);
  std::unique_ptr<BackgroundProgram> clients[4];
  const auto said = [&](int k) { return log("client-" + std::to_string(k)); };
  for (int k = 0; k < 4; ++k)
    clients[k] = std::make_unique<BackgroundProgram>(send_arguments("out-" + std::to_string(k), "0.001"), said(k));
  while (count_of(text_of(log("dispatcher")), "a client's run of small begins") < 5)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto listed = run_command("send " + endpoint + " --list --json").json();
  REQUIRE(listed["sessions"].size() == 4);
  const auto killed = std::chrono::steady_clock::now();
  servers[0]->signal(SIGKILL);
  for (int k = 0; k < 4; ++k) {
    CHECK(clients[k]->wait() == 1);
    CHECK(std::chrono::steady_clock::now() - killed < std::chrono::seconds(10));  // the dispatcher's patience
    const std::string why = text_of(said(k));
    CHECK_MESSAGE(why.find("has vanished, and what it had of this run is lost: send the stream again") != why.npos,
                  why);
    CHECK_FALSE(std::filesystem::exists(folder / ("out-" + std::to_string(k)) / "image.nii.gz"));
    const auto run_json = nlohmann::json::parse(text_of(folder / ("out-" + std::to_string(k)) / "run.json"));
    CHECK(run_json["outcome"] == "failed");
    CHECK(run_json["files"].empty());
  }
  // Nobody is there: a client is told so, and what to do.
  const auto nobody = send("nobody");
  CHECK(nobody.code == 2);
  CHECK_MESSAGE(nobody.err.find("no server takes runs at present, try again later") != std::string::npos, nobody.err);
  CHECK(count_of(nobody.err, "\n") == 1);
  servers[0]->wait();
  // The other one comes, and has the same scans sent again, four at a time.
  start_server(1);
  wait_until_says(log("dispatcher"), address(1) + " is there: 4 runs at a time");
  for (int k = 0; k < 4; ++k)
    clients[k] = std::make_unique<BackgroundProgram>(send_arguments("again-" + std::to_string(k)), said(k));
  for (int k = 0; k < 4; ++k) {
    CHECK(clients[k]->wait() == 0);
    CHECK(difference("before", "again-" + std::to_string(k)) == 0);
  }
  // The first one comes back, and is used again.
  start_server(0);
  while (count_of(text_of(log("dispatcher")), address(0) + " is there") < 2)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  BackgroundProgram slow(send_arguments("slow", "0.001"), log("slow"));
  wait_until_says(log("dispatcher"), address(0) + " session-");
  CHECK(send("beside").code == 0);
  CHECK(text_of(log("server-0")).find("small begins") != std::string::npos);
  dispatcher->signal(SIGTERM);
  CHECK(dispatcher->wait() == 0);
}

TEST_CASE_FIXTURE(
    Fleet, "a server that drains gets no new runs, and its run ends in order; the dispatcher's interrupt ends it") {
  for (int k = 0; k < 2; ++k) start_server(k);
  start_dispatcher();
  BackgroundProgram slow(send_arguments("slow", "0.001"), log("slow"));
  wait_until_says(log("dispatcher"), "a client's run of small begins");
  const auto listed = run_command("send " + endpoint + " --list --json");
  REQUIRE_MESSAGE(listed.code == 0, listed.err);
  const int drains = listed.json()["sessions"][0]["server"] == address(0) ? 0 : 1;
  servers[drains]->signal(SIGTERM);
  CHECK(servers[drains]->wait() == 0);
  slow.wait();
  const auto was_stopped = [&](const char* run, int server) {
    REQUIRE_MESSAGE(std::filesystem::exists(folder / run / "run.json"), text_of(log(run)), text_of(log("dispatcher")),
                    text_of(log("server-" + std::to_string(server))));
    return nlohmann::json::parse(text_of(folder / run / "run.json"))["stopped"] == true;
  };
  CHECK(was_stopped("slow", drains));  // it was told by the server, and no server has vanished
  for (int k = 0; k < 3; ++k) CHECK(send("sent-" + std::to_string(k)).code == 0);
  CHECK(count_of(text_of(log("server-" + std::to_string(1 - drains))), "small begins") == 3);
  BackgroundProgram last(send_arguments("last", "0.001"), log("last"));
  wait_until_says(log("dispatcher"), "session-4: a client's run of small begins");  // which it knows after the server
  dispatcher->signal(SIGINT);
  CHECK(dispatcher->wait() == 0);
  last.wait();
  CHECK(was_stopped("last", 1 - drains));
  CHECK(std::filesystem::exists(folder / ("served-" + std::to_string(1 - drains)) / "session-4" / "run.json"));
}

TEST_CASE_FIXTURE(Fleet, "what dispatch cannot begin with is one line, and exit code 2") {
  start_server(0);
  const auto has = [](const CommandResult& result, const std::string& part) {
    CHECK(result.code == 2);
    CHECK_MESSAGE(result.err.find(part) != std::string::npos, result.err);
    CHECK_MESSAGE(count_of(result.err, "tofstream: ") == 1, result.err);
    CHECK_MESSAGE(result.err.find('\n', result.err.find("tofstream: ")) == result.err.size() - 1, result.err);
  };
  has(run_command("dispatch " + endpoint), "--servers");
  has(run_command("dispatch " + endpoint + " --servers " + address(0) + "," + address(0)), "is named twice");
  has(run_command("dispatch " + endpoint + " --servers " + address(1) + " --wait 0.3"),
      "no server answers at " + address(1) + ": start them there, tofstream serve, or name others by --servers");
  has(run_command("dispatch " + address(0) + " --servers " + address(0)), "name another endpoint");
  has(run_command("dispatch " + address(0) + " --servers " + address(1)), "another program listens there");
  has(run_command("serve " + address(0)), "another program listens there");
  has(run_command("dispatch tcp://0.0.0.0:5557 --servers " + address(0)), "key");
  has(run_command("dispatch " + endpoint + " --servers http://here"), "tcp://");
  has(run_command("dispatch " + endpoint + " --servers tcp://127.0.0.1:1,tcp://127.0.0.1:2 --server-key a,b,c"),
      "--server-key is given 3 times for 2 servers");
  has(run_command("dispatch " + endpoint + " --servers " + address(0) + " --metrics nonsense"), "--metrics nonsense");
}
TEST_CASE_FIXTURE(Fleet,
                  "a server that is halted counts as gone after the dispatcher's patience, and its client is told") {
  start_server(0);
  dispatcher = std::make_unique<BackgroundProgram>(
      std::vector<std::string>{"dispatch", endpoint, "--servers", address(0), "--patience", "2"}, log("dispatcher"));
  wait_until_says(log("dispatcher"), "serving at");
  BackgroundProgram slow(send_arguments("slow", "0.001"), log("slow"));
  wait_until_says(log("dispatcher"), "a client's run of small begins");
  const auto halted = std::chrono::steady_clock::now();
  servers[0]->signal(SIGSTOP);
  CHECK(slow.wait() == 1);
  const auto took = std::chrono::steady_clock::now() - halted;
  CHECK(took > std::chrono::milliseconds(900));  // it was heard of a second ago at most
  CHECK(took < std::chrono::seconds(4));
  CHECK(text_of(log("slow")).find("has vanished") != std::string::npos);
  wait_until_says(log("dispatcher"), "does not answer any more");
  servers[0]->signal(SIGCONT);
  while (count_of(text_of(log("dispatcher")), address(0) + " is there") < 2)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(send("after").code == 0);
}
// SPDX-License-Identifier: Apache-2.0
