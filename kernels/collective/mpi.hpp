// MPI between processes on CPUs that its launcher has started: numbers go by shared memory on one host, and by what the
// network has between hosts. The program is not linked to it: a library of ours is (mpi_functions.hpp), which is opened
// when it is first asked for, and need not be there.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "kernels/collective/rank_transport.hpp"

namespace tofstream {

/// Empty where MPI can be opened; otherwise why not and what to install, in one line.
std::string why_no_mpi();
/// As it calls itself: "Open MPI v4.1.4". Empty where there is none.
std::string mpi_library();

/// Joins all processes that the launcher has started, which must call it too; the second call of a process does
/// nothing. Throws std::runtime_error where there is no MPI, where it counts other ranks, or where it does not come
/// back in time.
void begin_mpi(int rank, int ranks, std::chrono::seconds patience = std::chrono::seconds(60));
/// Where MPI has begun: leaves it, in a run that ends well, for which all must call it (5 s at most); otherwise asks no
/// more of it, since others may be lost. The process is to end then.
void end_mpi(bool ends_well);

/// Between the processes of begin_mpi(), in host memory. `tag` tells the parcels of several transports from each other;
/// all ranks use these in one order. What is queued is done by a thread of its own, 4 MiB at a time. Where wait()
/// throws, or the transport ends before what was queued is done, MPI is not used any more in this process.
std::unique_ptr<RankTransport> make_mpi_transport(int tag, int rank, int ranks);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
