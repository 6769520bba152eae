import { Command, Option } from "commander";
import {
  type Feature,
  hasAccountRoutes,
  loginLinkFiles,
  passkeyFiles,
  personalTokenFiles,
  planInstallation,
  planMigrations,
  twoFactorFiles,
  writeInstallation,
  writeMigrations,
} from "../../scaffold/index.ts";
import { apiNamesOf, namesLine } from "../install/api-names.ts";
import { printDiff, printRemaining, printWritten } from "../install/print-changes.ts";
import { publish } from "../install/publish.ts";
import { migrate } from "../migrations/run-migrations.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly json?: true;
  readonly loginLinks?: true;
  readonly dryRun?: true;
  readonly many?: true;
  readonly force?: true;
  readonly migrate?: true;
  readonly migrations?: true;
  readonly passkeys?: true;
  readonly printNames?: true;
  readonly twoFactor?: true;
}

/** `auth`, `api:install` and `tokens:install`: each adds a feature to the application, and prints what to add by hand. */
export function installCommands(terminal: Terminal): Command[] {
  const auth = "Adds login, registration, passwords and verification: controllers, views, mails, migrations, tests.";
  const api = "Adds the API: configuration, routes, token endpoints, the token column's migration, a JWT_SECRET.";
  return [
    installCommand(terminal, "auth", "pages", auth),
    installCommand(terminal, "api:install", "api", api),
    tokensInstallCommand(terminal),
  ];
}

function installCommand(terminal: Terminal, name: string, feature: Feature, description: string): Command {
  const command = new Command(name)
    .description(description)
    .option("--dry-run", "print what would change without writing anything")
    .addOption(new Option("--migrations", "write only the missing migrations, for an upgrade").conflicts("force"))
    .addOption(new Option("--migrate", "also run the migrations").conflicts("dryRun"));
  // The API's files are never overwritten, because existing ones are the author's.
  if (feature === "pages") {
    command
      .option("--json", "without pages, for your own front end: every route responds with JSON")
      .option("--force", "overwrite existing files that differ")
      .addOption(withAccounts("--login-links", "add logins by mail to the accounts: settings, pages, mail and routes"))
      .addOption(withAccounts("--passkeys", "add passkeys to the accounts: their table, pages, script and routes"))
      .addOption(withAccounts("--two-factor", "also two-factor authentication: its table, settings, pages and mail"));
  } else {
    command
      .option("--many", "users have several tokens: their table, and tokens: many() in config/api.ts")
      .addOption(new Option("--print-names").hideHelp());
  }
  return command.action(async ({ loginLinks, passkeys, twoFactor, ...options }: Options) => {
    const additions = [
      ...(twoFactor ? [twoFactorFiles] : []),
      ...(passkeys ? [passkeyFiles] : []),
      ...(loginLinks ? [loginLinkFiles] : []),
    ];
    if (additions.length === 0) return install(terminal, feature, options);
    const { migrate: isMigrated, dryRun, ...others } = options;
    // An application that has accounts keeps them as they are.
    const isComplete = await hasAccountRoutes(terminal.root);
    if (!isComplete) await install(terminal, feature, dryRun ? { ...others, dryRun } : others);
    if (!isComplete && dryRun) {
      terminal.print(
        "What is added to these accounts can be shown once they are there: run the command without --dry-run.",
      );
      return;
    }
    for (const filesOf of additions) await publish(terminal, await filesOf(terminal.root), dryRun === true);
    if (isMigrated) await migrate(terminal);
  });
}

/** An option for what is added to accounts. */
function withAccounts(flag: string, description: string): Option {
  return new Option(flag, description).conflicts(["force", "migrations"]);
}

async function install(
  terminal: Terminal,
  feature: Feature,
  { json, dryRun, force, many, migrate: isMigrated, migrations, printNames }: Options,
): Promise<void> {
  if (printNames) return terminal.print(await namesLine(terminal.root));
  const wanted = json ? "json" : feature;
  const read = feature === "api" ? await apiNamesOf(terminal.root) : null;
  const plan = await (migrations ? planMigrations : planInstallation)(terminal.root, wanted, {
    hasManyTokens: many === true,
    ...(read !== null && { apiNames: read.names }),
  });
  if (dryRun) await printDiff(terminal, plan);
  else if (migrations) {
    await writeMigrations(terminal.root, plan);
    printWritten(terminal, plan, { migrates: isMigrated === true });
  } else {
    const secrets = await writeInstallation(terminal.root, plan, force ?? false);
    printWritten(terminal, plan, { secrets, migrates: isMigrated === true });
  }
  if (read !== null && read.problem !== null) {
    terminal.print(
      `The application can't be loaded (${read.problem}), so its API has the usual names: the column api_token, ` +
        "routes/api, /api/auth. If you have chosen others, change them in the new files.",
    );
  }
  printRemaining(terminal, plan.remaining);
  if (isMigrated) await migrate(terminal);
}

function tokensInstallCommand(terminal: Terminal): Command {
  return new Command("tokens:install")
    .description(
      "Adds personal tokens: the migration of their table, the page /account/tokens, the mail about new ones, and the setting.",
    )
    .option("--dry-run", "print what would change without writing anything")
    .action(async ({ dryRun }: { readonly dryRun?: true }) => {
      await publish(terminal, await personalTokenFiles(terminal.root), dryRun === true);
    });
}
