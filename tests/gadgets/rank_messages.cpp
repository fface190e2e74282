// What ranks in several processes say to each other: places by options and launchers, messages that are cut short or
// wrong, and a projector's work for events and views by two ranks that talk over a socket.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "core/base/private_folder.hpp"
#include "core/testing.hpp"
#include "core/value/document.hpp"
#include "gadgets/additive.hpp"
#include "gadgets/io/wire/packed_data.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ranks/launcher.hpp"
#include "gadgets/ranks/rank_group.hpp"
#include "gadgets/step/division.hpp"
#include "gadgets/step/rank_service.hpp"
#include "gadgets/views.hpp"
#include "kernels/ring/simulate/random_pairs.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tests/gadgets/rank_on_thread.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

const Grid ranks_grid = Grid::centred(16, 16, 8, {10, 10, 10});

std::shared_ptr<const Scanner> ranks_scanner() {
  static const auto made = make_scanner({.inner_radius_mm = 200,
                                         .modules_transaxial = 12,
                                         .modules_axial = 1,
                                         .crystals_transaxial = 6,
                                         .crystals_axial = 4,
                                         .module_pitch_axial_mm = 32,
                                         .tof_fwhm_ps = 300,
                                         .tof_bins = 41,
                                         .tof_bin_ps = 50,
                                         .min_sector_difference = 2});
  return made;
}

std::vector<std::byte> joined(const std::vector<wire::PackedPiece>& pieces) {
  std::vector<std::byte> all;
  for (const auto& piece : pieces) all.insert(all.end(), piece.bytes.begin(), piece.bytes.end());
  return all;
}

std::shared_ptr<const EventBatch> some_events(std::int64_t count) {
  EventBatch batch = random_pairs(ranks_scanner(), ranks_grid, count, 3);
  batch.additive = Buffer<float>(Memory::host, count);
  for (std::int64_t i = 0; i < count; ++i) batch.additive[i] = 0.001f * static_cast<float>(i % 7);
  return std::make_shared<const EventBatch>(std::move(batch));
}

std::shared_ptr<const ViewBatch> some_views() {
  ViewSet set;
  set.size[0] = 8;
  set.size[1] = 4;
  set.pixel_mm = {8, 8, 8};
  for (int v = 0; v < 6; ++v)
    set.places.push_back({.angle_deg = 60.0f * static_cast<float>(v), .radius_mm = 150, .duration_s = 1.0 + v});
  ViewBatch batch{.set = std::make_shared<const ViewSet>(std::move(set))};
  for (int v = 0; v < 6; ++v) batch.records.push_back({.view = v, .counts = 10});
  batch.count = batch.set->pixels() * 6;
  batch.weigh(6);
  batch.whole_counts = Buffer<std::uint16_t>(Memory::host, batch.count);
  for (std::int64_t i = 0; i < batch.count; ++i) batch.whole_counts[i] = static_cast<std::uint16_t>(i % 5);
  return std::make_shared<const ViewBatch>(std::move(batch));
}

/// Reads what was packed, in full, cut short everywhere, and with single bits wrong: only exceptions come of it.
template <class Unpack>
void check_hostile(const std::vector<std::byte>& whole, const Unpack& unpack) {
  const auto read = [&](std::vector<std::byte> bytes) {
    wire::PackReader reader(bytes);
    unpack(reader);
    reader.require_end();
  };
  read(whole);
  const std::size_t step = std::max<std::size_t>(1, whole.size() / 400);
  for (std::size_t size = 0; size < whole.size(); size += step)
    CHECK_THROWS_AS(read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), std::exception);
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    auto wrong = whole;
    wrong[random() % wrong.size()] ^= static_cast<std::byte>(1u << (random() % 8));
    try {
      read(wrong);
    } catch (const std::exception& error) {
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
}

std::string place_error(const JoinOptions& options, const std::map<std::string, std::string>& environment = {}) {
  try {
    joined_place(options, [&](const char* name) {
      const auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
    });
  } catch (const WrongPlace& wrong) {
    return wrong.what();
  }
  return "";
}

std::optional<JoinedPlace> place(const JoinOptions& options,
                                 const std::map<std::string, std::string>& environment = {}) {
  return joined_place(options, [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

struct Summed {
  std::vector<float> back;
  EmTally tally;
};

/// Two iterations of a subset by a gadget, alone or as the first of two ranks.
template <class Data>
Summed iterated(const std::string& use, const std::string& params, const std::shared_ptr<const Data>& batch,
                const Grid& grid, const std::shared_ptr<const AdditiveTerms<Data>>& terms = nullptr) {
  RegisteredGadgetTest<Projected> projector(use, params);
  const auto estimate = std::make_shared<const Estimate>(
      Estimate{{.iteration = 0}, std::make_shared<const Image>(Image::filled(grid, 1))});
  std::shared_ptr<const Additive<Data>> additive;
  if (terms) additive = std::make_shared<const Additive<Data>>(Additive<Data>{estimate->image, terms, {}});
  for (const int iteration : {1, 2})
    projector.send(std::make_shared<const Subset<Data>>(Subset<Data>{
                       .step = {.iteration = iteration, .iterations = 2, .subsets = 1}, .batches = {batch}}),
                   estimate, additive);
  const Projected& last = *projector.out.all().back();
  return {last.back_projection->voxels.to_vector(), last.tally};
}

template <class Data>
void check_two_ranks(const std::string& use, const std::string& params, const std::shared_ptr<const Data>& batch,
                     const Grid& grid, const std::shared_ptr<const AdditiveTerms<Data>>& terms = nullptr) {
  const Summed one = iterated(use, "{rank_parts: 8, " + params + "}", batch, grid, terms);
  const PrivateTemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder.path() / "ranks").string();
  RankOnThread other(endpoint, {{1, 2}, "elsewhere", 0, "program", "pipeline", ""},
                     pipeline_of(use, "{" + params + "}"));
  RankGroup group({.own = {{0, 2}, "here", 0, "program", "pipeline", ""}, .endpoint = endpoint});
  const RankGroupInUse used(group);
  const Summed two = iterated(use, "{rank_parts: 8, " + params + "}", batch, grid, terms);
  CHECK(two.back == one.back);
  CHECK(two.tally.used == one.tally.used);
  CHECK(two.tally.log_sum == approx(one.tally.log_sum).epsilon(1e-9));
  CHECK(other.passes == 2);
  CHECK((other.batches > 0) == std::is_same_v<Data, EventBatch>);  // a sensitivity by pairs is shared
  group.end(0);
}

/// Terms by the event, wherever it lies in a batch.
struct Sevenths final : AdditiveTerms<EventBatch> {
  void write(const EventBatch& batch, float* to) const override {
    for (std::int64_t i = 0; i < batch.count; ++i) to[i] = 0.25f * static_cast<float>(1 + batch.detector1[i] % 7);
  }
};

}  // namespace

TEST_CASE("a process finds its place by options, Open MPI, PMI and Slurm, and where they meet") {
  CHECK_FALSE(place({}));
  const auto by_hand = place({.join = "gpu1:5000", .rank = "1/3"});
  REQUIRE(by_hand);
  CHECK(by_hand->place.rank == 1);
  CHECK(by_hand->place.ranks == 3);
  CHECK(by_hand->endpoint == "tcp://gpu1:5000");
  CHECK(place({.join = "gpu1:5000", .rank = "0/3"})->endpoint == "tcp://*:5000");
  CHECK(place({.join = "127.0.0.1:5000", .rank = "0/3"})->endpoint == "tcp://127.0.0.1:5000");
  CHECK(place({.join = "5000", .rank = "2/3"})->endpoint == "tcp://127.0.0.1:5000");
  CHECK(meets_on_this_host(*place({.join = "5000", .rank = "2/3"})));
  CHECK(meets_on_this_host(*place({.join = "localhost:5000", .rank = "0/3"})));
  CHECK_FALSE(meets_on_this_host(*place({.join = "gpu1:5000", .rank = "0/3"})));
  CHECK_FALSE(meets_on_this_host(*place({.join = "gpu1:5000", .rank = "1/3"})));
  const std::map<std::string, std::string> open_mpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                                                       {"OMPI_COMM_WORLD_SIZE", "4"},
                                                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                                       {"PMIX_NAMESPACE", "17"}};
  const auto by_mpirun = place({}, open_mpi);
  REQUIRE(by_mpirun);
  CHECK(by_mpirun->place.rank == 2);
  CHECK(by_mpirun->endpoint.starts_with("ipc://"));
  CHECK(meets_on_this_host(*by_mpirun));
  CHECK_FALSE(place({.join = "none"}, open_mpi));
  CHECK(place({.join = "gpu1:5000"}, open_mpi)->endpoint == "tcp://gpu1:5000");
  CHECK_FALSE(place({}, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}));
  CHECK(place({}, {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}})->place.rank == 1);
  std::map<std::string, std::string> slurm = {{"SLURM_PROCID", "5"},
                                              {"SLURM_STEP_NUM_TASKS", "8"},
                                              {"SLURM_JOB_ID", "100"},
                                              {"SLURM_STEP_ID", "2"},
                                              {"SLURM_STEP_NODELIST", "gpu[07-08,11]"},
                                              {"SLURM_STEP_NUM_NODES", "3"}};
  CHECK(place({}, slurm)->endpoint == "tcp://gpu07:20702");
  CHECK(place({}, slurm)->place.rank == 5);
  slurm["SLURM_PROCID"] = "0";
  CHECK(place({}, slurm)->endpoint == "tcp://*:20702");
  slurm["SLURM_STEP_NUM_NODES"] = "1";
  CHECK(place({}, slurm)->endpoint.starts_with("ipc://"));
  slurm.erase("SLURM_STEP_NUM_TASKS");  // a batch script
  CHECK_FALSE(place({}, slurm));
}

TEST_CASE("places that cannot be are told in one line") {
  CHECK(place_error({.join = "h:1", .rank = "3/3"}).find("count from 0") != std::string::npos);
  CHECK(place_error({.join = "h:1", .rank = "0/66"}).find("more than the 65") != std::string::npos);
  CHECK(place_error({.join = "h:port", .rank = "0/2"}).find("write HOST:PORT") != std::string::npos);
  CHECK(place_error({.join = "none", .rank = "0/2"}).find("contradict") != std::string::npos);
  CHECK(place_error({}, {{"OMPI_COMM_WORLD_RANK", "4"}, {"OMPI_COMM_WORLD_SIZE", "4"}}).find("contradict each other") !=
        std::string::npos);
  CHECK(place_error({}, {{"PMI_SIZE", "4"}}).find("contradicts itself") != std::string::npos);
  CHECK(place_error({}, {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}).find("--join HOST:PORT") != std::string::npos);
}

TEST_CASE("the first host of Slurm's lists") {
  CHECK(first_host("node1") == "node1");
  CHECK(first_host("node1,node2") == "node1");
  CHECK(first_host("gpu[003-005,9],login1") == "gpu003");
  CHECK(first_host("gpu[3]-ib,x") == "gpu3-ib");
  CHECK(first_host("login1,gpu[1-2]") == "login1");
  CHECK(first_host("") == "");
  CHECK(first_host("gpu[1-2") == "");
  CHECK(first_host("a[1-2]b[3-4]") == "");
}

TEST_CASE("scanners, cameras, grids and batches come as they went, and nothing wrong gets further than an exception") {
  wire::PackWriter to;
  const auto events = some_events(500);
  pack(to, events);
  check_hostile(joined(to.take()), [&](wire::PackReader& from) {
    const auto read = wire::unpack_events(from, events->detectors);
    REQUIRE(read->count > 0);
    for (const std::uint32_t d : read->detector1.span()) REQUIRE(d < events->detectors->size());
  });
  pack(to, *ranks_scanner());
  check_hostile(joined(to.take()), [](wire::PackReader& from) { wire::unpack_scanner(from); });
  const auto views = some_views();
  pack(to, *views->set);
  check_hostile(joined(to.take()), [](wire::PackReader& from) { wire::unpack_view_set(from); });
  pack(to, views);
  check_hostile(joined(to.take()), [&](wire::PackReader& from) { wire::unpack_views(from, views->set)->view(); });
  wire::pack(to, ranks_grid);
  check_hostile(joined(to.take()), [](wire::PackReader& from) { wire::unpack_grid(from); });
  wire::pack(to, ranks_grid);
  const auto bytes = joined(to.take());
  wire::PackReader from(bytes);
  CHECK(wire::unpack_grid(from) == ranks_grid);
}

TEST_CASE("pieces of a message are put together in their order, and others are refused") {
  detail::RankFrame frame;
  frame.kind = static_cast<std::uint16_t>(RankMessageKind::pass);
  frame.session = 7;
  frame.total = 6;
  const std::vector<std::byte> three(3, std::byte{5});
  const auto add = [&](detail::RankAssembly& assembly, const detail::RankFrame& head, std::uint64_t most = 100) {
    return assembly.add(std::as_bytes(std::span(&head, 1)), three, most);
  };
  detail::RankAssembly whole;
  CHECK_FALSE(add(whole, frame));
  frame.offset = 3;
  CHECK(add(whole, frame));
  const RankMessage message = whole.take();
  CHECK(message.kind == RankMessageKind::pass);
  CHECK(message.session == 7);
  CHECK(message.body->size() == 6);
  frame.offset = 0;
  for (const auto& wrong :
       {+[](detail::RankFrame& f) { f.magic[0] = 'x'; }, +[](detail::RankFrame& f) { ++f.version; },
        +[](detail::RankFrame& f) { f.kind = 99; }, +[](detail::RankFrame& f) { f.offset = 1; },
        +[](detail::RankFrame& f) { f.total = 2; }, +[](detail::RankFrame& f) { f.total = 1000; }}) {
    detail::RankAssembly assembly;
    detail::RankFrame head = frame;
    wrong(head);
    CHECK_THROWS_AS(add(assembly, head), std::runtime_error);
  }
  detail::RankAssembly interrupted;
  add(interrupted, frame);
  detail::RankFrame other = frame;
  other.session = 8;
  other.offset = 3;
  CHECK_THROWS_AS(add(interrupted, other), std::runtime_error);
}

TEST_CASE("two ranks that talk over a socket give the bits of one: events and views, with terms and without") {
  const std::string events =
      "deterministic: true, sensitivity: {cache: false, sampled_pairs: 1000, exact_pairs: 0}, "
      "backend: cpu";
  check_two_ranks<EventBatch>("joseph_projector", events, some_events(20'000), ranks_grid);
  check_two_ranks<EventBatch>("tor_projector", events, some_events(5'000), ranks_grid,
                              std::make_shared<const Sevenths>());
  const Grid grid = Grid::centred(8, 8, 4, {8, 8, 8});
  check_two_ranks<ViewBatch>("rotation_projector", "backend: cpu", some_views(), grid);
}

TEST_CASE("a rank of another version, with other plug-ins or another pipeline is refused, and the first says why") {
  const auto refused = [](const std::string& program, const std::string& pipeline) -> std::string {
    const PrivateTemporaryFolder folder;
    const std::string endpoint = "ipc://" + (folder.path() / "ranks").string();
    const RankOnThread other(endpoint, {{1, 2}, "gpu2", 0, program, pipeline, ""}, {});
    try {
      const RankGroup group(
          {.own = {{0, 2}, "gpu1", 0, "tofstream 1.0 (abc)", "a pipeline", ""}, .endpoint = endpoint});
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "nothing";
  };
  CHECK(
      refused("tofstream 1.1 (def)", "a pipeline") ==
      "rank 1, on gpu2, is tofstream 1.1 (def), and the first, on gpu1, is tofstream 1.0 (abc): start the same program "
      "and plug-ins on all hosts");
  CHECK(refused("tofstream 1.0 (abc), plug-in gadget my_filter", "a pipeline") ==
        "rank 1, on gpu2, is tofstream 1.0 (abc), plug-in gadget my_filter, and the first, on gpu1, is tofstream 1.0 "
        "(abc): start the same program and plug-ins on all hosts");
  CHECK(
      refused("tofstream 1.0 (abc)", "another") ==
      "rank 1, on gpu2, was started with another pipeline or other parameters than the first, on gpu1: write the same "
      "command for all");
}

TEST_CASE("more processes on a host than it has GPUs are refused, with the one that has none") {
  const auto refused = [](const std::string& host_of_other, int gpus_of_first, int gpus_of_other) -> std::string {
    const PrivateTemporaryFolder folder;
    const std::string endpoint = "ipc://" + (folder.path() / "ranks").string();
    const RankOnThread other(endpoint, {{1, 2}, host_of_other, gpus_of_other, "program", "pipeline", ""}, {});
    RankGroup group({.own = {{0, 2}, "gpu1", gpus_of_first, "program", "pipeline", ""}, .endpoint = endpoint});
    std::string why;
    try {
      require_gpus(group);
    } catch (const std::invalid_argument& error) {
      why = error.what();
    }
    group.end(0);
    return why;
  };
  const std::string remedy = ": start fewer ranks there, or write --backend cpu";
  CHECK(refused("gpu1", 1, 1) == "rank 1 needs GPU 1 of gpu1, which has 1" + remedy);
  CHECK(refused("gpu2", 1, 0) == "rank 1 needs GPU 0 of gpu2, which has 0" + remedy);
  CHECK(refused("gpu2", 0, 1) == "rank 0 needs GPU 0 of gpu1, which has 0" + remedy);
  CHECK(refused("gpu1", 2, 2).empty());
  CHECK(refused("gpu2", 1, 1).empty());
}
// SPDX-License-Identifier: Apache-2.0
