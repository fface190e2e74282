// Places of processes: see launcher.hpp.
#include "gadgets/ranks/launcher.hpp"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/private_folder.hpp"
#include "gadgets/io/wire/loopback.hpp"

namespace tofstream {

namespace {

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

/// What a launcher calls its numbers.
struct Launcher {
  const char *by, *rank, *ranks, *ranks_here, *job;
};

constexpr Launcher launchers[] = {
    {"mpirun (Open MPI)", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
     "PMIX_NAMESPACE"},
    {"mpirun (PMI)", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", ""},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "", "SLURM_JOB_ID"},
};

constexpr int most_processes = 65;  // as many groups as there may be, and who collects

RankPlace checked(int rank, int ranks, const std::string& where) {
  if (ranks < 1 || rank < 0 || rank >= ranks)
    throw WrongPlace(fmt::format("{}: there is no rank {} of {}: ranks count from 0", where, rank, ranks), rank <= 0);
  if (ranks > most_processes)
    throw WrongPlace(
        fmt::format("{}: {} processes are more than the {} of which a run may consist", where, ranks, most_processes),
        rank == 0);
  return {rank, ranks};
}

RankPlace place_by_hand(const std::string& text) {
  const auto slash = text.find('/');
  const auto rank = number_in(text.substr(0, slash));
  const auto ranks = slash == std::string::npos ? std::nullopt : number_in(text.substr(slash + 1));
  if (!rank || !ranks)
    throw WrongPlace(fmt::format("--rank {}: write --rank 1/3 for rank 1 of 0, 1 and 2", text), true);
  return checked(*rank, *ranks, "--rank " + text);
}

std::string value_of(const Environment& environment, const char* name) {
  const char* value = *name ? environment(name) : nullptr;
  return value ? value : "";
}

std::optional<RankPlace> place_of(const Launcher& launcher, const Environment& environment) {
  const std::string rank = value_of(environment, launcher.rank), ranks = value_of(environment, launcher.ranks);
  // Slurm gives a batch script a rank too, which is no step of several tasks.
  if (ranks.empty() || (rank.empty() && std::string_view(launcher.by) == "srun")) return {};
  const auto is_first = [&] { return number_in(rank).value_or(0) <= 0; };
  if (rank.empty() || !number_in(rank) || !number_in(ranks))
    throw WrongPlace(fmt::format("the environment of {} contradicts itself: {} is '{}' and {} is '{}' (--join none "
                                 "leaves it unread)",
                                 launcher.by, launcher.rank, rank, launcher.ranks, ranks),
                     is_first());
  return checked(
      *number_in(rank), *number_in(ranks),
      fmt::format("{} and {} contradict each other (--join none leaves them unread)", launcher.rank, launcher.ranks));
}

/// The end of "HOST:PORT" or "PORT" as ZeroMQ has it.
std::string endpoint_of(const std::string& join, bool is_first) {
  const auto colon = join.rfind(':');
  const std::string host = colon == std::string::npos ? "127.0.0.1" : join.substr(0, colon);
  const std::string port = colon == std::string::npos ? join : join.substr(colon + 1);
  const auto number = number_in(port);
  if (host.empty() || !number || *number < 1 || *number > 65535)
    throw WrongPlace(fmt::format("--join {}: write HOST:PORT of the first rank", join), is_first);
  // The first listens on all addresses of its host, unless it is to be reached from this host alone.
  return fmt::format("tcp://{}:{}", is_first && !is_loopback(host) ? "*" : host, *number);
}

/// A socket in a folder that is the user's alone, by the job's name.
std::string endpoint_on_this_host(const std::string& job) {
  const char* run = std::getenv("XDG_RUNTIME_DIR");
  const auto folder = (run && *run && std::filesystem::is_directory(run) ? std::filesystem::path(run)
                                                                         : std::filesystem::temp_directory_path()) /
                      fmt::format("tofstream-ranks-{}", ::geteuid());
  make_private_folder(folder);
  if (const std::string why = why_not_ours(folder); !why.empty())
    throw WrongPlace(fmt::format("{}, where ranks of this host are to meet, {}: remove it, or write --join PORT",
                                 folder.string(), why),
                     true);
  std::uint64_t sum = 14695981039346656037u;  // FNV-1a: a path of a socket must be short
  for (const char c : job) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("ipc://{}", (folder / fmt::format("{:016x}", sum)).string());
}

std::string endpoint_of_slurm(const RankPlace& place, const Environment& environment) {
  const std::string job = value_of(environment, "SLURM_JOB_ID"), step = value_of(environment, "SLURM_STEP_ID");
  if (value_of(environment, "SLURM_STEP_NUM_NODES") == "1") return endpoint_on_this_host("slurm " + job + "." + step);
  const std::string host = first_host(value_of(environment, "SLURM_STEP_NODELIST"));
  if (host.empty())
    throw WrongPlace(
        "SLURM_STEP_NODELIST does not name the hosts of this step: write --join HOST:PORT, with a host "
        "that rank 0 runs on",
        place.rank == 0);
  // Steps of one job differ, and so do most jobs of one host.
  constexpr int first_port = 20'000, ports = 10'000;
  const int port = first_port + (number_in(job).value_or(0) * 7 + number_in(step).value_or(0)) % ports;
  return endpoint_of(fmt::format("{}:{}", host, port), place.rank == 0);
}

std::string endpoint_of(const Launcher& launcher, const RankPlace& place, const Environment& environment) {
  if (std::string_view(launcher.by) == "srun") return endpoint_of_slurm(place, environment);
  const std::string here = value_of(environment, launcher.ranks_here);
  // srun with PMI says both.
  if (number_in(here) != place.ranks && number_in(value_of(environment, "SLURM_STEP_NUM_TASKS")) == place.ranks)
    return endpoint_of_slurm(place, environment);
  if (number_in(here) != place.ranks)
    throw WrongPlace(fmt::format("{} does not say where the first rank of several hosts is ({} is '{}', of {} ranks): "
                                 "write --join HOST:PORT, with a host that rank 0 runs on",
                                 launcher.by, launcher.ranks_here, here, place.ranks),
                     place.rank == 0);
  const std::string job = value_of(environment, launcher.job);
  return endpoint_on_this_host(job.empty() ? fmt::format("started by {}", ::getppid()) : job);
}

}  // namespace

std::string endpoint_of_own_processes() {
  return endpoint_on_this_host(fmt::format("processes of {}", ::getpid()));
}

bool meets_on_this_host(const JoinedPlace& joined) {
  constexpr std::string_view tcp = "tcp://";
  if (!joined.endpoint.starts_with(tcp)) return true;  // a socket in a folder
  const auto colon = joined.endpoint.rfind(':');
  return is_loopback(joined.endpoint.substr(tcp.size(), colon - tcp.size()));
}

std::string first_host(const std::string& list) {
  const auto open = list.find('['), comma = list.find(',');
  if (open == std::string::npos || comma < open) return list.substr(0, comma);
  const auto close = list.find(']', open);
  if (close == std::string::npos) return "";
  const auto number_end = list.find_first_of(",-]", open + 1);
  const auto after = list.substr(close + 1);
  const std::string number = list.substr(open + 1, number_end - open - 1), suffix = after.substr(0, after.find(','));
  if (number.empty() || suffix.find('[') != std::string::npos) return "";
  return list.substr(0, open) + number + suffix;
}

std::optional<JoinedPlace> joined_place(const JoinOptions& options, const Environment& environment) {
  if (options.join == "none") {
    if (!options.rank.empty()) throw WrongPlace("--join none and --rank contradict each other", true);
    return {};
  }
  if (!options.rank.empty()) {
    const RankPlace place = place_by_hand(options.rank);
    if (options.join.empty())
      throw WrongPlace(fmt::format("--rank {} needs --join HOST:PORT, where the ranks meet", options.rank), true);
    return JoinedPlace{place, endpoint_of(options.join, place.rank == 0), "--rank"};
  }
  for (const Launcher& launcher : launchers) {
    const auto place = place_of(launcher, environment);
    if (!place) continue;
    if (place->ranks == 1) return {};
    return JoinedPlace{
        *place,
        options.join.empty() ? endpoint_of(launcher, *place, environment) : endpoint_of(options.join, place->rank == 0),
        launcher.by};
  }
  if (!options.join.empty())
    throw WrongPlace("--join needs --rank i/n, since no launcher (mpirun, srun) says which rank this is", true);
  return {};
}

KeyParams keys_of(const KeyParams& all, bool is_first) {
  if (!all.any()) return {};
  if (is_first) return {.own = all.own, .server = {}, .allowed = all.allowed};
  return {.own = all.own, .server = all.server, .allowed = {}};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
