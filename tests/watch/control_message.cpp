// Requests to a run: what is understood, what is refused and how, and what each does.
#include "tools/watch/control_message.hpp"

#include "core/value/params.hpp"
#include "fake_run.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

std::string refusal(const std::string& line) {
  try {
    parse_control_request(line);
  } catch (const BadRequest& bad) {
    return bad.what();
  }
  return "";
}

struct Window {
  float low_keV = 435;
  static constexpr auto params =
      describe(param<&Window::low_keV>("low_keV", range(0, 2000), unit("keV"), live, "Lower limit"));
};

}  // namespace

TEST_CASE("a request that is written is read back the same") {
  for (const ControlAction action :
       {ControlAction::status, ControlAction::parameters, ControlAction::stop, ControlAction::abort}) {
    std::string line = control_request_line({.action = action});
    CHECK(line.back() == '\n');
    line.pop_back();
    CHECK(line.find('\n') == std::string::npos);
    CHECK(parse_control_request(line).action == action);
  }
  const ControlRequest set{ControlAction::set, "quick/corrected", "low_keV", Value::scalar("440.5")};
  const ControlRequest read = parse_control_request(control_request_line(set));
  CHECK(read.action == ControlAction::set);
  CHECK(read.gadget == "quick/corrected");
  CHECK(read.parameter == "low_keV");
  CHECK(read.value.text == "440.5");
  CHECK_FALSE(read.value.quoted);
  const ControlRequest text =
      parse_control_request(R"({"version": 1, "do": "set", "gadget": "a", "parameter": "b", "value": "12"})");
  CHECK(text.value.quoted);  // a text stays a text
  const ControlRequest list = parse_control_request(
      R"({"version": 1, "do": "set", "gadget": "a", "parameter": "b", "value": [1, {"x": null}]})");
  REQUIRE(list.value.items.size() == 2);
  CHECK(list.value.items[1].find("x")->kind == Value::Kind::null);
}

TEST_CASE("rubbish is refused in one line") {
  CHECK(refusal("") == "the request is no JSON: send one object a line");
  CHECK(refusal("GET / HTTP/1.1\r") == "the request is no JSON: send one object a line");
  CHECK(refusal("{\"version\": 1, \"do\": \"sta") == "the request is no JSON: send one object a line");
  CHECK(refusal("\xff\xfe\x00") == "the request is no JSON: send one object a line");
  CHECK(refusal("[1]") == "the request is no JSON object");
  CHECK(refusal("{}") == "\"version\" is not 1, which is what this program speaks");
  CHECK(refusal(R"({"version": 2, "do": "status"})") == "\"version\" is not 1, which is what this program speaks");
  CHECK(refusal(R"({"version": 1})") == "the request has no \"do\": status, parameters, set, stop or abort");
  CHECK(refusal(R"({"version": 1, "do": 7})") == "the request has no \"do\": status, parameters, set, stop or abort");
  CHECK(refusal(R"({"version": 1, "do": "explode"})") == "\"do\" is none of status, parameters, set, stop, abort");
  CHECK(refusal(R"({"version": 1, "do": "stop", "now": true})") == "a key is none of version, do");
  CHECK(refusal(R"({"version": 1, "do": "set", "gadget": "a", "parameter": "b"})") == "set needs \"value\"");
  CHECK(refusal(R"({"version": 1, "do": "set", "gadget": 1, "parameter": "b", "value": 1})") ==
        "set needs \"gadget\", a text");
  CHECK(refusal(std::string(60'000, '[')) == "the request nests deeper than 16");
}

TEST_CASE("an answer does what was asked, and says what was wrong") {
  FakeRun run;
  const auto answer = [&](const std::string& line) { return answer_control_request(run, parse_control_request(line)); };
  const auto status = answer(R"({"version": 1, "do": "status"})");
  CHECK(status["version"] == 1);
  CHECK(status["ok"] == true);
  CHECK(status["status"]["state"] == "running");
  CHECK(status["status"]["books"]["received"] == 2'000'100);
  CHECK(status["status"]["gadgets"]["feed"]["progress"]["total"] == 4);
  CHECK(status["status"]["edges"][0]["waiting_messages"] == 3);
  CHECK_FALSE(status["status"].contains("resolved"));
  const std::string set = R"({"version": 1, "do": "set", "gadget": ")";
  CHECK(answer(set + R"(events", "parameter": "low_keV", "value": 440})")["ok"] == true);
  const auto wrong = answer(set + R"(event", "parameter": "low_keV", "value": 440})");
  CHECK(wrong["ok"] == false);
  CHECK(wrong["errors"][0] == "no gadget is called 'event'");
  CHECK(answer(R"({"version": 1, "do": "stop"})")["ok"] == true);
  CHECK(answer(R"({"version": 1, "do": "abort"})")["ok"] == true);
  CHECK(run.said() == std::vector<std::string>{"events.low_keV='440'", "stop", "abort"});
}

TEST_CASE("live parameters are listed with what a slider needs") {
  const std::vector<ParamInfo>& infos = detail::infos_of<Window>();
  FakeRun run;
  run.parameters = {{"corrected", &infos[0], Value::scalar("435")}};
  const auto answer = answer_control_request(run, {.action = ControlAction::parameters});
  REQUIRE(answer["parameters"].size() == 1);
  const auto& p = answer["parameters"][0];
  CHECK(p["gadget"] == "corrected");
  CHECK(p["parameter"] == "low_keV");
  CHECK(p["value"] == 435);
  CHECK(p["unit"] == "keV");
  CHECK(p["lowest"] == 0);
  CHECK(p["highest"] == 2000);
}
// SPDX-License-Identifier: Apache-2.0
