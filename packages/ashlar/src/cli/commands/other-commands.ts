import type { Command } from "commander";
import type { Terminal } from "../terminal.ts";
import { dbCopyCommand } from "./db-copy.ts";
import { doctorCommand } from "./doctor.ts";
import { featuresCommand } from "./features.ts";
import { installCommands } from "./install.ts";
import { keyGenerateCommand } from "./key-generate.ts";
import { langKeysCommand } from "./lang-keys.ts";
import { makeCommands } from "./make.ts";
import { makeDeployCommand } from "./make-deploy.ts";
import { migrateCommands } from "./migrate.ts";
import { pruneCommand } from "./prune.ts";
import { routesCommand } from "./routes.ts";
import { upgradeCommand } from "./upgrade.ts";

/** The framework's commands except `serve`. */
export function otherCommands(terminal: Terminal): Command[] {
  return [
    ...migrateCommands(terminal),
    dbCopyCommand(terminal),
    routesCommand(terminal),
    featuresCommand(terminal),
    doctorCommand(terminal),
    langKeysCommand(terminal),
    pruneCommand(terminal),
    keyGenerateCommand(terminal),
    ...installCommands(terminal),
    ...makeCommands(terminal),
    makeDeployCommand(terminal),
    upgradeCommand(terminal),
  ];
}
