// Frames of a table are those that the words say, and a table that is none is refused with file and line.
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "core/testing.hpp"
#include "gadgets/io/dynamic/frame_times_table.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/frame_table.hpp"
#include "tests/command/command.hpp"
#include "tests/gadgets/numbered_events.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

struct FrameTableFile {
  explicit FrameTableFile(const std::string& text) { std::ofstream(path) << text; }
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "frames.csv";

  std::string refusal() const {
    try {
      formats::read_frame_times_table(path);
    } catch (const std::runtime_error& error) {
      std::string said = error.what();
      if (const auto at = said.find(path.string()); at != std::string::npos)
        said.replace(at, path.string().size(), "F");
      return said;
    }
    return "none";
  }
};

std::string refusal_of_frames(const std::string& text) {
  return FrameTableFile(text).refusal();
}

}  // namespace

TEST_CASE("frames of a table are those of the words") {
  const FrameTableFile table("# rest\nduration_s, name, start_s\n0.1,a,0\n0.2,b,0.1\n\n2.5,c,0.3\n5,d,10\n");
  const auto frames = read_frame_table(table.path), same = read_frames({"0.1", "0.2", "0.3-2.8", "10-15"});
  REQUIRE((frames.size() == 4 && same.size() == 4));
  for (std::size_t f = 0; f < 4; ++f) {
    CHECK(frames[f].number == same[f].number);
    CHECK(frames[f].frames == 4);
    CHECK(frames[f].start_s == approx(same[f].start_s));
    CHECK(frames[f].duration_s == approx(same[f].duration_s));
  }
}

TEST_CASE("a table that says no frames is refused with its line") {
  const std::string header = "start_s,duration_s\n";
  CHECK(refusal_of_frames("") == "table of frames: Header missing in file \"F\".");
  CHECK(refusal_of_frames("start_s\n0\n") == "F: there is no column duration_s");
  CHECK(refusal_of_frames("time_s,duration_s\n0,1\n") == "F: there is no column start_s");
  CHECK(refusal_of_frames(header) == "F: the table of frames has no row");
  CHECK(refusal_of_frames(header + "0,5\n5,\n") == "F: line 3: duration_s is '', which is no number");
  CHECK(refusal_of_frames(header + "0,5\nnan,5\n") == "F: line 3: start_s is 'nan', which is no number");
  CHECK(refusal_of_frames(header + "-1,5\n") == "F: line 2: start_s is -1: scan times are not negative");
  CHECK(refusal_of_frames(header + "0,0\n") == "F: line 2: duration_s is 0: a frame has a length");
  CHECK(refusal_of_frames(header + "0,-5\n") == "F: line 2: duration_s is -5: a frame has a length");
  CHECK(refusal_of_frames(header + "0,1e10\n") == "F: line 2: the frame ends at 1e+10 s: times are at most 1e+09 s");
  const std::string overlap = ", before the frame above it ends, at 10 s: frames ascend and cannot overlap";
  CHECK(refusal_of_frames(header + "0,10\n9,10\n") == "F: line 3: start_s is 9" + overlap);
  CHECK(refusal_of_frames(header + "5,5\n0,5\n") == "F: line 3: start_s is 0" + overlap);
  CHECK(refusal_of_frames(header + "0,1,2\n").starts_with("table of frames: "));
  std::string many = header;
  for (int f = 0; f <= formats::most_frames; ++f) many += fmt::format("{},1\n", f);
  CHECK(refusal_of_frames(many) == "F: line 100002: there cannot be more than 100000 frames");
}

TEST_CASE("framing by a table cuts as by words, and names the table where the scan ends before it") {
  const FrameTableFile table("start_s,duration_s\n0,5\n5,10\n20,5\n");
  RegisteredGadgetTest<EventSubset> gadget(
      "framing", fmt::format("{{backend: cpu, frame_table: {}, subsets: 1, least_events: 0}}", table.path.string()));
  gadget.send(testing::numbered_batch(0, 50, 0, 5));
  gadget.send(testing::numbered_batch(50, 130, 5, 13));
  gadget.finish();
  const auto subsets = gadget.out.all();
  REQUIRE(subsets.size() == 3);  // and a restart
  CHECK(subsets[2]->step.frame.number == 2);
  CHECK(subsets[2]->size() == 100);
  CHECK(gadget.context.recorded().rejected.at("in no frame") == 30);
  CHECK(std::get<std::int64_t>(gadget.context.figures().at("frames_not_scanned")) == 1);
}
// SPDX-License-Identifier: Apache-2.0
