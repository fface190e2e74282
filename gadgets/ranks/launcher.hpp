// Which rank of how many processes this one is, and where they meet: by hand (--join, --rank), or from the environment
// of the program that started them all.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "gadgets/ranks/rank_group.hpp"
#include "gadgets/wire/socket_guard.hpp"

namespace tofstream {

/// What a user says of it.
struct JoinOptions {
  std::string
      join;  // HOST:PORT, PORT of this host, "none": whatever started this process, it is alone; empty: see below
  std::string rank;     // "1/3"; empty: the launcher says it
  KeyParams keys = {};  // of all ranks: each takes what its end needs
};

/// A process among several.
struct JoinedPlace {
  RankPlace place;
  std::string endpoint;  // that the first binds and the others connect to
  std::string by;        // who started it: "mpirun (Open MPI)", "--rank", "tofstream"
};

/// Where this process meets those that it starts itself: a socket in a folder of the user's. Throws WrongPlace.
std::string endpoint_of_own_processes();

/// Whether they meet where no other host can come.
bool meets_on_this_host(const JoinedPlace& joined);

/// Wrong options, or an environment that contradicts itself. `is_first`: this process is to say it; others are silent.
struct WrongPlace : std::runtime_error {
  WrongPlace(const std::string& what, bool is_first) : std::runtime_error(what), is_first(is_first) {}
  bool is_first;
};

/// The value of a variable of the environment; null where there is none.
using Environment = std::function<const char*(const char* name)>;

/// None for a process that is alone. Reads the variables of Open MPI (OMPI_COMM_WORLD_*), of MPICH and others with PMI
/// (PMI_RANK, PMI_SIZE), and of Slurm's srun (SLURM_PROCID, SLURM_STEP_NUM_TASKS), in this order. Ranks of one host meet
/// at a socket in a folder of the user's, of several in Slurm at the first host of the step; otherwise --join says where.
/// Throws WrongPlace.
std::optional<JoinedPlace> joined_place(const JoinOptions& options, const Environment& environment);

/// The first of Slurm's list of hosts: "gpu[003-005,9],login1" begins with gpu003. Empty where there is none.
std::string first_host(const std::string& list);

/// The keys of one end, of those that are given for all: the first rank binds, others connect.
KeyParams keys_of(const KeyParams& all, bool is_first);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
