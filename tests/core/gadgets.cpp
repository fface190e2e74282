// The gadgets of gadgets.hpp, registered as authors register theirs.
#include "gadgets.hpp"

#include "core/gadget/spill.hpp"

void tofstream::Spill<tofstream::test::Batch>::encode(const test::Batch& batch, SpillWriter& to) {
  to.value(batch.number);
  to.value(batch.events);
  to.array(std::span(batch.load));
}

tofstream::test::Batch tofstream::Spill<tofstream::test::Batch>::decode(SpillReader& from) {
  const auto number = from.value<std::uint64_t>();
  const auto events = from.value<std::uint64_t>();
  return {number, events, from.array<std::uint64_t>()};
}

namespace tofstream::test {
namespace {

void sleep_ms(double ms) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

struct Count {
  struct Params {
    std::uint64_t messages = 20;
    double pause_ms = 0;
    std::int64_t throw_at = -1;
    bool endless = false;
    std::filesystem::path path;
    std::size_t load = 0;
  };
  static constexpr auto params =
      describe(param<&Params::messages>("messages", "Batches to send"),
               param<&Params::pause_ms>("pause_ms", non_negative, unit("ms"), "Pause after each"),
               param<&Params::throw_at>("throw_at", "Batch at which to fail"),
               param<&Params::endless>("endless", "Send until stopped"),
               param<&Params::path>("path", "A file, which is not read"),
               param<&Params::load>("load", "Numbers that each batch carries, all of them its own"));
  void run(Emit<Batch>& emit, std::stop_token stop, const Params& p, Context& context) {
    for (std::uint64_t i = 0; (p.endless || i < p.messages) && !stop.stop_requested(); ++i) {
      if (static_cast<std::int64_t>(i) == p.throw_at) throw std::runtime_error("source fails");
      context.books().received(10);
      emit(Batch{.number = i, .load = std::vector<std::uint64_t>(p.load, i)});
      if (p.pause_ms > 0) sleep_ms(p.pause_ms);
    }
  }
};
TOFSTREAM_GADGET(Count, "count", "Numbered batches of 10 events");

// A source that does not book received events.
struct SilentCount {
  void run(Emit<Batch>& emit, std::stop_token) {
    for (std::uint64_t i = 0; i < 5; ++i) emit(Batch{.number = i});
  }
};
TOFSTREAM_GADGET(SilentCount, "silent_count", "Five batches, received by nobody");

struct Pass {
  struct Params {
    double delay_ms = 0;
    bool uneven = false;
    std::int64_t throw_at = -1;
    bool odd_exception = false;
  };
  static constexpr auto params =
      describe(param<&Params::delay_ms>("delay_ms", non_negative, unit("ms"), "Time for each"),
               param<&Params::uneven>("uneven", "Even batches take longer"),
               param<&Params::throw_at>("throw_at", "Batch at which to fail"),
               param<&Params::odd_exception>("odd_exception", "Fail with an int"));
  Batch operator()(Batch batch, const Params& p) const {
    if (static_cast<std::int64_t>(batch.number) == p.throw_at) {
      if (p.odd_exception) throw 42;
      throw std::runtime_error("pass\nfails");
    }
    const double delay = p.uneven && batch.number % 2 == 0 ? 3 * p.delay_ms : p.delay_ms;
    if (delay > 0) sleep_ms(delay);
    return batch;
  }
};
TOFSTREAM_GADGET(Pass, "pass", "Hands batches on");

// Keeps 7 of 10 events, and drops every fifth batch altogether.
struct Filter {
  std::optional<Batch> operator()(const Batch& batch, Context& context) const {
    if (batch.number % 5 == 4) return std::nullopt;
    Batch kept = batch;
    if (batch.events < 3) return kept;
    context.books().rejected(1, "too soft");
    kept.events -= 3;
    return kept;
  }
};
TOFSTREAM_GADGET(Filter, "filter", "Drops three events of ten");

struct Split {
  struct Out {
    std::shared_ptr<const Batch> even, odd;
    static constexpr auto outputs = ports(port<&Out::even>("even"), port<&Out::odd>("odd"));
  };
  Out operator()(std::shared_ptr<const Batch> batch) const {
    return batch->number % 2 == 0 ? Out{batch, nullptr} : Out{nullptr, batch};
  }
};
TOFSTREAM_GADGET(Split, "split", "Even batches one way, odd ones the other");

// Counts what comes, as reconstructed unless told otherwise.
struct Collect {
  struct Params {
    std::string as = "collect";
    double delay_ms = 0;
    std::string book = "reconstructed";
    bool throw_in_construct = false;
    bool throw_in_flush = false;
  };
  static constexpr auto params =
      describe(param<&Params::as>("as", "Name for the witness"),
               param<&Params::delay_ms>("delay_ms", non_negative, unit("ms"), "Time for each"),
               param<&Params::book>("book", one_of("reconstructed", "written", "nothing"), "Where events go"),
               param<&Params::throw_in_construct>("throw_in_construct", "Fail at once"),
               param<&Params::throw_in_flush>("throw_in_flush", "Fail at the end"));
  explicit Collect(const Params& p) : p_(p) {
    if (p.throw_in_construct) throw std::invalid_argument("cannot be made");
  }
  void process(std::shared_ptr<const Batch> batch, Context& context) {
    if (Witness::current) {
      if (Witness::current->on_sink) Witness::current->on_sink(batch->number);
      if (std::ranges::any_of(batch->load, [&](std::uint64_t x) { return x != batch->number; }))
        throw std::runtime_error("a batch came with another's load");
      Witness::current->saw(p_.as, batch->number);
      Witness::current->saw_address(batch.get());
    }
    if (p_.delay_ms > 0) sleep_ms(p_.delay_ms);
    if (p_.book == "reconstructed") context.books().reconstructed(batch->event_count());
    if (p_.book == "written") context.books().written(batch->event_count());
  }
  void flush() {
    if (Witness::current) Witness::current->note("flush " + p_.as);
    if (p_.throw_in_flush) throw std::runtime_error("flush fails");
  }

 private:
  Params p_;
};
TOFSTREAM_GADGET(Collect, "collect", "Takes batches");

struct BlockingCollect : Collect {
  using Collect::Collect;
  using Params = Collect::Params;
  static constexpr bool own_thread = true;
  void process(std::shared_ptr<const Batch> batch, Context& context) { Collect::process(std::move(batch), context); }
  void flush() { Collect::flush(); }
};
TOFSTREAM_GADGET(BlockingCollect, "blocking_collect", "Takes batches on a thread of its own");

// Lets one batch of n pass, by its number.
struct Every {
  struct Params {
    std::uint64_t of = 5;
    std::uint64_t phase = 0;
  };
  static constexpr auto params = describe(param<&Params::of>("of", at_least(1), "Of how many one is kept"),
                                          param<&Params::phase>("phase", "Which one"));
  std::optional<Batch> operator()(const Batch& batch, const Params& p) const {
    return batch.number % p.of == p.phase ? std::optional(batch) : std::nullopt;
  }
};
TOFSTREAM_GADGET(Every, "every", "Keeps some batches");

// Holds each batch back until the next has come.
struct Late {
  void process(std::shared_ptr<const Batch> batch, Emit<Batch>& emit) {
    if (held_) emit(held_);
    held_ = std::move(batch);
  }
  void flush(Emit<Batch>& emit) {
    if (held_) emit(std::move(held_));
  }

 private:
  std::shared_ptr<const Batch> held_;
};
TOFSTREAM_GADGET(Late, "late", "Is one batch behind");

struct Masked {
  struct In {
    std::shared_ptr<const Batch> batch, mask;
    static constexpr auto inputs = ports(port<&In::batch>("batch"), port<&In::mask>("mask", optional));
  };
  void process(const In& in, Emit<Batch>& emit) {
    if (Witness::current) Witness::current->saw("masking", in.mask ? in.mask->number : 0);
    emit(in.batch);
  }
};
TOFSTREAM_GADGET(Masked, "masking", "Takes a mask where there is one");

// A live parameter, given to a pure gadget at each call.
struct Offset {
  struct Params {
    std::uint64_t by = 0;
    std::string name;
  };
  static constexpr auto params =
      describe(param<&Params::by>("by", at_least(0), live, "What to add"), param<&Params::name>("name", "Nothing"));
  Batch operator()(Batch batch, const Params& p) const {
    batch.number += p.by;
    return batch;
  }
};
TOFSTREAM_GADGET(Offset, "offset", "Adds to a batch's number");

// The same, with quick calls and now and then one that is not.
struct Shifting {
  using Params = Offset::Params;
  static constexpr auto params = Offset::params;
  Batch operator()(Batch batch, const Params& p) const {
    if (batch.number % 500 == 499) sleep_ms(2);
    batch.number += p.by;
    return batch;
  }
};
TOFSTREAM_GADGET(Shifting, "shifting", "Adds to a batch's number, at its leisure");

// A stateful one that keeps what it needs and is told of changes.
struct KeepingOffset {
  using Params = Offset::Params;
  static constexpr auto params = Offset::params;
  explicit KeepingOffset(const Params& p) : by_(p.by) {}
  void process(Batch batch, Emit<Batch>& emit) {
    batch.number += by_;
    emit(batch);
  }
  void update(const Params& p) { by_ = p.by; }

 private:
  std::uint64_t by_;
};
TOFSTREAM_GADGET(KeepingOffset, "keeping_offset", "Adds to a batch's number");

// Several messages a call, and one more at the end.
struct Burst {
  struct Params {
    std::uint64_t copies = 3;
  };
  static constexpr auto params = describe(param<&Params::copies>("copies", "Messages a call"));
  static constexpr bool own_thread = true;
  explicit Burst(const Params& p) : p_(p) {}
  void process(const Batch& batch, Emit<Batch>& emit) {
    for (std::uint64_t i = 0; i < p_.copies; ++i) emit(Batch{.number = batch.number * p_.copies + i, .events = 0});
  }
  void flush(Emit<Batch>& emit) { emit(Batch{.number = 1000, .events = 0}); }

 private:
  Params p_;
};
TOFSTREAM_GADGET(Burst, "burst", "Several empty batches for each");

struct Pair {
  struct In {
    std::shared_ptr<const Batch> left, right;
    static constexpr auto inputs = ports(port<&In::left>("left"), port<&In::right>("right"));
  };
  void process(const In& in, Emit<Batch>& emit) {
    if (Witness::current) Witness::current->saw("pair", 100 * in.left->number + in.right->number);
    emit(in.left);
  }
};
TOFSTREAM_GADGET(Pair, "pair", "Joins two streams");

// The shape of OSEM: subsets and the estimate that they update, fed back.
struct Project {
  struct In {
    std::shared_ptr<const Batch> events;
    std::shared_ptr<const Picture> image;
    static constexpr auto inputs = ports(port<&In::events>("events"), port<&In::image>("image", feedback));
  };
  void process(const In& in, Emit<Picture>& emit, Context& context) {
    context.books().reconstructed(in.events->event_count());
    emit(Picture{2 * in.image->value + static_cast<double>(in.events->number)});
  }
};
TOFSTREAM_GADGET(Project, "project", "x -> 2 x + number");

struct Update {
  struct Params {
    bool silent_start = false;
  };
  static constexpr auto params = describe(param<&Params::silent_start>("silent_start", "Emit nothing in start"));
  void start(Emit<Picture>& emit, const Params& p) {
    if (!p.silent_start) emit(Picture{1});
  }
  void process(const Picture& image, Emit<Picture>& emit, Context& context) {
    context.append("values", image.value);
    emit(image);
  }
};
TOFSTREAM_GADGET(Update, "update", "Hands the estimate back");

struct FailingStart {
  void start(Emit<Picture>&) { throw std::runtime_error("start fails"); }
  void process(const Picture& image, Emit<Picture>& emit) { emit(image); }
};
TOFSTREAM_GADGET(FailingStart, "failing_start", "Cannot begin");

struct Show {
  void process(const Picture& image) {
    if (Witness::current) Witness::current->saw("show", static_cast<std::uint64_t>(image.value));
  }
};
TOFSTREAM_GADGET(Show, "show", "Takes images");

// A gadget that changes what it takes by value, and one that lets it be seen.
struct Mark {
  Batch operator()(Batch batch) const {
    batch.number += 1000;
    return batch;
  }
};
TOFSTREAM_GADGET(Mark, "mark", "Adds 1000 to a batch's number");

// Never ends by itself and does not watch for a stop.
struct Stubborn {
  struct Params {
    double hold_ms = 500;
  };
  static constexpr auto params = describe(param<&Params::hold_ms>("hold_ms", positive, unit("ms"), "Time for each"));
  static constexpr bool own_thread = true;
  void process(const Batch& batch, const Params& p, Context& context) {
    if (Witness::current) ++Witness::current->in_process;
    sleep_ms(p.hold_ms);
    context.books().reconstructed(batch.event_count());
  }
};
TOFSTREAM_GADGET(Stubborn, "stubborn", "Holds on to each batch");

// Waits until the run is being ended: on its own thread or on the graph, in start, process, flush or run.
struct WaitParams {
  std::string in = "process";
};
constexpr auto wait_params =
    describe(param<&WaitParams::in>("in", one_of("start", "process", "flush", "run"), "Function that waits"));

void wait_for_cancel(const char* where, const WaitParams& p, const Context& context) {
  if (p.in != where) return;
  if (Witness::current) ++Witness::current->in_process;
  while (!context.cancelled()) sleep_ms(1);
  if (Witness::current) Witness::current->note("cancelled in " + p.in);
  throw std::runtime_error("an error of its own");
}

struct Waiter {
  using Params = WaitParams;
  static constexpr auto params = wait_params;
  void start(Emit<Batch>&, const Params& p, Context& context) { wait_for_cancel("start", p, context); }
  void process(const Batch& batch, Emit<Batch>& emit, const Params& p, Context& context) {
    wait_for_cancel("process", p, context);
    emit(batch);
  }
  void flush(Emit<Batch>&, const Params& p, Context& context) { wait_for_cancel("flush", p, context); }
};
TOFSTREAM_GADGET(Waiter, "waiter", "Waits until it is told that the run ends");

struct BlockingWaiter : Waiter {
  using Params = WaitParams;
  static constexpr bool own_thread = true;
  void start(Emit<Batch>& emit, const Params& p, Context& context) { Waiter::start(emit, p, context); }
  void process(const Batch& batch, Emit<Batch>& emit, const Params& p, Context& context) {
    Waiter::process(batch, emit, p, context);
  }
  void flush(Emit<Batch>& emit, const Params& p, Context& context) { Waiter::flush(emit, p, context); }
};
TOFSTREAM_GADGET(BlockingWaiter, "blocking_waiter", "Waits on a thread of its own");

struct PureWaiter {
  using Params = WaitParams;
  static constexpr auto params = wait_params;
  Batch operator()(Batch batch, const Params& p, Context& context) const {
    wait_for_cancel("process", p, context);
    return batch;
  }
};
TOFSTREAM_GADGET(PureWaiter, "pure_waiter", "Waits in parallel");

struct WaitingSource {
  using Params = WaitParams;
  static constexpr auto params = wait_params;
  void run(Emit<Batch>&, std::stop_token, const Params& p, Context& context) { wait_for_cancel("run", p, context); }
};
TOFSTREAM_GADGET(WaitingSource, "waiting_source", "A source that waits");

struct OutsideWait {
  void run(Emit<Batch>&, std::stop_token, Context& context) {
    context.wait_outside([] { sleep_ms(400); });
  }
};
TOFSTREAM_GADGET(OutsideWait, "outside_wait", "A source that waits for somebody else");

struct LateSender {
  void run(Emit<Batch>& emit, std::stop_token, Context& context) {
    context.say_waiting("waiting for a sender at the door");
    context.wait_outside([] { sleep_ms(300); });
    context.say_waiting("");
    sleep_ms(100);
    for (std::uint64_t i = 0; i < 3; ++i) emit(Batch{.number = i});
  }
};
TOFSTREAM_GADGET(LateSender, "late_sender", "A source that says for whom it waits");

struct SlowStart {
  void run(Emit<Batch>&, std::stop_token, Context& context) {
    for (int part = 1; part <= 40; ++part) {
      sleep_ms(20);
      context.progress(part, 40, "of the table");
    }
  }
};
TOFSTREAM_GADGET(SlowStart, "slow_start", "A source that computes for long, and says how far it is");

struct ConstructWaiter {
  explicit ConstructWaiter(Context& context) { wait_for_cancel("process", {}, context); }
  void process(const Batch&) {}
};
TOFSTREAM_GADGET(ConstructWaiter, "construct_waiter", "Waits before it is made");

// Fails as soon as another gadget waits.
struct FailWhenWaited {
  static constexpr bool own_thread = true;
  void process(const Batch&) {
    while (Witness::current->in_process == 0) sleep_ms(1);
    throw std::runtime_error("the first cause");
  }
};
TOFSTREAM_GADGET(FailWhenWaited, "fail_when_waited", "Fails while another gadget waits");

}  // namespace
}  // namespace tofstream::test
// SPDX-License-Identifier: Apache-2.0
