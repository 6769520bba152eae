import { createRequire } from "node:module";
import { constants } from "node:os";
import { cancel } from "@clack/prompts";
import { Command, CommanderError, Option } from "commander";
import { PACKAGE_MANAGERS } from "../../ashlar/src/scaffold/files/package-manager.ts";
import type { Flags } from "./choices.ts";
import { create } from "./create.ts";
import { Interrupted, Interruption } from "./interruption.ts";

/**
 * The `create-ashlar` command: creates a new application, installs its packages and migrates its database.
 *
 * @param args the command line, without the interpreter and script
 * @returns the exit code: 1 if something failed, 128 and the number of the signal after an interruption
 */
export async function main(args: readonly string[]): Promise<number> {
  const interruption = new Interruption();
  try {
    await program(interruption).parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    if (error instanceof Interrupted) {
      if (error.message === "") cancel("Nothing was created.");
      else console.error(error.message);
      return 128 + constants.signals[interruption.cause ?? "SIGINT"];
    }
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    interruption.end();
  }
}

/** An option whose positive form only answers its prompt. */
function yes(name: string): Option {
  return new Option(`--${name}`).hideHelp();
}

function program(interruption: Interruption): Command {
  const command = new Command("create-ashlar")
    .description("Creates a new Ashlar application, installs its packages and migrates its database.")
    .usage("[folder] [options]")
    .version(ownVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .argument("[folder]", "the project directory; it must be empty or not exist")
    .exitOverride()
    .optionsGroup("What it has:")
    .addOption(yes("pages"))
    .option("--no-pages", "no account pages: login, registration, passwords, mails")
    .option("--json", "accounts without pages, for your own front end: JSON only")
    .addOption(yes("registration"))
    .option("--no-registration", "visitors can't register: a script adds accounts")
    .addOption(yes("verification"))
    .option("--no-verification", "users don't verify their email address")
    .addOption(yes("api"))
    .option("--no-api", "no API: token endpoints, routes/api.ts, the api stack")
    .addOption(
      new Option("--database <name>", "the database to start with (default: sqlite)").choices([
        "sqlite",
        "postgres",
        "mariadb",
      ]),
    )
    .addOption(
      new Option("--language <tag>", "the language of pages, mails and errors (default: en)").choices(["en", "de"]),
    )
    .optionsGroup("How it is installed:")
    .addOption(new Option("--package-manager <name>", "default: whichever runs this command").choices(PACKAGE_MANAGERS))
    .addOption(yes("node"))
    .option("--no-node", "don't add Node.js as a package if this one is too old")
    .option("--no-install", "don't install the packages")
    .option("--no-migrate", "don't migrate the database")
    .optionsGroup("How this command runs:")
    .option("-y, --yes", "accept the defaults without asking")
    .option("--verbose", "show what the package manager prints")
    .addHelpText(
      "after",
      `
In a terminal, it asks about each choice that no flag makes. A flag without "no-" also answers its question: --pages,
--registration, --verification, --api, --node. Without a terminal, nothing is asked.

Examples:
  $ npm create ashlar@latest shop
  $ npm create ashlar@latest shop -- --yes --no-api --database postgres
  $ npm create ashlar@latest shop -- --yes --json
  $ pnpm create ashlar shop --language de --no-registration`,
    );
  return command.action(async (folder: string | undefined, flags: Flags) => {
    const needsPages = (["registration", "verification"] as const).find((name) => flags[name] === true);
    if (flags.pages === true && flags.json === true) {
      command.error("error: --json leaves out the pages that --pages adds. The pages' routes respond with JSON, too.");
    }
    if (flags.pages === false && flags.json !== true && needsPages !== undefined) {
      command.error(`error: --${needsPages} needs accounts: either pages, which --no-pages leaves out, or --json.`);
    }
    if (folder === "") command.error("error: the project directory has no name.");
    await create(folder, flags, interruption);
  });
}

function ownVersion(): string {
  const manifest = createRequire(import.meta.url)("../package.json") as { readonly version: string };
  return manifest.version;
}
