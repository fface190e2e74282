// One run of several processes: see rank_command.hpp.
#include "tools/command/rank_command.hpp"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/log.hpp"
#include "core/base/version.hpp"
#include "core/describe/describe_text.hpp"
#include "gadgets/ranks/rank_group.hpp"
#include "kernels/collective/mpi.hpp"
#include "kernels/collective/nccl.hpp"
#include "tools/command/errors.hpp"
#include "tools/command/group_command.hpp"
#include "tools/command/group_worker.hpp"
#include "tools/command/key_options.hpp"
#include "tools/command/rank_worker.hpp"

namespace tofstream::command {

namespace {

// What must be alike in all processes, beside the pipeline.
std::string program_in_words() {
  std::string words = fmt::format("tofstream {} ({})", version(), commit());
  for (const GadgetInfo* gadget : registry().all())
    if (!gadget->origin.empty()) words += fmt::format(", plug-in gadget {}", gadget->name);
  return words;
}

std::optional<ImageRoute> image_route(const std::string& name) {
  if (name == "auto") return ImageRoute::automatic;
  if (name == "nccl") return ImageRoute::nccl;
  if (name == "mpi") return ImageRoute::mpi;
  if (name == "messages") return ImageRoute::messages;
  return {};
}

// Why this process and the others cannot exchange by MPI: whoever starts processes for MPI tells them so in a way of
// its own, and one that does not would end them.
std::string why_not_mpi(const JoinedPlace& joined, ImageRoute route) {
  const bool is_by_hand = joined.by == "--rank", is_by_slurm = joined.by == "srun";
  if (is_by_hand) return "it was started by hand (--rank), and MPI knows only processes that its mpirun starts";
  if (route != ImageRoute::automatic && route != ImageRoute::mpi) return "it was not asked for";
  if (is_by_slurm && route == ImageRoute::automatic)
    return "srun starts processes of MPI where it is told to (--mpi=pmix): then write --rank-images mpi";
  if (const std::string none = why_no_mpi(); !none.empty()) return none;
  const bool is_open_mpi = mpi_library().starts_with("Open MPI"), starts_open_mpi = joined.by == "mpirun (Open MPI)";
  if (is_by_slurm || is_open_mpi == starts_open_mpi) return "";
  return fmt::format("{} has started it, and this tofstream was built with {}: build it with the same MPI", joined.by,
                     mpi_library());
}

RankIdentity own_identity(const RankOptions& options, const JoinedPlace& joined, const Pipeline& pipeline) {
  std::string text = flow_text(pipeline.resolved);
  // A group may still be given a part of the GPUs, and exchanges no images.
  if (groups_of(pipeline) > 1) return identity_before_cuda(joined.place, program_in_words(), std::move(text));
  RankIdentity own = identity_of(joined.place, program_in_words(), std::move(text));
  own.no_mpi = why_not_mpi(joined, *image_route(options.images));
  if (own.no_mpi.empty()) own.mpi = mpi_library();
  return own;
}

std::chrono::milliseconds patience_of(const RankOptions& options) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * options.timeout_s));
}

std::unique_ptr<RankGroup> meet_others(const RankOptions& options, const JoinedPlace& joined, const Pipeline& pipeline,
                                       GroupProcesses* started) {
  const bool has_groups = groups_of(pipeline) > 1;
  std::string ended;
  try {
    return std::make_unique<RankGroup>(
        RankGroup::Settings{.own = own_identity(options, joined, pipeline),
                            .endpoint = joined.endpoint,
                            .keys = keys_of(options.join.keys, true),
                            .patience = patience_of(options),
                            .images = has_groups ? ImageRoute::automatic : *image_route(options.images),
                            .warn = [](std::string_view text) { program_log().warn("{}", text); },
                            .is_interrupted = [&] { return started && !(ended = started->how_one_ended()).empty(); },
                            .each = has_groups ? "group" : "rank"});
  } catch (const std::exception& error) {
    throw InputError(ended.empty() ? error.what() : fmt::format("groups: cannot be started: {}", ended));
  }
}

// Whether so many processes, which are all there, can be the groups of a pipeline, or the ranks.
void require_right_number(const RankOptions& options, const JoinedPlace& joined, const Pipeline& pipeline) {
  constexpr int most_ranks = 64;  // as the parameter `ranks`
  const int groups = groups_of(pipeline), there = joined.place.ranks;
  if (groups == 1 && there > most_ranks)
    throw InputError(
        fmt::format("{} ranks are more than the {} that can share an image: start fewer", there, most_ranks));
  if (groups == 1) return;
  if (there != groups + 1)
    throw InputError(
        fmt::format("groups: {0} groups and the first process, which collects their images, are {1} "
                    "processes, and {2} were started: start {1} (mpirun -n {1}, srun -n {1}, --rank 0/{1})",
                    groups, groups + 1, there));
  if (options.images != "auto")
    throw InputError(fmt::format("--rank-images {}: groups have images of their own, and exchange none: leave it out",
                                 options.images));
  require_shareable(pipeline);
}

void run_first(const RankOptions& options, const JoinedPlace& joined, Pipeline pipeline, GroupProcesses* started,
               const std::function<void(Pipeline, const OtherProcesses&)>& run) {
  const std::unique_ptr<RankGroup> group = meet_others(options, joined, pipeline, started);
  const std::jthread watch = started ? started->watch(*group) : std::jthread();
  std::optional<RankGroupInUse> used;
  if (groups_of(pipeline) == 1) used.emplace(*group);
  try {
    require_right_number(options, joined, pipeline);
    run(std::move(pipeline), {group.get(), started});
    end_mpi(true);
  } catch (const InputError&) {
    group->end(2);
    end_mpi(false);
    throw;
  } catch (...) {
    end_mpi(false);
    throw;
  }
}

// Without other processes, but for groups, which it starts.
void run_alone(const RankOptions& options, Pipeline pipeline,
               const std::function<void(Pipeline, const OtherProcesses&)>& run) {
  const int groups = groups_of(pipeline);
  if (groups == 1) return run(std::move(pipeline), {});
  const JoinedPlace first{{0, groups + 1}, from_input([] { return endpoint_of_own_processes(); }), "tofstream"};
  require_right_number(options, first, pipeline);
  GroupProcesses started(groups, first.endpoint);
  run_first(options, first, std::move(pipeline), &started, run);
}

// What is wrong with it, the first rank says.
int run_other(const RankOptions& options, const JoinedPlace& joined,
              const std::function<Pipeline(bool is_first)>& load) {
  Pipeline pipeline;
  std::string problem;
  try {
    pipeline = load(false);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  WorkerSettings settings{.own = own_identity(options, joined, pipeline),
                          .endpoint = joined.endpoint,
                          .keys = keys_of(options.join.keys, false),
                          .patience = patience_of(options),
                          .pipeline = pipeline};
  settings.own.problem = problem;
  return groups_of(pipeline) > 1 ? work_as_group(settings, joined.by == "tofstream") : work_as_rank(settings);
}

}  // namespace

void add_rank_options(Command& command, RankOptions& options) {
  command.add_option("--join", options.join.join,
                     "One run of several processes, on one host or several: where they meet, HOST:PORT of the first. "
                     "mpirun and srun mostly say it themselves; none: this process is alone, whatever they say");
  command.add_option("--rank", options.join.rank,
                     "Which of them this is, such as 1/3 (0, the first, writes the results)");
  command.add_option("--join-timeout", options.timeout_s, "How long they wait for each other, in s (default: 30)")
      .shows_default("30");
  command
      .add_option("--rank-images", options.images,
                  "How images get from one process to another: nccl, between GPUs by NVIDIA's NCCL; mpi, between "
                  "processes on CPUs that mpirun has started (the connections of both are neither encrypted nor "
                  "authenticated); messages, through the hosts and the first process; auto: nccl or mpi where all are "
                  "on one host and have it (default: auto)")
      .shows_default("auto")
      .suggests({"auto", "nccl", "mpi", "messages"});
  add_key_options(command, options.join.keys, true, true);
}

void run_on_ranks(const RankOptions& options, const std::function<Pipeline(bool is_first)>& load,
                  const std::function<void(Pipeline, const OtherProcesses&)>& run) {
  if (!(options.timeout_s > 0 && options.timeout_s < 1e6)) throw InputError("--join-timeout must be some seconds");
  std::optional<JoinedPlace> joined = take_group_place();
  try {
    if (!joined) joined = joined_place(options.join, [](const char* name) -> const char* { return std::getenv(name); });
  } catch (const WrongPlace& wrong) {
    if (!wrong.is_first) throw ExitWith{2};
    throw InputError(wrong.what());
  }
  if (!image_route(options.images)) {
    if (joined && joined->place.rank > 0) throw ExitWith{2};  // the first says why
    throw InputError(fmt::format("--rank-images {}: write auto, nccl, mpi or messages", options.images));
  }
  if (!joined) return run_alone(options, load(true), run);
  // By NCCL too they then meet where no other host can come. Before there are threads, which might read the environment.
  if (meets_on_this_host(*joined)) ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  if (joined->place.ranks == 1) return run_alone(options, load(true), run);
  if (joined->place.rank == 0) return run_first(options, *joined, load(true), nullptr, run);
  if (const int code = run_other(options, *joined, load); code != 0) throw ExitWith{code};
}

std::string collectives_in_words() {
  const auto found = [](const std::string& library, const std::string& why_none) {
    return why_none.empty() ? library : fmt::format("none ({})", why_none);
  };
  return fmt::format("between ranks: NCCL: {}; MPI: {}", found(nccl_version_text(nccl_version()), why_no_nccl()),
                     found(mpi_library(), why_no_mpi()));
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
