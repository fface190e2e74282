// Sums of images that lie on several ranks have the bits of a sum in order, whatever the number of ranks, over a transport
// of threads and, where there are two GPUs, over NCCL.
#include "kernels/collective/sum_in_order.hpp"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/collective/made_in_time.hpp"
#include "kernels/collective/mpi.hpp"
#include "kernels/collective/nccl.hpp"
#include "kernels/em/image_sum.hpp"
#include "kernels/memory/device_thread.hpp"
#include "kernels/memory/devices.hpp"
#include "tests/support/gpu.hpp"
#include "tests/support/skip.hpp"

using namespace tofstream;

namespace {

/// What threads have sent each other and not yet received.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int>, std::deque<std::vector<float>>> parcels;  // from, to
};

/// A rank that is a thread of this process.
class ThreadTransport final : public RankTransport {
 public:
  ThreadTransport(Mailbox& box, int rank, int ranks) : box_(box), rank_(rank), ranks_(ranks) {}
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  void send_to_all(const float* values, std::int64_t count) override {
    std::vector<float> copy(values, values + count);
    std::vector<Parcel> sent;
    for (int other = 1; other < ranks_; ++other) sent.push_back({copy.data(), count, other});
    exchange(sent, {});
  }
  void receive_from_first(float* values, std::int64_t count) override {
    const Parcel parcel{values, count, 0};
    exchange({}, std::span(&parcel, 1));
  }
  void exchange(std::span<const Parcel> sent, std::span<const Parcel> received) override {
    std::unique_lock lock(box_.mutex);
    for (const Parcel& parcel : sent) {
      box_.parcels[{rank_, parcel.rank}].emplace_back(parcel.values, parcel.values + parcel.count);
      numbers_sent_ += parcel.count;
    }
    box_.changed.notify_all();
    for (const Parcel& parcel : received) {
      auto& waiting = box_.parcels[{parcel.rank, rank_}];
      box_.changed.wait(lock, [&] { return !waiting.empty(); });
      if (std::ssize(waiting.front()) != parcel.count) throw std::logic_error("the ends do not agree on a parcel");
      std::memcpy(parcel.values, waiting.front().data(), sizeof(float) * waiting.front().size());
      waiting.pop_front();
    }
  }
  void add(float* sum, const float* plus, std::int64_t count) override { add_values(sum, plus, count, Memory::host); }
  void wait(const std::function<void()>& go_on) override { go_on(); }
  std::int64_t numbers_sent() const { return numbers_sent_; }

 private:
  Mailbox& box_;
  int rank_, ranks_;
  std::int64_t numbers_sent_ = 0;
};

/// Numbers whose sum depends on the order.
std::vector<float> image_to_sum(int part, std::int64_t count) {
  std::vector<float> image(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < image.size(); ++i)
    image[i] = 1.0f / static_cast<float>(1 + (i * 7 + static_cast<std::size_t>(part) * 131) % 1009);
  return image;
}

std::vector<float> sum_of_images(int parts, std::int64_t count) {
  std::vector<float> sum = image_to_sum(0, count);
  for (int part = 1; part < parts; ++part) {
    const std::vector<float> plus = image_to_sum(part, count);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += plus[i];
  }
  return sum;
}

/// A rank's images, added up twice, the second time from new ones: what is kept must not stay.
std::vector<float> sum_at_rank(RankTransport& transport, int parts, std::int64_t count, Memory memory) {
  SumInOrder sums(transport, parts, count, memory);
  std::vector<Buffer<float>> images;
  std::vector<float*> own;
  for (int pass = 0; pass < 2; ++pass) {
    images.clear(), own.clear();
    for (int part = transport.rank(); part < parts; part += transport.ranks())
      images.push_back(Buffer<float>::from(image_to_sum(part, count)).to(memory));
    for (auto& image : images) own.push_back(image.data());
    if (!on_host(memory)) synchronize(nullptr);
    sums.queue(own);
    transport.wait([] {});
  }
  return images.front().to_vector();
}

}  // namespace

TEST_CASE("a sum of images over ranks has the bits of the sum in order") {
  for (const int ranks : {1, 2, 3, 5})
    for (const int parts : {ranks, ranks + 1, 8})
      for (const std::int64_t count : {1, 4, 1000, 1003}) {
        CAPTURE(ranks);
        CAPTURE(parts);
        CAPTURE(count);
        Mailbox box;
        std::vector<std::unique_ptr<ThreadTransport>> transports;
        for (int rank = 0; rank < ranks; ++rank)
          transports.push_back(std::make_unique<ThreadTransport>(box, rank, ranks));
        std::vector<std::vector<float>> sums(static_cast<std::size_t>(ranks));
        {
          std::vector<std::jthread> threads;
          for (auto& transport : transports)
            threads.emplace_back([&] {
              sums[static_cast<std::size_t>(transport->rank())] = sum_at_rank(*transport, parts, count, Memory::host);
            });
        }
        CHECK(sums.front() == sum_of_images(parts, count));
        // The others keep theirs.
        for (int rank = 1; rank < ranks; ++rank)
          CHECK(sums[static_cast<std::size_t>(rank)] == image_to_sum(rank, count));
        for (const auto& [way, left] : box.parcels) CHECK(left.empty());
        if (parts == ranks && count >= 1000)
          for (const auto& transport : transports) CHECK(transport->numbers_sent() <= 2 * 2 * (count + ranks));
      }
}

TEST_CASE("what a rank keeps of others' images is a slab of each") {
  CHECK(SumInOrder::bytes(1, 8, 1000) == 0);
  CHECK(SumInOrder::bytes(2, 2, 1000) == 4 * 500);
  CHECK(SumInOrder::bytes(2, 8, 1000) == 4 * 4 * 500);
  CHECK(SumInOrder::bytes(3, 8, 1000) == 4 * 6 * 334);  // rank 2 has two of its own
}

TEST_CASE("NCCL says its version, or what to install") {
  CHECK(nccl_version_text(22809) == "2.28.9");
  const std::string reason = why_no_nccl();
  CHECK((nccl_version() == 0) == !reason.empty());
  CHECK(reason.find('\n') == std::string::npos);
  if (!reason.empty()) CHECK_THROWS_WITH_AS((void)new_nccl_id(), reason.c_str(), std::runtime_error);
}

TEST_CASE("an NCCL that is too old is refused by its version") {
  for (const int will_do : {2703, 2804, 20908, 22809}) CHECK(why_nccl_is_too_old(will_do).empty());
  CHECK(why_nccl_is_too_old(2604) == "this machine's NCCL is version 2.6.4, and 2.7.0 is the oldest that will do");
  CHECK(why_nccl_is_too_old(0) == "this machine's NCCL is version 0.0.0, and 2.7.0 is the oldest that will do");
}

TEST_CASE("a rank that joins alone gives up in time") {
  if (!gpu_or_skip()) return;
  if (!why_no_nccl().empty()) return skip_test("NCCL");
  const auto began = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH_AS((void)make_nccl_transport(new_nccl_id(), 0, 2, std::chrono::seconds(2)),
                       "NCCL: rank 0 waited for the others of 2 ranks to join, and not all came in time", NotInTime);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
}

TEST_CASE("MPI says its name, or what to install") {
  const std::string reason = why_no_mpi();
  CHECK(mpi_library().empty() == !reason.empty());
  CHECK(reason.find('\n') == std::string::npos);
  CHECK(mpi_library().find('\n') == std::string::npos);
  if (!reason.empty()) CHECK_THROWS_WITH_AS(begin_mpi(0, 2), reason.c_str(), std::runtime_error);
}

TEST_CASE("two GPUs broadcast and add up images by NCCL, with the bits of the sum in order") {
  if (!gpu_or_skip()) return;
  if (cuda_devices() < 2) return skip_test("second GPU", "TOFSTREAM_REQUIRE_GPUS");
  if (!why_no_nccl().empty()) return skip_test("NCCL");
  const NcclId id = new_nccl_id();
  constexpr std::int64_t count = 1'000'003;
  std::vector<float> sums[2], told[2];
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        use_device(rank);
        const auto transport = make_nccl_transport(id, rank, 2);
        Buffer<float> image = Buffer<float>::from(image_to_sum(rank, count)).to(Memory::device);
        synchronize(nullptr);
        if (rank == 0)
          transport->send_to_all(image.data(), count);
        else
          transport->receive_from_first(image.data(), count);
        transport->wait([] {});
        told[rank] = image.to_vector();
        sums[rank] = sum_at_rank(*transport, 8, count, Memory::device);
      });
  }
  CHECK(told[0] == image_to_sum(0, count));
  CHECK(told[1] == told[0]);
  CHECK(sums[0] == sum_of_images(8, count));
  CHECK(sums[1] == image_to_sum(1, count));
}

TEST_CASE("a rank that waits for one that never comes can be told to give up") {
  if (!gpu_or_skip()) return;
  if (cuda_devices() < 2) return skip_test("second GPU", "TOFSTREAM_REQUIRE_GPUS");
  if (!why_no_nccl().empty()) return skip_test("NCCL");
  const NcclId id = new_nccl_id();
  struct GivesUp {};
  std::latch has_given_up(1);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      use_device(rank);
      const auto transport = make_nccl_transport(id, rank, 2);
      if (rank == 0) return has_given_up.wait();
      Buffer<float> image = Buffer<float>::zeros(Memory::device, 1000);
      synchronize(nullptr);
      transport->receive_from_first(image.data(), image.size());
      int asked = 0;
      CHECK_THROWS_AS(transport->wait([&] {
        if (++asked > 100) throw GivesUp();
      }),
                      GivesUp);
      has_given_up.count_down();
    });
}
// SPDX-License-Identifier: Apache-2.0
