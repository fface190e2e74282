// A plug-in as it should be: a source and a step, with a payload of their own.
#include "core/gadget.hpp"

namespace {

struct Number {
  int value = 0;
};

struct PluginNumbers {
  struct Params {
    int count = 3;
  };
  static constexpr auto params = tofstream::describe(tofstream::param<&Params::count>("count", "How many"));
  void run(tofstream::Emit<Number>& emit, std::stop_token, const Params& p) {
    for (int i = 1; i <= p.count; ++i) emit({i});
  }
};
TOFSTREAM_GADGET(PluginNumbers, "plugin_numbers", "Counts from 1");

struct PluginSum {
  void process(const Number& number) { sum_ += number.value; }
  void flush(tofstream::Context& context) { context.report("sum", sum_); }

 private:
  std::int64_t sum_ = 0;
};
TOFSTREAM_GADGET(PluginSum, "plugin_sum", "Adds numbers");

}  // namespace
