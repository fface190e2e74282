// report.html: what it contains, that it is safe, and that it needs no other file.
#include <fstream>

#include "fake_run.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"
#include "tools/watch/html.hpp"
#include "tools/watch/report_curves.hpp"
#include "tools/watch/report_html.hpp"
#include "tools/watch/yaml_text.hpp"

using namespace tofstream;
using namespace tofstream::test;
using Json = nlohmann::ordered_json;

namespace {

Json small_run() {
  RunReport report = small_report();
  report.phase = RunPhase::over;
  report.stopped = true;
  report.resolved = Value::map();
  Value gadget = Value::map();
  gadget.set("use", Value::scalar("count"));
  gadget.set("path", Value::scalar("</pre><script>alert(1)</script>"));
  report.resolved.set("feed", std::move(gadget));
  report.changes = {{{}, "events", "low_keV", Value::scalar("440"), 2}};
  return Json::parse(run_json(report));
}

bool holds(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("every value in the page is escaped") {
  CHECK(html::escape("<a href=\"x\">'&'</a>") == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  const std::string page = report_html(small_run(), {{"<b>", "", "<i>"}});
  CHECK_FALSE(holds(page, "<script"));
  CHECK(holds(page, "&lt;/pre&gt;&lt;script&gt;"));
  CHECK(holds(page, "rejected: too &lt;soft&gt;"));
  CHECK(holds(page, "<p>&lt;b&gt;, not drawn: &lt;i&gt;</p>"));
}

TEST_CASE("the page is about the scan: image, unit, grid, scanner, duration, events, corrections, convergence") {
  Json run = small_run();
  run["gadgets"]["feed"]["figures"] = {{"stream", "0123"},
                                       {"scanner_in_words", "demo_ring, 820 mm in diameter"},
                                       {"time_of_flight", "400 ps FWHM"},
                                       {"scan_s", 130.0}};
  run["gadgets"]["file"]["figures"] = {{"file", "results/image.nii.gz"},
                                       {"size", {75.0, 75.0, 37.0}},
                                       {"voxel_mm", {4.0, 4.0, 4.0}},
                                       {"iteration", 3},
                                       {"subsets", 8},
                                       {"updates", 24},
                                       {"unit", "Bq/mL"},
                                       {"filtered", "smoothed by 5 mm FWHM"},
                                       {"not_quantitative", {"no correction for attenuation"}},
                                       {"corrections_made", {"normalisation"}},
                                       {"corrections_not_made", {"attenuation", "scatter"}}};
  const std::string page = report_html(run, {{"image.png: slices", "PNG", ""}});
  for (const char* text : {"<h1>small: <span class=\"stopped\">stopped</span></h1>",
                           "<figcaption>image.png: slices. Unit: Bq/mL</figcaption>",
                           "<th scope=\"row\">File</th><td>results/image.nii.gz</td>",
                           "<td>Bq/mL, not quantitative: no correction for attenuation</td>",
                           "<th scope=\"row\">Post-filter</th><td>smoothed by 5 mm FWHM</td>",
                           "<td>75 x 75 x 37 voxels of 4 mm, 300 x 300 x 148 mm</td>",
                           "<td>demo_ring, 820 mm in diameter</td>",
                           "<td>400 ps FWHM</td>",
                           "<td>2 min 10 s</td>",
                           "<td>2,000,100, 1.539e+04 a second of the scan</td>",
                           "<td>3 of 8 subsets, 24 updates</td>",
                           "<th scope=\"row\">Corrected for</th><td>normalisation</td>",
                           "<th scope=\"row\">Not corrected for</th><td>attenuation, scatter</td>",
                           "<p class=\"warning\">The image is not quantitative: no correction for attenuation.</p>",
                           "<td>received</td><td>2,000,100</td><td>100 %</td>",
                           "<td>reconstructed</td><td>1,500,000</td><td>75 %</td>",
                           "do not balance: some are on their way",
                           "Events received per second",
                           "Log-likelihood, by events",
                           "<td>events</td><td>low_keV</td><td>440</td><td>2</td>"})
    CHECK_MESSAGE(holds(page, text), text);
  CHECK(page.find("<h2>Image</h2>") < page.find("<h2>Scan and image</h2>"));
  CHECK(page.find("<h2>Convergence</h2>") < page.find("<details>"));
}

TEST_CASE("how the program ran is folded below the scan, in tables that scroll; the page prints, and loads nothing") {
  const std::string page = report_html(small_run(), {});
  const std::string folded = page.substr(page.find("<details>"));
  for (const char* text : {"<td>events</td><td>petsird_decoder</td><td>40</td><td>20</td>",
                           "<td>feed -&gt; events</td><td>block</td><td>40</td>",
                           "<td>20</td><td>0.0125</td><td>0.045</td><td>0.0601</td>", "feed:\n  use: count",
                           "<td>compiler</td>", "<div class=\"scroll\" tabindex=\"0\">\n<table"})
    CHECK_MESSAGE(holds(folded, text), text);
  CHECK(holds(page, "@media print"));
  CHECK(holds(page, "not for clinical use"));
  CHECK(!holds(page, "Events received per second"));  // of a file, which say how fast it was read
  for (const char* text : {"http://", "https://", "src=\"/", "url("}) CHECK_MESSAGE(!holds(page, text), text);
}

TEST_CASE("a gadget whose work ranks share has a table of them") {
  Json run = small_run();
  CHECK(!holds(report_html(run, {}), "<h2>Ranks</h2>"));
  Json& figures = run["gadgets"]["projected"]["figures"];
  figures = {{"rank_devices", {"NVIDIA H200", "gpu2: <H200>"}},
             {"rank_data", {12'345'678.0, 10'000'000.0}},
             {"rank_projecting_s", {1.5, 1.0}},
             {"rank_planning_s", {0.25, 0.125}},
             {"rank_waiting_s", {0.0, 0.5}},
             {"rank_reducing_s", {0.0625}},
             {"rank_imbalance", 1.2}};
  const std::string page = report_html(run, {});
  for (const char* text :
       {"<td>projected</td><td>0</td><td>NVIDIA H200</td><td>12345678</td><td>1.500</td><td>0.250</td><td>0.000</td>"
        "<td>0.062</td>",
        "<td>projected</td><td>1</td><td>gpu2: &lt;H200&gt;</td><td>10000000</td><td>1.000</td><td>0.125</td>"
        "<td>0.500</td><td>-</td>",
        "<td>projected</td><td>largest/mean</td><td></td><td></td><td>1.200</td>"})
    CHECK_MESSAGE(holds(page, text), page);
  figures["rank_data"] = "of another meaning";
  CHECK(holds(report_html(run, {}), "<td>NVIDIA H200</td><td>-</td>"));
}

TEST_CASE("events that were lost stand above the image") {
  Json run = small_run();
  run["books"]["lost"] = {{"sent, but not received", 200'000}};
  CHECK(holds(report_html(run, {}), "<p class=\"warning\">10 % of the events were lost"));
  run["books"]["lost"] = {{"sent, but not received", 20}};
  CHECK(!holds(report_html(run, {}), "events were lost"));
}

TEST_CASE("a report of little, of an old program or of a failed run is a page too") {
  CHECK(holds(report_html(Json::object(), {}), "</html>"));
  Json run = small_run();
  run["errors"] = Json::array({{{"gadget", "feed"}, {"where", "a.yaml:3:1"}, {"what", "it fails"}}});
  run["outcome"] = "failed";
  const std::string page = report_html(run, {});
  CHECK(holds(page, "<span class=\"failed\">failed</span>"));
  CHECK(holds(page, "<td>feed</td><td>a.yaml:3:1</td><td>it fails</td>"));
}

TEST_CASE("a curve of few points or of nothing is left out; one that does not rise is drawn") {
  CHECK(likelihood_curves(small_run()).size() == 1);
  Json run = small_run();
  CHECK(count_curves(run).empty());  // of a file
  run["gadgets"]["feed"]["figures"]["stream"] = "0123";
  CHECK(count_curves(run).size() == 1);
  run["counts"] = {{"seconds", {0, 1}}, {"events", {0, 5}}};
  CHECK(count_curves(run).empty());
  run["counts"] = {{"seconds", {0, 1, 2}}, {"events", {0, 0, 0}}};
  CHECK(count_curves(run).empty());
  run = Json::object();
  run["gadgets"]["a"]["figures"]["log_likelihood"] = {-2.0, nullptr, -2.0};
  CHECK(likelihood_curves(run).size() == 1);
}

TEST_CASE("the images that gadgets report are drawn, and one that cannot be says why") {
  const TemporaryFolder folder;
  Image image{Grid::centred(8, 9, 10, {4, 4, 4}), Buffer<float>(Memory::host, 720)};
  for (float& v : image.voxels.span()) v = 1;
  const auto good = folder / "image.nii.gz", bad = folder / "bad.nii";
  write_nifti(good, image);
  std::ofstream(bad) << "no image";
  Json run;
  run["gadgets"]["file"]["figures"]["file"] = good.string();
  run["gadgets"]["again"]["figures"]["file"] = good.string();
  run["gadgets"]["other"]["figures"]["file"] = bad.string();
  run["gadgets"]["list"]["figures"]["file"] = (folder / "scan.petsird").string();
  const std::vector<ReportPicture> pictures = pictures_of(run);
  REQUIRE(pictures.size() == 3);
  CHECK(pictures[0].title == "image.nii.gz: slices through the centre");
  CHECK(pictures[0].png.starts_with("\x89PNG"));
  CHECK(pictures[1].png.starts_with("\x89PNG"));
  CHECK(holds(pictures[2].why, "not a NIfTI-1 image"));
  write_report_html(run, folder.path());
  CHECK(holds(text_of(folder / "report.html"), "data:image/png;base64,iVBORw0KGgo"));
}

TEST_CASE("what the run has drawn of an image is shown as it is; an image that it has not drawn is drawn") {
  const TemporaryFolder folder;
  Image image{Grid::centred(8, 9, 10, {4, 4, 4}), Buffer<float>(Memory::host, 720)};
  for (float& v : image.voxels.span()) v = 1;
  write_nifti(folder / "image.nii.gz", image);
  std::ofstream(folder / "image.png") << "a picture";
  std::ofstream(folder / "image_mip.png") << "another";
  Json run;
  run["gadgets"]["file"]["figures"]["file"] = (folder / "image.nii.gz").string();
  run["gadgets"]["picture"]["figures"] = {{"picture", (folder / "image.png").string()},
                                          {"projections", (folder / "image_mip.png").string()}};
  run["resolved"]["gadgets"]["file"]["from"] = "estimate";
  run["resolved"]["gadgets"]["picture"]["from"] = "estimate";
  const std::vector<ReportPicture> shown = pictures_of(run);
  REQUIRE(shown.size() == 2);
  CHECK(shown[0].title == "image.png: slices");
  CHECK(shown[0].png == "a picture");
  CHECK(shown[1].png == "another");

  run["resolved"]["gadgets"]["picture"]["from"] = "smoothed";
  CHECK(pictures_of(run).size() == 4);
  std::filesystem::remove(folder / "image.png");
  CHECK(holds(pictures_of(run)[0].why, "image.png: cannot be read"));
}

TEST_CASE("a pipeline as YAML reads back as it was") {
  const Json value{{"name", "x"},      {"empty", Json::object()}, {"text", "12"},
                   {"number", 12},     {"list", {1, 2.5, 3}},     {"nested", {{"a", true}, {"b", nullptr}}},
                   {"odd", "a: b # c"}};
  CHECK(yaml_text(value) ==
        "name: x\nempty: {}\ntext: \"12\"\nnumber: 12\nlist: [1, 2.5, 3]\nnested:\n  a: true\n  b: ~\nodd: \"a: b # "
        "c\"\n");
}
// SPDX-License-Identifier: Apache-2.0
