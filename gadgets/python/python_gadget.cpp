// A gadget written in Python: a process of its own gets each batch or image as NumPy arrays and gives back what goes
// on. Books: events taken and not given are rejected (`info.reject` says why), or reconstructed where images come of
// them.
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "core/gadget/value_json.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/python/exchange.hpp"
#include "gadgets/python/recording.hpp"
#include "gadgets/python/session.hpp"
#include "gadgets/views.hpp"

namespace tofstream {
namespace {

enum class Exchanged { events, views, image, nothing };
constexpr auto enum_names(Exchanged) {
  return names(Exchanged::events, "events", Exchanged::views, "views", Exchanged::image, "image", Exchanged::nothing,
               "nothing");
}

struct PythonParams {
  std::filesystem::path script;
  Exchanged takes = Exchanged::events;
  Exchanged gives = Exchanged::events;
  double timeout_s = 30;
  double start_timeout_s = 30;
  std::string python = "python3";
  std::filesystem::path path;
  std::string scanner;
  Value arguments;
  static constexpr auto params = describe(
      param<&PythonParams::script>("script", required, "Python file with a function or class under @gadget"),
      param<&PythonParams::takes>("takes", "Input; nothing makes it a source"),
      param<&PythonParams::gives>("gives", "Output; nothing makes it a sink"),
      param<&PythonParams::timeout_s>("timeout_s", range(0, 86400), unit("s"),
                                      "Longest wait for the answer to a message; 0: for ever"),
      param<&PythonParams::start_timeout_s>("start_timeout_s", range(0, 3600), unit("s"),
                                            "Longest wait for Python to start and load the script; 0: for ever"),
      param<&PythonParams::python>("python", "Interpreter, with NumPy and pyzmq"),
      param<&PythonParams::path>("path", reads_file, "Of a source: the file that the script reads, its info.path"),
      param<&PythonParams::scanner>("scanner", reads_one_of("scanners"),
                                    "Of a source of events: what recorded them, a scanner of share/scanners or a YAML "
                                    "file; the script has it as info.scanner. None: events have ends of their own"),
      param<&PythonParams::arguments>("arguments", "Arguments for the gadget in the script: a map by name, or a list"));
};

template <class T>
std::string name_of() {
  if constexpr (std::is_same_v<T, EventBatch>)
    return "events";
  else if constexpr (std::is_same_v<T, ViewBatch>)
    return "views";
  else if constexpr (std::is_same_v<T, Estimate>)
    return "image";
  else
    return "nothing";
}

std::filesystem::path find_script(const std::filesystem::path& script) {
  std::error_code none;
  if (std::filesystem::is_regular_file(script, none)) return std::filesystem::absolute(script);
  if (script.is_relative()) try {
      return find_shared_file(script);
    } catch (const std::runtime_error&) {
      // said below, as of any other file
    }
  require_readable(script);
  throw std::runtime_error(fmt::format("{}: not a file", script.string()));
}

PythonSettings settings_of(const PythonParams& p, std::string takes, std::string gives) {
  return {p.python,
          find_script(p.script),
          std::move(takes),
          std::move(gives),
          to_json(p.arguments),
          std::chrono::duration<double>(p.timeout_s),
          std::chrono::duration<double>(p.start_timeout_s)};
}

PythonJson info_of(const MessageInfo& message) {
  return {{"sequence", message.sequence},
          {"origin", message.origin},
          {"first_event", message.first_event},
          {"end_event", message.end_event},
          {"ingress_s", std::chrono::duration<double>(message.ingress.time_since_epoch()).count()}};
}

Figure figure_of(const PythonJson& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_array()) return value.get<std::vector<double>>();
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Notes what the script said by `info`; returns the events that it rejected.
std::uint64_t note(const PythonJson& reply, Context& context) {
  std::uint64_t rejected = 0;
  for (const auto& [reason, events] : reply.at("rejected").items()) {
    context.books().rejected(events.get<std::uint64_t>(), reason);
    rejected += events.get<std::uint64_t>();
  }
  for (const auto& [key, value] : reply.at("reported").items()) context.report(key, figure_of(value));
  return rejected;
}

// One gadget of types In and Out, void for none: what its variants below share.
template <class In, class Out>
class PythonStage {
 public:
  PythonStage(const PythonParams& p, Context& context)
      : name_(context.name()), session_(settings_of(p, name_of<In>(), name_of<Out>()), context) {
    if constexpr (std::is_void_v<In>) path_ = p.path.string();
    if constexpr (std::is_void_v<In> && std::is_same_v<Out, EventBatch>)
      if (!p.scanner.empty()) recorded_by_ = take_scanner(p.scanner, session_.arena(), memory_);
  }

  bool has_flush() const { return session_.has_flush(); }

  // Sends a message to Python and passes on what it gives, one by one; `emit` returns false to have no more. `settles`:
  // of all events taken, those that are not given then are left out.
  template <class Send>
  void converse(PythonJson request, const std::shared_ptr<const In>& input, Context& context, bool settles,
                Send&& send) {
    session_.take_back();
    if constexpr (!std::is_void_v<In>)
      if (input) {
        Offer offered = offer(input, session_.arena(), memory_);
        request[name_of<In>()] = std::move(offered.header);
        session_.lend(std::move(offered.lease));
      }
    request["info"] = info_of(context.message());
    if constexpr (std::is_void_v<In>) request["info"]["path"] = path_;
    if (!recorded_by_.is_null()) request["scanner"] = recorded_by_;
    bool more = true;
    while (more) {
      const PythonJson reply = session_.ask(std::move(request), context);
      removed_ += note(reply, context);
      more = reply.at("more").get<bool>();
      if constexpr (filters) note_missing(reply, input, settles && !more);
      bool wanted = true;
      for (const PythonJson& give : reply.at("gives")) wanted = send(give) && wanted;
      request = {{"do", wanted ? "next" : "close"}};
    }
  }

  // Emits one payload that Python gave and counts its events.
  void pass_on(const PythonJson& give, const std::shared_ptr<const In>& input, Emit<Out>& emit) {
    if constexpr (std::is_same_v<In, Out>)
      if (give.contains("same") && input && !leaves_out_) return count_and(emit, input);
    Accepted<Out> accepted = accepted_of(give, input);
    to_memory_of(input, accepted.payload);
    if constexpr (filters) tell_leaves_out(accepted.payload);
    if (accepted.is_shared) return count_and(emit, std::make_shared<const Out>(std::move(accepted.payload)));
    if constexpr (CountsEvents<Out>) given_ += accepted.payload.event_count();
    emit(std::move(accepted.payload));
  }

  // Books the events of the messages since the last call: all that were taken have a fate now.
  void settle(Context& context) {
    if constexpr (CountsEvents<In>) {
      const std::uint64_t fates = given_ + removed_;
      if (fates > taken_)
        throw std::runtime_error(fmt::format("{} gave {} and rejected {} events of the {} that it took",
                                             session_.where(), given_, removed_, taken_));
      const std::uint64_t rest = taken_ - fates;
      if constexpr (std::is_same_v<Out, Estimate>)
        context.books().reconstructed(rest);
      else if constexpr (std::is_void_v<Out>)
        context.books().written(rest);
      else if (rest > 0)
        context.books().rejected(rest, context.name());
      taken_ = given_ = removed_ = 0;
    }
  }

  void count_taken(std::uint64_t events) { taken_ += events; }

  // Where events were left out and none went on since, a batch without events carries the word.
  void tell_what_was_left_out(Emit<Out>& emit) {
    if constexpr (filters) {
      if (!leaves_out_ || is_told_) return;
      EventBatch batch;
      batch.scanner = memory_.scanner;
      batch.detectors = memory_.detectors;
      batch.tof = memory_.tof;
      batch.delayed = memory_.delayed;
      batch.quantity = memory_.events_quantity;
      tell_leaves_out(batch);
      emit(std::move(batch));
    }
  }

 private:
  static constexpr bool filters = std::is_same_v<In, EventBatch> && std::is_same_v<Out, EventBatch>;

  Accepted<Out> accepted_of(const PythonJson& give, const std::shared_ptr<const In>& input) {
    if constexpr (filters)
      if (give.contains("same") && input) return {*input, false};
    return accept(give, session_, memory_, std::type_identity<Out>{});
  }

  // What Python rejects, or has not given when it has to have, is left out by choice: from then on batches say so.
  void note_missing(const PythonJson& reply, const std::shared_ptr<const In>& input, bool is_settled) {
    std::uint64_t giving = given_;
    for (const PythonJson& give : reply.at("gives"))
      giving += give.contains("same") && input ? input->event_count() : give.value("count", std::uint64_t{0});
    if (leaves_out_ || (removed_ == 0 && !(is_settled && giving < taken_))) return;
    leaves_out_ = true;
    is_told_ = false;
  }

  void tell_leaves_out(EventBatch& batch) {
    if (!leaves_out_) return;
    batch.note_rejecting(name_ == "python" ? name_ : name_ + " (python)");
    is_told_ = true;
  }

  void count_and(Emit<Out>& emit, std::shared_ptr<const Out> shared) {
    if constexpr (CountsEvents<Out>) given_ += shared->event_count();
    emit(std::move(shared));
  }

  // What came from a GPU goes back there.
  template <class T>
  static void to_memory_of(const std::shared_ptr<const In>& input, T& output) {
    if constexpr (std::is_same_v<In, EventBatch> && std::is_same_v<T, EventBatch>) {
      if (input && !on_host(input->memory())) output = output.to(input->memory());
    } else if constexpr (std::is_same_v<In, ViewBatch> && std::is_same_v<T, ViewBatch>) {
      if (input && !on_host(input->memory())) output = output.to(input->memory());
    } else if constexpr (std::is_same_v<In, Estimate> && std::is_same_v<T, Estimate>) {
      const bool there = input && !on_host(input->image->voxels.memory());
      if (there) output.image = std::make_shared<const Image>(output.image->to(input->image->voxels.memory()));
    }
  }

  const std::string name_;
  PythonSession session_;
  ExchangeMemory memory_;
  std::string path_;                          // of a source: the script's file
  PythonJson recorded_by_;                    // of a source of events: its scanner, as Python is told of it; null: none
  bool leaves_out_ = false, is_told_ = true;  // events, and whether a batch has said so
  std::uint64_t taken_ = 0, given_ = 0, removed_ = 0;
};

template <class In, class Out>
struct PythonGadget {
  using Params = PythonParams;
  static constexpr auto params = PythonParams::params;
  static constexpr bool own_thread = true;

  PythonGadget(const Params& p, Context& context) : stage_(std::make_unique<PythonStage<In, Out>>(p, context)) {}

  void process(std::shared_ptr<const In> input, Emit<Out>& emit, Context& context) {
    if constexpr (CountsEvents<In>) stage_->count_taken(input->event_count());
    converse("process", input, emit, context);
    if (!stage_->has_flush()) stage_->settle(context);
  }
  void flush(Emit<Out>& emit, Context& context) {
    if (stage_->has_flush()) converse("flush", nullptr, emit, context);
    stage_->settle(context);
  }

 private:
  void converse(const char* what, const std::shared_ptr<const In>& input, Emit<Out>& emit, Context& context) {
    stage_->converse({{"do", what}}, input, context, !input || !stage_->has_flush(), [&](const PythonJson& give) {
      stage_->pass_on(give, input, emit);
      return true;
    });
    stage_->tell_what_was_left_out(emit);
  }

  std::unique_ptr<PythonStage<In, Out>> stage_;
};

template <class In>
struct PythonSink {
  using Params = PythonParams;
  static constexpr auto params = PythonParams::params;
  static constexpr bool own_thread = true;

  PythonSink(const Params& p, Context& context) : stage_(std::make_unique<PythonStage<In, void>>(p, context)) {}

  void process(std::shared_ptr<const In> input, Context& context) {
    if constexpr (CountsEvents<In>) stage_->count_taken(input->event_count());
    stage_->converse({{"do", "process"}}, input, context, true, [](const PythonJson&) { return true; });
    stage_->settle(context);
  }
  void flush(Context& context) {
    if (stage_->has_flush())
      stage_->converse({{"do", "flush"}}, nullptr, context, true, [](const PythonJson&) { return true; });
  }

 private:
  std::unique_ptr<PythonStage<In, void>> stage_;
};

template <class Out>
struct PythonSource {
  using Params = PythonParams;
  static constexpr auto params = PythonParams::params;

  PythonSource(const Params& p, Context& context) : stage_(std::make_unique<PythonStage<void, Out>>(p, context)) {}

  void run(Emit<Out>& emit, std::stop_token stop, Context& context) {
    stage_->converse({{"do", "run"}}, nullptr, context, true, [&](const PythonJson& give) {
      stage_->pass_on(give, nullptr, emit);
      return !stop.stop_requested();
    });
  }

 private:
  std::unique_ptr<PythonStage<void, Out>> stage_;
};

constexpr const char* python_doc = "Runs a gadget written in Python: arrays are NumPy views of shared memory";

template <class In>
GadgetInfo describe_taking(Exchanged gives) {
  if (gives == Exchanged::events) return describe_gadget<PythonGadget<In, EventBatch>>("python", python_doc);
  if (gives == Exchanged::image) return describe_gadget<PythonGadget<In, Estimate>>("python", python_doc);
  return describe_gadget<PythonSink<In>>("python", python_doc);
}

GadgetInfo describe_with_views(Exchanged takes, Exchanged gives) {
  if (takes == Exchanged::nothing) return describe_gadget<PythonSource<ViewBatch>>("python", python_doc);
  if (takes != Exchanged::views || gives == Exchanged::events)
    throw std::invalid_argument("views are made of views or of nothing, and events are made of none of them");
  if (gives == Exchanged::views) return describe_gadget<PythonGadget<ViewBatch, ViewBatch>>("python", python_doc);
  if (gives == Exchanged::image) return describe_gadget<PythonGadget<ViewBatch, Estimate>>("python", python_doc);
  return describe_gadget<PythonSink<ViewBatch>>("python", python_doc);
}

GadgetInfo specialise_python(const void* params) {
  const auto& p = *static_cast<const PythonParams*>(params);
  if (p.takes == Exchanged::views || p.gives == Exchanged::views) return describe_with_views(p.takes, p.gives);
  if (p.takes == Exchanged::events) return describe_taking<EventBatch>(p.gives);
  if (p.takes == Exchanged::image) return describe_taking<Estimate>(p.gives);
  if (p.gives == Exchanged::events) return describe_gadget<PythonSource<EventBatch>>("python", python_doc);
  if (p.gives == Exchanged::image) return describe_gadget<PythonSource<Estimate>>("python", python_doc);
  throw std::invalid_argument("takes and gives cannot both be nothing");
}

// Registered by hand, since its ports depend on `takes` and `gives`.
const bool is_registered = [] {
  GadgetInfo info = describe_gadget<PythonGadget<EventBatch, EventBatch>>("python", python_doc);
  info.specialise = specialise_python;
  registry().add(std::move(info));
  return true;
}();

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
