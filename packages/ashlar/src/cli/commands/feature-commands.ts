import { Argument, Command, Option } from "commander";
import {
  type Application,
  type CommandContext,
  type FeatureCommand,
  installedFeatures,
  loadProviders,
  readEnvironment,
  reserveStandardOutput,
} from "../../boot/index.ts";
import { printMails } from "../../mail/index.ts";
import { publish } from "../install/publish.ts";
import { loadApplication } from "../load-application.ts";
import type { Terminal } from "../terminal.ts";

const NAME = /^[a-z][a-z\d-]*(?::[a-z][a-z\d-]*)*$/;

/** The commands that an application's providers add. */
export interface FeatureCommands {
  readonly commands: readonly Command[];
  /** For each command that couldn't be added, a sentence that says why. */
  readonly problems: readonly string[];
}

/**
 * The commands that the providers in an application's `config/providers.ts` add. Only that file is loaded: the rest of
 * the configuration may depend on files that a command is about to add. Malformed commands are omitted, and so are
 * those with a name that is already in use. Built-in commands are never replaced, and if two commands have the same
 * name, neither is added.
 *
 * @param builtIn the names of the built-in commands
 * @throws the file's errors
 */
export async function featureCommands(terminal: Terminal, builtIn: readonly string[]): Promise<FeatureCommands> {
  const providers = await loadProviders(terminal.root, readEnvironment(terminal.root));
  const owned = installedFeatures(providers).flatMap(({ feature, provider }) => {
    return (feature.commands ?? []).map((command) => ({ command, provider }));
  });
  const problems: string[] = [];
  const fit = owned.filter(({ command, provider }) => {
    const problem = problemOf(command, builtIn);
    if (problem !== null) problems.push(provider + problem);
    return problem === null;
  });
  const commands: Command[] = [];
  for (const [name, [first, ...others]] of Map.groupBy(fit, ({ command }) => command.name)) {
    if (others.length === 0) commands.push(asCommand(terminal, first!.command));
    for (const { provider } of others) {
      const problem = `${provider}: the command "${name}" is already added by ${first!.provider}.`;
      problems.push(`${problem} Neither is available. Give one of them another name.`);
    }
  }
  return { commands, problems };
}

/** Why a command can't be added, to be written after its provider's name; `null` if it can be added. */
function problemOf({ name, description, load }: FeatureCommand, builtIn: readonly string[]): string | null {
  if (!NAME.test(name) || typeof description !== "string" || typeof load !== "function") {
    const remedy = 'Write it as { name: "stock:install", description: "…", load: () => import("./stock-install.ts") }.';
    return `.feature.commands: "${name}" is not a command. ${remedy}`;
  }
  if (!builtIn.includes(name)) return null;
  return `: the command "${name}" is already added by ashlar, whose own command is kept. Give yours another name.`;
}

function asCommand(terminal: Terminal, { name, description, help, load }: FeatureCommand): Command {
  const { parameters, options, rest } = helpParts(help ?? "");
  const command = new Command(name);
  // The program's settings would override those of `configureHelp`.
  command.createHelp = () => {
    const shown = Command.prototype.createHelp.call(command);
    const own = shown.visibleOptions.bind(shown);
    shown.visibleOptions = (one) => [...options, ...own(one)];
    shown.visibleArguments = () => parameters.map(({ form, meaning }) => new Argument(form, meaning));
    return shown;
  };
  return command
    .description(description)
    .argument("[arguments...]")
    .usage(["[options]", ...parameters.map(({ form }) => form), ...(rest === "" ? [] : ["[arguments...]"])].join(" "))
    .allowUnknownOption()
    .addHelpText("after", rest === "" ? "" : `\n${rest}`)
    .action(async (args: readonly string[]) => {
      const { run } = await load();
      const booted: Application[] = [];
      const context: CommandContext = {
        root: terminal.root,
        args,
        print: (line) => terminal.print(line),
        application: async () => {
          if (booted[0] === undefined) {
            if (args.includes("--json")) reserveStandardOutput();
            booted[0] = await loadApplication(terminal.root);
            printMails(booted[0].container, (line) => terminal.print(line));
          }
          return booted[0];
        },
        publish: (files) => publish(terminal, files, args.includes("--dry-run")),
      };
      try {
        await run(context);
      } finally {
        for (const application of booted) await application.shutdown();
      }
    });
}

const OPTION = /^ {2}(-\S+(?: [<[]\S+)*) {2,}(\S.*)$/;
const PARAMETER = /^ {2}(<[\w.-]+>|\[[\w.-]+\]) {2,}(\S.*)$/;

interface HelpParts {
  readonly parameters: readonly { readonly form: string; readonly meaning: string }[];
  readonly options: readonly Option[];
  readonly rest: string;
}

/** Splits a command's help into its arguments and options, which are shown like those of other commands, and the rest. */
function helpParts(help: string): HelpParts {
  const parameters: { form: string; meaning: string }[] = [];
  const options: Option[] = [];
  const rest: string[] = [];
  for (const line of help.split("\n")) {
    const [, flags, meaning] = OPTION.exec(line) ?? [];
    const [, form, use] = PARAMETER.exec(line) ?? [];
    if (flags !== undefined) options.push(new Option(flags, meaning));
    else if (form !== undefined) parameters.push({ form, meaning: use! });
    else rest.push(line);
  }
  return { parameters, options, rest: rest.join("\n").trim() };
}
