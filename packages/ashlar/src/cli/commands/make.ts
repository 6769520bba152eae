import { Command } from "commander";
import {
  makeController,
  makeMiddleware,
  makeMigration,
  makeModel,
  makeProvider,
  type NewFile,
  writeNewFile,
} from "../../scaffold/index.ts";
import { AshlarError } from "../../support/index.ts";
import type { Terminal } from "../terminal.ts";

async function write(terminal: Terminal, file: NewFile): Promise<void> {
  if (!(await writeNewFile(terminal.root, file))) {
    throw new AshlarError("E_COMMAND", `${file.path} exists already and was left as it is. Choose another name.`);
  }
  terminal.print(`Made ${file.path}`);
}

/** The `make:…` commands: each writes one new file, and never over an old one. */
export function makeCommands(terminal: Terminal): Command[] {
  const make = (what: string, description: string, build: (name: string, root: string) => Promise<NewFile>): Command =>
    new Command(`make:${what}`)
      .description(description)
      .argument("<name>", "such as OrderLine or order-line")
      .action(async (name: string) => await write(terminal, await build(name, terminal.root)));

  const controller = new Command("make:controller")
    .description("Makes a controller in app/controllers.")
    .argument("<name>", "such as Orders")
    .option("-r, --resource", "with the seven methods that Route.resource names")
    .option("-a, --api", "with the five methods that Route.api names")
    .action(async (name: string, options: { resource?: true; api?: true }) => {
      if (options.api && options.resource) {
        throw new AshlarError("E_COMMAND", "Choose one of --api (five methods) and --resource (seven, with pages).");
      }
      await write(terminal, await makeController(name, options.api ? "api" : options.resource ? "resource" : "plain"));
    });

  return [
    controller,
    make("model", "Makes a model in app/models.", makeModel),
    make("migration", "Makes a migration in database/migrations.", makeMigration),
    make("middleware", "Makes a middleware in app/middleware.", makeMiddleware),
    make("provider", "Makes a provider in app/providers.", makeProvider),
  ];
}
