// A correct plug-in: a source, steps and a join, with their own payload.
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

struct PluginOdd {
  std::optional<Number> operator()(const Number& number) const {
    return number.value % 2 == 1 ? std::optional(number) : std::nullopt;
  }
};
TOFSTREAM_GADGET(PluginOdd, "plugin_odd", "Drops even numbers");

struct PluginPair {
  struct In {
    std::shared_ptr<const Number> left, right;
    static constexpr auto inputs =
        tofstream::ports(tofstream::port<&In::left>("left"), tofstream::port<&In::right>("right"));
  };
  void process(const In& in, tofstream::Emit<Number>& emit) { emit({in.left->value + in.right->value}); }
};
TOFSTREAM_GADGET(PluginPair, "plugin_pair", "Adds pairs");

}  // namespace
// SPDX-License-Identifier: Apache-2.0
