// Live streams with keys from the command line, as share/doc/network.md has them.
#include "tests/command/command.hpp"

using namespace tofstream;

TEST_CASE("keys are made, a scan is sent and recorded with them, and published again") {
  const TemporaryFolder folder;
  const auto in = [&](const std::string& name) { return (folder / name).string(); };
  const auto made = run_command("keys new site --json -o " + in("site"));
  REQUIRE_MESSAGE(made.code == 0, made.err);
  CHECK(made.json()["public_key"].get<std::string>().size() == 40);
  CHECK(made.json()["secret_file"] == in("site/site.secret.yaml"));
  REQUIRE(run_command("keys new scanner -o " + in("scanner")).code == 0);
  const auto again = run_command("keys new scanner -o " + in("scanner"));
  CHECK(again.code == 2);
  CHECK(again.err.find("is there already") != std::string::npos);

  const std::string endpoint = " --endpoint ipc://" + in("socket");
  const std::string sending =
      program().string() + " run simulate_live --quiet --set endpoint=ipc://" + in("socket") +
      " --set photons.events=20000 --set sent.speed=0 --set sent.keys.own=" + in("scanner/scanner.secret.yaml") +
      " --set sent.keys.server=" + in("site/site.public.yaml") + " --out " + in("sent") + " >/dev/null & ";
  const auto recording = std::system((sending + program().string() + " record " + in("journal") + " --quiet" +
                                      endpoint + " --key " + in("site/site.secret.yaml") + " --allowed-keys " +
                                      in("scanner") + " >/dev/null; code=$?; wait; exit $code")
                                         .c_str());
  CHECK(recording == 0);
  CHECK(run_command("inspect --json " + in("journal")).json()["streams"][0]["events"] == 20'000);

  const auto published = run_command("replay " + in("journal") + endpoint + " --pattern pub --speed 0 --json --key " +
                                     in("site/site.secret.yaml") + " --allowed-keys " + in("scanner"));
  CHECK_MESSAGE(published.code == 0, published.err);
  CHECK(published.json()["monitors"] == 0);
}

TEST_CASE("without keys, or with the wrong ones, nothing starts, and one line says what to do") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& arguments, const std::string& why) {
    const auto got = run_command(arguments);
    CHECK(got.code == 2);
    CHECK_MESSAGE(got.err.find(why) != std::string::npos, got.err);
  };
  const std::string journal = (folder / "journal").string(), open = " --endpoint tcp://127.0.0.2:1 ";
  REQUIRE(run_command("keys new me -o " + folder.path().string()).code == 0);
  const std::string own = (folder / "me.secret.yaml").string();
  refused("record " + journal + " --endpoint tcp://*:5555", "which needs keys: make them with 'tofstream keys new");
  refused("record " + journal + " --endpoint tcp://*:5555 --key " + own, "keys.allowed (--allowed-keys) is missing");
  refused("record " + journal + open + "--allowed-keys " + own, "keys.own (--key) is missing");
  refused("record " + journal + open + "--key " + own + " --allowed-keys " + own,
          "is a secret key, and a public one is wanted");
}

TEST_CASE("the header that a sender of one's own needs is a PETSIRD file without time blocks") {
  const TemporaryFolder folder;
  const std::string file = (folder / "header.petsird").string();
  const auto made = run_command("simulate --header-only --scanner demo_ring -o " + file);
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto about = run_command("inspect --json " + file).json();
  CHECK(about["prompts"] == 0);
  CHECK(about["detection_bins"].get<int>() > 0);
}
// SPDX-License-Identifier: Apache-2.0
