// Where a run goes, of places with any load and memory; and what a server says of itself, read back.
#include "tools/serve/placement.hpp"

#include <regex>

#include <doctest/doctest.h>

#include "tests/command/command.hpp"
#include "tools/serve/fleet_figures.hpp"
#include "tools/serve/protocol.hpp"

using namespace tofstream::serve;

namespace {

Place place(std::size_t running, std::size_t gpu_free = 100, std::size_t waiting = 0) {
  return {.at_once = 2,
          .running = running,
          .waiting = waiting,
          .memory_bytes = 1000,
          .memory_free = 1000,
          .gpu_bytes = 100,
          .gpu_free = gpu_free};
}

std::optional<std::size_t> choice(const std::vector<Place>& places, const Need& need = {}) {
  return choose_place(places, need, [](std::size_t) { return true; });
}

}  // namespace

TEST_CASE("a run goes where the smallest share of runs is taken, then where most memory is free, then to the first") {
  CHECK(choice({place(1), place(0), place(0)}) == 1);
  CHECK(choice({place(1, 40), place(1, 60)}) == 1);
  std::vector<Place> alike{place(0), place(0)};
  CHECK(choice(alike) == 0);
  alike[1].memory_free = 2000;
  CHECK(choice(alike) == 1);
  std::vector<Place> unlike{place(1), place(2)};
  unlike[1].at_once = 8;
  CHECK(choice(unlike) == 1);
}

TEST_CASE("a run goes where its memory is free, however many runs are there") {
  CHECK(choice({place(0, 10), place(1, 60)}, {.gpu = 50}) == 1);
  std::vector<Place> hosts{place(0), place(1)};
  hosts[0].memory_free = 10;
  CHECK(choice(hosts, {.memory = 11}) == 1);
  CHECK(choice(hosts, {.memory = 10}) == 0);
  // A place without a GPU takes what a GPU would have to hold.
  std::vector<Place> cpu{place(0)};
  cpu[0].gpu_bytes = cpu[0].gpu_free = 0;
  CHECK(has_room(cpu[0], {.gpu = 50}));
}

TEST_CASE("a run that no place begins at once goes to the shortest queue; where nobody takes it there is no place") {
  CHECK(choice({place(2, 100, 3), place(2, 100, 1)}) == 1);
  CHECK(choice({place(2, 100, 0), place(1, 100, 1)}) == 0);  // who waits there comes first
  std::vector<Place> places{place(0), place(2)};
  places[0].why_not = "it is stopping";
  CHECK(choice(places) == 1);
  places[1].why_not = "its GPU has failed";
  CHECK_FALSE(choice(places));
  CHECK_FALSE(choice({}));
  CHECK(choose_place(std::vector{place(0), place(1)}, {}, [](std::size_t k) { return k == 1; }) == 1);
}

TEST_CASE("a server's health is read back as it was told, and what is none is refused") {
  Place one = place(1, 60, 3);
  one.name = "GPU 1";
  one.why_not = "it is stopping";
  const Health health{.version = "1.2.3", .identity = "abc", .places = {one, place(0)}};
  const Health read = read_health(to_json(health));
  CHECK(to_json(read) == to_json(health));
  CHECK(read.places[0].waiting == 3);
  CHECK_FALSE(read.places[0].takes());
  const Place sum = sum_of(read.places);
  CHECK(sum.at_once == 4);
  CHECK(sum.running == 1);
  CHECK(sum.gpu_free == 160);
  auto json = to_json(health);
  json["places"][0]["running"] = "many";
  CHECK_THROWS_AS(read_health(json), BadMessage);
  json["places"][0]["running"] = -1;
  CHECK_THROWS_WITH_AS(read_health(json), "a server's health whose running is no number", BadMessage);
  json.erase("places");
  CHECK_THROWS_AS(read_health(json), BadMessage);
  CHECK_THROWS_AS(read_health(nullptr), BadMessage);
  CHECK_THROWS_AS(read_health({{"version", 1}}), BadMessage);
}
TEST_CASE("the metrics of a fleet are those that its document names") {
  const std::string text = metrics_text({{.name = "tcp://gpu1:5557", .places = {place(1, 60, 3)}, .begun = 7}});
  CHECK(text.find("tofstream_server_runs_total{server=\"tcp://gpu1:5557\"} 7") != std::string::npos);
  CHECK(text.find("tofstream_server_waiting{server=\"tcp://gpu1:5557\",place=\"\"} 3") != std::string::npos);
  const std::string document = tofstream::text_of("share/doc/fleet.md");
  static const std::regex type("# TYPE tofstream_(server_[a-z_]+) ");
  int metrics = 0;
  for (std::sregex_iterator found(text.begin(), text.end(), type), end; found != end; ++found, ++metrics)
    CHECK_MESSAGE(document.find("`" + (*found)[1].str() + "`") != std::string::npos, (*found)[1].str());
  CHECK(metrics == 12);
}
// SPDX-License-Identifier: Apache-2.0
