// Shells complete the command's words: commands, options, values, names and the keys of --set.
#include <cstdlib>
#include <fstream>

#include "tests/command/command.hpp"
#include "tests/support/skip.hpp"

using namespace tofstream;

namespace {

// What follows the last of the words, without explanations.
std::string completed(const std::string& words) {
  const auto result = run_command("complete -- " + words);
  REQUIRE_MESSAGE(result.code == 0, result.err);
  std::istringstream lines(result.out);
  std::string all;
  for (std::string line; std::getline(lines, line);) all += line.substr(0, line.find('\t')) + " ";
  return all;
}

bool has_shell(const std::string& shell) {
  return std::system(("command -v " + shell + " >/dev/null").c_str()) == 0;
}

}  // namespace

TEST_CASE("a word is completed by what its place takes") {
  CHECK(completed("gra") == "graph ");
  CHECK(completed("''").find("simulate ") != std::string::npos);
  CHECK(completed("''").find("reference ") == std::string::npos);  // hidden
  CHECK(completed("keys ''") == "new ");
  CHECK(completed("run --inp") == "--input ");
  CHECK(completed("run --plug") == "--plugins ");
  CHECK(completed("gadgets tor_") == "tor_projector ");
  CHECK(completed("check listmode_osem_p") == "listmode_osem_psf :files ");
  CHECK(completed("simulate --scanner gem") == "gemini_tf :files ");
  CHECK(completed("simulate -o scan.petsird --phantom nema") == "nema_iq :files ");
  CHECK(completed("run listmode_osem --backend c") == "cpu cuda ");
  CHECK(completed("control results s") == "status set stop ");
  CHECK(completed("view a.nii.gz --colours v") == "viridis ");
  CHECK(completed("list ''") == "pipelines scanners phantoms ");
}

TEST_CASE("--set is completed by the parameters of the pipeline that was named, then by their values") {
  CHECK(completed("run listmode_osem --set subsets.iter") == "subsets.iterations= ");
  CHECK(completed("run --set projected.sensitivity.ca") == "");  // no pipeline yet
  CHECK(completed("run listmode_osem --set projected.sensitivity.cache=") ==
        "projected.sensitivity.cache=true projected.sensitivity.cache=false ");
  CHECK(completed("replay j --pipeline live_osem --set feed.endp") == "feed.endpoint= ");
  CHECK(completed("run no_such_pipeline --set sub") == "");
}

TEST_CASE("the script for bash asks the program, and puts values behind their key") {
  const TemporaryFolder folder;
  const auto script = run_command("completion bash");
  REQUIRE(script.code == 0);
  std::ofstream(folder / "complete.sh") << script.out;
  const auto replies = [&](const std::string& line) {
    std::ofstream(folder / "ask.sh") << "PATH=" << program().parent_path().string() << ":$PATH\nsource "
                                     << (folder / "complete.sh").string() << "\nCOMP_LINE='" << line
                                     << "'\nCOMP_POINT=${#COMP_LINE}\n_tofstream\necho \"${COMPREPLY[*]}\"\n";
    const std::string out = (folder / "out").string();
    REQUIRE(std::system(("bash " + (folder / "ask.sh").string() + " >" + out).c_str()) == 0);
    return text_of(out);
  };
  CHECK(replies("tofstream gra") == "graph\n");
  CHECK(replies("tofstream run --inp") == "--input\n");
  CHECK(replies("tofstream run listmode_osem --set subsets.iter") == "subsets.iterations=\n");
  CHECK(replies("tofstream run listmode_osem --set projected.sensitivity.cache=f") == "false\n");
  std::ofstream(folder / "listmode.yaml") << "";
  CHECK(replies("tofstream check " + (folder / "listm").string()) == (folder / "listmode.yaml").string() + "\n");
}

TEST_CASE("the scripts for zsh and fish are read by their shells without a complaint") {
  const TemporaryFolder folder;
  for (const std::string shell : {"zsh", "fish"}) {
    const auto script = run_command("completion " + shell);
    REQUIRE(script.code == 0);
    CHECK(script.out.find("tofstream complete -- ") != std::string::npos);
    const std::string file = (folder / shell).string();
    std::ofstream(file) << script.out;
    if (has_shell(shell)) CHECK_MESSAGE(run_line(shell + " -n " + file).code == 0, shell);
  }
  if (!has_shell("zsh") || !has_shell("fish")) return skip_test("zsh and fish");
}
// SPDX-License-Identifier: Apache-2.0
