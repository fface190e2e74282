// The main function of every test program.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#ifdef __SANITIZE_ADDRESS__
// fontconfig keeps what it has read of the fonts until the program ends.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfontconfig";
}
#endif

#ifdef __SANITIZE_THREAD__
// oneTBB gives memory from one thread to another by means that ThreadSanitizer does not see: that library is not built
// for it. What such libraries write by memset and the like is not looked at; all that is ours is.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "ignore_noninstrumented_modules=1";
}
#endif
