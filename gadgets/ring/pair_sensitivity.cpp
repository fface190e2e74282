// Sensitivities by pairs of detectors: see pair_sensitivity.hpp.
#include "gadgets/ring/pair_sensitivity.hpp"

#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_invoke.h>
#include <unistd.h>

#include "core/describe/describe_text.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/ring/io/sensitivity_cache.hpp"
#include "gadgets/ring/mu_maps.hpp"
#include "gadgets/ring/sensitivity_ranks.hpp"
#include "kernels/correct/isotopes.hpp"
#include "kernels/ring/sensitivity/sample_bias.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "kernels/types/recorded_lines.hpp"

namespace tofstream {
namespace {

// Without a home folder (services, containers) it lies in a folder where everybody may write, under a name for each
// user, so that users do not collide.
std::filesystem::path sensitivity_folder() {
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder && *folder)
    return std::filesystem::path(folder) / "tofstream" / "sensitivity";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::filesystem::path(home) / ".cache" / "tofstream" / "sensitivity";
  return std::filesystem::temp_directory_path() / fmt::format("tofstream-sensitivity-{}", ::geteuid());
}

SensitivitySettings sample_settings(const PairSensitivitySettings& p) {
  SensitivitySettings settings = default_sensitivity(p.backend);
  settings.exact_pairs = p.sampling.exact_pairs.value_or(settings.exact_pairs);
  settings.sampled_pairs = p.sampling.sampled_pairs.value_or(settings.sampled_pairs);
  if (p.sampling.error > 0) settings.error = p.sampling.error;
  return settings;
}

// The sum of a batch of lines comes in a message, for which a GPU would wait longer than it projects.
bool are_shared_by_processes(const ProjectorRanks& projectors, const Scanner& scanner) {
  return rank_group() && !(scanner.lines && projectors.first.backend() == Backend::cuda);
}

Sensitivity compute_or_load(const PairSensitivitySettings& p, const Scanner& scanner, const ProjectorRanks& projectors,
                            MuMaps mu, Context& context) {
  const SensitivitySettings settings = sample_settings(p);
  const auto compute = [&] {
    context.log().info("computing the sensitivity image");
    std::optional<Turn> turn(context.take_turn());
    std::optional<ProcessesAtSensitivity> processes;
    if (are_shared_by_processes(projectors, scanner))
      processes.emplace(*rank_group(), projectors.first.grid(), projectors.first.backend(), context);
    const ProjectorRanks ranks =
        processes ? ProjectorRanks(projectors.first, *processes, rank_group()->ranks()) : projectors;
    return compute_sensitivity(scanner, ranks, settings, mu, nullptr, [&](double done) {
      if (context.cancelled()) throw std::runtime_error("the run is being ended: the sensitivity is not computed");
      context.progress(done, 1, "of the sensitivity");
      turn.reset();  // others may project between two batches of pairs
      turn.emplace(context.take_turn());
    });
  };
  if (!p.sampling.cache) return compute();
  const std::string key = sensitivity_key(scanner, projectors.first.grid(), p.key, settings, mu);
  return SensitivityCache(sensitivity_folder()).get(key, compute, [&](const std::string& line) {
    context.log().warning(line);
  });
}

void warn_of_mu_energy(const std::filesystem::path& map, Context& context) {
  if (map.empty()) return;
  const std::string warning = other_mu_energy(map.string(), mu_map_energy_keV(map), annihilation_keV);
  if (!warning.empty()) context.log().warning(warning);
}

// Puts a sample's error into the image.
void report_sample(const Sensitivity& sampled, double error, Context& context) {
  context.report("sensitivity_error_asked", error);
  context.report("sensitivity_drawn", sampled.drawn);
  context.report("sensitivity_symmetries", std::int64_t{sampled.symmetries});
  std::string line =
      fmt::format("sensitivity from {}{} of {} detector pairs, relative error {:.2g} of a voxel",
                  sampled.is_lattice ? "an even choice of " : "", sampled.drawn, sampled.pairs, sampled.relative_error);
  if (sampled.symmetries > 1) line += fmt::format(", averaged over {} symmetries", sampled.symmetries);
  if (sampled.relative_error <= error) return context.log().info(line);
  const char* const more = sampled.is_lattice ? "choose more (sensitivity.exact_pairs and sampled_pairs: "
                                              : "draw more (sensitivity.sampled_pairs: ";
  context.log().warning(line + fmt::format(": not the {:.2g} that was asked for; {}{:.2g}), or take larger voxels",
                                           error, more,
                                           static_cast<double>(sampled.drawn) * sampled.relative_error *
                                               sampled.relative_error / (error * error)));
}

}  // namespace

std::string projector_key(const std::string& name, const std::vector<ParamInfo>& infos, const void* params) {
  return name + " " + flow_text(write_key_params(infos, params));
}

ListModeSensitivity pair_sensitivity(const PairSensitivitySettings& p, const Scanner& scanner,
                                     const ProjectorRanks& projectors, Context& context) {
  if (!(p.mu_map.empty() && p.hardware_mu_map.empty()) && scanner.lines && scanner.lines->has_attenuation())
    throw std::runtime_error(
        "mu_map: the data's file of lines has their attenuation, which would count twice: leave the map out");
  const ReadMuMaps mu = read_mu_maps(p.mu_map, p.hardware_mu_map, context.name());
  for (const auto& file : {p.mu_map, p.hardware_mu_map}) warn_of_mu_energy(file, context);
  if (mu.object)
    if (const std::string warning = incomplete_mu_map(p.mu_map.string(), *mu.object, scanner); !warning.empty())
      context.log().warning(warning);
  ListModeSensitivity result{.holds = {.attenuation = mu.by}};
  Sensitivity made = compute_or_load(p, scanner, projectors, mu.maps(), context);
  context.report("sensitivity_exact", made.exact);
  context.report("sensitivity_pairs", made.pairs);
  context.report("sensitivity_relative_error", made.relative_error);
  if (!made.exact) report_sample(made, sample_settings(p).error, context);
  result.image = std::move(made.image);
  result.random_lines = made.random_lines;
  if (made.noise.empty()) return result;
  const Memory memory = memory_of(p.backend);
  // Copied side by side, since a copy from memory that is not pinned keeps a core busy.
  SampleNoise there{.undrawn = made.noise.undrawn};
  tbb::parallel_invoke([&] { there.held_out = made.noise.held_out.to(memory); },
                       [&] { there.variance = made.noise.variance.to(memory); });
  synchronize(nullptr);
  const auto noise = std::make_shared<const SampleNoise>(std::move(there));
  result.correct = [noise](const Image& sensitivity, const Image& estimate, Image& back_projection) {
    remove_sample_bias(*noise, sensitivity, estimate, back_projection);
  };
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
