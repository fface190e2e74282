// `tofstream serve --gpus`: each run says which GPU it has; runs are spread over GPUs, where there are two.
#include <csignal>

#include "kernels/memory/devices.hpp"
#include "tests/command/fleet.hpp"
#include "tests/support/gpu.hpp"
#include "tests/watch/scrape.hpp"

using namespace tofstream;

TEST_CASE_FIXTURE(Fleet, "serve --gpus without a GPU is refused in one line, which says what to do") {
  const WithoutGpu none;
  const auto refused = run_command("serve " + endpoint + " --gpus all");
  CHECK(refused.code == 2);
  CHECK_MESSAGE(refused.err.starts_with("tofstream: --gpus all: "), refused.err);
  CHECK_MESSAGE(refused.err.ends_with("; leave --gpus out to reconstruct on the CPU\n"), refused.err);
  CHECK(count_of(refused.err, "\n") == 1);
}

TEST_CASE_FIXTURE(Fleet, "a server of a GPU names its sessions by it, and says so in the list and the metrics") {
  servers[0] = std::make_unique<BackgroundProgram>(
      std::vector<std::string>{"serve", address(0), "--pipelines", (folder / "pipelines").string(), "--out",
                               (folder / "served").string(), "--as-gpus", "3,1"},
      log("server-0"));
  dispatcher = std::make_unique<BackgroundProgram>(
      std::vector<std::string>{"dispatch", endpoint, "--servers", address(0), "--metrics", "127.0.0.1:0"},
      log("dispatcher"));
  wait_until_says(log("dispatcher"), "serving at");
  const BackgroundProgram slow(send_arguments("slow", "0.001"), log("slow"));
  wait_until_says(log("dispatcher"), "gpu3-session-1: a client's run of small begins, on GPU 3");
  CHECK(text_of(log("server-0")).find("gpu3-session-1: small begins, on GPU 3") != std::string::npos);
  const auto session = run_command("send " + endpoint + " --list --json").json()["sessions"][0];
  CHECK(session["gpus"] == nlohmann::json{3});
  const std::string line = run_command("send " + endpoint + " --list").out;
  CHECK_MESSAGE(line.find("gpu3-session-1 small running, 0 s") != std::string::npos, line);
  CHECK_MESSAGE(line.find(", on GPU 3, at " + address(0)) != std::string::npos, line);
  const std::string text = text_of(log("dispatcher"));
  const std::string port = text.substr(text.find("metrics: port ") + 14, 5);
  const auto page = [&](const std::string& name) { return test::scrape(std::stoi(port), "localhost", name); };
  CHECK(page("/ready").starts_with("HTTP/1.1 200"));
  CHECK(page("/live").starts_with("HTTP/1.1 200"));
  const std::string figures = page("/metrics");
  CHECK_MESSAGE(figures.find("tofstream_server_running{server=\"" + address(0) + "\",place=\"GPU 3\"}") != figures.npos,
                figures);
}

TEST_CASE_FIXTURE(
    Fleet, "serve --gpus places two clients on two GPUs, which give the same image; one that is killed is told") {
  if (cuda_devices() < 2) return skip_test("second GPU", "TOFSTREAM_REQUIRE_GPUS");
  uses_gpu() = true;
  std::string body = served_body;
  body.replace(body.find("backend: cpu"), 12, "backend: cuda\ndeterministic: true");
  std::ofstream(folder / "pipelines" / "small.yaml")
      << body << "  feed: {use: zmq_source}\n  images: {use: zmq_image_sink, from: estimate}\n";
  servers[0] = std::make_unique<BackgroundProgram>(
      std::vector<std::string>{"serve", endpoint, "--pipelines", (folder / "pipelines").string(), "--out",
                               (folder / "served").string(), "--gpus", "0,1"},
      log("server-0"));
  wait_until_says(log("server-0"), "serving at");
  const auto listed = [&] { return run_command("send " + endpoint + " --list --json").json(); };
  CHECK(listed()["at_once"] == 4);
  // One at a time on the GPU that is taken least: while one is busy, the other's.
  BackgroundProgram slow(send_arguments("slow", "0.001"), log("slow"));
  wait_until_says(log("server-0"), "session-1: small begins, on GPU ");
  const int first = listed()["sessions"][0]["gpus"][0];
  const auto sent = send("other");
  REQUIRE_MESSAGE(sent.code == 0, sent.err);
  CHECK(std::filesystem::exists(folder / "served" / ("gpu" + std::to_string(1 - first) + "-session-1") / "run.json"));
  // The process of the first one's GPU is killed: its client is told, and the process is started again.
  const auto process_of_gpu = [&](int gpu) {
    return process_of("--as-gpus " + std::to_string(gpu) + "," + std::to_string(1 - gpu) + " --pipelines " +
                      (folder / "pipelines").string());
  };
  const pid_t process = process_of_gpu(first);
  REQUIRE(process > 0);
  ::kill(process, SIGKILL);
  CHECK(slow.wait() == 1);
  CHECK(text_of(log("slow")).find("the server GPU " + std::to_string(first) + " has vanished") != std::string::npos);
  wait_until_says(log("server-0"), "it is started again in");
  while (listed()["at_once"] != 4) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  // Two at once, each on a GPU; a run of two ranks has both.
  BackgroundProgram again(send_arguments("again"), log("again"));
  CHECK(send("beside").code == 0);
  CHECK(again.wait() == 0);
  CHECK(difference("other", "again") == 0);
  CHECK(difference("other", "beside") == 0);
  const auto both = run_command("send " + endpoint + " --pipeline small --quiet --set projected.ranks=2 --input " +
                                scan + " --out " + (folder / "both").string());
  REQUIRE_MESSAGE(both.code == 0, both.err);
  const std::string said = text_of(log("server-0"));
  CHECK(count_of(said, "small begins, on GPU 0, 1") + count_of(said, "small begins, on GPU 1, 0") > 0);
  // A stop while a run goes on, told to all processes at once as a service manager does: the client gets what came.
  BackgroundProgram last(send_arguments("last", "0.001"), log("last"));
  const auto begun = [&] { return listed()["sessions"].size(); };
  while (begun() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (const int gpu : {0, 1}) ::kill(process_of_gpu(gpu), SIGTERM);
  servers[0]->signal(SIGTERM);
  CHECK(servers[0]->wait() == 0);
  last.wait();
  CHECK(nlohmann::json::parse(text_of(folder / "last" / "run.json"))["stopped"] == true);
  for (const int gpu : {0, 1}) CHECK(process_of_gpu(gpu) == 0);
}
// SPDX-License-Identifier: Apache-2.0
