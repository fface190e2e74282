// Histo-images that are reconstructed while they fill: the order of their updates, the same image from a recording cut
// into other batches, the offline image at the end, a run that goes on from its checkpoint, and the books.
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "gadgets/direct/histo_order.hpp"
#include "gadgets/io/update_log.hpp"
#include "kernels/sort/partition.hpp"
#include "tests/gadgets/direct/direct_runs.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

namespace tofstream {
namespace {

using namespace direct_test;

// Passes batches on in `pieces`. With `waits`, the next one only once there has been another update.
struct CutBatches {
  struct Params {
    int pieces = 1;
    bool waits = false;
  };
  static constexpr auto params = describe(param<&Params::pieces>("pieces", range(1, 100), "Of each batch"),
                                          param<&Params::waits>("waits", "For an update each"));
  static constexpr bool own_thread = true;
  explicit CutBatches(const Params& p) : p_(p) {}
  void process(EventBatch batch, Emit<EventBatch>& emit, Context& context) {
    std::vector<std::int64_t> cuts;
    for (int i = 1; i < p_.pieces; ++i) cuts.push_back(batch.count * i / p_.pieces);
    for (EventBatch& piece : split_by_arrival(std::move(batch), cuts)) {
      if (p_.waits) wait(context);
      emit(std::move(piece));
    }
  }

 private:
  void wait(const Context& context) {
    constexpr int first = 5;  // without which there is nothing to update with
    ++passed_;
    while (updates_seen() < passed_ - first && !context.cancelled())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  Params p_;
  int passed_ = 0;
};
TOFSTREAM_GADGET(CutBatches, "test_cut_batches", "Passes batches on in pieces");

struct LiveHistoRuns {
  TemporaryFolder folder;
  std::string ring = small_ring(folder.path()), phantom = water(folder.path(), true);
  std::string mu_map = mu_map_of(phantom, folder.path());
  std::string source;  // more parameters of the simulator
  std::string backend = "cpu";
  int events = 20000;

  std::string pipeline(const std::string& histo, const std::string& estimate, const std::string& cut) const {
    return fmt::format(
        "backend: {}\nimage: {}\nmu_map: {}\ngadgets:\n"
        "  photons: {{use: simulator, scanner: {}, phantom: {}, events: {}, batch_events: 4000{}}}\n"
        "  paced: {{use: test_cut_batches, from: photons, {}}}\n"
        "  histo: {{{}, from: paced, views: [12, 2], acceptance_deg: 9}}\n"
        "{}"
        "  estimate: {{{}, from: projected}}\n"
        "  checkpoint: {{use: checkpoint_writer, from: estimate, every_s: 0}}\n"
        "  kept: {{use: test_keep_last_image, from: estimate}}\n",
        backend, image_words, mu_map, ring, phantom, events, source, cut, histo, projected(histo), estimate);
  }
  RunReport run(const std::string& histo, const std::string& to, const std::string& cut = "pieces: 1",
                const std::string& estimate = "use: osem_update") const {
    updates_seen() = 0;
    return run_pipeline(pipeline(histo, estimate, cut), folder / to);
  }
  /// The image of a run that ends well and loses nothing.
  std::vector<float> image(const std::string& histo, const std::string& to, const std::string& cut = "pieces: 1",
                           const std::string& estimate = "use: osem_update") const {
    const RunReport report = run(histo, to, cut, estimate);
    REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "the books" : report.errors.front().text()));
    CHECK(report.books.balanced());
    CHECK(report.books.lost.empty());
    REQUIRE(last_image());
    return last_image()->image->voxels.to_vector();
  }
  std::string follow(const std::string& from) const {
    return fmt::format("use: live_histo, subsets: 4, iterations: 2, follow: {}", (folder / from).string());
  }

 private:
  static std::string projected(const std::string& histo) {
    const bool is_live = histo.find("live_histo") != std::string::npos;
    return fmt::format(
        "{}  projected: {{use: direct_projector, from: {{views: {}, image: estimate}}, lor_fwhm_mm: 7.5}}\n",
        is_live ? "" : "  subsets: {use: view_subsets, from: histo, subsets: 4, iterations: 2}\n",
        is_live ? "histo" : "subsets");
  }
};

constexpr auto* slowly = "pieces: 4, waits: true";
constexpr auto* live_histo = "use: live_histo, subsets: 4, iterations: 2";

}  // namespace

TEST_CASE("live histo-images: groups take turns, those with new events first, and rest once all are in") {
  HistoOrder order({{0, 3}, {1, 4}, {2, 5}}, 2);
  CHECK(!order.next());
  order.grow({5, 0, 1, 0, 0, 0});
  CHECK(order.next() == 0);
  order.note(0);
  CHECK(order.next() == 2);
  order.note(2);
  CHECK(order.next() == 0);  // nothing is new, and no event is in group 1
  CHECK(order.next_round(0) == 2);
  order.note(0);
  CHECK(order.next_round(0) == 3);
  order.grow({5, 0, 1, 0, 2, 0});
  CHECK(order.next_round(0) == 3);
  CHECK(order.next_round(1) == 1);
  CHECK(order.next_new() == 1);
  CHECK(order.new_events_of(1) == 2);
  order.note(1);
  CHECK(!order.next_new());
  CHECK(order.next() == 2);
  order.note(2);
  CHECK(order.next() == 1);
  order.note(1);
  CHECK(!order.next());
  CHECK(order.events_of(0) == 5);
  CHECK(order.group_of(std::vector{1, 4}) == 1);
  CHECK(!order.group_of(std::vector{0, 1}));
}

TEST_CASE("live histo-images: a recording that follows the order gives the image, whatever its batches") {
  const LiveHistoRuns runs;
  for (const std::string final : {"converged", "none", "offline"}) {
    CAPTURE(final);
    const std::vector<float> seen = runs.image(live_histo + (", final: " + final), final, slowly);
    const UpdateLog log = read_update_log(runs.folder / final);
    CHECK(log.has_ended);
    REQUIRE(log.updates.size() > 8);
    CHECK(log.updates[0].as_of->event < runs.events);  // while the scan ran
    for (const char* cut : {"pieces: 4", "pieces: 3", "pieces: 1"}) {
      CAPTURE(cut);
      CHECK(runs.image(runs.follow(final), "again", cut) == seen);
      CHECK(read_update_log(runs.folder / "again").updates == log.updates);
    }
  }
}

TEST_CASE("live histo-images: decay of an update counts the updates with a group since its last events") {
  const LiveHistoRuns runs;
  std::string update;
  SUBCASE("ramla_update") {
    update = "ramla_update";
  }
  SUBCASE("bsrem_update") {
    update = "bsrem_update";
  }
  const auto by = [&](const char* decay) {
    return fmt::format("use: {}, start_value: 5000, relaxation: 0.8, decay: {}", update, decay);
  };
  const std::vector<float> seen = runs.image(live_histo, "first", "pieces: 1", by("0"));
  CHECK(runs.image(runs.follow("first"), "again", "pieces: 1", by("0")) == seen);
  const RunReport decays = runs.run(runs.follow("first"), "decays", "pieces: 1", by("5"));
  REQUIRE(decays.exit_code == 0);
  CHECK(last_image()->image->voxels.to_vector() != seen);
  // The last update is the second one with its group, since no events have come to it.
  const auto estimate = std::ranges::find(decays.gadgets, "estimate", &GadgetReport::name);
  CHECK(std::get<double>(estimate->figures.at("relaxation")) == approx(0.8 / (1 + 5)));
}

TEST_CASE("live histo-images: counts of 16 bits give the image of floats, bit for bit, while they grow") {
  const LiveHistoRuns runs;
  const std::string nearest = ", deposit: nearest";
  const std::vector<float> floats = runs.image(live_histo + nearest, "first", slowly);
  CHECK(runs.image(runs.follow("first") + nearest + ", counts: uint16", "again", slowly) == floats);
}

TEST_CASE("live histo-images: `final: offline` gives the image of histo_deposit, with its randoms, bit for bit") {
  LiveHistoRuns runs;
  runs.source = ", randoms_cps: 20000, delayeds: true";
  for (const std::string more : {"", ", randoms: {from: delayeds}"}) {
    CAPTURE(more);
    const std::vector<float> offline = runs.image("use: histo_deposit" + more, "offline");
    const std::string words = label_of(*last_image()->quantity);
    const auto randoms = (*last_image()->quantity)[Correction::randoms].state;
    // In the same batches: the sum of the times of pieces is that of the whole but for the last bit.
    CHECK(runs.image(live_histo + (", final: offline" + more), "live", "waits: true") == offline);
    CHECK(read_update_log(runs.folder / "live").updates.front().as_of->event < runs.events);
    CHECK(label_of(*last_image()->quantity) == words);
    CHECK((*last_image()->quantity)[Correction::randoms].state == randoms);
  }
  const std::string final = ", final: offline, final_order: random, seed: 5";
  const std::vector<float> in_another_order = runs.image(live_histo + final, "random", "waits: true");
  CHECK(in_another_order != runs.image(live_histo + std::string(", final: offline"), "farthest", "waits: true"));
}

TEST_CASE("live histo-images: block RAMLA goes on where a run was killed, and comes to the same image") {
  const LiveHistoRuns runs;
  const std::string ramla = "use: ramla_update, relaxation: 1";
  const std::vector<float> whole = runs.image(live_histo, "whole", slowly, ramla);
  const UpdateLog log = read_update_log(runs.folder / "whole");
  // As if it had been killed: the order is cut, and the checkpoint is of a run that followed so much of it.
  const auto cut = [&](const std::string& to, std::size_t updates) {
    std::filesystem::create_directories(runs.folder / to);
    UpdateLogWriter(runs.folder / to / update_log_name, std::span(log.updates).first(updates));
  };
  cut("short", 5);
  {
    auto file = runs.folder / "short" / update_log_name;
    std::ofstream(file, std::ios::app) << "{\"end\":true}\n";
  }
  const RunReport first = runs.run(runs.follow("short"), "killed", "pieces: 1", ramla);
  CHECK(first.exit_code == 0);
  CHECK(first.books.balanced());  // what is left after the order's end is rejected
  cut("killed", log.updates.size());
  const std::string resume = fmt::format("{}, resume_from: {}", live_histo, (runs.folder / "killed").string());
  CHECK(runs.image(resume, "resumed", "pieces: 3",
                   fmt::format("{}, resume_from: {}", ramla, (runs.folder / "killed").string())) == whole);
}

TEST_CASE("live histo-images: on a GPU a followed recording gives the bits, and the CPU's image within rounding") {
  if (!gpu_or_skip()) return;
  LiveHistoRuns runs;
  runs.events = 40000;
  // One subset: with more, points that expect next to nothing make rounding visible.
  const std::string mlem = "use: live_histo, subsets: 1, iterations: 2, final: offline";
  const std::vector<float> on_cpu = runs.image(mlem, "cpu", "pieces: 4");
  runs.backend = "cuda";
  const std::vector<float> on_gpu = runs.image(mlem, "gpu", "pieces: 4");
  double apart = 0, all = 0;
  for (std::size_t v = 0; v < on_cpu.size(); ++v) {
    apart += std::pow(static_cast<double>(on_gpu[v]) - static_cast<double>(on_cpu[v]), 2);
    all += std::pow(static_cast<double>(on_cpu[v]), 2);
  }
  // Lines of 24 modules run on the borders of twelve azimuths, and rounding decides which view has one: an event that
  // changes its view changes the image of 40,000 by 1.5e-3.
  CHECK(std::sqrt(apart / all) < 5e-3);
  const std::vector<float> seen = runs.image(live_histo + std::string(", final: offline"), "live", slowly);
  CHECK(runs.image(runs.follow("live"), "again", "pieces: 3") == seen);
  CHECK(runs.image("use: histo_deposit", "offline", "pieces: 4") == seen);
}

TEST_CASE("live histo-images: an order that was cut in more passes than are asked for here ends all the same") {
  const LiveHistoRuns runs;
  const std::vector<float> seen = runs.image(live_histo + std::string(", final: offline"), "whole");
  const UpdateLog log = read_update_log(runs.folder / "whole");
  std::filesystem::create_directories(runs.folder / "cut");
  UpdateLogWriter(runs.folder / "cut" / update_log_name, log.updates);
  CHECK(runs.image(
            "use: live_histo, subsets: 4, iterations: 1, final: offline, follow: " + (runs.folder / "cut").string(),
            "again") == seen);
}

TEST_CASE("live histo-images: an order of other data, or of other groups, is refused in one line") {
  LiveHistoRuns runs;
  runs.image(live_histo, "first", slowly);
  const auto error_of = [&](const std::string& histo) {
    try {
      const RunReport report = runs.run(histo, "refused");
      return report.errors.empty() ? std::string() : report.errors.front().text();
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
  };
  const auto refused = [&](const std::string& histo, const char* words) {
    const std::string error = error_of(histo);
    CHECK_MESSAGE(error.find(words) != std::string::npos, error);
  };
  const std::string first = (runs.folder / "first").string();
  refused("use: live_histo, subsets: 6, iterations: 2, follow: " + first, "are no group here");
  refused(live_histo + std::string(", lattice: image, mu_map: nowhere.nii, follow: ") + first, "nowhere.nii");
  runs.source = ", seed: 77";
  refused(live_histo + std::string(", follow: ") + first, "belongs to another recording");
  std::filesystem::create_directories(runs.folder / "list_mode");
  const std::vector<UpdateRecord> list_mode = {{1, {{0, 1}}, 100}};
  UpdateLogWriter(runs.folder / "list_mode" / update_log_name, list_mode).end();
  refused(live_histo + std::string(", follow: ") + (runs.folder / "list_mode").string(), "data that do not grow");
  refused(live_histo + std::string(", randoms: {from: delayeds}"), "give final: offline with them");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
