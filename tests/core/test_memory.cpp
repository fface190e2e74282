// The estimate of a pipeline's memory before it runs: gadgets, edges, totals, and the message if it does not fit.
#include <nlohmann/json.hpp>

#include "config_support.hpp"
#include "core/pipeline/memory_estimate.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

struct Reader {
  struct Params {
    std::size_t size_mib = 3;
  };
  static constexpr auto params = describe(param<&Params::size_mib>("size_mib", unit("MiB"), "Size of a message"));
  static MemoryNeed memory(const Params& p) {
    return {.host_bytes = 2 * mib, .message_bytes = memory_product(p.size_mib, mib), .lower = "size_mib"};
  }
  void run(Emit<Batch>&, std::stop_token) {}
};
TOFSTREAM_GADGET(Reader, "sized_reader", "Says how large its messages are");

// Needs as much memory again as its input, and passes the input on.
struct Doubler {
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.call_bytes = 2 * inputs[0], .message_bytes = inputs[0]};
  }
  Batch operator()(const Batch& batch) const { return batch; }
};
TOFSTREAM_GADGET(Doubler, "doubler", "Needs twice its input");

// Like an update and a projector: one knows the size, the other learns it from the feedback.
struct SizedUpdate {
  static MemoryNeed memory() {
    return {.device_bytes = 20 * mib, .message_bytes = 10 * mib, .gives_on_device = true, .lower = "image.size"};
  }
  void start(Emit<Picture>& emit) { emit(Picture{}); }
  void process(const Picture& image, Emit<Picture>& emit) { emit(image); }
};
TOFSTREAM_GADGET(SizedUpdate, "sized_update", "An image on a device");

struct SizedProject {
  struct In {
    std::shared_ptr<const Batch> events;
    std::shared_ptr<const Picture> image;
    static constexpr auto inputs = ports(port<&In::events>("events"), port<&In::image>("image", feedback));
  };
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.device_bytes = inputs[1], .message_bytes = inputs[1], .gives_on_device = true};
  }
  void process(const In&, Emit<Picture>&) {}
};
TOFSTREAM_GADGET(SizedProject, "sized_project", "As large as the image fed back");

// Makes a host copy of what lies on a device.
struct Fetcher {
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.host_bytes = mib, .copy_bytes = inputs[0], .message_bytes = inputs[0]};
  }
  void process(const Picture& image, Emit<Picture>& emit) { emit(image); }
};
TOFSTREAM_GADGET(Fetcher, "fetcher", "Copies images to the host");

// Works where its input lies.
struct Follower {
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.host_bytes = 2 * inputs[0], .message_bytes = inputs[0], .lies_with_inputs = true};
  }
  void process(const Picture& image, Emit<Picture>& emit) { emit(image); }
};
TOFSTREAM_GADGET(Follower, "follower", "Works where its input lies");

// Gives so much in all, and keeps what it takes where there is room.
struct SizedStream {
  static MemoryNeed memory() { return {.message_bytes = mib, .stream_bytes = 100 * mib}; }
  void run(Emit<Picture>&, std::stop_token) {}
};
TOFSTREAM_GADGET(SizedStream, "sized_stream", "Gives 100 MiB in all");
struct Keeper {
  static MemoryNeed memory() { return {.room_bytes = 20 * mib, .room_on_device = true, .keeps_inputs = true}; }
  void process(Picture) {}
};
TOFSTREAM_GADGET(Keeper, "keeper", "Keeps images");

MemoryEstimate estimate_of(const std::string& yaml) {
  return estimate_memory(parse_pipeline(yaml, "pipe.yaml"));
}

}  // namespace

TEST_CASE("an edge holds its messages, at most its bytes, and its limit where their size is unknown") {
  const MemoryEstimate estimate = estimate_of(R"(
gadgets:
  r: {use: sized_reader}
  a: {use: collect, from: r, edge: {messages: 5}}
  b: {use: collect, from: r, edge: {messages: 1000, bytes: 33554432}}
  c: {use: collect, from: r, edge: {bytes: 1}}
  p: {use: pass, from: r, edge: {messages: 4}}
  d: {use: collect, from: p, edge: {bytes: 1234}}
)");
  const auto at_most = [&](const char* name) {
    return std::ranges::find(estimate.edges, name, &EdgeMemory::name)->at_most;
  };
  CHECK(at_most("r -> a") == 15 * mib);
  CHECK(at_most("r -> b") == 32 * mib);
  CHECK(at_most("r -> c") == 3 * mib);  // one message passes whatever its size
  CHECK(at_most("p -> d") == 1234);
  CHECK(estimate.host.at_least == 2 * mib + 3 * mib);
  CHECK(estimate.host.at_most == (2 + 3 + 15 + 32 + 3 + 12) * mib + 1234);
  CHECK(estimate.device.at_most == 0);
}

TEST_CASE("sizes pass through gadgets, and a parallel one works on several at a time") {
  const MemoryEstimate estimate = estimate_of(
      "gadgets:\n  r: {use: sized_reader, size_mib: 5}\n  d: {use: doubler, from: r, parallel: 3}\n"
      "  e: {use: collect, from: d, edge: {messages: 6}}\n");
  CHECK(estimate.gadgets[1].host_bytes == 30 * mib);
  CHECK(estimate.edges[1].message_bytes == 5 * mib);
  CHECK(estimate.edges[1].at_most == 30 * mib);
}

TEST_CASE("sizes come round a feedback edge, and device memory is counted apart") {
  const MemoryEstimate estimate = estimate_of(
      "gadgets:\n  f: {use: sized_reader}\n  p: {use: sized_project, from: {events: f, image: u}, edge: "
      "{messages: 4}}\n  u: {use: sized_update, from: p, edge: {messages: 4}}\n");
  CHECK(estimate.device.at_least == (10 + 10 + 20 + 10) * mib);
  CHECK(estimate.device.at_most == (50 + 40 + 40) * mib);
  CHECK(estimate.host.at_least == 5 * mib);
}

TEST_CASE("a copy on the host is counted for who takes from a device alone") {
  const MemoryEstimate estimate = estimate_of(
      "gadgets:\n  f: {use: sized_reader}\n  p: {use: sized_project, from: {events: f, image: u}}\n"
      "  u: {use: sized_update, from: p}\n  first: {use: fetcher, from: u}\n  second: {use: fetcher, from: first}\n");
  CHECK(estimate.gadgets[3].host_bytes == 11 * mib);
  CHECK(estimate.gadgets[4].host_bytes == mib);
}

TEST_CASE("what lies where its inputs do is device memory behind a device, and so for whoever follows") {
  const MemoryEstimate estimate = estimate_of(
      "gadgets:\n  f: {use: sized_reader}\n  p: {use: sized_project, from: {events: f, image: u}}\n"
      "  u: {use: sized_update, from: p}\n  near: {use: follower, from: u}\n  next: {use: follower, from: near}\n"
      "  copy: {use: fetcher, from: u}\n  apart: {use: follower, from: copy}\n");
  for (const std::size_t follower : {std::size_t{3}, std::size_t{4}}) {
    CHECK(estimate.gadgets[follower].host_bytes == 0);
    CHECK(estimate.gadgets[follower].need.device_bytes == 20 * mib);
    CHECK(estimate.gadgets[follower].need.gives_on_device);
  }
  CHECK(estimate.gadgets[6].host_bytes == 20 * mib);
  CHECK(estimate.gadgets[6].need.device_bytes == 0);
}

TEST_CASE("what is kept where there is room needs none, and where it will lie is said before") {
  const MemoryEstimate estimate =
      estimate_of("gadgets:\n  s: {use: sized_stream}\n  k: {use: keeper, from: s, edge: {messages: 1}}\n");
  CHECK(estimate.gadgets[1].kept_bytes == 120 * mib);
  CHECK(estimate.host.at_most == 2 * mib);
  CHECK(memory_table(estimate, {500 * mib, {}}).find("and 120.0 MiB where there is room") != std::string::npos);
  const auto said = [&](std::size_t host_mib, std::optional<std::size_t> device_mib) {
    const MachineMemory machine{host_mib * mib, device_mib ? std::optional(*device_mib * mib) : std::nullopt};
    const MemoryVerdict verdict = compare_memory(estimate, machine);
    CHECK(verdict.errors.empty());
    return verdict.warnings.empty() ? std::string() : verdict.warnings.front();
  };
  CHECK(said(500, std::nullopt).empty());
  CHECK(said(500, 200).empty());
  CHECK(said(500, 30) ==
        "'k' (keeper) keeps 120.0 MiB: the GPU has room for 30.0 MiB, and the rest is copied there for each pass");
  CHECK(said(51, std::nullopt) ==
        "'k' (keeper) keeps 120.0 MiB: the host has room for 50.0 MiB, and 70.0 MiB go to disk");
  CHECK(said(51, 30) ==
        "'k' (keeper) keeps 120.0 MiB: the GPU has room for 30.0 MiB, and the rest is copied there for each pass; the "
        "host has room for 50.0 MiB, and 40.0 MiB go to disk");

  const MemoryEstimate two = estimate_of(
      "gadgets:\n  s: {use: sized_stream}\n  k: {use: keeper, from: s, edge: {messages: 1}}\n"
      "  next: {use: keeper, from: s, edge: {messages: 1}}\n");
  CHECK(compare_memory(two, {500 * mib, 250 * mib}).warnings.empty());
  const MemoryVerdict verdict = compare_memory(two, {500 * mib, 200 * mib});
  REQUIRE(verdict.warnings.size() == 1);
  CHECK(verdict.warnings.front() ==
        "'next' (keeper) keeps 120.0 MiB: the GPU has room for 80.0 MiB, and the rest is copied there for each pass");
}

TEST_CASE("what cannot fit is an error, what may not a warning, each with what to lower") {
  const MemoryEstimate estimate = estimate_of(
      "pipeline: big\ngadgets:\n  r: {use: sized_reader, size_mib: 100}\n  a: {use: collect, from: r, edge: {messages: "
      "4, bytes: 1e9}}\n");
  CHECK(compare_memory(estimate, {102 * mib, {}}).errors.empty());
  CHECK(compare_memory(estimate, {101 * mib, {}}).errors ==
        Lines{"big needs at least 102.0 MiB of host memory, and there are 101.0 MiB; most of it 102.0 MiB for 'r' "
              "(sized_reader): lower size_mib"});
  CHECK(
      compare_memory(estimate, {501 * mib, {}}).warnings ==
      Lines{"big may need up to 502.0 MiB of host memory once its edges are full, and there are 501.0 MiB; most of it "
            "400.0 MiB on r -> a: lower a.edge.messages"});
  CHECK(compare_memory(estimate, {502 * mib, {}}).warnings.empty());
  const MemoryEstimate device = estimate_of(
      "gadgets:\n  f: {use: sized_reader}\n  p: {use: sized_project, from: {events: f, image: u}, edge: "
      "{messages: 4}}\n  u: {use: sized_update, from: p, edge: {messages: 4}}\n");
  CHECK(compare_memory(device, {1000 * mib, 49 * mib}).errors ==
        Lines{"pipe needs at least 50.0 MiB of GPU memory, and there are 49.0 MiB; most of it 30.0 MiB for 'u' "
              "(sized_update): lower image.size"});
  CHECK(compare_memory(device, {1000 * mib, {}}).errors.empty());
}

TEST_CASE("sizes too large for a number are the largest number") {
  const MemoryEstimate estimate =
      estimate_of("gadgets:\n  r: {use: sized_reader, size_mib: 18446744073709551615}\n  a: {use: collect, from: r}\n");
  CHECK(estimate.host.at_least == std::numeric_limits<std::size_t>::max());
  CHECK(compare_memory(estimate, {mib, {}}).errors.size() == 1);
  CHECK(bytes_in_words(estimate.host.at_least) == "16.0 EiB");
  CHECK(bytes_in_words(1023) == "1023 B");
  CHECK(bytes_in_words(1536) == "1.5 KiB");
}

TEST_CASE("the table and its JSON say the same") {
  const MemoryEstimate estimate =
      estimate_of("gadgets:\n  r: {use: sized_reader}\n  a: {use: collect, from: r, edge: {messages: 4}}\n");
  const MachineMemory machine{64 * mib, std::nullopt};
  const std::string table = memory_table(estimate, machine);
  CHECK(table.find("r (sized_reader)      2.0 MiB") != std::string::npos);
  CHECK(table.find("does not say") != std::string::npos);
  CHECK(table.find("messages of 3.0 MiB") != std::string::npos);
  const auto json = memory_json(estimate, machine);
  CHECK(json["host"]["at_least"] == estimate.host.at_least);
  CHECK(json["edges"][0]["at_most_bytes"] == 12 * mib);
  CHECK(json["machine"]["device_bytes"].is_null());
  CHECK(host_memory_bytes() > mib);
}
// SPDX-License-Identifier: Apache-2.0
