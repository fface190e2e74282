// A server on a thread of the test, a small scan to send to it, and pipelines that reconstruct it.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "gadgets/io/wire/frame.hpp"
#include "tests/command/command.hpp"
#include "tools/serve/client.hpp"
#include "tools/serve/petsird_frames.hpp"
#include "tools/serve/server.hpp"

namespace tofstream::serve::test {

inline RunReport run_text(const std::string& yaml, const std::filesystem::path& out) {
  Engine engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = out});
  return engine.run();
}

/// 20000 simulated events, made once.
inline const std::filesystem::path& recording() {
  static const TemporaryFolder folder;
  static const std::filesystem::path file = [] {
    const RunReport made = run_text(
        "scanner: demo_ring\ngadgets:\n  photons: {use: simulator, phantom: uniform_cylinder, events: 20000, "
        "batch_events: 2500, attenuation: false}\n  file: {use: petsird_writer, from: photons, file: scan.petsird}\n",
        folder.path());
    if (made.exit_code != 0) throw std::runtime_error(made.errors.front().text());
    return folder / "scan.petsird";
  }();
  return file;
}

/// From a gadget that gives PETSIRD's bytes, called `bytes`, to `estimate`.
inline std::string reconstruction(const std::string& bytes, const std::string& projector = "") {
  return fmt::format(R"(backend: cpu
image: {{size: [16, 16, 8], voxel_mm: [16, 16, 18]}}
gadgets:
  events: {{use: petsird_decoder, from: {}}}
  sorted: {{use: tof_partition, from: events}}
  subsets: {{use: subset_builder, from: sorted, events: 5000, iterations: 2, reference_s: 1}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}}{}, sensitivity: {{exact_pairs: 0, sampled_pairs: 20000, cache: false}}}}
  estimate: {{use: osem_update, from: projected}}
)",
                     bytes, projector);
}

/// The same for a server.
inline std::string served(const std::string& projector = "") {
  return reconstruction("feed.bytes", projector) +
         "  feed: {use: zmq_source}\n  images: {use: zmq_image_sink, from: estimate}\n";
}

struct Fixture {
  TemporaryFolder folder;
  ServerOptions options;

  Fixture() {
    options.endpoint = "ipc://" + (folder / "server").string();
    options.permissions.pipelines = folder / "pipelines";
    options.out = folder / "served";
    options.patience = std::chrono::minutes(5);  // no client counts as gone because this machine is slow
    std::filesystem::create_directories(options.permissions.pipelines);
    offer("small", served());
  }
  void offer(const std::string& name, const std::string& yaml) const {
    std::ofstream(options.permissions.pipelines / (name + ".yaml")) << yaml;
  }
};

class RunningServer {
 public:
  explicit RunningServer(const ServerOptions& options) : server_(options), thread_([this] { server_.run(); }) {}
  ~RunningServer() { stop(); }
  void stop() {
    server_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  Server& server() { return server_; }
  Client client() { return Client(server_.endpoint(), {}, std::chrono::minutes(5)); }
  /// The state of its sessions.
  nlohmann::ordered_json sessions() {
    Client asks = client();
    return asks.list()["sessions"];
  }

 private:
  Server server_;
  std::thread thread_;
};

/// What a run gave its client.
struct Outcome {
  nlohmann::ordered_json run_json;
  std::vector<float> voxels;  // of the last image
  std::vector<wire::ImageHeader> images;
  std::string provenance;
};

inline Outcome reconstruct_recording(Client& client, const Hello& hello) {
  PetsirdFrames frames(recording(), 20'000);
  Outcome outcome;
  Listener listener;
  listener.on_image = [&](const wire::ReceivedImage& received, std::string_view provenance) {
    const Image image = received.image();
    outcome.voxels.assign(image.voxels.span().begin(), image.voxels.span().end());
    outcome.images.push_back(received.header);
    outcome.provenance = provenance;
  };
  outcome.run_json = reconstruct(
      client, hello,
      [&]() -> std::optional<NextFrame> {
        auto frame = frames.next();
        if (!frame) return {};
        return NextFrame{std::move(*frame), {}};
      },
      listener);
  return outcome;
}

}  // namespace tofstream::serve::test
// SPDX-License-Identifier: Apache-2.0
