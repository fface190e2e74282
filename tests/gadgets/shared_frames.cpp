// Who reconstructs which frame of several groups, and what the process that collects takes of them.
#include "gadgets/subset/shared_frames.hpp"

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <doctest/doctest.h>

#include "core/testing.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/ranks/frame_groups.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

const Image tiny = Image::filled(Grid{{2, 2, 1}, {1, 1, 1}}, 3.0f, Memory::host);

FrameToCome second_frame() {
  return {.frame = {.number = 2, .frames = 4, .start_s = 10, .duration_s = 5},
          .frames = 4,
          .subsets = 3,
          .iterations = 2,
          .updates_before = 7,
          .events = 100};
}

void give_second_frame(const FrameGroups& groups, std::uint64_t events) {
  write_checkpoint(groups.image_of(2),
                   {.update = 1, .iteration = 2, .rejected = {10, "missed"}, .events = events, .frame = {2, 4, 10, 5}},
                   tiny);
}

}  // namespace

TEST_CASE("each run has a folder of groups of its own, which other processes see or do not") {
  const TemporaryFolder folder;
  const auto of_groups = make_folder_of_groups(folder / ".groups"), another = make_folder_of_groups(folder / ".groups");
  CHECK(of_groups != another);
  CHECK(sees_folder_of_groups(of_groups, {}));
  CHECK_FALSE(sees_folder_of_groups(folder / "other" / of_groups.filename(), {}));
  const FrameGroups groups(of_groups, 1, 2);
  CHECK_FALSE(groups.has_image(2));
  give_second_frame(groups, 100);
  CHECK(groups.has_image(2));
}

TEST_CASE("a frame is of the group that claims it first") {
  const TemporaryFolder folder;
  const FrameGroups first(folder.path(), 1, 2), second(folder.path(), 2, 2);
  CHECK_FALSE(first.owner(1));
  CHECK(first.claim(1));
  CHECK_FALSE(second.claim(1));
  CHECK(first.claim(1));
  CHECK(second.owner(1) == 1);
  CHECK(second.claim(2));
  CHECK_THROWS_AS((void)FrameGroups(folder / "none", 1, 2).claim(1), std::system_error);
}

TEST_CASE("a group leaves frames that others have, and those of the run before, and takes the rest") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "before");
  write_checkpoint(frame_checkpoint(folder / "before", 1), {.update = 6, .iteration = 2, .frame = {1, 4, 0, 10}}, tiny);
  write_checkpoint(frame_checkpoint(folder / "before", 3), {.update = 6, .iteration = 2, .frame = {3, 4, 15, 5}}, tiny);
  const FrameGroups own(folder.path(), 1, 2), other(folder.path(), 2, 2);
  const FrameGroupsInUse in_use(own);
  const SharedFrames shared(2, folder / "before", 4);
  CHECK_FALSE(shared.collects());
  CHECK(shared.skips(1));
  CHECK_FALSE(shared.takes(1));
  CHECK(other.claim(2));
  CHECK_FALSE(shared.takes(2));
  CHECK_FALSE(shared.skips(3));  // frame 2 is not there, so the run before ends with frame 1
  CHECK(shared.takes(3));
}

TEST_CASE("who collects takes a group's image with the frame's books and its own count of updates") {
  const TemporaryFolder folder;
  const FrameGroups collects(folder.path(), 0, 2), group(folder.path(), 2, 2);
  const FrameGroupsInUse in_use(collects);
  SharedFrames shared(2, {}, 4);
  CHECK(shared.collects());
  CHECK_FALSE(shared.takes(2));
  CHECK(group.claim(2));
  give_second_frame(group, 100);
  TestContext context;
  const auto step = shared.image(second_frame(), context);
  REQUIRE(step);
  CHECK(step->recalled);
  CHECK(step->ends_frame());
  CHECK(step->update == 7 + 2 * 3);
  CHECK(context.recorded().reconstructed == 90);
  CHECK(context.recorded().rejected_total() == 10);
  shared.report(context);
  CHECK(std::get<std::vector<double>>(context.figures().at("images_of_groups")) == std::vector<double>{0, 1});
}

TEST_CASE("who collects makes a frame itself where its image is of other events, and where the run is stopped") {
  const TemporaryFolder folder;
  const FrameGroups collects(folder.path(), 0, 2);
  const FrameGroupsInUse in_use(collects);
  SharedFrames shared(2, {}, 4);
  TestContext context;
  give_second_frame(collects, 99);
  CHECK_FALSE(shared.image(second_frame(), context));
  std::filesystem::remove(collects.image_of(2));
  context.stop();
  CHECK_FALSE(shared.image(second_frame(), context));
  CHECK(context.recorded().reconstructed == 0);
}

TEST_CASE("without other processes all frames are made here, and more groups than frames are refused") {
  SharedFrames alone(3, {}, 4);
  CHECK(alone.takes(1));
  CHECK_FALSE(alone.skips(1));
  CHECK_FALSE(alone.collects());
  CHECK_THROWS_WITH_AS(SharedFrames(5, {}, 4), "groups: 5 groups are more than the 4 images that they are to share",
                       std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
