// What runs need of each GPU of a host, as the servers of these GPUs tell each other; and a server whose client's run
// needs a GPU that another server's runs have.
#include "tools/serve/gpu_ledger.hpp"

#include <csignal>
#include <optional>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "support.hpp"

using namespace tofstream;
using namespace tofstream::serve;
using namespace tofstream::serve::test;

namespace {

constexpr std::size_t room = 1000;
const std::vector<int> first_two = {0, 1}, second = {1}, elsewhere = {1, 7};

}  // namespace

TEST_CASE("a run of several GPUs takes memory of each or of none, and others find it taken until it is given back") {
  const TemporaryFolder folder;
  GpuLedger zero(folder.path(), 0, room);
  CHECK(zero.bytes_of(1) == SIZE_MAX);
  std::optional<GpuLedger> one(std::in_place, folder.path(), 1, room / 2);
  CHECK(zero.bytes_of(1) == room / 2);
  CHECK(zero.take("a", first_two, 300));
  CHECK(one->taken_by_others() == 300);
  CHECK(zero.taken_by_others() == 0);
  CHECK_FALSE(one->take("b", second, 201));
  CHECK(one->take("b", second, 200));
  CHECK_FALSE(zero.take("c", first_two, 1));  // GPU 0 has room, and 1 has none
  CHECK(zero.take("c", std::vector{0}, 700));
  CHECK_FALSE(zero.take("d", std::vector{0}, 1));
  zero.give_back("a");
  zero.give_back("never taken");
  CHECK(one->taken_by_others() == 0);
  CHECK(zero.take("d", std::vector{0}, 300));
  // A GPU without a server has room; one whose server has ended counts no more.
  CHECK(one->take("e", elsewhere, 300));
  CHECK_FALSE(zero.take("f", second, 1));
  one.reset();
  CHECK(zero.take("f", second, 400));
  one.emplace(folder.path(), 1, room / 2);
  CHECK(one->taken_by_others() == 400);
  CHECK(one->take("g", second, 100));
  CHECK_FALSE(one->take("h", second, 1));
}

TEST_CASE("what a server that was killed had taken counts no more") {
  const TemporaryFolder folder;
  GpuLedger zero(folder.path(), 0, room);
  int told[2];
  REQUIRE(::pipe(told) == 0);
  const pid_t other = ::fork();
  if (other == 0) {
    GpuLedger one(folder.path(), 1, room);
    const bool has = one.take("a", std::vector{1, 0}, 600);
    (void)!::write(told[1], &has, 1);
    ::pause();
    ::_exit(0);
  }
  bool has = false;
  REQUIRE(::read(told[0], &has, 1) == 1);
  CHECK(has);
  CHECK(zero.taken_by_others() == 600);
  CHECK_FALSE(zero.take("b", std::vector{0}, 500));
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  CHECK(zero.taken_by_others() == 0);
  CHECK(zero.take("b", std::vector{0}, 500));
  for (const int end : told) ::close(end);
}

TEST_CASE("a served run of several GPUs waits until the further ones have room, and one that never can is refused") {
  Fixture fixture;
  fixture.options.gpus = {0, 1};
  fixture.options.device_bytes = std::size_t{1} << 30;
  fixture.options.ledger = fixture.folder / "ledger";
  std::filesystem::create_directories(fixture.options.ledger);
  const std::string on_gpus = served(", ranks: 2, backend: cuda");
  fixture.offer("wide", on_gpus);
  std::optional<GpuLedger> other(std::in_place, fixture.options.ledger, 1, std::size_t{1} << 30);
  REQUIRE(other->take("theirs", second, std::size_t{1} << 30));
  RunningServer running(fixture.options);
  Client waits = running.client();
  waits.say(make_hello({.pipeline = "wide"}));
  const auto next = [](Client& client) {
    for (;;)
      if (const auto message = client.hear(std::chrono::steady_clock::now() + std::chrono::minutes(1));
          message->kind != Kind::progress && message->kind != Kind::pong)
        return *message;
  };
  const Message told_to_wait = next(waits);
  REQUIRE(told_to_wait.kind == Kind::waiting);
  CHECK(json_body(told_to_wait)["gpus"] == std::vector{0, 1});
  other->give_back("theirs");
  const Message begun = next(waits);
  REQUIRE(begun.kind == Kind::accepted);
  const auto told = json_body(begun);
  CHECK(told["gpus"] == std::vector{0, 1});
  CHECK(told["gpu_memory_bytes"].get<std::size_t>() > 0);
  waits.say(make_message(Kind::abort));
  // The other's server has less than the run needs.
  other.reset();
  other.emplace(fixture.options.ledger, 1, 1);
  Client never = running.client();
  never.say(make_hello({.pipeline = "wide"}));
  const Message refused = next(never);
  REQUIRE(refused.kind == Kind::error);
  CHECK(json_body(refused)["errors"].dump().find("of GPU 1, of which runs may have") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
