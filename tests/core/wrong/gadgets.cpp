// Gadgets that must not compile, one a value of WRONG. The line `// N: sentence` before each is what the compiler's only
// error must say, word for word.
#include "core/gadget.hpp"

using namespace tofstream;

namespace {

struct A {
  int x = 0;
};
struct B {
  int x = 0;
};

#if WRONG == 1
// 1: A gadget has one public function: 'Out operator()(In) const', 'void process(In, Emit<Out>&)', 'void process(In)' or 'void run(Emit<Out>&, std::stop_token)', not overloaded and no template.
struct Wrong {
  void proces(const A&) {}
};
#elif WRONG == 2
// 2: A gadget has only one of operator(), process and run: it is pure, stateful or a source.
struct Wrong {
  void process(const A&) {}
  void run(Emit<A>&, std::stop_token) {}
};
#elif WRONG == 3
// 3: A pure gadget's operator() must be const, since it may run in parallel: add const, or use process for a gadget that keeps state.
struct Wrong {
  B operator()(const A&) { return {}; }
};
#elif WRONG == 4
// 4: A pure gadget's operator() returns its output: use 'void process(In)' for a sink.
struct Wrong {
  void operator()(const A&) const {}
};
#elif WRONG == 5
// 5: A pure gadget's operator() returns its output: use process to emit several messages.
struct Wrong {
  B operator()(const A&, Emit<B>&) const { return {}; }
};
#elif WRONG == 6
// 6: A gadget's process or operator() takes one input: use run for a source.
struct Wrong {
  void process(Emit<A>&) {}
};
#elif WRONG == 7
// 7: A gadget takes one input: several inputs are a struct of named members that lists them as 'inputs'.
struct Wrong {
  void process(const A&, const B&) {}
};
#elif WRONG == 8
// 8: A source's run takes no input: 'run(Emit<Out>&, std::stop_token)'.
struct Wrong {
  void run(const A&, Emit<B>&, std::stop_token) {}
};
#elif WRONG == 9
// 9: A source's run takes 'Emit<Out>&', through which it sends.
struct Wrong {
  void run(std::stop_token) {}
};
#elif WRONG == 10
// 10: A source's run takes a std::stop_token, and ends when it is set.
struct Wrong {
  void run(Emit<A>&) {}
};
#elif WRONG == 11
// 11: A payload is immutable: take it as 'const T&', as 'T' or as 'std::shared_ptr<const T>'.
struct Wrong {
  void process(A&) {}
};
#elif WRONG == 12
// 12: An input taken by value may have to be copied, and this type cannot be: take it as 'const T&'.
struct Unique {
  std::unique_ptr<int> x;
};
struct Wrong {
  void process(Unique) {}
};
#elif WRONG == 13
// 13: flush, start and idle take no input: there is none when they are called.
struct Wrong {
  void process(const A&) {}
  void flush(const A&) {}
};
#elif WRONG == 14
// 14: process, flush, start and idle of a gadget emit the same type: several outputs are a struct that lists them as 'outputs'.
struct Wrong {
  void process(const A&, Emit<A>&) {}
  void flush(Emit<B>&) {}
};
#elif WRONG == 15
// 15: A gadget with Params declares them: 'static constexpr auto params = describe(param<...>(...), ...);'.
struct Wrong {
  struct Params {
    int x = 0;
  };
  void process(const A&, const Params&) {}
};
#elif WRONG == 16
// 16: A gadget's Params can be default constructed: give every member a default.
struct Wrong {
  struct Params {
    explicit Params(int y) : x(y) {}
    int x;
  };
  static constexpr auto params = describe(param<&Params::x>("x", "A number"));
  void process(const A&, const Params&) {}
};
#elif WRONG == 17
// 17: A gadget is constructed from 'const Params&' (and optionally 'Context&'), or from nothing.
struct Wrong {
  explicit Wrong(int) {}
  void process(const A&) {}
};
#elif WRONG == 18
// 18: A gadget has one public function: 'Out operator()(In) const', 'void process(In, Emit<Out>&)', 'void process(In)' or 'void run(Emit<Out>&, std::stop_token)', not overloaded and no template.
class Wrong {
  void process(const A&) {}
};
#elif WRONG == 19
// 19: A gadget has one public function: 'Out operator()(In) const', 'void process(In, Emit<Out>&)', 'void process(In)' or 'void run(Emit<Out>&, std::stop_token)', not overloaded and no template.
struct Wrong {
  void process(const A&) {}
  void process(const B&) {}
};
#elif WRONG == 20
// 20: A parameter is a bool, a number, a string, a path, an enum with enum_names(), an array, vector or optional of these, a Value (anything), or a struct with its own `params`.
struct Wrong {
  struct Params {
    A a;
  };
  static constexpr auto params = describe(param<&Params::a>("a", "A struct without params"));
  void process(const A&, const Params&) {}
};
#elif WRONG == 21
// 21: Only a stateful gadget with 'static constexpr bool own_thread = true' has an idle function.
struct Wrong {
  void process(const A&, Emit<A>&) {}
  bool idle(Emit<A>&) { return false; }
};
#elif WRONG == 22
// 22: idle returns bool: whether it is to be called again before the next message comes.
struct Wrong {
  static constexpr bool own_thread = true;
  void process(const A&, Emit<A>&) {}
  void idle(Emit<A>&) {}
};
#endif

#if WRONG
TOFSTREAM_GADGET(Wrong, "wrong", "Does not compile");
#endif

}  // namespace
// SPDX-License-Identifier: Apache-2.0
