// The order of updates and the checkpoints of a live reconstruction as files: whole or damaged.
#include <cstring>
#include <fstream>
#include <span>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "gadgets/io/checkpoint.hpp"
#include "gadgets/io/quantity_json.hpp"
#include "gadgets/io/update_log.hpp"
#include "gadgets/io/wire/checksum.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

const std::vector<UpdateRecord> records = {
    {1, {{0, 1}}, 100}, {2, {{1, 3}, {7, 1}}, 400, AsOf{51203, 0.1 + 31}}, {.update = 3, .restart = true}};

void append(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::app | std::ios::binary) << text;
}

Image ramp() {
  Image image = Image::zeros(Grid::centred(3, 4, 5, {2, 3, 4}));
  for (std::int64_t v = 0; v < image.grid.voxels(); ++v) image.voxels[v] = 0.1f * static_cast<float>(v);
  return image;
}

}  // namespace

TEST_CASE("an order of updates is read as it was written, also where its writer was killed") {
  const TemporaryFolder folder;
  const auto file = folder / update_log_name;
  {
    UpdateLogWriter writer(file, std::span(records).first(1));
    writer.append(records[1]);
    writer.append(records[2]);
    CHECK(read_update_log(folder.path()).updates == records);
    CHECK(!read_update_log(file).has_ended);
    writer.end();
  }
  CHECK(read_update_log(file).updates == records);
  CHECK(read_update_log(file).has_ended);
  UpdateLogWriter(file, records);
  append(file, R"({"update":4,"parts":)");
  CHECK(read_update_log(file).updates == records);
}

TEST_CASE("a file that is no order of updates is refused, with its line") {
  const TemporaryFolder folder;
  const auto file = folder / "order.jsonl";
  CHECK_THROWS_WITH(read_update_log(file), doctest::Contains("cannot read the order of updates"));
  append(file, "{\"format\": \"something\"}\n");
  CHECK_THROWS_WITH(read_update_log(file), doctest::Contains("order.jsonl:1: no order of updates"));
  for (const char* line : {"rubbish",
                           R"({"update":5,"parts":[[0,1]],"events":1})",
                           R"({"update":4,"parts":[[-1,1]],"events":1})",
                           "[1]",
                           R"({"update":4})",
                           "",
                           "null",
                           R"({"update":4,"parts":[[4294967296,1]],"events":1})",
                           R"({"update":4,"parts":[[0,1e300]],"events":1})",
                           R"({"update":4,"parts":[[0,1]],"events":-1})",
                           R"({"update":4,"parts":[],"events":1})",
                           R"({"update":4,"parts":[0,1],"events":1})",
                           R"({"update":4,"parts":[[0,1,2]],"events":1})",
                           R"({"update":4,"parts":{"0":1},"events":1})",
                           R"({"update":4,"parts":[[0,2],[1,1]],"events":1})",
                           R"({"update":4,"parts":[[3,1],[1,1]],"events":1})",
                           R"({"update":4,"parts":[[0,0]],"events":1})",
                           R"({"update":4,"subset":0,"subsets":1,"events":1})",
                           R"({"update":4,"parts":[[0,1]],"events":1,"as_of_event":-2,"as_of_s":1})",
                           R"({"update":4,"parts":[[0,1]],"events":1,"as_of_event":5})",
                           R"({"update":4,"parts":[[0,1]],"events":1,"as_of_event":5,"as_of_s":-1})",
                           R"({"update":4,"parts":[[0,1]],"events":1,"as_of_event":null})"}) {
    CAPTURE(line);
    UpdateLogWriter(file, records);
    append(file, std::string(line) + "\n");
    CHECK_THROWS_WITH(read_update_log(file), doctest::Contains("order.jsonl:5: no order of updates"));
  }
  UpdateLogWriter(file, records).end();
  append(file, R"({"update":4,"parts":[[0,1]],"events":1})"
               "\n");
  CHECK_THROWS_WITH(read_update_log(file),
                    doctest::Contains("order.jsonl:6: no order of updates: it has ended before"));
  for (const char* text : {"", R"({"format":"tofstream update order","version":1})", "[2]\n"}) {
    std::ofstream(file, std::ios::binary) << text;
    CHECK_THROWS_WITH(read_update_log(file), doctest::Contains("order.jsonl:1: no order of updates: its first line"));
  }
  for (const char* version : {"3", "\"2\"", "null", "1.5"}) {
    std::ofstream(file, std::ios::binary)
        << fmt::format("{{\"format\":\"tofstream update order\",\"version\":{}}}\n", version);
    CHECK_THROWS_WITH(
        read_update_log(file),
        doctest::Contains(
            fmt::format("order.jsonl:1: no order of updates: its version is {}, and this tofstream reads 1 "
                        "and 2: take one that is newer",
                        version)
                .c_str()));
  }
}

TEST_CASE("an order of version 1 is read: its updates are of one stretch of subsets each") {
  const TemporaryFolder folder;
  const auto file = folder / update_log_name;
  append(file,
         "{\"format\":\"tofstream update order\",\"version\":1}\n"
         "{\"update\":1,\"subset\":0,\"subsets\":1,\"events\":100,\"estimate\":0}\n"
         "{\"update\":2,\"subset\":1,\"subsets\":3,\"events\":400,\"estimate\":1}\n"
         "{\"update\":3,\"restart\":true}\n");
  const std::vector<UpdateRecord> meant = {{1, {{0, 1}}, 100}, {2, {{1, 3}}, 400}, {.update = 3, .restart = true}};
  CHECK(read_update_log(file).updates == meant);
  CHECK(!read_update_log(file).has_ended);
  append(file, "{\"update\":4,\"parts\":[[0,1]],\"events\":1}\n");
  CHECK_THROWS_WITH(read_update_log(file), doctest::Contains("order.jsonl:5: no order of updates"));
}

TEST_CASE("a checkpoint gives back the image bit for bit; one that is damaged is refused") {
  const TemporaryFolder folder;
  const auto file = folder / checkpoint_name;
  CHECK(!read_checkpoint(folder.path()));
  CHECK(checkpoint_step(folder.path()).update == 0);
  const Image image = ramp();
  Quantity said{.unit = "Bq/mL", .scale = "simulated", .reference_s = 1, .rejecting = {"inner (tof_window)"}};
  said[Correction::attenuation] = {CorrectionState::made, "mu.nii.gz"};
  said.attenuated_by = {"corrected", "mu.nii.gz", 7};
  correct_for_decay(said, {6586.2, 1e-7});
  const Rejected rejected{4733, "the line misses the image"};
  write_checkpoint(file, {17, 2, rejected}, image, &said);
  const auto read = read_checkpoint(folder.path());
  REQUIRE(read);
  CHECK(read->step.update == 17);
  CHECK(read->step.iteration == 2);
  CHECK(read->step.rejected == rejected);
  CHECK(read->image.grid == image.grid);
  REQUIRE(read->quantity);
  CHECK(*read->quantity == said);
  CHECK(std::ranges::equal(read->image.voxels.span(), image.voxels.span()));
  const std::string whole = text_of(file);
  for (const std::size_t at : {std::size_t{1}, std::size_t{9}, std::size_t{20}, whole.size() - 1}) {
    CAPTURE(at);
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    std::ofstream(file, std::ios::binary) << damaged;
    CHECK_THROWS_WITH(read_checkpoint(file), doctest::Contains("is not a whole checkpoint"));
  }
  std::ofstream(file, std::ios::binary) << whole.substr(0, whole.size() - 4);
  CHECK_THROWS_WITH(read_checkpoint(file), doctest::Contains("its size"));
  write_checkpoint(file, {17, 2}, image);
  CHECK(read_checkpoint(file)->quantity == nullptr);
}

TEST_CASE("a frame's checkpoint lies beside the others, and says of which frame, algorithm and events it is") {
  const TemporaryFolder folder;
  const auto file = frame_checkpoint(folder.path(), 3);
  CHECK(file == folder / "checkpoint_frame_0003.tofc");
  CHECK(frame_checkpoint(folder / "kept.tofc", 12) == folder / "kept_frame_0012.tofc");
  CHECK(frame_checkpoint("checkpoint.tofc", 1) == "checkpoint_frame_0001.tofc");
  CHECK_FALSE(has_frame_checkpoints(folder.path()));
  CHECK_FALSE(has_frame_checkpoints(folder / "not_there"));
  const CheckpointStep step{.update = 40,
                            .iteration = 5,
                            .rejected = {7, "missed"},
                            .kept = {{"at_rest", 1}},
                            .events = 12345678901,
                            .algorithm = "osem_update",
                            .frame = {.number = 3, .frames = 9, .start_s = 0.1 + 0.2, .duration_s = 1e-3 / 3}};
  write_checkpoint(file, step, ramp());
  CHECK(has_frame_checkpoints(folder.path()));
  CHECK_FALSE(has_frame_checkpoints(folder / "kept.tofc"));
  CHECK_FALSE(read_checkpoint(folder.path()));
  const CheckpointStep read = checkpoint_step(file);
  CHECK(read.events == step.events);
  CHECK(read.algorithm == step.algorithm);
  CHECK(read.kept == step.kept);
  CHECK(read.frame.number == 3);
  CHECK(read.frame.frames == 9);
  CHECK(read.frame.start_s == step.frame.start_s);  // to the last bit, since frames are compared
  CHECK(read.frame.duration_s == step.frame.duration_s);
  write_checkpoint(file, {17, 2}, ramp());  // as an older version wrote it
  CHECK(checkpoint_step(file).events == 0);
  CHECK(checkpoint_step(file).algorithm.empty());
  CHECK(checkpoint_step(file).frame.number == 0);
}

TEST_CASE("a checkpoint of version 2, whose JSON is the quantity alone, is read") {
  const TemporaryFolder folder;
  const auto file = folder / checkpoint_name;
  const Image image = ramp();
  write_checkpoint(file, {17, 2}, image);
  constexpr std::size_t header_bytes = 72, version_at = 4, json_bytes_at = 64, checksum_at = 68;
  std::string bytes = text_of(file).substr(0, header_bytes + image.bytes());
  const auto put = [&](std::size_t at, std::uint32_t value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  const std::string json = to_json(Quantity{.unit = "Bq/mL"}).dump();
  put(version_at, 2);
  put(json_bytes_at, static_cast<std::uint32_t>(json.size()));
  bytes += json;
  const std::span<const std::byte> all = std::as_bytes(std::span(bytes));
  put(checksum_at, wire::crc32c(all.subspan(header_bytes), wire::crc32c(all.first(checksum_at))));
  std::ofstream(file, std::ios::binary) << bytes;
  const auto read = read_checkpoint(file);
  CHECK(read->step.update == 17);
  CHECK(read->step.rejected == Rejected{});
  REQUIRE(read->quantity);
  CHECK(read->quantity->unit == "Bq/mL");
  CHECK(std::ranges::equal(read->image.voxels.span(), image.voxels.span()));
}
// SPDX-License-Identifier: Apache-2.0
