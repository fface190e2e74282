// Threads that take no signals: a signal that any thread of the program takes by default ends it, whoever else watches.
#pragma once

#include <csignal>

namespace tofstream {

/// Threads that the calling one makes meanwhile, also by a library, leave signals to others: who watches for an interrupt
/// may begin later.
class SignalsElsewhere {
 public:
  SignalsElsewhere() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsElsewhere() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsElsewhere(const SignalsElsewhere&) = delete;
  SignalsElsewhere& operator=(const SignalsElsewhere&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
