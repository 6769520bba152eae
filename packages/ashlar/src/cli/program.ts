import { Command, CommanderError } from "commander";
import { packageVersion } from "../support/index.ts";
import { serveCommand } from "./commands/serve.ts";
import { problemOf, type Terminal } from "./terminal.ts";

/**
 * Runs one command line.
 *
 * @param args the arguments after `ashlar`
 * @param terminal where to print, and the folder to work in
 * @returns the exit code: 0, or 1 if the command failed or was not understood
 */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = new Command("ashlar")
    .description("Manages the Ashlar application in this folder.")
    .version(await packageVersion())
    .showHelpAfterError("(see ashlar --help)")
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.printError(text.trimEnd()),
    })
    .exitOverride();
  const commands = [serveCommand(terminal)];
  // `serve` is run more often than all other commands together, and doesn't need their code.
  if (args[0] !== "serve") commands.push(...(await import("./commands/other-commands.ts")).otherCommands(terminal));
  const names = commands.map((command) => command.name());
  if (mayNameOther(args, names)) commands.push(...(await commandsOfProviders(terminal, names)));
  for (const command of commands) program.addCommand(command.copyInheritedSettings(program));
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    terminal.printError(problemOf(error));
    return 1;
  }
}

/**
 * Reports whether a command line may need a command that isn't the framework's own, either by its name, or because it
 * lists all commands.
 */
function mayNameOther([first = "help"]: readonly string[], known: readonly string[]): boolean {
  return first !== "--version" && first !== "-V" && !known.includes(first);
}

/** The commands of the application's providers. If some can't be loaded, the others still work. */
async function commandsOfProviders(terminal: Terminal, builtIn: readonly string[]): Promise<readonly Command[]> {
  try {
    const { featureCommands } = await import("./commands/feature-commands.ts");
    const { commands, problems } = await featureCommands(terminal, builtIn);
    for (const problem of problems) terminal.printError(`A command of this application is not available. ${problem}`);
    return commands;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    terminal.printError(`The commands of this application's providers are not available. ${reason}`);
    return [];
  }
}
