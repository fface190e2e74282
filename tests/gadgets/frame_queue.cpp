// Frames that wait for a slow pipeline: none is lost or out of order, in memory or on disk.
#include "gadgets/wire/frame_queue.hpp"

#include <fstream>
#include <thread>

#include "gadgets/io/journal/writer.hpp"
#include "tests/command/command.hpp"
#include "tests/support/precompiled.hpp"

using namespace tofstream;

namespace {

using Bytes = std::vector<std::byte>;

RawFrame frame(unsigned k) {
  RawFrame made = RawFrame::of(Bytes(100 + k, static_cast<std::byte>(k)), k);
  made.entered = FrameQueue::Clock::time_point(std::chrono::seconds(k));
  return made;
}

bool is_frame(const std::optional<RawFrame>& got, unsigned k) {
  return got && got->ingress_ns == k && got->entered == frame(k).entered &&
         std::ranges::equal(got->data, frame(k).data);
}

struct Queue {
  explicit Queue(std::filesystem::path folder, std::size_t memory = 1000)
      : queue({memory, std::move(folder), [this](std::string_view text) { warnings.emplace_back(text); }}) {}
  std::vector<std::string> warnings;
  FrameQueue queue;
};

}  // namespace

TEST_CASE("frames come out in their order, from memory and from the file, whose place is used again") {
  const TemporaryFolder folder;
  Queue q(folder.path());
  unsigned next = 0;
  for (unsigned round = 0; round < 3; ++round) {
    const unsigned begin = 60 * round;
    for (unsigned k = begin; k < begin + 40; ++k) q.queue.put(frame(k), {}, {});
    for (; next < begin + 20; ++next) REQUIRE(is_frame(q.queue.take({}), next));
    for (unsigned k = begin + 40; k < begin + 60; ++k) q.queue.put(frame(k), {}, {});
    for (; next < begin + 60; ++next) REQUIRE(is_frame(q.queue.take({}), next));
  }
  CHECK(!q.queue.take(FrameQueue::Clock::now()));
  CHECK(!q.queue.is_over());
  q.queue.close();
  CHECK(!q.queue.take({}));
  CHECK(q.queue.is_over());
  const auto figures = q.queue.figures();
  CHECK(figures.spilled_frames > 100);
  CHECK(figures.most_frames == 40);
  CHECK(!figures.held_back);
  CHECK(q.warnings.empty());
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("what a journal has is read from there again") {
  const TemporaryFolder folder;
  journal::Writer writer(folder.path());
  Queue q("/nowhere", 300);
  for (unsigned k = 0; k < 30; ++k) {
    const RawFrame made = frame(k);
    q.queue.put(made, writer.append_frame(made.data).bytes, {});
  }
  for (unsigned k = 0; k < 30; ++k) CHECK(is_frame(q.queue.take({}), k));
  CHECK(q.queue.figures().spilled_frames == 28);
  CHECK(q.warnings.empty());
}

TEST_CASE("without a disk the sender is held back, with one warning, and nothing is lost") {
  Queue q("/nowhere", 300);
  std::jthread receiving([&](const std::stop_token& stop) {
    for (unsigned k = 0; k < 30; ++k) q.queue.put(frame(k), {}, stop);
    q.queue.close();
  });
  for (unsigned k = 0; k < 30; ++k) CHECK(is_frame(q.queue.take({}), k));
  CHECK(!q.queue.take({}));
  receiving.join();
  if (!q.queue.figures().held_back) return;  // the reader was never behind
  REQUIRE(q.warnings.size() == 1);
  CHECK(q.warnings[0].find("cannot make a file in /nowhere: No such file or directory") != std::string::npos);
}

TEST_CASE("a stop lets go who is held back; a failure comes behind the frames before it") {
  Queue q("/nowhere", 100);
  std::jthread receiving([&](const std::stop_token& stop) {
    for (unsigned k = 0; k < 2; ++k) q.queue.put(frame(k), {}, stop);
    q.queue.close(std::make_exception_ptr(std::runtime_error("full")));
  });
  receiving.request_stop();
  receiving.join();
  CHECK(is_frame(q.queue.take({}), 0));
  CHECK(is_frame(q.queue.take({}), 1));
  CHECK_THROWS_WITH(q.queue.take({}), "full");
}
// SPDX-License-Identifier: Apache-2.0
