#include "core/pipeline/deadlock.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

namespace tofstream {
namespace {

// A sequence of messages, by where their number and order come from: `rate` messages for each message of the root.
struct Stream {
  std::size_t gadget = 0;  // the root: the last gadget that may give another number of messages than it takes
  std::size_t port = 0;    // of its outputs; behind them, of its inputs, where several writers are merged
  std::size_t rate = 1;
  bool is_shuffled = false;  // several writers' messages, in whatever order

  bool same_root(const Stream& other) const { return gadget == other.gadget && port == other.port; }
};

struct JoinInput {
  std::size_t port = 0;
  Stream stream;
  Location where;
};

class JoinCheck {
 public:
  JoinCheck(const std::vector<PipelineGadget>& gadgets, const std::vector<PipelineEdge>& edges, Problems& errors,
            Problems& warnings)
      : gadgets_(gadgets), edges_(edges), errors_(errors), warnings_(warnings), ancestors_(gadgets.size()) {}

  void check(const std::vector<std::size_t>& order) {
    outputs_.resize(gadgets_.size());
    for (const std::size_t at : order) follow(at);
    for (const PipelineEdge& edge : edges_)
      if (edge.is_feedback) check_cycle(edge);
  }

 private:
  const PipelineGadget& gadget(std::size_t i) const { return gadgets_[i]; }
  bool is_join_given(std::size_t i) const { return gadget(i).settings.find("join"); }
  std::string label(std::size_t i) const { return "gadgets." + gadget(i).name; }
  std::string described(std::size_t i) const { return fmt::format("'{}' ({})", gadget(i).name, gadget(i).info->name); }
  const std::string& input_name(std::size_t at, const JoinInput& input) const {
    return gadget(at).info->inputs[input.port].name;
  }

  void follow(std::size_t at) {
    ancestors_[at].resize(gadgets_.size());
    ancestors_[at][at] = true;
    for (const PipelineEdge& edge : edges_)
      if (edge.to == at && !edge.is_feedback)
        for (std::size_t i = 0; i < gadgets_.size(); ++i)
          ancestors_[at][i] = ancestors_[at][i] || ancestors_[edge.from][i];
    const std::vector<JoinInput> inputs = joined_inputs(at);
    if (inputs.size() > 1) check_join(at, inputs);
    for (std::size_t port = 0; port < gadget(at).info->outputs.size(); ++port)
      outputs_[at].push_back(hands_on(at, inputs) ? inputs[0].stream : Stream{at, port});
  }

  // Whether each of the gadget's messages stands for one message of each input.
  bool hands_on(std::size_t at, const std::vector<JoinInput>& inputs) const {
    return gadget(at).info->one_to_one && !inputs.empty() && std::ranges::all_of(inputs, [&](const JoinInput& input) {
             return input.stream.same_root(inputs[0].stream) && input.stream.rate == inputs[0].stream.rate;
           });
  }

  std::vector<JoinInput> joined_inputs(std::size_t at) const {
    std::vector<JoinInput> inputs;
    for (std::size_t port = 0; port < gadget(at).info->inputs.size(); ++port) {
      std::vector<Stream> writers;
      Location where;
      for (const PipelineEdge& edge : edges_) {
        if (edge.to != at || edge.to_port != port || edge.is_feedback) continue;
        writers.push_back(outputs_[edge.from][edge.from_port]);
        where = edge.where;
      }
      if (!writers.empty()) inputs.push_back({port, merged(at, port, writers), where});
    }
    return inputs;
  }

  Stream merged(std::size_t at, std::size_t port, const std::vector<Stream>& writers) const {
    Stream sum = writers[0];
    for (std::size_t i = 1; i < writers.size(); ++i) {
      if (!writers[i].same_root(sum)) return {at, gadget(at).info->outputs.size() + port, 1, true};
      sum.rate += writers[i].rate;
      sum.is_shuffled = true;
    }
    return sum;
  }

  void check_join(std::size_t at, const std::vector<JoinInput>& inputs) {
    for (std::size_t i = 1; i < inputs.size(); ++i)
      if (gadget(at).join == JoinMode::in_order)
        check_in_order(at, inputs[0], inputs[i]);
      else
        check_sequence(at, inputs[0], inputs[i]);
  }

  void check_in_order(std::size_t at, const JoinInput& a, const JoinInput& b) {
    const std::string remedy = "write join: sequence, or join: in_order where that is meant";
    if (a.stream.same_root(b.stream)) {
      if (a.stream.rate != b.stream.rate)
        errors_.add(b.where,
                    fmt::format("{}: '{}' gets {} messages while '{}' gets {}: one edge fills while the other "
                                "is empty, and all stops; write join: sequence, or join as many of each",
                                label(at), input_name(at, b), b.stream.rate, input_name(at, a), a.stream.rate));
      else if ((a.stream.is_shuffled || b.stream.is_shuffled) && !is_join_given(at))
        warnings_.add(b.where, fmt::format("{}: merged messages come in any order, so '{}' and '{}' may not match: {}",
                                           label(at), input_name(at, a), input_name(at, b), remedy));
      return;
    }
    const auto fork = common_fork(a.stream.gadget, b.stream.gadget);
    if (!fork || is_join_given(at)) return;
    const std::size_t culprit = ancestors_[b.stream.gadget][a.stream.gadget] ? b.stream.gadget : a.stream.gadget;
    const std::string words =
        culprit == *fork && a.stream.gadget == b.stream.gadget
            ? fmt::format("{} need not give a message on each output at a time", described(culprit))
            : fmt::format("both come from '{}', but {} may give more or fewer messages than it takes",
                          gadget(*fork).name, described(culprit));
    warnings_.add(b.where, fmt::format("{}: '{}' and '{}' may pair wrong messages, or one fills and all stops: {}: {}",
                                       label(at), input_name(at, a), input_name(at, b), words, remedy));
  }

  // What a gadget gives at the end of the stream stems from no single message and finds no partner.
  void check_sequence(std::size_t at, const JoinInput& a, const JoinInput& b) {
    for (const auto& [input, partner] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      const std::size_t giver = input->stream.gadget;
      if (input->stream.same_root(partner->stream) || !gadget(giver).info->gives_at_end ||
          !common_fork(giver, partner->stream.gadget))
        continue;
      warnings_.add(input->where,
                    fmt::format("{}: what {} gives at the end of the stream has no partner in '{}' and is "
                                "discarded: read it without a join",
                                label(at), described(giver), input_name(at, *partner)));
    }
  }

  // The last gadget that both come from, at which their ways part.
  std::optional<std::size_t> common_fork(std::size_t a, std::size_t b) const {
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < gadgets_.size(); ++i)
      if (ancestors_[a][i] && ancestors_[b][i] && (!last || ancestors_[i][*last])) last = i;
    return last;
  }

  // A gadget on a feedback cycle that swallows a message leaves the cycle without one.
  void check_cycle(const PipelineEdge& feedback) {
    for (std::size_t i = 0; i < gadgets_.size(); ++i)
      if (ancestors_[feedback.from][i] && ancestors_[i][feedback.to] && gadget(i).info->kind == GadgetKind::pure &&
          !gadget(i).info->one_to_one)
        warnings_.add(feedback.where,
                      fmt::format("{}: the cycle through {} stops for good when {} gives no message for one it takes: "
                                  "keep it off the cycle, or let it always give one",
                                  label(feedback.to), feedback.name, described(i)));
  }

  const std::vector<PipelineGadget>& gadgets_;
  const std::vector<PipelineEdge>& edges_;
  Problems& errors_;
  Problems& warnings_;
  std::vector<std::vector<bool>> ancestors_;  // of each gadget, itself among them, without feedback
  std::vector<std::vector<Stream>> outputs_;  // of each gadget's output ports
};

}  // namespace

void check_joins(const std::vector<PipelineGadget>& gadgets, const std::vector<PipelineEdge>& edges,
                 const std::vector<std::size_t>& order, Problems& errors, Problems& warnings) {
  JoinCheck(gadgets, edges, errors, warnings).check(order);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
