// `tofstream serve` and `send` as users run them: a recording becomes the image that `run` makes; a killed client frees
// its place; an interrupt ends the server in order.
#include <csignal>
#include <cstring>
#include <memory>

#include "tests/command/background_program.hpp"

using namespace tofstream;

namespace {

struct Server {
  TemporaryFolder folder;
  std::string endpoint = "ipc://" + (folder / "socket").string();
  std::filesystem::path log = folder / "log";
  std::string scan = (folder / "scan.petsird").string();
  std::unique_ptr<BackgroundProgram> server;

  Server() {
    const auto made =
        run_command("simulate --quiet --phantom uniform_cylinder --events 20000 --no-attenuation -o " + scan);
    REQUIRE_MESSAGE(made.code == 0, made.err);
    std::filesystem::create_directories(folder / "pipelines");
    std::ofstream(folder / "pipelines" / "small.yaml")
        << served_body << "  feed: {use: zmq_source}\n  images: {use: zmq_image_sink, from: estimate}\n";
    std::ofstream(folder / "offline.yaml")
        << served_body << "  feed: {use: file_source, path: x}\n  file: {use: nifti_writer, from: estimate}\n";
    const std::string offline = text_of(folder / "offline.yaml");
    std::ofstream(folder / "offline.yaml")
        << std::string(offline).replace(offline.find("feed.bytes"), std::strlen("feed.bytes"), "feed");
    server = std::make_unique<BackgroundProgram>(
        std::vector<std::string>{"serve", endpoint, "--pipelines", (folder / "pipelines").string(), "--out",
                                 (folder / "served").string(), "--patience", "300"},
        log);
    wait_until_says(log, "serving at");
  }
  CommandResult send(const std::string& arguments) const {
    return run_command("send " + endpoint + " --patience 300 --quiet " + arguments);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Server,
                  "what send brings back is what run makes of the same file; a client that is killed frees its place") {
  const auto slow_log = folder / "slow";
  BackgroundProgram slow({"send", endpoint, "--pipeline", "small", "--input", scan, "--speed", "0.001", "--out",
                          (folder / "killed").string()},
                         slow_log);
  wait_until_says(log, "session-1: small begins");
  const auto sent = send("--pipeline small --input " + scan + " --out " + (folder / "sent").string());
  REQUIRE_MESSAGE(sent.code == 0, sent.err);
  CHECK(sent.out.find("20000 events received, 20000 reconstructed") != std::string::npos);
  const std::string again = "--pipeline small --input " + scan + " --out " + (folder / "sent").string();
  CHECK(send(again).err.find("holds the run 'small'") != std::string::npos);
  const auto files = nlohmann::json::parse(text_of(folder / "sent" / "run.json"))["files"];
  REQUIRE(files.size() == 1);
  CHECK(files[0]["name"] == "image.nii.gz");
  const auto over = send(again + " --overwrite");
  REQUIRE_MESSAGE(over.code == 0, over.err);
  slow.signal(SIGKILL);
  CHECK(slow.wait() == 128 + SIGKILL);
  wait_until_says(log, "session-1: the client has vanished");
  CHECK_FALSE(std::filesystem::exists(folder / "killed" / "image.nii.gz"));
  const auto ran = run_command("run " + (folder / "offline.yaml").string() + " --quiet --input " + scan + " --out " +
                               (folder / "ran").string());
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const auto compared = run_command("compare --json " + (folder / "sent" / "image.nii.gz").string() + " " +
                                    (folder / "ran" / "image.nii.gz").string());
  REQUIRE_MESSAGE(compared.code == 0, compared.err);
  CHECK(compared.json()["max_abs"] == 0);
  const auto inspected = run_command("inspect --json " + (folder / "sent" / "image.nii.gz").string());
  CHECK(inspected.out.find("joseph_projector") != std::string::npos);
  server->signal(SIGINT);
  CHECK(server->wait() == 0);
}

TEST_CASE_FIXTURE(Server, "send says what is wrong, whose fault it is, and ends as run does") {
  CHECK(send("--list").out == "pipeline small\n");
  const std::string nowhere = " --out " + (folder / "nowhere").string();
  const auto unknown = send("--pipeline smal --input " + scan + nowhere);
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("the server offers no pipeline 'smal', did you mean 'small'?") != std::string::npos);
  std::ofstream(folder / "mine.yaml") << served_body << "  feed: {use: file_source, path: /etc/passwd}\n";
  const auto forbidden = send("--pipeline " + (folder / "mine.yaml").string() + " --input " + scan + nowhere);
  CHECK_FALSE(std::filesystem::exists(folder / "nowhere"));
  CHECK(forbidden.code == 2);
  CHECK(forbidden.err.find("mine.yaml:11:15: gadgets.feed: gadget 'file_source' is not allowed") != std::string::npos);
  std::ofstream(folder / "fails.yaml")
      << served_body << "  feed: {use: zmq_source}\n  images: {use: zmq_image_sink, from: estimate}\n";
  // Its image would be of blobs, which the voxel projector refuses at the first subset.
  const auto failed =
      send("--pipeline " + (folder / "fails.yaml").string() + " --input " + scan +
           " --set image.basis=blobs --set image.voxel_mm=[16,16,16] --out " + (folder / "failed").string());
  CHECK(failed.code == 1);
  CHECK(failed.err.find("the server says: ") != std::string::npos);
  CHECK(failed.err.find("fails.yaml:") != std::string::npos);
  CHECK(send("--pipeline small --input /nowhere").code == 2);
  CHECK(send("--pipeline small").err.find("name what to send by --input: ") != std::string::npos);
  const auto nobody = run_command("send ipc://" + (folder / "nobody").string() + " --list --patience 0.2");
  CHECK(nobody.code == 1);
  CHECK(nobody.err.find("start one there, tofstream serve") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
