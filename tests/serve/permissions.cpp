// What clients may have run, and what not: each refusal names its place in the client's text.
#include <doctest/doctest.h>

#include "core/gadget.hpp"
#include "core/gadget/registry.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/stream_ends.hpp"
#include "support.hpp"
#include "tests/support/skip.hpp"

using namespace tofstream;
using namespace tofstream::serve;
using namespace tofstream::serve::test;

namespace {

struct Allowed : Fixture {
  std::string sent_with(const std::string& line) {
    return refusal({.pipeline = "mine.yaml", .yaml = served() + line + "\n"});
  }
  std::string set(const std::string& setting) { return refusal({.pipeline = "small", .settings = {setting}}); }
  std::string refusal(const Hello& hello) {
    try {
      permitted_pipeline(hello, options.permissions);
    } catch (const ConfigErrors& errors) {
      return errors.what();
    }
    return "";
  }
};

// It has rules for numbers and texts, not for paths.
struct Guarded {
  struct Params {
    int level = 1;
    std::string log = "mine.txt";
  };
  static constexpr auto params =
      describe(param<&Params::level>("level", operators_alone("how much is the operator's to say"), "How much"),
               param<&Params::log>("log", in_run_folder, "A file of the run"));
  static constexpr bool harmless = true;
  void process(const Estimate&) {}
};
TOFSTREAM_GADGET(Guarded, "test_guarded", "Has rules beside parameters of any type");

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE_FIXTURE(Allowed, "harmless pipelines are permitted, and settings of their parameters") {
  CHECK(refusal({.pipeline = "mine.yaml", .yaml = served()}) == "");
  CHECK(refusal({.pipeline = "small"}) == "");
  CHECK(set("subsets.iterations=7") == "");
  CHECK(set("image.size=[8,8,8]") == "");
  CHECK(set("backend=cpu") == "");
  CHECK(sent_with("  file: {use: nifti_writer, from: estimate, file: mine.nii.gz}") == "");
  const Pipeline pipeline =
      permitted_pipeline({.pipeline = "small", .settings = {"subsets.iterations=7"}}, options.permissions);
  const auto subsets = std::ranges::find(pipeline.gadgets, "subsets", &PipelineGadget::name);
  CHECK(subsets->resolved.find("iterations")->text == "7");
}

TEST_CASE_FIXTURE(Allowed, "a sent pipeline is refused what reaches out of it, with line and column, and what to do") {
  CHECK(says(sent_with("  spy: {use: python, from: estimate, script: /tmp/spy.py}"),
             "mine.yaml:11:14: gadgets.spy: "
             "gadget 'python' is not allowed"));
  CHECK(says(sent_with("  spy: {use: file_source, path: /etc/passwd}"), "--allow file_source"));
  CHECK(says(sent_with("  page: {use: web_monitor, from: estimate}"), "'web_monitor' is not allowed"));
  CHECK(says(sent_with("  inner: {use: pipeline, file: /etc/passwd}"),
             "mine.yaml:11:16: gadgets.inner: a pipeline that is sent cannot nest"));
  CHECK(says(sent_with("  inner: \"${what}\"\nvariables: {what: {use: pipeline, file: /etc/passwd}}"),
             "must be written out"));
  CHECK(
      says(sent_with("  inner: {use: \"${what}\", from: estimate}\nvariables: {what: python}"), "must be written out"));
  CHECK(says(sent_with("include: /etc/passwd"), "mine.yaml:11:1: include: a pipeline that is sent cannot include"));
  CHECK(says(sent_with("  end: {use: png_writer, from: estimate, fault: {kill_at: 0}}"),
             "mine.yaml:11:49: gadgets.end: 'fault'"));
  CHECK(says(sent_with("  end: {use: png_writer, from: estimate, edge: {messages: 1000000}}"), "at most 64 messages"));
  CHECK(says(sent_with("  end: {use: null_sink, from: events, edge: {policy: spill}}"),
             "no edge may spill to the server's disk"));
  CHECK(says(sent_with("  end: {use: null_sinc, from: estimate}"), "did you mean 'null_sink'?"));
  CHECK(says(refusal({.pipeline = "mine.yaml", .yaml = "gadgets: [1"}), "mine.yaml:"));
  CHECK(says(refusal({.pipeline = "mine.yaml", .yaml = reconstruction("feed.bytes") + "  feed: {use: zmq_source}\n"}),
             "zmq_image_sink"));
}

TEST_CASE_FIXTURE(Allowed, "what is the operator's alone, or stays in the run's folder, is so whatever its type") {
  CHECK(sent_with("  end: {use: test_guarded, from: estimate, level: 1, log: mine.txt}") == "");
  CHECK(says(sent_with("  end: {use: test_guarded, from: estimate, level: 2}"),
             "mine.yaml:11:51: gadgets.end.level: how much is the operator's to say: leave it out"));
  CHECK(says(sent_with("  end: {use: test_guarded, from: estimate, log: ../other}"), "must be a name in the run's"));
}

TEST_CASE_FIXTURE(Allowed, "paths lead into the folders that the operator names, whatever links and dots say") {
  std::filesystem::create_directories(folder / "data");
  std::ofstream(folder / "data" / "mu.nii.gz") << "";
  std::ofstream(folder / "secret") << "";
  std::filesystem::create_symlink(folder / "secret", folder / "data" / "link");
  const auto mu_map = [&](const std::string& path) { return set("projected.mu_map=" + path); };
  const std::string good = (folder / "data" / "mu.nii.gz").string();
  CHECK(says(mu_map(good), "--set projected.mu_map=" + good + ": gadgets.projected.mu_map: "));
  CHECK(says(mu_map(good), "--data"));
  options.permissions.data = {folder / "data"};
  CHECK(mu_map(good) == "");
  for (const std::string& bad :
       {(folder / "secret").string(), (folder / "data" / ".." / "secret").string(), (folder / "data" / "link").string(),
        (folder / "database").string(), std::string("secret")})
    CHECK_MESSAGE(says(mu_map(bad), "no folder that clients may read"), bad);
  for (const char* bad : {"/tmp/x.nii.gz", "../x.nii.gz", "a/../../x.nii.gz"})
    CHECK(says(sent_with(fmt::format("  file: {{use: nifti_writer, from: estimate, file: {}}}", bad)),
               "mine.yaml:11:51: gadgets.file.file: '"));
  CHECK(says(set("subsets.spill_folder=" + (folder / "data").string()), "the operator decides"));
  CHECK(says(set("feed.journal=" + (folder / "data").string()), "no journal"));
  CHECK(says(set("feed.keys.own=/etc/shadow"), "no folder that clients may read"));
}

TEST_CASE_FIXTURE(Allowed, "settings change parameters and nothing else") {
  for (const char* bad :
       {"projected.use=python", "events={use: python}", "gadgets.spy={use: python}", "include=/etc/passwd",
        "variables.a=1", "projected.fault={kill_at: 0}", "projected.edge={messages: 9}", "nobody.a=1",
        "events.from=feed.frames", "pipeline=x", "inputs=[a]"})
    CHECK_MESSAGE(set(bad) != "", bad);
  CHECK(says(set("subsets.iterations=-1"), "--set subsets.iterations=-1"));
  CHECK(says(set("subsets.iterations"), "write --set"));
  offer("inner", "inputs: [bytes]\noutputs: {estimate: estimate}\n" + reconstruction("bytes"));
  offer("nested",
        "gadgets:\n  feed: {use: zmq_source}\n  inner: {use: pipeline, file: inner.yaml, from: feed.bytes}\n"
        "  images: {use: zmq_image_sink, from: inner}\n");
  CHECK(refusal({.pipeline = "nested", .settings = {"inner/subsets.iterations=3"}}) == "");
  CHECK(refusal({.pipeline = "nested", .settings = {"inner.file=/etc/passwd"}}) != "");
  // Clients may set parameters of the operator's own gadgets only if these are listed for them.
  offer("own", served() + "  keeps: {use: checkpoint_writer, from: estimate}\n");
  CHECK(refusal({.pipeline = "own"}) == "");
  CHECK(says(refusal({.pipeline = "own", .settings = {"keeps.every_s=1"}}), "--allow checkpoint_writer"));
  options.permissions.gadgets = {"checkpoint_writer"};
  CHECK(refusal({.pipeline = "own", .settings = {"keeps.every_s=1"}}) == "");
}

TEST_CASE_FIXTURE(Allowed, "only the folder's pipelines have names, and only those that can serve") {
  offer("offline",
        "gadgets:\n  photons: {use: simulator, scanner: demo_ring, phantom: uniform_cylinder}\n"
        "  end: {use: null_sink, from: photons}\n");
  offer("broken", "gadgets: [");
  CHECK(offered_pipelines(options.permissions) == std::vector<std::string>{"small"});
  for (const char* name : {"../small", "/etc/passwd", "smal", "offline", "small.yaml/", ""})
    CHECK_MESSAGE(refusal({.pipeline = name}) != "", name);
  CHECK(says(refusal({.pipeline = "smal"}), "did you mean 'small'?"));
  CHECK(says(refusal({.pipeline = "offline"}), "cannot offer it: offline: a pipeline for a server has one source"));
  CHECK(says(refusal({.pipeline = "broken"}), "broken.yaml has errors, which 'tofstream check' on the server tells"));

  std::filesystem::create_directories(options.permissions.pipelines / "live");
  offer("live/lower", served());
  CHECK(offered_pipelines(options.permissions) == std::vector<std::string>{"lower", "small"});
  CHECK(refusal({.pipeline = "lower"}) == "");
  CHECK(refusal({.pipeline = "live/lower"}) != "");
}

TEST_CASE("of the pipelines that come with tofstream two are for a server") {
  if (!std::filesystem::is_directory("pipelines")) return skip_test("sources beside the test");
  CHECK(offered_pipelines({.pipelines = "pipelines"}) == std::vector<std::string>{"served_osem", "served_spect"});
}

TEST_CASE("gadgets that reach files, sockets or processes are not harmless") {
  for (const char* name :
       {"checkpoint_writer", "file_source", "journal_source", "strip_decoder", "petsird_writer", "python",
        "strip_simulator", "strip_writer", "recorder", "simulator", "web_monitor", "zmq_petsird_sink", "zmq_sink",
        "zmq_view_sink", "projections_source", "projections_writer", "spect_simulator"}) {
    CAPTURE(name);
    REQUIRE(registry().find(name));
    CHECK_FALSE(registry().find(name)->harmless);
  }
}

TEST_CASE("a harmless gadget that is an end of the stream is one that the server puts a client in the place of") {
  for (const GadgetInfo* gadget : registry().all())
    if (gadget->harmless && gadget->kind == GadgetKind::source)
      CHECK_MESSAGE(gadget->stream_end == takes_live_stream, gadget->name);
}
// SPDX-License-Identifier: Apache-2.0
