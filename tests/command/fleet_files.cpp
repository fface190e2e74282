// The files of share/operations with which a fleet is run: that of Kubernetes parses and uses options that there are;
// the script of Slurm runs a fleet, with stand-ins for srun and scontrol.
#include <csignal>
#include <fstream>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "core/value/document.hpp"
#include "tests/command/fleet.hpp"

using namespace tofstream;

namespace {

const std::string folder_of_files = "share/operations/";

const Value& part(const Value& map, const char* key) {
  const Value* found = map.find(key);
  REQUIRE_MESSAGE(found, key);
  return *found;
}

// Ports that nobody has, at this moment.
std::vector<int> free_ports(int count) {
  std::vector<int> sockets, ports;
  for (int k = 0; k < count; ++k) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    sockets.push_back(::socket(AF_INET, SOCK_STREAM, 0));
    REQUIRE(::bind(sockets.back(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    REQUIRE(::getsockname(sockets.back(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int socket : sockets) ::close(socket);
  return ports;
}

}  // namespace

TEST_CASE("the file for Kubernetes parses, and its containers' options and probes are those of the program") {
  Problems problems;
  const Value list = parse_document(text_of(folder_of_files + "kubernetes.yaml"), "kubernetes.yaml", problems);
  REQUIRE(problems.empty());
  int containers = 0;
  for (const Value& item : part(list, "items").items) {
    const Value* const spec = part(item, "spec").find("template");
    if (!spec) continue;
    const Value& pod = part(*spec, "spec");
    for (const Value& container : part(pod, "containers").items) {
      ++containers;
      const std::vector<Value>& arguments = part(container, "args").items;
      const std::string help = run_command(arguments.at(0).text + " --help").out;
      int grace_s = 0;
      for (std::size_t k = 0; k < arguments.size(); ++k) {
        if (arguments[k].text.starts_with("--"))
          CHECK_MESSAGE(help.find(arguments[k].text) != std::string::npos, arguments[k].text);
        if (arguments[k].text == "--drain-s") grace_s = std::stoi(arguments.at(k + 1).text);
      }
      CHECK(std::stoi(part(pod, "terminationGracePeriodSeconds").text) > grace_s);
      CHECK(part(part(part(container, "readinessProbe"), "httpGet"), "path").text == "/ready");
      for (const Value& mount : part(container, "volumeMounts").items) {
        const auto& volumes = part(pod, "volumes").items;
        CHECK(std::ranges::any_of(
            volumes, [&](const Value& volume) { return part(volume, "name").text == part(mount, "name").text; }));
      }
    }
  }
  CHECK(containers == 2);
}

TEST_CASE_FIXTURE(Fleet, "the script for Slurm runs a fleet to which clients connect with keys, and ends it in order") {
  const std::string here = folder.path().string();
  for (const char* name : {"fleet", "person"})
    REQUIRE(run_command(std::string("keys new ") + name + " -o " + here + "/keys").code == 0);
  std::filesystem::create_directories(folder / "people");
  std::filesystem::copy(folder / "keys" / "person.public.yaml", folder / "people");
  std::filesystem::create_directories(folder / "bin");
  std::ofstream(folder / "bin" / "scontrol") << "#!/bin/sh\necho 127.0.0.1\n";
  std::ofstream(folder / "bin" / "srun") << "#!/bin/sh\nshift\nexec \"$@\"\n";
  for (const char* name : {"scontrol", "srun"}) ::chmod((folder / "bin" / name).c_str(), 0700);
  std::filesystem::create_symlink(program(), folder / "bin" / "tofstream");
  const std::vector<int> ports = free_ports(2);
  const std::string script = std::filesystem::absolute(folder_of_files + "slurm-fleet.sh").string();
  const pid_t job = ::fork();
  if (job == 0) {
    ::setenv("PATH", (here + "/bin:" + std::getenv("PATH")).c_str(), 1);
    for (const char* name : {"SLURM_JOB_NODELIST", "SLURMD_NODENAME"}) ::setenv(name, "node1", 1);
    ::setenv("TOFSTREAM_PORT", std::to_string(ports[0]).c_str(), 1);
    ::setenv("TOFSTREAM_SERVER_PORT", std::to_string(ports[1]).c_str(), 1);
    ::setenv("TOFSTREAM_SERVE", "", 1);  // no GPU is asked for
    if (::chdir(here.c_str()) == 0)
      ::execl("/bin/bash", "bash", "-c", ("exec bash " + script + " > log 2>&1").c_str(), nullptr);
    ::_exit(127);
  }
  const std::string front = "tcp://127.0.0.1:" + std::to_string(ports[0]);
  const std::string keys =
      " --key " + here + "/keys/person.secret.yaml --server-key " + here + "/keys/fleet.public.yaml";
  wait_until_says(folder / "log", "serving at tcp://0.0.0.0:" + std::to_string(ports[0]));
  const auto sent = run_command("send " + front + keys + " --pipeline small --quiet --input " + scan + " --out " +
                                here + "/sent --patience 300");
  CHECK_MESSAGE(sent.code == 0, sent.err, text_of(folder / "log"));
  CHECK(std::filesystem::exists(folder / "sent" / "image.nii.gz"));
  CHECK(std::filesystem::exists(folder / "served-0" / "node1" / "session-1" / "run.json"));
  ::kill(job, SIGTERM);
  int status = 0;
  REQUIRE(::waitpid(job, &status, 0) == job);
  CHECK_MESSAGE(status == 0, text_of(folder / "log"));
  CHECK(process_of(here) == 0);  // nothing is left
}
// SPDX-License-Identifier: Apache-2.0
