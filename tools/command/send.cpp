// `tofstream send`: a recording to a reconstruction server, its images back.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/atomic_file.hpp"
#include "core/base/printable.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/report/run_folder.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/wire/journal_replay.hpp"
#include "gadgets/wire/stream_file.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/key_options.hpp"
#include "tools/command/signal_watch.hpp"
#include "tools/command/suggestions.hpp"
#include "tools/serve/client.hpp"
#include "tools/serve/petsird_frames.hpp"

namespace tofstream::command {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

struct SendOptions {
  std::string endpoint = "tcp://127.0.0.1:5557", pipeline, images = "newest";
  fs::path input, out = "results";
  std::vector<std::string> settings;
  double speed = 0, patience_s = 10;
  KeyParams keys;
  EarlierRun earlier_run = EarlierRun::refuse;
  bool list = false, json = false, quiet = false;
};

// When what belongs to this time is sent; at once where nobody asked for a pace.
class Pace {
 public:
  explicit Pace(double speed) : speed_(speed) {}
  Clock::time_point due(std::uint64_t ns) {
    if (speed_ <= 0) return {};
    if (!first_ns_) {
      first_ns_ = ns;
      began_ = Clock::now();
    }
    const double after_ns = static_cast<double>(ns - std::min(ns, *first_ns_)) / speed_;
    return began_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::nano>(after_ns));
  }

 private:
  const double speed_;
  std::optional<std::uint64_t> first_ns_;
  Clock::time_point began_;
};

serve::FrameReader journal_reader(const fs::path& journal, double speed) {
  const auto frames = std::make_shared<JournalReplay>(journal);
  const auto pace = std::make_shared<Pace>(speed);
  return [frames, pace]() -> std::optional<serve::NextFrame> {
    const auto frame = frames->next();
    if (!frame) return {};
    return serve::NextFrame{{frame->data.begin(), frame->data.end()}, pace->due(frame->ingress_ns)};
  };
}

// At a pace, PETSIRD's time blocks go one by one.
std::shared_ptr<StreamFile> stream_of(const fs::path& file, double speed) {
  if (const StreamFileKind* kind = find_stream_file_kind(file)) return kind->open(file);
  if (speed > 0) return std::make_shared<serve::PetsirdFrames>(file, 1);
  return std::make_shared<serve::PetsirdFrames>(file);
}

serve::FrameReader file_reader(const fs::path& file, double speed) {
  const auto frames = stream_of(file, speed);
  const auto pace = std::make_shared<Pace>(speed);
  return [frames, pace]() -> std::optional<serve::NextFrame> {
    auto frame = frames->next();
    if (!frame) return {};
    return serve::NextFrame{std::move(*frame), pace->due(frames->scanned_ns())};
  };
}

serve::FrameReader reader_of(const SendOptions& options) {
  if (options.input.empty())
    throw InputError(
        fmt::format("name what to send by --input: {}, or the folder of a journal", stream_files_in_words()));
  return from_input([&] {
    return fs::is_directory(options.input) ? journal_reader(options.input, options.speed)
                                           : file_reader(options.input, options.speed);
  });
}

// A name that the server knows, or a file of ours, which goes to it as text.
serve::Hello hello_of(const SendOptions& options) {
  serve::Hello hello{.pipeline = options.pipeline, .settings = options.settings};
  for (const auto& [name, images] : {std::pair("all", serve::Images::all), {"last", serve::Images::last}})
    if (options.images == name) hello.images = images;
  if (options.pipeline.empty())
    throw InputError("name a pipeline: --pipeline NAME of the server's (--list shows them), or a file to send");
  if (!options.pipeline.ends_with(".yaml")) return hello;
  std::ifstream file(options.pipeline, std::ios::binary);
  std::ostringstream text;
  if (!(text << file.rdbuf())) throw InputError(fmt::format("cannot read the pipeline {}", options.pipeline));
  hello.yaml = text.str();
  return hello;
}

class Results {
 public:
  explicit Results(const SendOptions& options)
      : pipeline_(options.pipeline),
        input_(Value::scalar(options.input.string())),
        folder_(options.out, pipeline_, options.earlier_run),
        numbers_(options.images == "all") {}

  void write(const wire::ReceivedImage& received, std::string_view provenance) {
    const wire::ImageHeader& header = received.header;
    const std::string name =
        numbers_ && !header.is_final ? fmt::format("image_{:06}.nii.gz", header.update) : final_image;
    own(name);
    const std::string label =
        header.not_quantitative_because.empty() ? "" : ", not quantitative: " + header.not_quantitative_because;
    const std::string filtered = header.filtered.empty() ? "" : ", " + header.filtered;
    const std::string unit = header.unit.empty() ? "" : ", " + header.unit;
    write_nifti(folder_.path() / name, received.image(),
                {.description = fmt::format("tofstream, iteration {}{}{}{}", header.iteration, filtered, unit, label),
                 .unit = header.unit,
                 .comment = provenance.size() <= longest_nifti_comment ? std::string(provenance) : ""});
    ++images_;
  }
  /// The server's run.json; the files that it names are the server's own, and ours take their place.
  void write(Json run_json) {
    own(final_image);
    if (!fs::exists(folder_.path() / final_image)) files_.erase(std::ranges::find(files_, final_image));
    run_json["files"] = files_json();
    write_run_json(run_json);
  }

  const fs::path& folder() const { return folder_.path(); }
  std::uint64_t images() const { return images_; }

 private:
  static constexpr const char* final_image = "image.nii.gz";

  // With the first that the server gives the folder is this run's: one that does not begin leaves nothing behind. Each
  // file is in run.json before it is there.
  void own(const std::string& name) {
    if (files_.empty()) {
      files_ = {final_image};
      folder_.begin({{final_image, gadget}}, input_);
    } else if (std::ranges::find(files_, name) != files_.end()) {
      return;
    }
    if (name != final_image) files_.push_back(name);
    write_run_json({{"pipeline", pipeline_}, {"outcome", "running"}, {"exit_code", nullptr}, {"files", files_json()}});
  }

  Json files_json() const {
    Json list = Json::array();
    for (const std::string& name : files_) list.push_back({{"name", name}, {"gadget", gadget}});
    return list;
  }

  void write_run_json(const Json& run_json) const {
    AtomicFile file(folder_.path() / "run.json");
    file.write(run_json.dump(2) + "\n");
    file.commit();
  }

  static constexpr const char* gadget = "";  // they are written by this program, and by no gadget of the server's
  const std::string pipeline_;
  const Value input_;
  RunFolder folder_;
  const bool numbers_;
  std::vector<std::string> files_;
  std::uint64_t images_ = 0;
};

// One line a second on a terminal, one every ten elsewhere.
class ProgressText {
 public:
  ProgressText() = default;
  ProgressText(const ProgressText&) = delete;
  ProgressText& operator=(const ProgressText&) = delete;
  void place(std::size_t place) const { fmt::print(stderr, "waiting: place {} in the server's queue\n", place); }
  void show(const Json& progress) {
    const auto pause = terminal_ ? std::chrono::seconds(1) : std::chrono::seconds(10);
    if (Clock::now() - shown_ < pause) return;
    shown_ = Clock::now();
    std::string line = fmt::format("{:.0f} s, {} events", progress.value("seconds", 0.0),
                                   progress.value("received", std::uint64_t{0}));
    const Json gadgets = progress.value("gadgets", Json::object());
    for (const auto& [name, gadget] : gadgets.items())
      if (const double total = gadget.value("total", 0.0); total > 1)
        line += fmt::format("   {}: {:.4g} of {:.4g} {}", name, gadget.value("done", 0.0), total,
                            gadget.value("unit", std::string()));
    fmt::print(stderr, "{}{}{}", terminal_ ? "\r\033[K" : "", line, terminal_ ? "" : "\n");
    std::fflush(stderr);
    has_line_ = terminal_;
  }
  ~ProgressText() {
    if (has_line_) fmt::print(stderr, "\r\033[K");
  }

 private:
  const bool terminal_ = ::isatty(STDERR_FILENO) != 0;
  bool has_line_ = false;
  Clock::time_point shown_{};
};

// The server's words are about what it was given: exit 2, as of `run` on a wrong pipeline. Who is not there fails the
// run.
template <class Talk>
auto in_words(Talk&& talk) {
  try {
    return talk();
  } catch (const serve::Refused& refused) {
    throw InputError(fmt::format("the server says: {}", refused.what()));
  }
}

// ", on GPU 0, 1, at tcp://gpu1:5557", of what the server says of it.
std::string place_of(const Json& session) {
  std::string place;
  if (const auto gpus = session.find("gpus"); gpus != session.end() && gpus->is_array())
    for (std::size_t k = 0; k < gpus->size(); ++k) place += (k == 0 ? ", on GPU " : ", ") + (*gpus)[k].dump();
  if (const std::string server = session.value("server", std::string()); !server.empty()) place += ", at " + server;
  return place;
}

void print_list(const SendOptions& options, serve::Client& client) {
  const Json offer = in_words([&] { return client.list(); });
  if (options.json) return fmt::print("{}\n", offer.dump(2));
  for (const Json& name : offer.value("pipelines", Json::array()))
    print_printable(stdout, "pipeline {}\n", name.get<std::string>());
  for (const Json& session : offer.value("sessions", Json::array()))
    print_printable(stdout, "{} {} {}, {:.0f} s, {} events{}\n", session.value("session", std::string()),
                    session.value("pipeline", std::string()), session.value("state", std::string()),
                    session.value("seconds", 0.0), session.value("received", std::uint64_t{0}), place_of(session));
}

// As RunError::text has it.
std::string error_line(const Json& error) {
  const std::string where = error.value("where", std::string()), gadget = error.value("gadget", std::string());
  return fmt::format("{}{}{}{}", where, where.empty() ? "" : ": ",
                     gadget.empty() ? "" : "gadget '" + gadget + "': ", error.value("what", std::string()));
}

void finish(const SendOptions& options, Results& results, const Json& run_json) {
  results.write(run_json);
  const int code = run_json.value("exit_code", static_cast<int>(exit_run));
  for (const Json& error : run_json.value("errors", Json::array()))
    print_printable(stderr, "the server says: {}\n", error_line(error));
  if (options.json)
    fmt::print("{}\n", run_json.dump(2));
  else if (code == exit_ok)
    fmt::print("{} events received, {} reconstructed, {} images; {}: image.nii.gz, run.json\n",
               run_json["books"].value("received", std::uint64_t{0}),
               run_json["books"].value("reconstructed", std::uint64_t{0}), results.images(), results.folder().string());
  if (code != exit_ok) throw ExitWith{code};
}

void send(const SendOptions& options) {
  std::stop_source stop, abort;
  const SignalWatch signals(
      [&] {
        fmt::print(stderr, "\nstopping: what has been sent is reconstructed; again to abort\n");
        stop.request_stop();
      },
      [&] { abort.request_stop(); });
  const auto patience = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * options.patience_s));
  serve::Client client = from_input([&] { return serve::Client(options.endpoint, options.keys, patience); });
  if (options.list) return print_list(options, client);
  const serve::Hello hello = hello_of(options);
  const serve::FrameReader reader = reader_of(options);
  Results results = from_input([&] { return Results(options); });
  std::optional<ProgressText> progress;
  serve::Listener listener;
  listener.on_image = [&](const wire::ReceivedImage& image, std::string_view provenance) {
    results.write(image, provenance);
  };
  if (!options.quiet && !options.json) {
    progress.emplace();
    listener.on_waiting = [&](std::size_t place) { progress->place(place); };
    listener.on_progress = [&](const Json& json) { progress->show(json); };
  }
  const Json run_json = in_words(
      [&] { return serve::reconstruct(client, hello, reader, listener, stop.get_token(), abort.get_token()); });
  progress.reset();
  if (run_json.is_null()) throw ExitWith{exit_abort};
  finish(options, results, run_json);
}

}  // namespace

void add_send(Command& app) {
  auto& command = app.add_command("send", "Have a server reconstruct a recording: tofstream serve");
  auto options = std::make_shared<SendOptions>();
  command.add_option("endpoint", options->endpoint, "Where the server is").shows_default();
  command.add_option("--pipeline", options->pipeline, "The name of one of the server's, or a .yaml file to send")
      .suggests(suggest_shared("pipelines"));
  command.add_option("--input", options->input,
                     "What to send: a PETSIRD file or another recording, or the folder of a journal");
  command.add_option("--set", options->settings, "Set a parameter of the pipeline: gadget.parameter=value")
      .one_a_time()
      .suggests(suggest_settings)
      .takes_no_files();
  command.add_option("--speed", options->speed, "Pace, as a multiple of the scan's; 0: as fast as the server takes it")
      .within(0.0, 1e6)
      .shows_default();
  command.add_option("--images", options->images, "Which images to receive: the last, the newest as they come, or all")
      .one_of({"last", "newest", "all"})
      .shows_default();
  command.add_option("-o,--out", options->out, "Folder of the results").shows_default();
  command.add_flag(
      "--overwrite", [&earlier = options->earlier_run] { earlier = EarlierRun::overwrite; },
      "Clear what the run in that folder left: the files that its run.json lists, and nothing else");
  command.add_option("--patience", options->patience_s, "Seconds of silence after which the server counts as gone")
      .within(0.1, 86400.0)
      .shows_default();
  add_key_options(command, options->keys, false, true);
  command.add_flag("--list", options->list, "Show the server's pipelines and its clients' runs");
  command.add_flag("--json", options->json, "Print JSON");
  command.add_flag("--quiet", options->quiet, "No progress");
  command.footer(
      "Example: tofstream send tcp://127.0.0.1:5557 --pipeline served_osem --input scan.petsird --out image");
  command.on_run([options] { send(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
