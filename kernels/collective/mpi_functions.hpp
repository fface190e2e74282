// What tofstream asks of MPI, as a table of functions: our library libtofstream_mpi.so, which is linked to one
// machine's MPI (tools/mpi), gives it to the program, which is linked to none (mpi.hpp).
#pragma once

#include <cstdint>

namespace tofstream {

inline constexpr int mpi_functions_version = 1;
inline constexpr const char* mpi_functions_name = "tofstream_mpi_functions";

/// Functions return MPI's error codes, 0 where all went well. One thread calls all of them, the texts aside. A request
/// lies in `request_bytes` of the caller's, who may move them.
struct MpiFunctions {
  int version = mpi_functions_version;
  std::uint64_t request_bytes = 0;
  /// As MPI calls itself, of one line; also before begin().
  const char* (*library)() = nullptr;
  /// Joins all processes that one launcher has started.
  int (*begin)(int* rank, int* ranks) = nullptr;
  /// Sends floats from rank 0 to all others. In one order on all ranks.
  int (*broadcast)(float* values, int count, void* request) = nullptr;
  int (*send)(const float* values, int count, int to, int tag, void* request) = nullptr;
  int (*receive)(float* values, int count, int from, int tag, void* request) = nullptr;
  /// Whether a request is done. MPI gets further in such calls alone.
  int (*test)(void* request, int* is_done) = nullptr;
  /// Waits for all others to call it.
  int (*end)() = nullptr;
  /// An error code in words.
  void (*error_text)(int error, char* text, int room) = nullptr;
};

using MpiFunctionsOf = const MpiFunctions* (*)();  // of mpi_functions_name

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
