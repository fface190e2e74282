// The live page of a run: estimates arrive and never wait, past data can be requested, parameters are set and the run
// is stopped from the page, and messages that are not requests change nothing.
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/monitor/run_messages.hpp"
#include "gadgets/monitor/viewer_files.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/gadgets/web_client.hpp"

using namespace tofstream;
using namespace tofstream::web_test;
using nlohmann::json;

namespace {

/// A run of two gadgets, one with live parameters, that notes its requests.
class FakeRun final : public RunControl {
 public:
  const Pipeline& pipeline() const override { return pipeline_; }
  RunReport snapshot() const override {
    RunReport report;
    report.phase = RunPhase::running;
    report.books.received = 100;
    report.books.rejected["too late"] = 7;
    return report;
  }
  std::vector<LiveParameter> live_parameters() const override { return {{"lens", &zoom(), Value::scalar("3")}}; }
  std::vector<Problem> set_parameter(std::string_view gadget, std::string_view parameter, const Value& value) override {
    if (value.in_words() == "'99'") return {{{}, "zoom is at most 10"}};
    told.push_back(fmt::format("{}.{} = {}", gadget, parameter, value.in_words()));
    return {};
  }
  void request_stop() override { told.emplace_back("stop"); }
  void abort() override { told.emplace_back("abort"); }
  void fail(RunError error) override { told.push_back(error.what); }

  std::vector<std::string> told;

 private:
  static const ParamInfo& zoom() {
    static const ParamInfo info = [] {
      ParamInfo made;
      made.name = "zoom";
      made.rules.limits = range(1, 10);
      made.rules.unit = "mm";
      made.rules.doc = "How near";
      made.type_info.kind = TypeInfo::Kind::number;
      made.default_value = Value::scalar("2");
      return made;
    }();
    return info;
  }
  Pipeline pipeline_;
};

Estimate estimate(int iteration, float value) {
  return {.step = {.iteration = iteration, .iterations = 3, .subset = 1, .subsets = 4},
          .image = std::make_shared<const Image>(Image::filled(Grid::centred(4, 5, 6, {1, 1, 1}), value))};
}

using MonitorTest = RegisteredGadgetTest<void>;

unsigned short port_of(const MonitorTest& test) {
  const std::string url = std::get<std::string>(test.context.figures().at("url"));
  return static_cast<unsigned short>(std::stoi(url.substr(url.rfind(':') + 1)));
}

template <class T>
T at(const std::string& message, std::size_t place) {
  T value{};
  std::memcpy(&value, message.data() + place, sizeof value);
  return value;
}

std::string image_numbered(Watcher& watcher, std::uint32_t number) {
  while (auto message = watcher.receive())
    if (!message->is_text && at<std::uint32_t>(message->data, 8) == number) return message->data;
  throw std::runtime_error("closed before the image came");
}

json next_of(Watcher& watcher, const std::string& type) {
  return json::parse(watcher.find("\"type\":\"" + type + "\""));
}

json answer_to(Watcher& watcher, const std::string& request) {
  watcher.send(request);
  return next_of(watcher, "answer");
}

}  // namespace

TEST_CASE("a page is shown the pipeline, the run's figures and each estimate") {
  FakeRun run;
  MonitorTest test("web_monitor", "address: 127.0.0.1:0\nframes_per_s: 60", ".", &run);
  Watcher page(port_of(test));
  const json hello = next_of(page, "hello");
  CHECK(hello["protocol"] == 1);
  CHECK(hello["steering"] == true);
  const json& zoom = hello["parameters"].at(0);
  CHECK(zoom["gadget"] == "lens");
  CHECK(zoom["lo"] == 1);
  CHECK(zoom["hi"] == 10);
  CHECK(zoom["unit"] == "mm");
  CHECK(zoom["value"] == 3);
  const json state = next_of(page, "state");
  CHECK(state["phase"] == "running");
  CHECK(state["ended"] == false);
  CHECK(state["books"]["received"] == 100);
  CHECK(state["books"]["rejected"]["too late"] == 7);
  CHECK(state["counts"][3] == 7);
  test.send(estimate(0, 1));  // the start image is not shown as an estimate
  test.send(estimate(2, 5));
  const std::string image = image_numbered(page, 1);
  CHECK(image.size() == 96 + 2 * 4 * 5 * 6);
  CHECK(at<std::uint32_t>(image, 12) == 2);
  CHECK(at<float>(image, 64) == 5);
  CHECK(ask(port_of(test), "/").body.find("<html") != std::string::npos);
}

TEST_CASE("estimates never wait for a page, and the last one is shown as final") {
  FakeRun run;
  MonitorTest test("web_monitor", "address: 127.0.0.1:0\nframes_per_s: 20", ".", &run);
  Watcher page(port_of(test)), asleep(port_of(test));
  next_of(page, "state");
  test.context.set_message({.last_ingress = std::chrono::steady_clock::now()});
  for (int i = 1; i <= 1000; ++i) test.send(estimate(i, static_cast<float>(i)));
  CHECK(at<std::uint32_t>(image_numbered(page, 1000), 12) == 1000);
  for (int i = 1; i <= 1000; ++i) page.send(fmt::format(R"({{"type": "shown", "number": {}}})", i));
  page.send(R"({"type": "shown", "number": 4000000000})");
  CHECK(answer_to(page, R"({"type": "huh"})")["ok"] == false);  // answered, so everything sent before has been read
  std::jthread end([&] { test.finish(); });
  std::string last = image_numbered(page, 1000);
  CHECK(at<std::uint8_t>(last, 5) == 1);
  while (next_of(page, "state")["ended"] == false) {
  }
  end.join();
  CHECK(std::get<std::int64_t>(test.context.figures().at("images")) < 500);
  CHECK(std::get<std::int64_t>(test.context.figures().at("images_shown")) == 1);
  CHECK(std::get<double>(test.context.figures().at("shown_p99_s")) > 0);
}

TEST_CASE("past estimates may be asked for by the numbers that the state names") {
  FakeRun run;
  MonitorTest test("web_monitor", "address: 127.0.0.1:0\nframes_per_s: 60\npast: 4", ".", &run);
  Watcher page(port_of(test));
  for (std::uint32_t i = 1; i <= 12; ++i) {
    test.send(estimate(static_cast<int>(i), static_cast<float>(i)));
    image_numbered(page, i);
  }
  json past;
  do past = next_of(page, "state")["past"];
  while (past.size() < 2);
  CHECK(past.size() <= 4);
  CHECK(past[0][0] == 1);
  const HttpAnswer first = ask(port_of(test), "/past/1");
  CHECK(first.status == 200);
  CHECK(at<float>(first.body, 64) == 1);
  // What was thinned out meanwhile is no failure to a browser that was told of it.
  for (std::uint32_t i = 1; i <= 12; ++i) {
    const HttpAnswer answer = ask(port_of(test), fmt::format("/past/{}", i));
    CHECK((answer.status == 200 || answer.status == 204));
    CHECK(answer.body.empty() == (answer.status == 204));
  }
  for (const char* wrong : {"/past/2222", "/past/", "/past/x", "/past/1x", "/past/-1", "/past/99999999999"})
    CHECK(ask(port_of(test), wrong).status == 404);
}

TEST_CASE("a state says what the run waits for, and at the end where its files are") {
  RunReport report;
  report.phase = RunPhase::waiting;
  report.gadgets = {{.name = "feed", .waiting = "waiting for a sender at tcp://127.0.0.1:5555"}};
  report.output_dir = "results";
  report.files = {{"image.nii.gz", "file"}, {"report.html", ""}};
  const FakeRun run;
  json state = json::parse(state_message(run, report, {}));
  CHECK(state["phase"] == "waiting");
  CHECK(state["seconds"] == 0);
  REQUIRE(state["waiting"].size() == 1);
  CHECK(state["waiting"][0]["gadget"] == "feed");
  CHECK(state["waiting"][0]["what"] == "waiting for a sender at tcp://127.0.0.1:5555");
  CHECK(!state.contains("files"));
  state = json::parse(state_message(run, report, {.has_ended = true}));
  CHECK(state["folder"] == "results");
  CHECK(state["files"] == json{"image.nii.gz", "report.html"});
}

TEST_CASE("of a live scan the update is told, which has no iteration before it has ended") {
  FakeRun run;
  MonitorTest test("web_monitor", "address: 127.0.0.1:0\nframes_per_s: 60", ".", &run);
  Watcher page(port_of(test));
  Estimate live = estimate(5, 1);
  live.step.subsets = 0;
  live.step.update = 37;
  test.send(live);
  const std::string image = image_numbered(page, 1);
  CHECK(at<std::uint32_t>(image, 12) == 0);
  CHECK(at<std::uint32_t>(image, 16) == 37);
}

TEST_CASE("a page sets parameters and stops the run, and is told what is wrong") {
  FakeRun run;
  MonitorTest test("web_monitor", "address: 127.0.0.1:0", ".", &run);
  Watcher page(port_of(test));
  const json done = answer_to(page, R"({"type": "set", "id": 5, "gadget": "lens", "parameter": "zoom", "value": 7.5})");
  CHECK(done == json{{"type", "answer"}, {"ok", true}, {"id", 5}});
  const json wrong = answer_to(page, R"({"type": "set", "id": 6, "gadget": "lens", "parameter": "zoom", "value": 99})");
  CHECK(wrong == json{{"type", "answer"}, {"ok", false}, {"id", 6}, {"error", "zoom is at most 10"}});
  CHECK(answer_to(page, R"({"type": "stop"})")["ok"] == true);
  CHECK(run.told == std::vector<std::string>{"lens.zoom = '7.5'", "stop"});
}

TEST_CASE("a page that only shows steers nothing") {
  FakeRun run;
  MonitorTest test("web_monitor", "address: 127.0.0.1:0\nsteering: false", ".", &run);
  Watcher page(port_of(test));
  CHECK(next_of(page, "hello")["steering"] == false);
  for (const char* request :
       {R"({"type": "stop"})", R"({"type": "set", "gadget": "lens", "parameter": "zoom", "value": 7})"})
    CHECK(answer_to(page, request)["ok"] == false);
  CHECK(run.told.empty());
}

TEST_CASE("the page is what the build made of it, or one that says how to get it") {
  const TemporaryFolder folder;
  for (const char* name : {"index.html", "page.js", "page.css", "licences.txt", "secret", "core.dump"})
    std::ofstream(folder / name) << "content of " << name;
  std::filesystem::create_directory(folder / "more.js");
  const auto files = viewer_files(folder.path());
  CHECK(files.size() == 5);
  CHECK(*files.at("/").content == "content of index.html");
  CHECK(files.at("/page.js").type == "text/javascript; charset=utf-8");
  const auto none = viewer_files({});
  CHECK(none.size() == 2);
  CHECK(none.at("/").content->find("npm") != std::string::npos);
}

TEST_CASE("what is no request is answered in one line and changes nothing") {
  FakeRun run;
  const PageRequests requests{run, true, [](std::uint32_t) { FAIL("nothing was shown"); }};
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("{}"),
        std::string("\xff\xfe\x00", 3), std::string(16'000, '['), std::string(R"({"type": 5})"),
        std::string(R"({"type": "abort"})"), std::string(R"({"type": "set"})"),
        std::string(R"({"type": "set", "gadget": 1, "parameter": [], "value": {}})"),
        std::string(R"({"type": "set", "gadget": "lens", "parameter": "zoom", "value": [[1]]})"),
        std::string(R"({"type": "set", "gadget": "lens", "parameter": "zoom", "value": null})")}) {
    CAPTURE(text);
    const json answer = json::parse(answer_message(requests, text));
    CHECK(answer["ok"] == false);
    CHECK_FALSE(answer["error"].get<std::string>().empty());
  }
  for (const char* text :
       {R"({"type": "shown"})", R"({"type": "shown", "number": -1})", R"({"type": "shown", "number": "1"})"})
    CHECK(answer_message(requests, text).empty());
  CHECK(run.told.empty());
}

TEST_CASE("a public address, blobs and a missing run are refused in one line") {
  FakeRun run;
  CHECK_THROWS_WITH_AS(MonitorTest("web_monitor", "address: 0.0.0.0:0", ".", &run), doctest::Contains("public: true"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(MonitorTest("web_monitor", "address: 127.0.0.1:0"), doctest::Contains("there is none"),
                       std::invalid_argument);
  MonitorTest test("web_monitor", "address: 127.0.0.1:0", ".", &run);
  Grid grid = Grid::centred(4, 4, 4, {2, 2, 2});
  grid.blob = {4, 8};
  CHECK_THROWS_AS(test.send(Estimate{.step = {}, .image = std::make_shared<const Image>(Image::zeros(grid))}),
                  std::invalid_argument);
}

namespace {

/// Estimates without an end, until the run is stopped.
struct EndlessEstimates {
  void run(Emit<Estimate>& emit, std::stop_token stop) {
    for (int i = 1; !stop.stop_requested(); ++i) {
      emit(estimate(i, 1));
      std::this_thread::sleep_for(1ms);
    }
  }
};
TOFSTREAM_GADGET(EndlessEstimates, "test_endless_estimates", "Estimates without an end");

struct Looking {
  struct Params {
    float brightness = 1;
  };
  static constexpr auto params =
      describe(param<&Params::brightness>("brightness", range(0, 10), live, "How bright it is"));
  void process(const Estimate&, const Params& p, Context& context) {
    context.report("brightest", std::max(brightest, double{p.brightness}));
  }
  double brightest = 0;
};
TOFSTREAM_GADGET(Looking, "test_looking", "Looks at estimates");

}  // namespace

TEST_CASE("a run is watched, set and stopped from the page, and ends as a stopped run does") {
  Engine engine(parse_pipeline(R"(
gadgets:
  sky:  {use: test_endless_estimates}
  seen: {use: test_looking, from: sky}
  page: {use: web_monitor, from: sky, address: "127.0.0.1:0", edge: {policy: drop_oldest, messages: 1}}
)",
                               "test.yaml"));
  RunReport report;
  std::jthread running([&] { report = engine.run(); });
  const auto page_figures = [&] {
    for (const GadgetReport& gadget : engine.snapshot().gadgets)
      if (gadget.use == "web_monitor") return gadget.figures;
    return std::map<std::string, Figure>();
  };
  while (!page_figures().contains("url")) std::this_thread::sleep_for(1ms);
  const std::string url = std::get<std::string>(page_figures().at("url"));
  {
    Watcher page(static_cast<unsigned short>(std::stoi(url.substr(url.rfind(':') + 1))));
    const json hello = next_of(page, "hello");
    CHECK(hello["gadgets"].size() == 3);
    CHECK(hello["edges"].size() == 2);
    CHECK(hello["parameters"].size() == 2);  // frames_per_s is the other one
    const std::uint32_t first = [&] {
      for (;;)
        if (const auto message = page.receive(); !message->is_text) return at<std::uint32_t>(message->data, 8);
    }();
    CHECK(first > 0);
    CHECK(answer_to(page, R"({"type": "set", "gadget": "seen", "parameter": "brightness", "value": 11})")["ok"] ==
          false);
    CHECK(answer_to(page, R"({"type": "set", "gadget": "seen", "parameter": "brightness", "value": 4})")["ok"] == true);
    const json state = next_of(page, "state");
    CHECK(std::ranges::find(state["parameters"], json(4)) != state["parameters"].end());
    CHECK(answer_to(page, R"({"type": "stop"})")["ok"] == true);
    while (next_of(page, "state")["ended"] == false) {
    }
  }
  running.join();
  CHECK(report.exit_code == exit_ok);
  CHECK(report.stopped);
  REQUIRE(report.changes.size() == 1);
  CHECK(report.changes[0].parameter == "brightness");
}
// SPDX-License-Identifier: Apache-2.0
