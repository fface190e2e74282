// A registered gadget made from YAML parameters and called directly, with no graph: its messages are collected by type.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/document.hpp"
#include "core/gadget.hpp"
#include "core/testing.hpp"

namespace tofstream {

class GadgetUnderTest : private detail::Collector {
 public:
  /// Throws std::runtime_error with the first problem of the parameters.
  explicit GadgetUnderTest(const std::string& name, const std::string& yaml = "{}",
                           std::filesystem::path output_dir = ".")
      : context("gadget", std::move(output_dir)) {
    const GadgetInfo* info = registry().find(name);
    if (!info) throw std::runtime_error("no gadget " + name);
    Problems problems;
    params_ = info->default_params();
    read_params(info->params, params_.get(), parse_document(yaml, "test", problems), name, problems);
    if (!problems.empty()) throw std::runtime_error(problems.all().front().text());
    gadget_ = info->specialise ? info->specialise(params_.get()).construct(params_, context)
                               : info->construct(params_, context);
  }

  void start() { gadget_->start(*this, context, params_.get()); }
  void flush() { gadget_->flush(*this, context, params_.get()); }
  void run() { gadget_->run(*this, {}, context, params_.get()); }
  /// Hands over one message by value, as the engine does to the only reader.
  template <class T>
  void process(T payload) {
    Payload message = Payload::of(std::move(payload));
    gadget_->process({&message, 1}, *this, context, params_.get());
  }
  /// One message for each of several inputs.
  template <class... T>
  void process_all(std::shared_ptr<const T>... payloads) {
    std::vector<Payload> messages{Payload{std::move(payloads), false}...};
    gadget_->process(messages, *this, context, params_.get());
  }

  /// All messages emitted so far; T must be the gadget's output.
  template <class T>
  std::vector<std::shared_ptr<const T>> emitted() const {
    std::vector<std::shared_ptr<const T>> all;
    for (const auto& [port, payload] : collected_) all.push_back(std::static_pointer_cast<const T>(payload.data));
    return all;
  }

  TestContext context;

 private:
  std::shared_ptr<void> params_;
  std::unique_ptr<GadgetInstance> gadget_;
};

}  // namespace tofstream
