// Which GPUs a server's processes see, and processes that end, are started again and are stopped: by a script in the
// program's place, since this needs no GPU.
#include "tools/serve/gpu_servers.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "support.hpp"
#include "tests/command/background_program.hpp"

using namespace tofstream;
using namespace tofstream::serve;

namespace {

// While it lives, the variable is not set.
struct AllVisible {
  std::optional<std::string> before;
  AllVisible() {
    if (const char* set = std::getenv("CUDA_VISIBLE_DEVICES")) before = set;
    ::unsetenv("CUDA_VISIBLE_DEVICES");
  }
  ~AllVisible() {
    if (before) ::setenv("CUDA_VISIBLE_DEVICES", before->c_str(), 1);
  }
};

// Writes what it was started with to a file of its GPU's number, and waits; `once` is run after that.
struct Script {
  AllVisible all;
  TemporaryFolder folder;
  std::string path = (folder / "program").string();

  explicit Script(const std::string& then) {
    std::ofstream(path) << "#!/bin/sh\necho \"$CUDA_VISIBLE_DEVICES $*\" >> " << folder.path().string()
                        << "/gpu-${4%%,*}\ntrap 'exit 0' TERM\n"
                        << then << "\n";
    ::chmod(path.c_str(), 0700);
  }
  GpuServers::Settings settings(std::vector<int> gpus) const {
    return {.program = path, .arguments = {"--out", "results"}, .gpus = std::move(gpus)};
  }
  std::string said(int gpu, std::size_t lines = 1) const {
    for (;;) {
      const std::string text = text_of(folder / fmt::format("gpu-{}", gpu));
      if (static_cast<std::size_t>(std::ranges::count(text, '\n')) >= lines) return text;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
};

constexpr const char* waits = "while :; do sleep 0.05; done";

}  // namespace

TEST_CASE("all GPUs, or a list of them, are those that there are") {
  CHECK(read_gpus("all", 3) == std::vector{0, 1, 2});
  CHECK(read_gpus("2,0", 3) == std::vector{2, 0});
  const auto has = [](const std::string& text, const char* part) {
    CHECK_THROWS_WITH_AS(read_gpus(text, 2), doctest::Contains(part), std::invalid_argument);
  };
  has("2", "there is no GPU 2: this host has 2, from 0 to 1");
  has("0,0", "GPU 0 is named twice");
  for (const char* wrong : {"", "0,", "x", "-1", "1.5", "0 1", "99999999999999999999"})
    has(wrong, "is no number of a GPU");
}

TEST_CASE("each server sees its own GPU first and the others after it, as the variable names them") {
  CHECK(order_from(std::vector{0, 1, 2}, 0) == std::vector{0, 1, 2});
  CHECK(order_from(std::vector{0, 1, 2}, 2) == std::vector{2, 0, 1});
  CHECK(order_from(std::vector{5}, 0) == std::vector{5});
  CHECK(visible_devices(std::vector{1, 0}, std::nullopt) == "1,0");
  CHECK(visible_devices(std::vector{1, 0}, "6,7") == "7,6");
  CHECK(visible_devices(std::vector{1}, "GPU-aa,GPU-bb") == "GPU-bb");
  CHECK_THROWS_WITH_AS(visible_devices(std::vector{1}, "0"),
                       "CUDA_VISIBLE_DEVICES=0 has no entry for GPU 1: name a GPU that it has", std::invalid_argument);
}

TEST_CASE("a server is started for each GPU with what it needs, and all end with a signal") {
  const Script script(waits);
  GpuServers servers(script.settings({0, 2}));
  REQUIRE(servers.addresses().size() == 2);
  CHECK(servers.addresses()[1].name == "GPU 2");
  CHECK(servers.addresses()[1].endpoint.starts_with("ipc://"));
  CHECK(script.said(0) == fmt::format("0,2 serve {} --as-gpus 0,2 --out results\n", servers.addresses()[0].endpoint));
  CHECK(script.said(2) == fmt::format("2,0 serve {} --as-gpus 2,0 --out results\n", servers.addresses()[1].endpoint));
  const std::filesystem::path folder = std::filesystem::path(servers.addresses()[0].endpoint.substr(6)).parent_path();
  CHECK(std::filesystem::status(folder).permissions() == std::filesystem::perms::owner_all);
  servers.throw_if_ended();
  servers.all_have_begun();
  servers.end();
}

TEST_CASE("a server that ends before all have begun is told in one line, and none is started again") {
  const Script script("[ $4 = 1,0 ] && exit 2\n" + std::string(waits));
  GpuServers servers(script.settings({0, 1}));
  std::string why;
  while (why.empty()) try {
      servers.throw_if_ended();
    } catch (const std::runtime_error& error) {
      why = error.what();
    }
  CHECK(why == "the server of GPU 1 ended with exit code 2 before it had begun");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK(script.said(1).find('\n') == script.said(1).size() - 1);
}

TEST_CASE("a server that ends later is started again; one that heeds no signal ends with its owner") {
  const Script script("trap '' TERM\n" + std::string(waits));
  pid_t pid = 0;
  {
    GpuServers servers(script.settings({0}));
    script.said(0);
    servers.all_have_begun();
    const std::string line = "serve " + servers.addresses()[0].endpoint;
    ::kill(process_of(line), SIGKILL);
    const auto began = std::chrono::steady_clock::now();
    script.said(0, 2);
    CHECK(std::chrono::steady_clock::now() - began >= std::chrono::seconds(1));
    pid = process_of(line);
    REQUIRE(pid > 0);
  }
  CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("a server that was told to end is not started again") {
  const Script script(waits);
  GpuServers servers(script.settings({0}));
  script.said(0);
  servers.all_have_begun();
  ::kill(process_of("serve " + servers.addresses()[0].endpoint), SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  CHECK(std::ranges::count(script.said(0), '\n') == 1);
  servers.end();
}

TEST_CASE("a program that cannot be started is told") {
  const AllVisible all;
  GpuServers servers({.program = "/nowhere/tofstream", .arguments = {}, .gpus = {0}});
  for (;;) try {
      servers.throw_if_ended();
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) == "the server of GPU 0 ended with exit code 127 before it had begun");
      break;
    }
}
// SPDX-License-Identifier: Apache-2.0
