import type { Command } from "commander";
import { apiInstallCommand } from "./commands/api-install.ts";
import { authCommand } from "./commands/auth.ts";
import { dbCopyCommand } from "./commands/db-copy.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { featuresCommand } from "./commands/features.ts";
import { keyGenerateCommand } from "./commands/key-generate.ts";
import { langKeysCommand } from "./commands/lang-keys.ts";
import { makeCommands } from "./commands/make.ts";
import { makeDeployCommand } from "./commands/make-deploy.ts";
import { migrateCommands } from "./commands/migrate.ts";
import { pruneCommand } from "./commands/prune.ts";
import { routesCommand } from "./commands/routes.ts";
import { upgradeCommand } from "./commands/upgrade.ts";
import type { Terminal } from "./terminal.ts";

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
    authCommand(terminal),
    apiInstallCommand(terminal),
    ...makeCommands(terminal),
    makeDeployCommand(terminal),
    upgradeCommand(terminal),
  ];
}
