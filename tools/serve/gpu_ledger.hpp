// What runs need of each GPU of a host, of which several servers, a process each, place runs: a run of several GPUs
// needs memory on GPUs whose servers do not have it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace tofstream::serve {

/// One server's side of it. Each server has a file in a folder that they share, which says what its runs need, and goes
/// with the server's process: what one had that has ended counts no more.
class GpuLedger {
 public:
  /// `own`: the GPU that this server places runs on; `bytes`: of it, that all runs together may need. What an earlier
  /// process of this server left is gone. Throws std::runtime_error, one line, where the folder cannot be written.
  GpuLedger(std::filesystem::path folder, int own, std::size_t bytes);
  ~GpuLedger();
  GpuLedger(const GpuLedger&) = delete;
  GpuLedger& operator=(const GpuLedger&) = delete;

  /// Takes so many bytes of each of these GPUs for a run, or of none where one of them has not as many left beside what
  /// all servers' runs have taken. A GPU without a server has room.
  bool take(const std::string& run, std::span<const int> gpus, std::size_t bytes);
  void give_back(const std::string& run);

  /// What runs of other servers have taken of this server's own GPU.
  std::size_t taken_by_others() const;
  /// The bytes of a GPU; SIZE_MAX: it has no server.
  std::size_t bytes_of(int gpu) const;

 private:
  struct Account {
    std::size_t bytes = 0;             // that its runs may need
    std::map<int, std::size_t> taken;  // by GPU
  };
  using Accounts = std::map<int, Account>;  // by server's GPU

  Accounts accounts() const;
  void write() const;

  const std::filesystem::path folder_;
  const int own_;
  const std::size_t bytes_;
  int lock_ = -1;   // of all servers, one at a time
  int alive_ = -1;  // held as long as this server lives
  std::map<std::string, std::map<int, std::size_t>> runs_;
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
