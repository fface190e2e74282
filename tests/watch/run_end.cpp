// What a person reads at the end of a run.
#include "tools/watch/run_end.hpp"

#include "fake_run.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

using Words = std::vector<std::string>;

RunReport ended() {
  RunReport report = small_report();
  report.phase = RunPhase::over;
  report.seconds = 42.74;
  return report;
}

GadgetReport writer() {
  GadgetReport gadget{.name = "file", .use = "nifti_writer"};
  gadget.figures = {{"file", std::string("results/image.nii.gz")},
                    {"size", std::vector<double>{144, 144, 45}},
                    {"voxel_mm", std::vector<double>{4, 4, 4}},
                    {"iteration", std::int64_t{3}},
                    {"subsets", std::int64_t{8}},
                    {"unit", std::string("Bq/mL")},
                    {"not_quantitative", Words{"no correction for attenuation"}},
                    {"corrections_made", Words{"normalisation"}},
                    {"corrections_not_made", Words{"attenuation", "decay"}}};
  return gadget;
}

}  // namespace

TEST_CASE("the end says where the image is, what it is, of how many events, and corrected for what") {
  RunReport report = ended();
  report.gadgets.push_back(writer());
  CHECK(run_end(report) ==
        "results/image.nii.gz: 144 x 144 x 45 voxels of 4 mm, Bq/mL, not quantitative: no correction for attenuation\n"
        "3 iterations x 8 subsets of 1,500,000 events, 2,000,100 received; 100 rejected: too <soft>\n"
        "corrections made: normalisation; not made: attenuation, decay\n"
        "done after 42.7 s\n");
}

TEST_CASE("of a live stream updates are counted, and edges of voxels that differ are all told") {
  RunReport report = ended();
  GadgetReport live = writer();
  live.figures.erase("subsets");
  live.figures["updates"] = std::int64_t{120};
  live.figures["voxel_mm"] = std::vector<double>{2, 2, 3.5};
  live.figures["not_quantitative"] = Words{};
  live.figures["filtered"] = std::string("smoothed by 5 mm FWHM");
  report.gadgets.push_back(live);
  report.books.lost["sent, but not received"] = 5;
  const std::string text = run_end(report);
  CHECK(text.find("voxels of 2 x 2 x 3.5 mm, smoothed by 5 mm FWHM, Bq/mL\n120 updates with 1,500,000 events") !=
        std::string::npos);
  CHECK(text.find("5 lost: sent, but not received") != std::string::npos);
}

TEST_CASE("a run without an image tells its files and events, and one without either how it went") {
  RunReport report = ended();
  GadgetReport scan{.name = "file", .use = "petsird_writer"};
  scan.figures["file"] = std::string("scan.petsird");
  report.gadgets.push_back(scan);
  report.books = {.received = 1000, .written = 1000};
  CHECK(run_end(report) == "scan.petsird\n1,000 events written, 1,000 received\ndone after 42.7 s\n");
  report.gadgets[0].figures["replayed_events"] = std::int64_t{400};
  CHECK(
      run_end(report).starts_with("scan.petsird\n600 events written, 600 received; 400 were in the journal before\n"));
  report.gadgets.clear();
  report.books = {};
  CHECK(run_end(report) == "done after 42.7 s\n");
}
// SPDX-License-Identifier: Apache-2.0
