// `tofstream keys new NAME -o FOLDER`: a pair of keys for live streams over a network.
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/wire/key_files.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

struct KeysOptions {
  std::string name;
  std::filesystem::path folder = ".";
  bool json = false;
};

void new_keys(const KeysOptions& options) {
  const KeyPairFiles made = from_input([&] { return make_key_pair(options.name, options.folder); });
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"name", made.key.name},
                                              {"public_key", made.key.z85},
                                              {"public_file", made.public_file.string()},
                                              {"secret_file", made.secret_file.string()}}
                           .dump(2));
  else
    fmt::print("{}\n{}\nGive the public one to those whom '{}' is to talk with; the secret one stays here.\n",
               made.public_file.string(), made.secret_file.string(), made.key.name);
}

}  // namespace

void add_keys(Command& app) {
  auto& command = app.add_command("keys", "Keys for live streams over a network");
  command.needs_command();
  command.footer("Example: tofstream keys new scanner -o keys");
  auto& make = command.add_command("new", "Make a pair: NAME.public.yaml and NAME.secret.yaml");
  auto options = std::make_shared<KeysOptions>();
  make.add_option("name", options->name, "Name of the keys' owner, such as scanner").required();
  make.add_option("-o,--out", options->folder, "Folder to write to, made if missing").shows_default();
  make.add_flag("--json", options->json, "Print JSON");
  make.footer("Example: tofstream keys new scanner -o keys");
  make.on_run([options] { new_keys(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
