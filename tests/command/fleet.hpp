// Servers, who hands runs to them, and clients, as processes.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/command/background_program.hpp"

namespace tofstream {

struct Fleet {
  TemporaryFolder folder;
  std::string scan = (folder / "scan.petsird").string();
  std::string endpoint = "ipc://" + (folder / "front").string();
  std::unique_ptr<BackgroundProgram> servers[2], dispatcher;

  Fleet() {
    const auto made =
        run_command("simulate --quiet --phantom uniform_cylinder --events 20000 --no-attenuation -o " + scan);
    REQUIRE_MESSAGE(made.code == 0, made.err);
    std::filesystem::create_directories(folder / "pipelines");
    std::ofstream(folder / "pipelines" / "small.yaml")
        << served_body << "  feed: {use: zmq_source}\n  images: {use: zmq_image_sink, from: estimate}\n";
  }
  std::string address(int k) const { return "ipc://" + (folder / ("server-" + std::to_string(k))).string(); }
  std::filesystem::path log(const std::string& of) const { return folder / (of + ".log"); }

  void start_server(int k) {
    const std::string name = "server-" + std::to_string(k);
    std::filesystem::remove(log(name));
    servers[k] = std::make_unique<BackgroundProgram>(
        std::vector<std::string>{"serve", address(k), "--pipelines", (folder / "pipelines").string(), "--out",
                                 (folder / ("served-" + std::to_string(k))).string(), "--patience", "300", "--at-once",
                                 "4"},
        log(name));
    wait_until_says(log(name), "serving at");
  }
  void start_dispatcher() {
    dispatcher = std::make_unique<BackgroundProgram>(
        std::vector<std::string>{"dispatch", endpoint, "--servers", address(0) + "," + address(1)}, log("dispatcher"));
    wait_until_says(log("dispatcher"), "serving at");
  }
  std::vector<std::string> send_arguments(const std::string& out, const std::string& more = "") const {
    std::vector<std::string> arguments{
        "send",       endpoint, "--pipeline", "small", "--input", scan, "--quiet", "--out", (folder / out).string(),
        "--patience", "300"};
    if (!more.empty()) arguments.insert(arguments.end(), {"--speed", more});
    return arguments;
  }
  CommandResult send(const std::string& out) const {
    std::string line = "send";
    for (const std::string& argument : send_arguments(out))
      if (argument != "send") line += " " + argument;
    return run_command(line);
  }
  // Voxels of a result, past what tells of its run.
  nlohmann::json difference(const std::string& one, const std::string& other) const {
    const auto compared = run_command("compare --json " + (folder / one / "image.nii.gz").string() + " " +
                                      (folder / other / "image.nii.gz").string());
    REQUIRE_MESSAGE(compared.code == 0, compared.err);
    return compared.json()["max_abs"];
  }
};

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
