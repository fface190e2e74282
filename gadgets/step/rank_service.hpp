// The other end of remote_rank.hpp: what a process that is not the first does for one gadget of a run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/pipeline/pipeline.hpp"
#include "gadgets/ranks/rank_socket.hpp"

namespace tofstream {

class RankService {
 public:
  virtual ~RankService() = default;
  /// A table, a batch, terms, or numbers that come no more. Throws std::runtime_error for what makes no sense.
  virtual void take(const RankMessage& message) = 0;
  /// Once the first rank knows that all is ready: joins the other ranks.
  virtual void join() = 0;
  /// The answer to a pass, or to another message that asks for one. Throws what a projector throws.
  virtual std::vector<wire::PackedPiece> project(const RankMessage& pass) = 0;
  /// Once the answer is sent: gives the sums, where they do not go in the answer.
  virtual void give_sums() = 0;
  /// Where it projects, in words.
  virtual const std::string& device() const = 0;
};

/// Whether a message begins a rank's work for a gadget.
bool opens_rank_service(RankMessageKind kind);

/// A rank's work for the gadget that such a message names, which the pipeline has with the same parameters. `open`:
/// makes its projector on the thread's current device, and meets the gadget's fault where that is this rank's. Other
/// kinds: what a RankServiceRegistration says. `progressed`: called after each batch that is projected. Throws
/// std::runtime_error and what a projector's maker throws.
std::unique_ptr<RankService> open_rank_service(
    const RankMessage& open, const Pipeline& pipeline, std::function<void()> progressed = [] {});

/// What a family of scanners lets ranks do beside projecting; once for a kind, at namespace scope of a source file.
struct RankServiceRegistration {
  using Open = std::unique_ptr<RankService> (*)(const RankMessage& open, const Pipeline& pipeline);
  RankServiceRegistration(RankMessageKind opens, Open open);
};

/// The gadget of that name. Throws std::runtime_error where there is none.
const PipelineGadget& gadget_for_ranks(const Pipeline& pipeline, const std::string& name);
/// A projector's own parameters, of those of its gadget: `params`, the defaults, with these.
std::shared_ptr<void> projector_params(const std::vector<ParamInfo>& infos, std::shared_ptr<void> params,
                                       const PipelineGadget& gadget);
struct RankOpening;  // remote_rank.hpp
/// What an opening says, where it makes sense. Throws std::runtime_error or std::invalid_argument.
RankOpening checked(const RankOpening& opening);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
