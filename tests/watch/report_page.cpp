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
  CHECK(holds(page, "<h3>&lt;b&gt;</h3>"));
  CHECK(holds(page, "not drawn: &lt;i&gt;"));
}

TEST_CASE("the page has outcome, books, timings, edges, latency, history, pipeline and curves, and loads nothing") {
  const std::string page = report_html(small_run(), {});
  for (const char* text :
       {"small: <span class=\"stopped\">stopped</span>", "<td>received</td><td>2000100</td>",
        "do not balance: some are on their way", "<td>events</td><td>petsird_decoder</td><td>40</td><td>20</td>",
        "<td>feed -&gt; events</td><td>block</td><td>40</td>",
        "<td>20</td><td>0.0125</td><td>0.045</td><td>0.0601</td>",
        "<td>events</td><td>low_keV</td><td>440</td><td>2</td>", "feed:\n  use: count", "Events received per second",
        "Log-likelihood, by events", "data:image/svg+xml;base64,PD94bWwg", "<td>compiler</td>"})
    CHECK_MESSAGE(holds(page, text), text);
  for (const char* text : {"http://", "https://", "src=\"/", "url("}) CHECK_MESSAGE(!holds(page, text), text);
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
  CHECK(report_curves(small_run()).size() == 2);
  Json run;
  run["counts"] = {{"seconds", {0, 1}}, {"events", {0, 5}}};
  CHECK(report_curves(run).empty());
  run["counts"] = {{"seconds", {0, 1, 2}}, {"events", {0, 0, 0}}};
  CHECK(report_curves(run).empty());
  run["gadgets"]["a"]["figures"]["log_likelihood"] = {-2.0, nullptr, -2.0};
  CHECK(report_curves(run).size() == 1);
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
  CHECK(pictures[0].title == "image.nii.gz of file, slices through its centre");
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
  CHECK(shown[0].title == "image.png of picture");
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
