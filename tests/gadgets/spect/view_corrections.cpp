// The gadget view by view: scatter from windows and from a file, decay, dead time, what the quantity says, and what is
// refused.
#include <filesystem>
#include <fstream>

#include "core/base/private_folder.hpp"
#include "core/testing.hpp"
#include "gadgets/views.hpp"
#include "kernels/correct/dead_time.hpp"
#include "kernels/correct/decay.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

using CorrectionTest = RegisteredGadgetTest<ViewBatch>;

constexpr EnergyWindow of_peak{126, 154}, of_lower{112, 126}, of_upper{154, 161};

/// Two views of 4 x 2 pixels at opposite sides, one after the other.
std::shared_ptr<const ViewSet> two_views(std::vector<EnergyWindow> windows, double seconds = 20) {
  ViewSet set;
  set.size[0] = 4;
  set.size[1] = 2;
  set.pixel_mm = {4, 4, 0};
  set.windows = std::move(windows);
  for (const int v : {0, 1})
    set.places.push_back(
        {.angle_deg = 180.0F * static_cast<float>(v), .radius_mm = 150, .start_s = v * seconds, .duration_s = seconds});
  return std::make_shared<const ViewSet>(std::move(set));
}

ViewBatch view_of(std::shared_ptr<const ViewSet> set, int view, int window, float counts) {
  ViewBatch batch;
  batch.set = std::move(set);
  batch.window = window;
  batch.count = batch.set->pixels();
  batch.counts = Buffer<float>(Memory::host, batch.count);
  std::ranges::fill(batch.counts.span(), counts);
  batch.records.push_back({.view = view, .counts = static_cast<std::uint64_t>(8 * counts)});
  Quantity quantity{.scale = "the test"};
  quantity.corrections.fill({CorrectionState::called_for, "the test"});
  static const auto shared = std::make_shared<const Quantity>(quantity);
  batch.quantity = shared;
  return batch;
}

std::string why_not(const std::string& yaml, const std::vector<ViewBatch>& views) {
  try {
    CorrectionTest gadget("view_corrections", yaml);
    for (const ViewBatch& view : views) gadget.send(view.to(Memory::host));
    gadget.finish();
  } catch (const std::exception& why) {
    return why.what();
  }
  return "taken";
}

bool says_so(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("nothing that is asked for is nothing that is changed: views go on as they came") {
  CorrectionTest gadget("view_corrections");
  const auto set = two_views({of_peak, of_lower});
  const auto peak = std::make_shared<const ViewBatch>(view_of(set, 0, 0, 5));
  const auto beside = std::make_shared<const ViewBatch>(view_of(set, 0, 1, 5));
  gadget.send(beside);
  gadget.send(peak);
  REQUIRE(gadget.out.size() == 2);
  CHECK(gadget.out.pointer(0) == beside);
  CHECK(gadget.out.pointer(1) == peak);
}

TEST_CASE("scatter of three windows is the trapezoid, in whatever order the windows' views come") {
  CorrectionTest gadget("view_corrections", "{scatter: {from: windows}}");
  const auto set = two_views({of_peak, of_upper, of_lower, {20, 40}});
  gadget.send(view_of(set, 1, 0, 50));
  gadget.send(view_of(set, 0, 2, 14));
  gadget.send(view_of(set, 0, 3, 99));  // another isotope's
  gadget.send(view_of(set, 1, 1, 7));
  CHECK(gadget.out.all().empty());
  gadget.send(view_of(set, 0, 1, 3.5F));
  gadget.send(view_of(set, 0, 0, 60));
  gadget.send(view_of(set, 1, 2, 28));
  gadget.finish();
  REQUIRE(gadget.out.size() == 2);
  CHECK(gadget.out[0].records[0].view == 0);
  CHECK(gadget.out[0].counts[0] == 60);
  CHECK(gadget.out[0].additive[7] == 21);  // (14 / 14 + 3.5 / 7) 28 / 2
  CHECK(gadget.out[1].additive[0] == 42);  // (28 / 14 + 7 / 7) 28 / 2
  CHECK(gadget.out[1].window == 0);
  const Quantity& quantity = *gadget.out[1].quantity;
  CHECK(quantity[Correction::scatter].state == CorrectionState::made);
  CHECK(quantity[Correction::scatter].how == "from the energy window of 112 to 126 keV and that of 154 to 161 keV");
  CHECK(quantity[Correction::decay].state == CorrectionState::called_for);
  CHECK(std::get<double>(gadget.context.figures().at("scatter_counts")) == approx(8 * 63));
  CHECK(std::get<double>(gadget.context.figures().at("scatter_fraction")) == approx(63.0 / 110));
}

TEST_CASE("scatter of two windows is the triangle, or a fraction of the window below") {
  const auto set = two_views({of_peak, {92, 125}});
  for (const auto& [yaml, scatter] : {std::pair{"{scatter: {from: windows}}", 28.0 / 33 / 2 * 66},
                                      {"{scatter: {from: windows, factor: 0.5}}", 33.0}}) {
    CorrectionTest gadget("view_corrections", yaml);
    gadget.send(view_of(set, 0, 1, 66));
    gadget.send(view_of(set, 0, 0, 100));
    REQUIRE(gadget.out.size() == 1);
    CHECK(gadget.out[0].additive[3] == approx(scatter).epsilon(1e-6));
  }
}

TEST_CASE("several windows below: the nearest, or the one that is named; a smoothed estimate of flat views is flat") {
  const auto set = two_views({of_peak, {50, 90}, of_lower});
  const auto scatter_of = [&](const std::string& more) {
    CorrectionTest gadget("view_corrections", "{scatter: {from: windows" + more + "}}");
    gadget.send(view_of(set, 0, 1, 40));
    gadget.send(view_of(set, 0, 2, 14));
    gadget.send(view_of(set, 0, 0, 100));
    REQUIRE(gadget.out.size() == 1);
    return gadget.out[0].additive[5];
  };
  CHECK(scatter_of("") == 14);
  CHECK(scatter_of(", lower_keV: [50, 90]") == 14);
  CHECK(scatter_of(", lower_keV: [50, 90], factor: 0.25") == 10);
  CHECK(scatter_of(", smooth_fwhm_mm: 12") == approx(14).epsilon(1e-6));
  CHECK(says_so(why_not("{scatter: {from: windows, lower_keV: [60, 90]}}", {view_of(set, 0, 0, 1)}),
                "the scan has no energy window of 60 to 90 keV below the photopeak's (126 to 154 keV)"));
}

TEST_CASE("scatter is added to what views expect already") {
  CorrectionTest gadget("view_corrections", "{scatter: {from: windows}}");
  const auto set = two_views({of_peak, of_lower});
  gadget.send(view_of(set, 0, 1, 14));
  ViewBatch view = view_of(set, 0, 0, 100);
  view.additive = view.counts.to(Memory::host);
  gadget.send(std::move(view));
  CHECK(gadget.out[0].additive[0] == 114);
}

TEST_CASE("views whose scatter windows never come are left out, in the books") {
  CorrectionTest gadget("view_corrections", "{scatter: {from: windows}}");
  const auto set = two_views({of_peak, of_lower});
  gadget.send(view_of(set, 0, 0, 100));
  gadget.send(view_of(set, 1, 1, 100));
  gadget.finish();
  CHECK(gadget.out.all().empty());
  const auto rejected = gadget.context.recorded().rejected;
  REQUIRE(rejected.size() == 1);
  CHECK(rejected.begin()->first == "views whose scatter windows never came");
  CHECK(rejected.begin()->second == 800);
}

TEST_CASE("scatter that cannot be is refused in one line, with a remedy") {
  const std::string windows = "{scatter: {from: windows}}";
  CHECK(says_so(why_not(windows, {view_of(two_views({of_peak}), 0, 0, 1)}),
                "scatter.from: windows needs views of further energy windows, and the scan has one: name their files "
                "(lower_window and upper_window of projections_source)"));
  CHECK(says_so(why_not(windows, {view_of(two_views({}), 0, 0, 1)}), "the scan has one"));
  CHECK(says_so(why_not(windows, {view_of(two_views({of_peak, {}}), 0, 0, 1)}),
                "needs their widths, and energy window 2 states no limits: give them to the source (windows_keV of "
                "projections_source)"));
  CHECK(says_so(why_not(windows, {view_of(two_views({of_peak, of_upper}), 0, 0, 1)}),
                "no energy window below the photopeak's (126 to 154 keV)"));
  CHECK(says_so(why_not("{scatter: {from: file}}", {}), "`file` goes with `from: file`"));
  CHECK(says_so(why_not("{scatter: {from: windows, file: b.hs}}", {}), "`file` goes with `from: file`"));
  CHECK(says_so(why_not("{scatter: {factor: 0.5}}", {}), "go with `from: windows`"));
  CHECK(says_so(why_not("{scatter: {from: windows, factor: 0.5, upper_keV: [154, 161]}}", {}), "window below alone"));
  CHECK(says_so(why_not("{scatter: {from: file, file: nowhere.hs}}", {}), "nowhere.hs: no such file"));
  CHECK(says_so(why_not("{scatter: {from: windows, smooth_fwhm_mm: -1}}", {}), "smooth_fwhm_mm"));
}

namespace {

std::string scatter_file(const std::filesystem::path& folder, const std::string& more, const std::string& counts) {
  std::ofstream(folder / "b.hs")
      << "!INTERFILE :=\n!imaging modality := nucmed\nname of data file := b.s\n!number format := unsigned integer\n"
         "!number of bytes per pixel := 1\n!matrix size [1] := 4\n!matrix size [2] := 2\n"
         "scaling factor (mm/pixel) [1] := 4\nscaling factor (mm/pixel) [2] := 4\n!number of projections := 2\n"
         "!extent of rotation := 360\nstart angle := 180\n"
      << more << "!END OF INTERFILE :=\n";
  std::ofstream(folder / "b.s") << counts;
  return (folder / "b.hs").string();
}

}  // namespace

TEST_CASE("scatter from a file is that of its view, turned as it was told, and needs no radius of its own") {
  const PrivateTemporaryFolder folder;
  const std::string path = scatter_file(folder.path(), "", std::string("\1\2\3\4\1\2\3\4", 8) + std::string(8, '\x9'));
  const auto set = two_views({of_peak});
  for (const bool is_flipped : {false, true}) {
    CorrectionTest gadget(
        "view_corrections",
        fmt::format("{{scatter: {{from: file, file: {}, read_as: {{flip_u: {}}}}}}}", path, is_flipped));
    gadget.send(view_of(set, 1, 0, 50));
    gadget.send(view_of(set, 0, 0, 50));
    REQUIRE(gadget.out.size() == 2);
    CHECK(gadget.out[0].additive[0] == 9);
    CHECK(gadget.out[1].additive[0] == (is_flipped ? 4 : 1));
    CHECK(gadget.out[0].quantity->corrections[static_cast<std::size_t>(Correction::scatter)].how ==
          "expected counts from " + path);
  }
}

TEST_CASE("a file of scatter that is not the scan's, or counts a second, is refused") {
  const PrivateTemporaryFolder folder;
  const auto set = two_views({of_peak});
  const auto refused = [&](const std::string& more, const std::string& instead = "") {
    std::string yaml = fmt::format("{{scatter: {{from: file, file: {}{}}}}}",
                                   scatter_file(folder.path(), more, std::string(16, '\1')), instead);
    return why_not(yaml, {view_of(set, 0, 0, 50)});
  };
  CHECK(refused("") == "taken");
  CHECK(refused("time per projection (sec) := 20\n") == "taken");
  const std::string rates = refused("time per projection (sec) := 1\n");
  CHECK(says_so(rates,
                "b.hs: it has 1 s for view 0, and the scan 20 s: expected scatter is of the scan's own views, in "
                "counts of their time"));
  CHECK(says_so(refused("", ", read_as: {start_angle_deg: 10}"), "it has view 0 at 190 degrees"));
}

TEST_CASE("decay is the mean over each view's time, from the scan's start or another time") {
  const auto set = two_views({of_peak}, 3600);
  const double half_life_s = 6.0066 * 3600;
  for (const auto& [yaml, from_s] : {std::pair{"{decay: {isotope: Tc-99m}}", 0.0},
                                     {"{decay: {half_life_s: 21623.76, reference_time_s: -7200}}", -7200.0}}) {
    CorrectionTest gadget("view_corrections", yaml);
    for (const int v : {0, 1}) gadget.send(view_of(set, v, 0, 50));
    gadget.finish();
    for (const int v : {0, 1})
      CHECK(gadget.out[static_cast<std::size_t>(v)].records[0].exposure ==
            approx(mean_decay(3600 * v - from_s, 3600, half_life_s)).epsilon(1e-9));
    CHECK(gadget.out[0].quantity->corrections[static_cast<std::size_t>(Correction::decay)].state ==
          CorrectionState::made);
    CHECK(std::get<double>(gadget.context.figures().at("half_life_s")) == approx(half_life_s));
    CHECK(gadget.out[0].additive.empty());
  }
}

TEST_CASE("dead time follows from each view's own counts") {
  CorrectionTest gadget("view_corrections", "{dead_time: {tau_s: 0.001, model: paralysable}}");
  const auto set = two_views({of_peak});
  gadget.send(view_of(set, 0, 0, 100));
  gadget.send(view_of(set, 1, 0, 500));
  gadget.finish();
  const double slow = live_fraction(8 * 100 / 20.0, 0.001, DeadTimeModel::paralysable);
  const double fast = live_fraction(8 * 500 / 20.0, 0.001, DeadTimeModel::paralysable);
  CHECK(gadget.out[0].records[0].exposure == approx(slow));
  CHECK(gadget.out[1].records[0].exposure == approx(fast));
  CHECK(fast < 0.8);
  CHECK(std::get<double>(gadget.context.figures().at("least_live_fraction")) == approx(fast));
  CHECK(gadget.out[1].quantity->corrections[static_cast<std::size_t>(Correction::dead_time)].how == "0.001 s");
}

TEST_CASE("decay and dead time that cannot be are refused in one line") {
  const auto timed = two_views({of_peak}), untimed = two_views({of_peak}, 0);
  CHECK(says_so(why_not("{decay: {isotope: F-18}}", {}), "F-18 is imaged by its positrons (PET)"));
  CHECK(says_so(why_not("{decay: {isotope: Tc99}}", {}), "known: Tc-99m"));
  CHECK(says_so(why_not("{decay: {isotope: Tc-99m, half_life_s: 10}}", {}), "not both"));
  CHECK(says_so(why_not("{decay: {isotope: Tc-99m}}", {view_of(untimed, 1, 0, 1)}), "view 1 states none"));
  CHECK(says_so(why_not("{dead_time: {tau_s: 1e-6}}", {view_of(untimed, 0, 0, 1)}), "view 0 states none"));
  CHECK(says_so(why_not("{dead_time: {tau_s: -1e-6}}", {}), "tau_s"));
  CHECK(says_so(why_not("{dead_time: {tau_s: 0.1}}", {view_of(timed, 1, 0, 500)}),
                "dead time of view 1: 200 counts/s are more than a dead time of 0.1 s lets through (10 counts/s): is "
                "dead_time.tau_s right"));
  ViewBatch exposed = view_of(timed, 0, 0, 5);
  exposed.records[0].exposure = 0.9;
  CHECK(says_so(why_not("{dead_time: {tau_s: 1e-6}}", {std::move(exposed)}), "an exposure of its own"));
}

TEST_CASE(
    "what views are corrected for already, or do not need, is refused, and who knows that they are uniform says so") {
  const auto set = two_views({of_peak, of_lower});
  const auto view_with = [&](Correction correction, CorrectionState state = CorrectionState::made) {
    ViewBatch view = view_of(set, 0, 0, 5);
    Quantity quantity = *view.quantity;
    quantity[correction] = {state, "the camera"};
    view.quantity = std::make_shared<const Quantity>(std::move(quantity));
    return view;
  };
  std::vector<ViewBatch> decayed, lost;
  decayed.push_back(view_with(Correction::decay));
  lost.push_back(view_with(Correction::dead_time));
  CHECK(why_not("{decay: {isotope: Tc-99m}}", decayed) ==
        "the views are corrected for decay already (the camera): leave it out here");
  CHECK(says_so(why_not("{dead_time: {tau_s: 1e-6}}", lost), "for dead time already"));
  CHECK(why_not("{dead_time: {tau_s: 1e-6}}", decayed) == "taken");
  std::vector<ViewBatch> constant;
  constant.push_back(view_with(Correction::decay, CorrectionState::not_needed));
  CHECK(why_not("{decay: {isotope: Tc-99m}}", constant) ==
        "the views need no correction for decay (the camera): leave it out here");

  CorrectionTest gadget("view_corrections", "{uniform: true}");
  gadget.send(view_of(set, 0, 0, 5));
  gadget.send(view_with(Correction::normalisation));
  CHECK(gadget.out[0].quantity->corrections[static_cast<std::size_t>(Correction::normalisation)].how ==
        "by the camera (uniform: true)");
  CHECK(gadget.out[1].quantity->corrections[static_cast<std::size_t>(Correction::normalisation)].how == "the camera");
  CHECK(gadget.out[1].records[0].exposure == 1);
}
// SPDX-License-Identifier: Apache-2.0
