// The library that is linked to MPI: see kernels/collective/mpi_functions.hpp.
#include "kernels/collective/mpi_functions.hpp"

#include <cstring>
#include <string>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace {

MPI_Request* request_in(void* request) {
  return static_cast<MPI_Request*>(request);
}

const char* library() {
  static const std::string name = [] {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string all(text, static_cast<std::size_t>(length));
    return all.substr(0, all.find_first_of("\n,"));
  }();
  return name.c_str();
}

// Errors are returned, where MPI would end the process.
int begin(int* rank, int* ranks) {
  int given = 0;
  if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given); error != MPI_SUCCESS)
    return error;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  return MPI_Comm_size(MPI_COMM_WORLD, ranks);
}

int broadcast(float* values, int count, void* request) {
  return MPI_Ibcast(values, count, MPI_FLOAT, 0, MPI_COMM_WORLD, request_in(request));
}
int send(const float* values, int count, int to, int tag, void* request) {
  return MPI_Isend(values, count, MPI_FLOAT, to, tag, MPI_COMM_WORLD, request_in(request));
}
int receive(float* values, int count, int from, int tag, void* request) {
  return MPI_Irecv(values, count, MPI_FLOAT, from, tag, MPI_COMM_WORLD, request_in(request));
}
int test(void* request, int* is_done) {
  return MPI_Test(request_in(request), is_done, MPI_STATUS_IGNORE);
}
int end() {
  return MPI_Finalize();
}
void error_text(int error, char* text, int room) {
  char words[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(error, words, &length);
  std::strncpy(text, words, static_cast<std::size_t>(room) - 1);
  text[room - 1] = '\0';
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const tofstream::MpiFunctions* tofstream_mpi_functions() {
  static const tofstream::MpiFunctions functions = {.request_bytes = sizeof(MPI_Request),
                                                    .library = library,
                                                    .begin = begin,
                                                    .broadcast = broadcast,
                                                    .send = send,
                                                    .receive = receive,
                                                    .test = test,
                                                    .end = end,
                                                    .error_text = error_text};
  return &functions;
}
// SPDX-License-Identifier: Apache-2.0
