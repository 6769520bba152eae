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
import { risksOfFile } from "../migrations/examine-migrations.ts";
import { printRisks } from "../migrations/print-risks.ts";
import type { Terminal } from "../terminal.ts";

async function write(terminal: Terminal, file: NewFile): Promise<void> {
  if (!(await writeNewFile(terminal.root, file))) {
    throw new AshlarError("E_COMMAND", `${file.path} already exists and was not changed. Choose another name.`);
  }
  terminal.print(`Created ${file.path}`);
}

/** The `make:…` commands. Each creates one file, and never overwrites an existing one. */
export function makeCommands(terminal: Terminal): Command[] {
  const make = (
    what: string,
    description: string,
    build: (name: string, root: string) => Promise<NewFile>,
    example = "OrderLine or order-line",
  ): Command =>
    new Command(`make:${what}`)
      .description(description)
      .argument("<name>", `such as ${example}`)
      .action(async (name: string) => await write(terminal, await build(name, terminal.root)));

  const controller = new Command("make:controller")
    .description("Creates a controller in app/controllers.")
    .argument("<name>", "such as Orders")
    .option("-r, --resource", "with the seven methods of Route.resource")
    .option("-a, --api", "with the five methods of Route.api")
    .action(async (name: string, options: { resource?: true; api?: true }) => {
      if (options.api && options.resource) {
        throw new AshlarError("E_COMMAND", "Use either --api (five methods) or --resource (seven, with pages).");
      }
      await write(terminal, await makeController(name, options.api ? "api" : options.resource ? "resource" : "plain"));
    });

  const migration = new Command("make:migration")
    .description("Creates a migration in database/migrations, and lists the locks and breaking changes it would cause.")
    .argument("<name>", "such as create_orders, add_phone_to_users or index_email_on_users")
    .action(async (name: string) => {
      const file = await makeMigration(name, terminal.root);
      await write(terminal, file);
      printRisks(terminal, await risksOfFile(terminal.root, file.path));
    });

  return [
    controller,
    make("model", "Creates a model in app/models.", makeModel),
    migration,
    make("middleware", "Creates a middleware in app/middleware.", makeMiddleware),
    make("provider", "Creates a provider in app/providers.", makeProvider),
  ];
}
