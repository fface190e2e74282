// The page of `tofstream top`.
#include "tools/watch/top_view.hpp"

#include "core/report/report_json.hpp"
#include "fake_run.hpp"

using namespace tofstream;
using namespace tofstream::test;

TEST_CASE("numbers are short and never round to a thousand of a smaller unit") {
  CHECK(short_number(0) == "0");
  CHECK(short_number(0.25) == "0.25");
  CHECK(short_number(812) == "812");
  CHECK(short_number(999.7) == "1.00k");
  CHECK(short_number(3240) == "3.24k");
  CHECK(short_number(15'700'000) == "15.7M");
  CHECK(short_number(999'600) == "1.00M");
  CHECK(short_number(2e18) == "2000P");
}

TEST_CASE("a page has rates since the page before, queues, latency, books and progress") {
  RunReport report = small_report();
  const auto before = status_json(report);
  report.seconds += 2;
  report.gadgets[1].messages_in += 100;
  report.gadgets[1].busy_seconds += 1;
  report.books.received += 4'000'000;
  const std::string page = top_view(status_json(report), before, 200);
  CHECK(page.starts_with("small   running   4.0 s   6.00M events   2.00M events/s\n"));
  CHECK(page.find("reconstructed 1.50M   written 0   rejected 100 (too <soft> 100)   lost 0   discarded 0   on their "
                  "way 4.50M\n") != std::string::npos);
  CHECK(page.find("latency   p50 12.5 ms   p99 45 ms   longest 60.1 ms\n") != std::string::npos);
  CHECK(page.find("feed          40         0") != std::string::npos);  // for a source, what it gave
  CHECK(page.find("25% files\n") != std::string::npos);
  CHECK(page.find("events       140        50         0         0    50%      0%") != std::string::npos);
  CHECK(page.find("feed -> events         3 of 64          1.0 of 256         0\n") != std::string::npos);
}

TEST_CASE("a page says of the image how it was smoothed, and once it has been written its unit and what it lacks") {
  RunReport report = small_report();
  CHECK(top_view(status_json(report), nullptr, 200).find("image") == std::string::npos);
  GadgetReport smooth{.name = "smoothed", .use = "smooth"}, writer{.name = "file", .use = "nifti_writer"};
  smooth.figures["filtered"] = std::string("smoothed by 5 mm FWHM");
  report.gadgets.push_back(smooth);
  CHECK(top_view(status_json(report), nullptr, 200).find("\nimage     smoothed by 5 mm FWHM\n") != std::string::npos);
  writer.figures = {{"filtered", std::string("smoothed by 5 mm FWHM")},
                    {"unit", std::string("Bq/mL")},
                    {"not_quantitative", std::vector<std::string>{"no correction for attenuation", "a gate"}}};
  report.gadgets.push_back(writer);
  CHECK(
      top_view(status_json(report), nullptr, 200)
          .find(
              "\nimage     smoothed by 5 mm FWHM, Bq/mL, not quantitative: no correction for attenuation; a gate\n") !=
      std::string::npos);
  report.gadgets.back().figures.erase("filtered");  // the image that is written need not be the smoothed one
  CHECK(top_view(status_json(report), nullptr, 200).find("\nimage     Bq/mL, not quantitative") != std::string::npos);
  report.gadgets = {smooth};
  report.gadgets[0].figures = {{"unit", 5.0}, {"not_quantitative", 7.0}, {"filtered", 1.0}};  // of another meaning
  CHECK(top_view(status_json(report), nullptr, 200).find("\nimage") == std::string::npos);
}

TEST_CASE("a page says what an edge that spills has on disk") {
  RunReport report = small_report();
  report.edges.push_back({"events -> sorted",
                          {.policy = EdgePolicy::spill},
                          {.messages = 900,
                           .waiting_messages = 700,
                           .waiting_bytes = 1 << 20,
                           .disk_bytes = 3 << 20,
                           .most_disk_bytes = 5 << 20}});
  const std::string page = top_view(status_json(report), nullptr, 200);
  CHECK(page.find("waiting MiB   dropped  MiB on disk\n") != std::string::npos);
  CHECK(page.find("events -> sorted             700          1.0 of 256         0  3.0 now, 5.0 most\n") !=
        std::string::npos);
}

TEST_CASE("a page has a line for each rank of a gadget whose work several share") {
  RunReport report = small_report();
  CHECK(top_view(status_json(report), nullptr, 200).find("ranks of") == std::string::npos);
  GadgetReport projected{.name = "projected", .use = "tor_projector"};
  projected.figures = {{"rank_devices", std::vector<std::string>{"NVIDIA H200", "gpu2: NVIDIA H200"}},
                       {"rank_data", std::vector<double>{5e6, 4e6}},
                       {"rank_projecting_s", std::vector<double>{1, 1}},
                       {"rank_planning_s", std::vector<double>{0.5, 0.5}},
                       {"rank_waiting_s", std::vector<double>{0, 0}},
                       {"rank_reducing_s", std::vector<double>{0.25}}};
  report.gadgets.push_back(projected);
  const auto before = status_json(report);
  const std::string first = top_view(before, nullptr, 200);
  CHECK(first.find("projected    1     4.00M         -          -        -       -        -  gpu2: NVIDIA H200\n") !=
        std::string::npos);
  report.seconds += 2;
  report.gadgets.back().figures["rank_data"] = std::vector<double>{9e6, 7e6};
  report.gadgets.back().figures["rank_projecting_s"] = std::vector<double>{2.5, 2};
  report.gadgets.back().figures["rank_waiting_s"] = std::vector<double>{0, 0.5};
  const std::string page = top_view(status_json(report), before, 200);
  CHECK(page.find("ranks of  rank      data    data/s projecting planning waiting reducing  on\n"
                  "projected    0     9.00M     2.00M        75%       0%      0%       0%  NVIDIA H200\n"
                  "projected    1     7.00M     1.50M        50%       0%     25%        -  gpu2: NVIDIA H200\n") !=
        std::string::npos);
  report.gadgets.back().figures["rank_data"] = std::string("of another meaning");
  report.gadgets.back().figures["rank_devices"] = std::vector<double>{1, 2};
  CHECK(top_view(status_json(report), before, 200).find("\nprojected    0         0         -") != std::string::npos);
}

TEST_CASE("without a page before there are no rates, and lines are cut at the terminal's width") {
  const auto status = status_json(small_report());
  CHECK(top_view(status, nullptr, 200).find("events/s\nbooks") == std::string::npos);
  const std::string page = top_view(status, nullptr, 40);
  std::size_t begin = 0;
  for (std::size_t end; (end = page.find('\n', begin)) != std::string::npos; begin = end + 1) CHECK(end - begin <= 40);
  CHECK(begin == page.size());
}

TEST_CASE("a name is cut between its letters") {
  RunReport report = small_report();
  report.pipeline = "\xc3\xa4\xc3\xb6\xc3\xbc";
  CHECK(top_view(status_json(report), nullptr, 3).starts_with("\xc3\xa4\n"));
}
// SPDX-License-Identifier: Apache-2.0
