// Movement of bed or gantry is followed where the user says which way it maps, and never silently ignored.
#include <cmath>
#include <numbers>

#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/types/rigid_pose.hpp"
#include "kernels/types/scanner.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::petsird;

namespace {

ByteBlock stream(const OtherBlock& movement) {
  toy::Bytes bytes;
  Writer writer(toy::sink_to(bytes), toy::header());
  const auto ten = toy::events(10, {24, 24, 5}, true);
  writer.write_events({0, 1000}, {ten});
  writer.write_block(movement);
  writer.write_events({1500, 2500}, {ten});
  writer.finish();
  return {std::move(bytes)};
}

}  // namespace

TEST_CASE("a bed or a gantry that moves is one error, which names the block and its time") {
  RegisteredGadgetTest<EventBatch> bed("petsird_decoder");
  CHECK_THROWS_WITH(bed.send(stream(BedMovementBlock{{1000, 1500}, toy::shift_by(0, 0, -120)})),
                    doctest::Contains("the bed moves at 1000 ms (time block 2), and movement is not corrected"));
  RegisteredGadgetTest<EventBatch> gantry("petsird_decoder");
  CHECK_THROWS_WITH(
      gantry.send(stream(GantryMovementBlock{{1000, 1500}, {toy::rotation_about_z(1), toy::shift_by(0, 0, 1)}})),
      doctest::Contains("the gantry moves at 1000 ms (time block 2)"));
}

TEST_CASE("bed_movement: ignore goes on, and the run's report keeps it") {
  RegisteredGadgetTest<EventBatch> decoder("petsird_decoder", "{bed_movement: ignore}");
  decoder.send(stream(BedMovementBlock{{1000, 1500}, toy::shift_by(0, 0, -120)}));
  decoder.finish();
  REQUIRE(decoder.out.all().size() == 1);
  CHECK(decoder.out.pointer(0)->count == 20);
  CHECK(std::get<std::string>(decoder.context.figures().at("bed_movement")) == "ignored; blocks of movement: 1");
}

TEST_CASE("a bed that is followed takes the events behind its block along, either way") {
  for (const bool to_scanner : {true, false}) {
    RegisteredGadgetTest<EventBatch> decoder(
        "petsird_decoder", fmt::format("{{bed_movement: {}}}", to_scanner ? "bed_to_scanner" : "scanner_to_bed"));
    decoder.send(stream(BedMovementBlock{{1000, 1500}, toy::shift_by(0, 0, -120)}));
    decoder.finish();
    REQUIRE(decoder.out.all().size() == 2);
    const EventBatch &before = *decoder.out.pointer(0), &after = *decoder.out.pointer(1);
    CHECK(before.count == 10);
    CHECK(*before.pose == RigidPose{});
    CHECK(before.detectors == before.scanner->detectors);
    CHECK(after.count == 10);
    CHECK(after.pose->shift_mm[2] == (to_scanner ? 120 : -120));
    CHECK(after.detectors->position(5).z - before.detectors->position(5).z == approx(to_scanner ? 120 : -120));
    CHECK(std::get<std::string>(decoder.context.figures().at("bed_movement")) == "followed; movements: 1");
  }
  RegisteredGadgetTest<EventBatch> gantry("petsird_decoder", "{bed_movement: bed_to_scanner}");
  CHECK_THROWS_WITH(
      gantry.send(stream(GantryMovementBlock{{1000, 1500}, {toy::rotation_about_z(1), toy::shift_by(0, 0, 1)}})),
      doctest::Contains("the gantry moves at 1000 ms (time block 2)"));
}

TEST_CASE("a gantry that is followed puts the detectors where its transform takes them, and goes with the bed") {
  const Transform turn = toy::rotation_about_z(30, {2, -3, 40});
  RegisteredGadgetTest<EventBatch> decoder("petsird_decoder",
                                           "{gantry_movement: follow, bed_movement: bed_to_scanner}");
  toy::Bytes bytes;
  Writer writer(toy::sink_to(bytes), toy::header());
  const auto ten = toy::events(10, {24, 24, 5}, true);
  writer.write_block(GantryMovementBlock{{0, 0}, {turn, turn}});
  writer.write_events({0, 1000}, {ten});
  writer.write_block(BedMovementBlock{{1000, 1500}, toy::shift_by(0, 0, -120)});
  writer.write_events({1500, 2500}, {ten});
  writer.finish();
  decoder.send(ByteBlock{std::move(bytes)});
  decoder.finish();
  REQUIRE(decoder.out.all().size() == 2);
  const EventBatch &before = *decoder.out.pointer(0), &after = *decoder.out.pointer(1);
  const Vec3 still = before.scanner->detectors->position(5), there = before.detectors->position(5);
  const float c = std::cos(std::numbers::pi_v<float> / 6), s = 0.5f;
  CHECK(there.x == approx(c * still.x - s * still.y + 2).epsilon(1e-5));
  CHECK(there.y == approx(s * still.x + c * still.y - 3).epsilon(1e-5));
  CHECK(there.z == approx(still.z + 40).epsilon(1e-5));
  CHECK(after.detectors->position(5).x == approx(there.x).epsilon(1e-5));
  CHECK(after.detectors->position(5).z == approx(there.z + 120).epsilon(1e-5));
  CHECK(std::get<std::string>(decoder.context.figures().at("gantry_movement")) == "followed; movements: 1");
  CHECK(std::get<std::string>(decoder.context.figures().at("bed_movement")) == "followed; movements: 1");
}

TEST_CASE("gantry_movement: ignore goes on; modules that move apart, or a transform that is none, are one error") {
  RegisteredGadgetTest<EventBatch> ignoring("petsird_decoder", "{gantry_movement: ignore}");
  ignoring.send(stream(GantryMovementBlock{{1000, 1500}, {toy::rotation_about_z(1), toy::shift_by(0, 0, 1)}}));
  ignoring.finish();
  CHECK(ignoring.out.all().size() == 1);
  CHECK(std::get<std::string>(ignoring.context.figures().at("gantry_movement")) == "ignored; blocks of movement: 1");
  const auto refused = [](std::vector<Transform> transforms, const char* words) {
    RegisteredGadgetTest<EventBatch> following("petsird_decoder", "{gantry_movement: follow}");
    CHECK_THROWS_WITH(following.send(stream(GantryMovementBlock{{1000, 1500}, std::move(transforms)})),
                      doctest::Contains(words));
  };
  refused({toy::rotation_about_z(1), toy::shift_by(0, 0, 1)}, "in time block 2 take modules of different types apart");
  Transform mirror = toy::shift_by(0, 0, 0);
  mirror[0] = -1;
  refused({mirror, mirror}, "the gantry's transform in time block 2: ");
}
// SPDX-License-Identifier: Apache-2.0
