// `tofstream schema`: the JSON Schema of pipeline files, for editors.
#include "core/describe/schema.hpp"

#include <memory>

#include <nlohmann/json.hpp>

#include "tools/command/commands.hpp"
#include "tools/command/deliver.hpp"

namespace tofstream::command {

void add_schema(Command& app) {
  auto& command = app.add_command("schema", "Write the JSON Schema of pipeline files, for editors");
  auto file = std::make_shared<std::filesystem::path>();
  command.add_option("-o,--out", *file, "File to write (default: standard output)");
  command.footer(
      "Example: tofstream schema -o pipeline.schema.json\n"
      "A pipeline file whose first line is `# yaml-language-server: $schema=pipeline.schema.json` is then completed "
      "and "
      "checked\nwhile it is written. Gadgets of plug-ins are in it: --plugins DIR adds a folder.");
  command.on_run([file] { deliver(pipeline_schema(registry()).dump(1) + "\n", *file); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
