// Runs of several processes for tests: started by hand, watched, and killed at the latest with the test.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/command/command.hpp"
#include "tests/command/recording.hpp"

namespace tofstream {

inline std::filesystem::path ranks_recording() {
  return cylinder_recording(30000);
}

inline std::string reconstruction(const std::filesystem::path& out, const std::string& more = "") {
  return "run listmode_osem --quiet --backend cpu --set image.size=[20,20,10] --set image.voxel_mm=[12,12,12] "
         "--set subsets.reference_s=1 --set subsets.subsets=3 --set subsets.iterations=2 --set projected.sensitivity."
         "cache=false --set projected.sensitivity.exact_pairs=0 --set projected.sensitivity.sampled_pairs=20000 "
         "--input " +
         ranks_recording().string() + " --out " + out.string() + " " + more;
}

/// The same recording as a stream of events that live_subsets makes updates of while it comes: at least seven.
inline std::string live_reconstruction(const std::filesystem::path& out, const std::string& more = "") {
  static const TemporaryFolder folder;
  static const std::filesystem::path file = [] {
    const auto made = folder / "live.yaml";
    std::ofstream(made) << "image: {size: [20, 20, 10], voxel_mm: 12}\ngadgets:\n  feed: {use: file_source, path: "
                        << ranks_recording().string() << ", chunk_kib: 7}\n"
                        << R"(  events: {use: petsird_decoder, from: feed, batch_events: 1500}
  subsets: {use: live_subsets, from: events, events: 4000, iterations: 1}
  projected: {use: joseph_projector, from: {events: subsets, image: estimate},
    sensitivity: {exact_pairs: 0, sampled_pairs: 20000, cache: false}, edge: {events: {messages: 1}}}
  estimate: {use: osem_update, from: projected}
  file: {use: nifti_writer, from: estimate}
)";
    return made;
  }();
  return fmt::format("run {} --quiet --backend cpu --out {} {}", file.string(), out.string(), more);
}

/// Waits until the run has begun.
inline bool is_open(const std::filesystem::path& out) {
  for (int i = 0; i < 1000; ++i) {
    if (std::filesystem::exists(out / "control.sock")) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// What a run that has ended has left in its folder, or of shared memory, that is not to be there.
inline std::vector<std::string> left_behind(const std::filesystem::path& out) {
  std::vector<std::string> left;
  const auto look = [&](const std::filesystem::path& folder, const auto& is_wrong) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none))
      if (is_wrong(entry)) left.push_back(entry.path().string());
  };
  // A live run's order is its record; a lock that nobody holds is what a process leaves that ends itself at once.
  static const std::set<std::string> may_stay = {"run.json", "report.html", "order.jsonl", ".tofstream.lock"};
  look(out, [](const auto& entry) {
    return entry.is_socket() || (entry.is_regular_file() && !may_stay.contains(entry.path().filename().string()));
  });
  look("/dev/shm", [](const auto& entry) { return entry.path().filename().string().starts_with("tofstream"); });
  return left;
}

/// None twice, since runs may be side by side, and none of those that the system gives to who connects.
inline int free_port() {
  constexpr int first = 20'000, ports = 12'000;
  static std::mutex one_at_a_time;
  static std::set<int> given;
  const std::lock_guard lock(one_at_a_time);
  std::random_device random;  // other tests take ports too
  while (true) {
    const int port = std::uniform_int_distribution<int>(first, first + ports)(random);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool is_free = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    ::close(socket);
    if (is_free && given.insert(port).second) return port;
  }
}

/// A process of a run; killed at the latest when it goes out of scope.
class RankProcess {
 public:
  RankProcess(const std::string& environment, const std::string& arguments) {
    const std::string line =
        fmt::format("exec env -u OMPI_COMM_WORLD_SIZE -u PMI_SIZE -u SLURM_STEP_NUM_TASKS {} {} {} >{} 2>{}",
                    environment, program().string(), arguments, (folder_ / "out").string(), (folder_ / "err").string());
    process_ = ::fork();
    if (process_ == 0) {
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
  }
  ~RankProcess() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  void signal(int number) const { ::kill(process_, number); }
  /// The exit code; -1 where it is not there within `patience`.
  int wait(std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    for (const auto end = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < end;) {
      int status = 0;
      if (::waitpid(process_, &status, WNOHANG) == process_) {
        process_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return -1;
  }
  std::string err() const { return text_of(folder_ / "err"); }

 private:
  const TemporaryFolder folder_;
  pid_t process_ = -1;
};

using Processes = std::vector<std::unique_ptr<RankProcess>>;

/// All with the same arguments, and the others with more.
inline Processes started(int ranks, const std::string& arguments, const std::string& of_others = "") {
  const int port = free_port();
  Processes all;
  for (int rank = 0; rank < ranks; ++rank)
    all.push_back(std::make_unique<RankProcess>("", fmt::format("{} --join 127.0.0.1:{} --rank {}/{} {}", arguments,
                                                                port, rank, ranks, rank > 0 ? of_others : "")));
  return all;
}

/// The same at a socket of this host, as tasks of a step of Slurm's: no other tests meet there.
inline Processes started_on_host(int ranks, const std::string& arguments) {
  static std::atomic<int> jobs = 0;
  const int job = 1'000'000 + ::getpid() % 10'000'000 * 100 + jobs++;
  Processes all;
  for (int rank = 0; rank < ranks; ++rank)
    all.push_back(std::make_unique<RankProcess>(
        fmt::format("SLURM_PROCID={} SLURM_STEP_NUM_TASKS={} SLURM_NTASKS={} SLURM_JOB_ID={} SLURM_STEP_ID=7 "
                    "SLURM_STEP_NUM_NODES=1 SLURM_STEP_NODELIST=localhost",
                    rank, ranks, ranks, job),
        arguments));
  return all;
}

/// The exit codes of all, which must come within 20 s.
inline std::vector<int> codes(Processes& processes) {
  std::vector<int> all;
  for (auto& process : processes) all.push_back(process->wait());
  return all;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
