import { ACCOUNT_COMMANDS } from "../../src/auth/commands/account-commands.ts";
import type { Application, CommandContext } from "../../src/boot/index.ts";
import { AshlarError } from "../../src/support/index.ts";

/** A command's output, or the error that it failed with. */
export interface DeskResult {
  readonly output: string;
  readonly error: string | null;
}

/** Runs an account command in this process, as `ashlar` does. */
export async function desk(application: Application, name: string, ...args: readonly string[]): Promise<DeskResult> {
  const { run } = await ACCOUNT_COMMANDS.find((command) => command.name === name)!.load();
  const lines: string[] = [];
  const context = {
    root: "/",
    args,
    print: (line = "") => void lines.push(line),
    application: async () => application,
    publish: async () => {},
  } as CommandContext;
  try {
    await run(context);
    await settle(application);
    return { output: lines.join("\n"), error: null };
  } catch (error) {
    if (!(error instanceof AshlarError)) throw error;
    await settle(application);
    return { output: lines.join("\n"), error: error.message };
  }
}

async function settle({ container }: Application): Promise<void> {
  await container.make("events").settled();
}
