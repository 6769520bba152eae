import { type ChildProcess, spawn } from "node:child_process";
import type { Invocation } from "./npm.ts";

/**
 * Runs a program in a folder and passes its output through.
 *
 * @returns `null` on success, otherwise a short reason
 */
export async function run(folder: string, { command, args }: Invocation): Promise<string | null> {
  let child: ChildProcess | null = null;
  // Ctrl+C reaches the child as well; this process stays to print what exists and how to continue. The handlers are set
  // before the child starts, so no signal falls in between.
  const wait = (): void => {};
  const end = (): void => void child?.kill();
  process.on("SIGINT", wait).on("SIGTERM", end);
  try {
    child = spawn(command, args, { cwd: folder, stdio: "inherit" });
    return await outcomeOf(child, command);
  } finally {
    process.off("SIGINT", wait).off("SIGTERM", end);
  }
}

function outcomeOf(child: ChildProcess, command: string): Promise<string | null> {
  return new Promise((resolve) => {
    child.on("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code === "ENOENT" ? `${command} was not found` : error.message),
    );
    child.on("close", (code, signal) => resolve(code === 0 ? null : (signal ?? `exit code ${code}`)));
  });
}
