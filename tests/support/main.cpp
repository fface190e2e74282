// The main function of every test program.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cstdio>
#include <string>

#include <doctest/doctest.h>

#include "skip.hpp"  // beside this file, which plug-ins of other trees use too

namespace {

// Says at the end of a test case that it was skipped, and why: ctest and tools/gpu_tests read that.
struct SkipListener : doctest::IReporter {
  explicit SkipListener(const doctest::ContextOptions& /*options*/) {}
  void test_case_start(const doctest::TestCaseData& test) override {
    name = test.m_name;
    tofstream::lacking().clear();
    tofstream::uses_gpu() = false;
  }
  void test_case_end(const doctest::CurrentTestCaseStats& test) override {
    on_gpu += tofstream::uses_gpu() ? 1 : 0;
    if (tofstream::lacking().empty() || test.failure_flags != 0) return;
    std::printf("skipped: no %s: %s\n", tofstream::lacking().c_str(), name.c_str());
    std::fflush(stdout);
  }
  void report_query(const doctest::QueryData& /*data*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& /*stats*/) override {
    if (on_gpu > 0) std::printf("used a GPU: %d test cases\n", on_gpu);
  }
  void test_case_reenter(const doctest::TestCaseData& /*test*/) override {}
  void test_case_exception(const doctest::TestCaseException& /*exception*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*subcase*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*assertion*/) override {}
  void log_message(const doctest::MessageData& /*message*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*test*/) override {}

  std::string name;
  int on_gpu = 0;
};
REGISTER_LISTENER("skipped", 1, SkipListener);

}  // namespace

#ifdef TOFSTREAM_SANITIZE_ADDRESS
// fontconfig keeps what it has read about fonts until the program ends.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfontconfig\nleak:libopenjp2";
}
#endif

#ifdef TOFSTREAM_SANITIZE_THREAD
// oneTBB passes memory between threads in ways that ThreadSanitizer does not see, since that library is not built for
// it. Writes of such libraries by memset and the like are not checked; all of our own code is.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "ignore_noninstrumented_modules=1";
}
#endif
// SPDX-License-Identifier: Apache-2.0
