// Parameters: every type is read, written, limited and described by one declaration.
#include <nlohmann/json.hpp>

#include "core/describe/describe_text.hpp"
#include "core/gadget/value_json.hpp"
#include "gadgets.hpp"

using namespace tofstream;

namespace {

enum class Response { gaussian, bessel };
constexpr auto enum_names(Response) {
  return names(Response::gaussian, "gaussian", Response::bessel, "bessel");
}

struct Grid {
  std::array<int, 3> size{75, 75, 26};
  std::array<double, 3> voxel_mm{4, 4, 4};
  static constexpr auto params = describe(param<&Grid::size>("size", range(1, 4096), "Voxels along x, y, z"),
                                          param<&Grid::voxel_mm>("voxel_mm", positive, unit("mm"), "Voxel edges"));
};

struct Everything {
  struct Params {
    bool flag = true;
    std::int8_t small = 3;
    std::uint64_t large = 10;
    float ratio = 0.1F;
    double width_mm = 2.5;
    std::string text = "hello";
    std::filesystem::path path;
    Grid image;
    std::vector<double> times_s{1, 2};
    std::optional<double> cut;
    Response response = Response::gaussian;
    std::vector<Grid> grids;
    std::vector<bool> flags;
  };
  static constexpr auto params = describe(
      param<&Params::flag>("flag", "A flag"), param<&Params::small>("small", "A small integer"),
      param<&Params::large>("large", "A count"), param<&Params::ratio>("ratio", live, "A ratio"),
      param<&Params::width_mm>("width_mm", range(0.5, 64), unit("mm"), "Width of the tube"),
      param<&Params::text>("text", "A text"), param<&Params::path>("path", required, "A file"),
      param<&Params::image>("image", "The image grid"),
      param<&Params::times_s>("times_s", positive, unit("s"), "Times"),
      param<&Params::cut>("cut", positive, "Where to cut"), param<&Params::response>("response", "Radial response"),
      param<&Params::grids>("grids", "More grids"), param<&Params::flags>("flags", "More flags"));
  int operator()(int x, const Params&) const { return x; }
};

const GadgetInfo& info() {
  static const GadgetInfo made = describe_gadget<Everything>("everything", "Has every type of parameter");
  return made;
}

Value scalar(const std::string& text) {
  return Value::scalar(text);
}

Value list(const std::vector<std::string>& items) {
  Value v = Value::sequence();
  for (const std::string& item : items) v.items.push_back(scalar(item));
  return v;
}

Value map_of(const std::string& key, Value value) {
  Value v = Value::map();
  v.set(key, std::move(value));
  return v;
}

std::vector<std::string> problems_with(const std::string& key, Value value, Everything::Params* out = nullptr) {
  Problems problems;
  Everything::Params params;
  Value map = map_of(key, std::move(value));
  if (key != "path") map.set("path", scalar("a.dat"));
  read_params(info().params, &params, {map, "g", problems});
  if (out) *out = params;
  std::vector<std::string> lines;
  for (const Problem& problem : problems.all()) lines.push_back(problem.text());
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("every type of parameter is read") {
  Everything::Params p;
  CHECK(problems_with("flag", scalar("false"), &p).empty());
  CHECK(!p.flag);
  CHECK(problems_with("small", scalar("-128"), &p).empty());
  CHECK(p.small == -128);
  CHECK(problems_with("large", scalar("18446744073709551615"), &p).empty());
  CHECK(p.large == 18446744073709551615U);
  CHECK(problems_with("large", scalar("5e6"), &p).empty());
  CHECK(p.large == 5000000);
  CHECK(problems_with("width_mm", scalar("+3"), &p).empty());
  CHECK(p.width_mm == 3.0);
  CHECK(problems_with("times_s", list({"3", "0.25"}), &p).empty());
  CHECK(p.times_s == std::vector<double>{3, 0.25});
  CHECK(problems_with("flags", list({"true", "false"}), &p).empty());
  CHECK(p.flags == std::vector<bool>{true, false});
  CHECK(problems_with("cut", scalar("7"), &p).empty());
  CHECK(p.cut == 7.0);
  CHECK(problems_with("cut", Value{}, &p).empty());
  CHECK(!p.cut);
  CHECK(problems_with("response", scalar("bessel"), &p).empty());
  CHECK(p.response == Response::bessel);
  CHECK(problems_with("image", map_of("size", list({"60", "60", "40"})), &p).empty());
  CHECK(p.image.size == std::array{60, 60, 40});
  CHECK(p.image.voxel_mm == std::array{4.0, 4.0, 4.0});
  CHECK(p.path == "a.dat");
  CHECK(p.text == "hello");
}

TEST_CASE("what is wrong is said with name, wanted range, unit and value") {
  CHECK(problems_with("flag", scalar("maybe")) == Lines{"g.flag must be true or false, not 'maybe'"});
  CHECK(problems_with("small", scalar("300")) == Lines{"g.small must be in [-128, 127], not 300"});
  CHECK(problems_with("small", scalar("1.5")) == Lines{"g.small must be an integer, not '1.5'"});
  CHECK(problems_with("large", scalar("-1")) == Lines{"g.large must be in [0, 18446744073709551615], not -1"});
  CHECK(problems_with("large", scalar("1e30")) == Lines{"g.large must be in [0, 18446744073709551615], not 1e30"});
  CHECK(problems_with("large", scalar("ten")) == Lines{"g.large must be an integer, not 'ten'"});
  CHECK(problems_with("width_mm", scalar("100")) == Lines{"g.width_mm must be in [0.5, 64] mm, not 100"});
  CHECK(problems_with("width_mm", scalar("3 mm")) == Lines{"g.width_mm must be a number, not '3 mm'"});
  for (const char* text : {"nan", ".nan", "inf", "-.inf", "1e999", "-inf"}) {
    const Lines lines = problems_with("width_mm", scalar(text));
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].starts_with("g.width_mm must be a "));
  }
  CHECK(problems_with("ratio", scalar("1e39")) == Lines{"g.ratio must be a finite number, not 1e39"});
  CHECK(problems_with("width_mm", list({"1"})) == Lines{"g.width_mm must be a number, not a list of 1"});
  CHECK(problems_with("text", Value::map()) == Lines{"g.text must be a text, not a map"});
  CHECK(problems_with("times_s", scalar("3")) == Lines{"g.times_s must be a list of number, not '3'"});
  CHECK(problems_with("times_s", list({"1", "0"})) == Lines{"g.times_s[1] must be greater than 0 s, not 0"});
  CHECK(problems_with("response", scalar("besel")) ==
        Lines{"g.response must be one of gaussian, bessel, not 'besel', did you mean 'bessel'?"});
  CHECK(problems_with("image", map_of("size", list({"60", "60"}))) ==
        Lines{"g.image.size must be a list of 3 x integer, not a list of 2"});
  CHECK(problems_with("image", map_of("size", list({"60", "0", "1"}))) ==
        Lines{"g.image.size[1] must be in [1, 4096], not 0"});
  CHECK(problems_with("image", map_of("voxels_mm", list({}))) ==
        Lines{"g.image: unknown key 'voxels_mm', did you mean 'voxel_mm'?"});
  CHECK(problems_with("image", scalar("big")) == Lines{"g.image must be a map, not 'big'"});
  Problems problems;
  Everything::Params params;
  read_params(info().params, &params, {Value::map(), "g", problems});
  REQUIRE(problems.all().size() == 1);
  CHECK(problems.all()[0].text() == "g.path is missing: A file");
}

TEST_CASE("writing what was read gives the same values, typed in JSON") {
  const Everything::Params defaults;
  const nlohmann::ordered_json json = to_json(write_params(info().params, &defaults));
  CHECK(json["flag"] == true);
  CHECK(json["ratio"].dump() == "0.1");
  CHECK(json["text"] == "hello");
  CHECK(json["image"]["size"] == std::vector<int>{75, 75, 26});
  CHECK(json["cut"].is_null());
  CHECK(json["response"] == "gaussian");
  CHECK(to_json(Value::scalar("5", true)) == "5");
  CHECK(to_json(Figure{std::vector<double>{1, NAN}}).dump() == "[1.0,null]");
}

namespace {

struct Part {
  int kept = 1, spared = 2;
  static constexpr auto params =
      describe(param<&Part::kept>("kept", "Matters"), param<&Part::spared>("spared", not_in_key, "Does not"));
};

struct Whole {
  Part part;
  std::vector<Part> parts{{}, {3, 4}};
  double size = 5;
  bool loud = true;
  static constexpr auto params =
      describe(param<&Whole::part>("part", "A part"), param<&Whole::parts>("parts", "Parts"),
               param<&Whole::size>("size", "A size"), param<&Whole::loud>("loud", not_in_key, "Does not matter"));
};

}  // namespace

TEST_CASE("what a result on disk depends on is every parameter, but for those that are declared not to matter") {
  const Whole whole;
  CHECK(flow_text(write_key_params(detail::infos_of<Whole>(), &whole)) ==
        "{part: {kept: 1}, parts: [{kept: 1}, {kept: 3}], size: 5}");
}

TEST_CASE("the description carries types, limits, units, defaults and an example") {
  const nlohmann::ordered_json json = gadget_json(info());
  CHECK(json["kind"] == "pure");
  CHECK(json["inputs"][0]["payload"] == "int");
  CHECK(json["line"] == "my_everything: {use: everything, from: NAME, path: ...}");
  const auto& params = json["params"];
  CHECK(params[4]["unit"] == "mm");
  CHECK(params[4]["minimum"] == 0.5);
  CHECK(params[4]["maximum"] == 64.0);
  CHECK(params[4]["default"] == 2.5);
  CHECK(params[3]["live"] == true);
  CHECK(params[6]["required"] == true);
  CHECK(params[7]["fields"][1]["greater_than"] == 0.0);
  CHECK(params[10]["choices"] == std::vector<std::string>{"gaussian", "bessel"});
  const std::string text = gadget_text(info());
  CHECK(text.find("(number; in [0.5, 64] mm; default 2.5)") != std::string::npos);
  CHECK(text.find("(one of gaussian, bessel; default gaussian)") != std::string::npos);
  CHECK(text.find("takes    int") != std::string::npos);
}

TEST_CASE("the registry refuses a second gadget of a name, reserved parameters and bad defaults") {
  struct Bad {
    struct Params {
      double x = -1;
      int use = 0;
    };
    static auto info() {
      GadgetInfo bad;
      bad.name = "bad";
      bad.default_params = [] { return std::static_pointer_cast<void>(std::make_shared<Params>()); };
      ParamRules rules;
      rules.name = "x";
      rules.limits = positive;
      bad.params.push_back(detail::info_of<&Params::x>(rules, Params{}));
      rules.name = "use";
      rules.limits = {};
      bad.params.push_back(detail::info_of<&Params::use>(rules, Params{}));
      return bad;
    }
  };
  Registry known;
  known.add(Bad::info());
  known.add(Bad::info());
  CHECK(known.problems() == Lines{"gadget 'bad': default of x must be greater than 0, not -1",
                                  "gadget 'bad': a parameter may not be named 'use', a key of the runtime",
                                  "two gadgets are named 'bad': rename one"});
  CHECK(registry().problems().empty());
}

namespace {

struct Lattice {
  std::optional<std::array<int, 3>> size;
  std::array<double, 2> edges_mm{1, 1};
  bool operator==(const Lattice&) const = default;
  static constexpr auto default_word = "auto";
  static constexpr auto params =
      describe(param<&Lattice::size>("size", one_for_all, range(1, 9), "Nodes"),
               param<&Lattice::edges_mm>("edges_mm", one_for_all, positive, unit("mm"), "Edges"));
};

struct OnLattice {
  struct Params {
    Lattice image{.edges_mm = {7, 7}};
  };
  static constexpr auto params = describe(param<&Params::image>("image", "Where"));
  int operator()(int x, const Params&) const { return x; }
};

struct ReadLattice {
  Lattice image;
  Lines problems;
};

ReadLattice read_lattice(Value value) {
  static const GadgetInfo made = describe_gadget<OnLattice>("on_lattice", "Has a word for all defaults");
  OnLattice::Params params;
  Problems problems;
  read_params(made.params, &params, {map_of("image", std::move(value)), "g", problems});
  ReadLattice read{params.image, {}};
  for (const Problem& problem : problems.all()) read.problems.push_back(problem.text());
  return read;
}

}  // namespace

TEST_CASE("a word stands for all defaults of a map, and one value for all of a list") {
  CHECK(read_lattice(scalar("auto")).image == Lattice{});
  CHECK(read_lattice(scalar("aut")).problems ==
        Lines{"g.image must be auto or a map, not 'aut', did you mean 'auto'?"});
  CHECK(read_lattice(map_of("size", scalar("4"))).image.size == std::array{4, 4, 4});
  CHECK(read_lattice(map_of("edges_mm", scalar("2.5"))).image.edges_mm == std::array{2.5, 2.5});
  CHECK(read_lattice(map_of("edges_mm", list({"2", "3"}))).image.edges_mm == std::array{2.0, 3.0});
  CHECK(read_lattice(map_of("size", scalar("10"))).problems == Lines{"g.image.size must be in [1, 9], not 10"});
  CHECK(read_lattice(map_of("size", list({"1", "2"}))).problems ==
        Lines{"g.image.size must be a list of 3 x integer, not a list of 2"});
  CHECK(flow_text(detail::write_value(Lattice{})) == "auto");
  CHECK(flow_text(detail::write_value(Lattice{.size = std::array{1, 2, 3}})) == "{size: [1, 2, 3], edges_mm: [1, 1]}");
}
// SPDX-License-Identifier: Apache-2.0
