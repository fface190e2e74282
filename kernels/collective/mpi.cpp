// A thread that exchanges by MPI: see mpi.hpp.
#include "kernels/collective/mpi.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "kernels/collective/mpi_functions.hpp"
#include "kernels/em/image_sum.hpp"
#include "kernels/memory/signals_elsewhere.hpp"

namespace tofstream {

namespace {

using MpiRequest = std::array<std::byte, 16>;
constexpr std::int64_t most_at_once = 1 << 20;  // floats

// Beside the library that this is part of.
std::filesystem::path mpi_file() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&mpi_file), &here) == 0) return {};
  return std::filesystem::path(here.dli_fname).parent_path() / "tofstream" / "libtofstream_mpi.so";
}

const MpiFunctions* open_mpi() {
  const auto file = mpi_file();
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    throw std::runtime_error("this tofstream was built without MPI: build it where mpi.h is (Debian: libopenmpi-dev)");
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);  // its plug-ins look for it there
  if (!library)
    throw std::runtime_error(
        fmt::format("the MPI that this tofstream was built with is not found: install it (Debian: libopenmpi3), or "
                    "build tofstream with this machine's ({})",
                    ::dlerror()));
  const auto functions_of = reinterpret_cast<MpiFunctionsOf>(::dlsym(library, mpi_functions_name));
  const MpiFunctions* const functions = functions_of ? functions_of() : nullptr;
  if (!functions || functions->version != mpi_functions_version || functions->request_bytes > sizeof(MpiRequest))
    throw std::runtime_error(fmt::format("{} is of another tofstream", file.string()));
  return functions;
}

const MpiFunctions& mpi() {
  static const MpiFunctions* const functions = open_mpi();
  return *functions;
}

void check_mpi(int error, const char* purpose) {
  if (error == 0) return;
  char text[512] = {};
  mpi().error_text(error, text, sizeof(text));
  throw std::runtime_error(fmt::format("MPI: cannot {}: {}", purpose, text));
}

/// What one call of a transport queued: requests to begin, or sums to make.
using MpiStep = std::function<void(std::vector<MpiRequest>& requests)>;

/// All that this process asks of MPI, in its order, by one thread.
class MpiThread {
 public:
  // Never destroyed, since MPI's own end may come before that of static objects.
  static MpiThread& get() {
    static auto* const thread = new MpiThread;
    return *thread;
  }

  bool has_begun() const { return begun_.load(); }

  void begin(int rank, int ranks, std::chrono::seconds patience) {
    std::unique_lock lock(mutex_);
    if (thread_.joinable()) return throw_if_failed();
    const SignalsElsewhere of_threads;
    thread_ = std::thread([this, rank, ranks] { run(rank, ranks); });
    if (!changed_.wait_for(lock, patience, [&] { return begun_ || is_stopped_; })) {
      is_stopping_ = true;
      throw std::runtime_error(
          fmt::format("MPI did not begin within {} s: were all ranks started by one mpirun?", patience.count()));
    }
    throw_if_failed();
  }

  /// The number of the step, from 1.
  std::int64_t queue(MpiStep step) {
    const std::lock_guard lock(mutex_);
    throw_if_failed();
    steps_.push_back(std::move(step));
    changed_.notify_all();
    return ++queued_;
  }
  bool is_done(std::int64_t number) const { return done_ >= number; }
  /// Waits for the step for a moment.
  void wait_a_moment(std::int64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(1), [&] { return is_done(number) || is_stopped_; });
    if (!is_done(number)) throw_if_failed();
  }
  std::int64_t progress() const { return moved_; }

  /// Asks nothing more of MPI, and touches nobody's numbers.
  void abandon() {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) return;
    is_stopping_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(1), [&] { return is_stopped_; });
  }
  void leave() {
    std::unique_lock lock(mutex_);
    if (!begun_ || is_stopped_) return;
    is_leaving_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(5), [&] { return is_stopped_; });
  }

 private:
  // With the lock held.
  void throw_if_failed() const {
    if (!failed_.empty()) throw std::runtime_error(failed_);
    if (is_stopping_ || is_stopped_) throw std::runtime_error("MPI is not used any more, since a rank was lost");
  }

  void run(int rank, int ranks) {
    std::string failed;
    try {
      join(rank, ranks);
      {
        const std::lock_guard lock(mutex_);
        begun_ = true;
      }
      changed_.notify_all();
      while (do_next()) {
      }
    } catch (const std::exception& error) {
      failed = error.what();
    }
    {
      const std::lock_guard lock(mutex_);
      failed_ = failed;
      is_stopped_ = true;
    }
    changed_.notify_all();
  }

  static void join(int rank, int ranks) {
    int counted = -1, all = -1;
    check_mpi(mpi().begin(&counted, &all), "join the other ranks");
    if (counted != rank || all != ranks)
      throw std::runtime_error(
          fmt::format("MPI counts this process as rank {} of {}, and it is rank {} of {}: start all by the mpirun of "
                      "{}, or write --rank-images messages",
                      counted, all, rank, ranks, mpi().library()));
  }

  bool do_next() {
    MpiStep step;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !steps_.empty() || is_stopping_ || is_leaving_; });
      if (is_stopping_) return false;
      if (steps_.empty()) {
        lock.unlock();
        check_mpi(mpi().end(), "leave the other ranks");
        return false;
      }
      step = std::move(steps_.front());
      steps_.pop_front();
    }
    std::vector<MpiRequest> requests;
    step(requests);
    if (!are_all_done(requests)) return false;
    {
      const std::lock_guard lock(mutex_);
      ++done_;
    }
    changed_.notify_all();
    return true;
  }

  // False where they are abandoned. It looks all the time as long as pieces come and go, then less often.
  bool are_all_done(std::vector<MpiRequest>& requests) {
    constexpr std::chrono::milliseconds looks_at{2};
    auto moved_at = std::chrono::steady_clock::now();
    while (!requests.empty()) {
      if (is_stopping_) return false;
      const auto gone = std::erase_if(requests, [](MpiRequest& request) {
        int is_done = 0;
        check_mpi(mpi().test(request.data(), &is_done), "exchange parts of images");
        return is_done != 0;
      });
      const auto now = std::chrono::steady_clock::now();
      moved_ += static_cast<std::int64_t>(gone);
      if (gone > 0) moved_at = now;
      if (now - moved_at > looks_at)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      else
        std::this_thread::yield();
    }
    return true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<MpiStep> steps_;
  std::int64_t queued_ = 0;
  std::atomic<std::int64_t> done_ = 0, moved_ = 0;
  std::atomic<bool> begun_ = false, is_stopping_ = false;
  bool is_leaving_ = false, is_stopped_ = false;
  std::string failed_;
  std::thread thread_;
};

class MpiTransport final : public RankTransport {
 public:
  MpiTransport(int tag, int rank, int ranks) : tag_(tag), rank_(rank), ranks_(ranks) {}
  ~MpiTransport() override {
    if (!MpiThread::get().is_done(last_)) MpiThread::get().abandon();
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  // The sender's own is not written where it lies.
  void send_to_all(const float* values, std::int64_t count) override { broadcast(const_cast<float*>(values), count); }
  void receive_from_first(float* values, std::int64_t count) override { broadcast(values, count); }

  void exchange(std::span<const Parcel> sent, std::span<const Parcel> received) override {
    queue([tag = tag_, sent = std::vector(sent.begin(), sent.end()),
           received = std::vector(received.begin(), received.end())](std::vector<MpiRequest>& requests) {
      for (const Parcel& parcel : received)
        in_pieces(parcel.values, parcel.count, [&](float* values, int count) {
          check_mpi(mpi().receive(values, count, parcel.rank, tag, requests.emplace_back().data()),
                    "receive a part of an image");
        });
      for (const Parcel& parcel : sent)
        in_pieces(parcel.values, parcel.count, [&](float* values, int count) {
          check_mpi(mpi().send(values, count, parcel.rank, tag, requests.emplace_back().data()),
                    "send a part of an image");
        });
    });
  }

  void add(float* sum, const float* plus, std::int64_t count) override {
    queue([=](std::vector<MpiRequest>&) { add_values(sum, plus, count, Memory::host); });
  }

  void wait(const std::function<void()>& go_on) override {
    try {
      while (!MpiThread::get().is_done(last_)) {
        MpiThread::get().wait_a_moment(last_);
        go_on();
      }
    } catch (...) {
      MpiThread::get().abandon();
      throw;
    }
  }

  std::int64_t progress() const override { return MpiThread::get().progress(); }

 private:
  template <class Work>
  static void in_pieces(float* values, std::int64_t count, const Work& work) {
    for (std::int64_t begin = 0; begin < count; begin += most_at_once)
      work(values + begin, static_cast<int>(std::min(most_at_once, count - begin)));
  }

  void broadcast(float* values, std::int64_t count) {
    queue([=](std::vector<MpiRequest>& requests) {
      in_pieces(values, count, [&](float* piece, int floats) {
        check_mpi(mpi().broadcast(piece, floats, requests.emplace_back().data()), "send an image to all ranks");
      });
    });
  }

  void queue(MpiStep step) { last_ = MpiThread::get().queue(std::move(step)); }

  int tag_, rank_, ranks_;
  std::int64_t last_ = 0;  // step of its own
};

}  // namespace

std::string why_no_mpi() {
  try {
    (void)mpi();
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

std::string mpi_library() {
  return why_no_mpi().empty() ? mpi().library() : "";
}

void begin_mpi(int rank, int ranks, std::chrono::seconds patience) {
  (void)mpi();  // throws where there is none
  MpiThread::get().begin(rank, ranks, patience);
}

void end_mpi(bool ends_well) {
  if (!MpiThread::get().has_begun()) return;
  if (ends_well)
    MpiThread::get().leave();
  else
    MpiThread::get().abandon();
}

std::unique_ptr<RankTransport> make_mpi_transport(int tag, int rank, int ranks) {
  return std::make_unique<MpiTransport>(tag, rank, ranks);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
