// The examples of the doors do what they say, and Python's own tests pass.
#include <cstdlib>
#include <fstream>

#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"
#include "tests/support/python.hpp"
#include "tests/support/sanitizer.hpp"

using namespace tofstream;

namespace {

const std::filesystem::path root = std::filesystem::current_path();

std::string library_folder() {
  return (program().parent_path().parent_path() / "lib").string();
}

// `script` may be followed by its arguments.
CommandResult python(const std::string& script) {
  const std::string library = library_folder() + "/libtofstream.so.0";
  return run_line("PYTHONPATH=" + (root / "tools/python").string() + "${PYTHONPATH:+:$PYTHONPATH} TOFSTREAM_LIBRARY=" +
                  library + " " + python_with_numpy() + " " + (root / script).string());
}

// True where there is no Python with NumPy or no sources; the test must then return.
// A sanitized library cannot be loaded into a program that is not.
bool skip_sanitized() {
  if (!runs_under_address_sanitizer() && !runs_under_thread_sanitizer()) return false;
  skip_test("library here that is not sanitized");
  return true;
}

bool skip_python() {
  if (skip_sanitized() || skip_without_numpy()) return true;
  if (std::filesystem::exists(root / "tools/python")) return false;
  skip_test("sources beside the tests", "");
  return true;
}

// True without these modules; TOFSTREAM_REQUIRE_PYTHON_MODULES=1 makes that a failure.
bool skip_without_modules(const std::string& modules) {
  if (std::system((python_with_numpy() + " -c 'import " + modules + "' >/dev/null 2>&1").c_str()) == 0) return false;
  skip_test(modules + " for Python", "TOFSTREAM_REQUIRE_PYTHON_MODULES");
  return true;
}

void check_passes(const std::string& script) {
  const auto ran = python(script);
  CHECK_MESSAGE(ran.code == 0, ran.out, ran.err);
  CHECK_MESSAGE(ran.out.find("all passed") != std::string::npos, ran.out);
}

// The number behind `words` in a text.
double number_after(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  REQUIRE_MESSAGE(at != std::string::npos, words, " is not in ", text);
  return std::stod(text.substr(at + words.size()));
}

constexpr const char* found = "in the ball 9";  // more than nine tenths of 1000

}  // namespace

TEST_CASE("the example in C compiles as C99 and finds its ball") {
  if (skip_sanitized()) return;
  if (std::system("cc --version >/dev/null 2>&1") != 0) return skip_test("C compiler", "TOFSTREAM_REQUIRE_COMPILER");
  if (!std::filesystem::exists(root / "tools/c/tofstream.h")) return skip_test("sources beside the tests", "");
  const TemporaryFolder folder;
  const std::string lib = library_folder();
  const auto compiled = run_line("cc -std=c99 -Wall -Wextra -Werror -pedantic -I" + (root / "tools/c").string() + " " +
                                 (root / "share/examples/c/mlem.c").string() + " -o " + (folder / "mlem").string() +
                                 " -L" + lib + " -ltofstream -Wl,-rpath," + lib + " -lm");
  REQUIRE_MESSAGE(compiled.code == 0, compiled.err);
  const auto ran = run_line((folder / "mlem").string());
  CHECK(ran.code == 0);
  CHECK_MESSAGE(ran.out.starts_with(found), ran.out);
}

TEST_CASE("the example in Python finds its ball, with the numbers of the one in C") {
  if (skip_python()) return;
  const auto ran = python("share/examples/python/mlem.py");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK_MESSAGE(ran.out.starts_with(found), ran.out);
}

TEST_CASE("operators in Python: adjoint, subsets, SciPy, wrong arrays, threads and forks") {
  if (skip_python()) return;
  check_passes("tests/c/operators.py");
}

TEST_CASE(
    "operators in Python: 1e5 leave nothing behind, and what a program does to them by mistake is one clear error") {
  if (skip_python()) return;
  check_passes("tests/c/robust.py");
}

TEST_CASE("an operator is SciPy's linear operator: lsqr, svds and onenormest run") {
  if (skip_python() || skip_without_modules("scipy")) return;
  check_passes("tests/c/adapters.py scipy");
}

TEST_CASE("an operator is a layer of PyTorch, with gradients and their gradients") {
  if (skip_python() || skip_without_modules("torch")) return;
  check_passes("tests/c/adapters.py torch");
}

TEST_CASE("arrays of CuPy and PyTorch on a GPU are used where they lie, on the caller's stream") {
  if (skip_python() || !gpu_or_skip()) return;
  for (const std::string library : {"cupy", "torch"})
    if (!skip_without_modules(library + ", torch")) check_passes("tests/c/device_arrays.py " + library);
}

TEST_CASE("an operator is CIL's: adjoint, in PDHG and FISTA; a stand-in shows the interface where CIL is not there") {
  if (skip_python()) return;
  check_passes("tests/c/adapters.py cil");
}

TEST_CASE("GATE's trees become events of the scanner's detectors; a stand-in for uproot shows our side") {
  if (skip_python()) return;
  check_passes("tests/c/gate.py stand_in");
}

TEST_CASE("GATE's trees in ROOT files become events of the scanner's detectors") {
  if (skip_python() || skip_without_modules("uproot")) return;
  check_passes("tests/c/gate.py uproot");
}

TEST_CASE("list-mode OSEM in Python finds its ball") {
  if (skip_python()) return;
  const auto ran = python("share/examples/python/osem_listmode.py");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK_MESSAGE(number_after(ran.out, "in the ball ") > 800, ran.out);
  CHECK_MESSAGE(number_after(ran.out, "outside ") < 20, ran.out);
}

TEST_CASE("OSEM of a sinogram in Python finds its ball") {
  if (skip_python()) return;
  const auto ran = python("share/examples/python/sinogram.py");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK_MESSAGE(number_after(ran.out, "in the ball ") == approx(1000).epsilon(0.1), ran.out);
  CHECK_MESSAGE(number_after(ran.out, "in the cylinder ") == approx(100).epsilon(0.1), ran.out);
  CHECK_MESSAGE(number_after(ran.out, "outside ") < 10, ran.out);
}

TEST_CASE("list-mode OSEM of a PETSIRD file in Python shows the phantom that the file is of") {
  if (skip_python()) return;
  const TemporaryFolder folder;
  const std::string scan = (folder / "scan.petsird").string();
  const auto simulated =
      run_command("simulate --scanner demo_ring --phantom nema_iq --events 200000 --no-attenuation -o " + scan);
  REQUIRE_MESSAGE(simulated.code == 0, simulated.err);
  const auto ran = python("share/examples/python/osem_petsird.py " + scan + " demo_ring");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK_MESSAGE(number_after(ran.out, "explains ") == approx(1).epsilon(0.02), ran.out);
  CHECK_MESSAGE(number_after(ran.out, "axis ") > 10 * number_after(ran.out, "180 mm "), ran.out);
}

TEST_CASE("a prior in PyTorch makes the image smoother and nearer to the truth") {
  if (skip_python() || skip_without_modules("torch")) return;
  const auto ran = python("share/examples/python/prior_torch.py");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const std::string with = ran.out.substr(ran.out.find('\n'));
  CHECK_MESSAGE(number_after(with, "roughness ") < 0.5 * number_after(ran.out, "roughness "), ran.out);
  CHECK_MESSAGE(number_after(with, "error ") < 0.8 * number_after(ran.out, "error "), ran.out);
}

TEST_CASE("gadgets in Python: a learned filter takes noise out of an image, and events are kept as NumPy arrays") {
  if (skip_python()) return;
  check_passes("tests/c/gadgets.py");
}

TEST_CASE("the example for CIL says what is missing") {
  if (skip_python()) return;
  if (std::system((python_with_numpy() + " -c 'import cil' >/dev/null 2>&1").c_str()) == 0)
    return skip_test("place without CIL");
  const auto ran = python("share/examples/python/pdhg_cil.py");
  CHECK(ran.code == 1);
  CHECK_MESSAGE(ran.err.starts_with("pdhg_cil.py needs CIL"), ran.err);
}

TEST_CASE("the projectors of the Python package are those that the program declares") {
  if (skip_python()) return;
  const auto ran = run_line(python_with_numpy() + " tools/python_projectors " + program().string() + " --check");
  CHECK_MESSAGE(ran.code == 0, ran.err);
}

TEST_CASE("mypy and pyright accept the Python package and its examples, and refuse a wrong call") {
  if (skip_python()) return;
  const bool has_mypy = std::system("mypy --version >/dev/null 2>&1") == 0;
  const bool has_pyright = std::system("pyright --version >/dev/null 2>&1") == 0;
  if (!has_mypy && !has_pyright) return skip_test("mypy or pyright");
  const TemporaryFolder folder;
  const std::string package = (root / "tools/python").string();
  std::string sources;
  for (const std::string& of : {(root / "share/examples/python").string(), package + "/tofstream"})
    for (const auto& entry : std::filesystem::directory_iterator(of))
      if (entry.path().extension() == ".py") sources += " " + entry.path().string();
  std::ofstream(folder / "wrong.py") << "import tofstream as tof\n"
                                        "def wrong(grid: tof.Grid, events: tof.Events) -> None:\n"
                                        "    tof.tor(grid, events, tube_width=3)\n"
                                        "    tof.joseph(grid, events, edges='none')\n";
  if (has_mypy) {  // PyTorch's own types take minutes
    std::ofstream(folder / "mypy.ini") << "[mypy]\nignore_missing_imports = true\nfollow_imports = silent\n"
                                          "python_version = 3.9\n[mypy-torch.*]\nfollow_imports = skip\n";
    const std::string mypy = "MYPYPATH=" + package + " mypy --config-file " + (folder / "mypy.ini").string() +
                             " --cache-dir " + folder.path().string() + " ";
    const auto ran = run_line(mypy + sources);
    CHECK_MESSAGE(ran.code == 0, ran.out);
    const auto refused = run_line(mypy + (folder / "wrong.py").string());
    CHECK_MESSAGE(refused.out.find("wrong.py:3: error:") != std::string::npos, refused.out);
    CHECK_MESSAGE(refused.out.find("wrong.py:4: error:") != std::string::npos, refused.out);
  }
  if (has_pyright) {  // CIL is not everywhere; the package must be found
    std::ofstream(folder / "pyrightconfig.json")
        << R"({"pythonVersion": "3.9", "reportMissingImports": "warning", "extraPaths": [")" << package << "\"]}";
    const auto ran = run_line("pyright --pythonpath $(command -v " + python_with_numpy() + ") -p " +
                              folder.path().string() + " " + sources);
    CHECK_MESSAGE(ran.code == 0, ran.out);
    CHECK_MESSAGE(ran.out.find("Import \"tofstream") == std::string::npos, ran.out);
    const auto refused = run_line("pyright -p " + folder.path().string() + " " + (folder / "wrong.py").string());
    CHECK_MESSAGE(refused.out.find("2 errors") != std::string::npos, refused.out);
  }
}

TEST_CASE("a picture of an image in Python shows it, and says what cannot be shown") {
  if (skip_python() || skip_without_modules("matplotlib")) return;
  check_passes("tests/c/picture.py");
}

TEST_CASE("notebooks are made of the examples, and two of them run and draw their images") {
  if (skip_python() || skip_without_modules("nbformat, nbclient, ipykernel, matplotlib")) return;
  const TemporaryFolder folder;
  const std::string made = (folder / "made").string(), ran = (folder / "ran").string();
  CHECK(python("tools/notebooks " + made).code == 0);
  CHECK(std::filesystem::exists(made + "/feed_live.ipynb"));
  const std::string examples = " share/examples/python/mlem.py share/examples/python/osem_listmode.py";
  const auto run = python("tools/notebooks " + ran + examples + " --run");
  REQUIRE_MESSAGE(run.code == 0, run.err);
  for (const char* name : {"/mlem.ipynb", "/osem_listmode.ipynb"})
    CHECK_MESSAGE(text_of(ran + name).find("\"image/png\"") != std::string::npos, name);
}

TEST_CASE("each call that a user of Python types works as it is typed") {
  if (skip_python()) return;
  check_passes("tests/c/every_call.py");
}

TEST_CASE("a run in Python tells a callable how far it is, or draws it; what goes wrong there hangs nothing") {
  if (skip_python()) return;
  check_passes("tests/c/progress.py");
}

TEST_CASE("runs, feeds, sinograms and sensitivities in Python, and what goes wrong with them") {
  if (skip_python()) return;
  check_passes("tests/c/runs.py");
}
// SPDX-License-Identifier: Apache-2.0
