// Files of servers: see gpu_ledger.hpp.
#include "tools/serve/gpu_ledger.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/gadget/memory.hpp"

namespace tofstream::serve {

namespace {

namespace fs = std::filesystem;

int open_file(const fs::path& file) {
  const int number = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (number < 0) throw std::runtime_error(fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
  return number;
}

/// All servers' files belong to who has it.
class LedgerLock {
 public:
  explicit LedgerLock(int file) : file_(file) { ::flock(file_, LOCK_EX); }
  ~LedgerLock() { ::flock(file_, LOCK_UN); }
  LedgerLock(const LedgerLock&) = delete;
  LedgerLock& operator=(const LedgerLock&) = delete;

 private:
  int file_;
};

// A server that lives holds it.
bool is_held(const fs::path& file) {
  const int number = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (number < 0) return false;
  const bool is = ::flock(number, LOCK_EX | LOCK_NB) != 0;
  ::close(number);
  return is;
}

}  // namespace

GpuLedger::GpuLedger(fs::path folder, int own, std::size_t bytes)
    : folder_(std::move(folder)), own_(own), bytes_(bytes), lock_(open_file(folder_ / "lock")) {
  const LedgerLock all(lock_);
  alive_ = open_file(folder_ / fmt::format("alive-{}", own_));
  ::flock(alive_, LOCK_EX | LOCK_NB);
  write();
}

GpuLedger::~GpuLedger() {
  ::close(alive_);
  ::close(lock_);
}

bool GpuLedger::take(const std::string& run, std::span<const int> gpus, std::size_t bytes) {
  const LedgerLock all(lock_);
  const Accounts known = accounts();
  for (const int gpu : gpus) {
    const auto server = known.find(gpu);
    if (server == known.end()) continue;
    std::size_t needed = bytes;
    for (const auto& [of, account] : known)
      if (const auto taken = account.taken.find(gpu); taken != account.taken.end())
        needed = memory_sum(needed, taken->second);
    if (needed > server->second.bytes) return false;
  }
  for (const int gpu : gpus) runs_[run][gpu] = bytes;
  write();
  return true;
}

void GpuLedger::give_back(const std::string& run) {
  if (runs_.erase(run) == 0) return;
  const LedgerLock all(lock_);
  write();
}

std::size_t GpuLedger::taken_by_others() const {
  const LedgerLock all(lock_);
  std::size_t sum = 0;
  for (const auto& [server, account] : accounts())
    if (const auto taken = account.taken.find(own_); server != own_ && taken != account.taken.end())
      sum = memory_sum(sum, taken->second);
  return sum;
}

std::size_t GpuLedger::bytes_of(int gpu) const {
  const LedgerLock all(lock_);
  const Accounts known = accounts();
  const auto server = known.find(gpu);
  return server == known.end() ? SIZE_MAX : server->second.bytes;
}

// With the lock held. A file begins with the server's bytes; pairs of a GPU and what is taken of it follow.
GpuLedger::Accounts GpuLedger::accounts() const {
  constexpr std::string_view begins = "taken-";
  Accounts all;
  for (const auto& file : fs::directory_iterator(folder_)) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with(begins)) continue;
    const int server = std::stoi(name.substr(begins.size()));
    if (server != own_ && !is_held(folder_ / fmt::format("alive-{}", server))) continue;
    std::ifstream from(file.path());
    Account& account = all[server];
    from >> account.bytes;
    std::size_t bytes = 0;
    for (int gpu = 0; from >> gpu >> bytes;) account.taken[gpu] = bytes;
  }
  return all;
}

// With the lock held.
void GpuLedger::write() const {
  std::map<int, std::size_t> taken;
  for (const auto& [run, gpus] : runs_)
    for (const auto& [gpu, bytes] : gpus) taken[gpu] = memory_sum(taken[gpu], bytes);
  std::ofstream to(folder_ / fmt::format("taken-{}", own_), std::ios::trunc);
  to << bytes_ << '\n';
  for (const auto& [gpu, bytes] : taken) to << gpu << ' ' << bytes << '\n';
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
