import { spawn } from "node:child_process";
import { devNull } from "node:os";

/** The time limit of a call, in milliseconds. */
const TIMEOUT_MS = 8000;

/** Overrides for settings, of the user or in the repository, that could run a program or change the output. */
const SETTINGS = [
  ...["core.fsmonitor=false", `core.hooksPath=${devNull}`, "submodule.recurse=false", "log.showSignature=false"],
  ...["color.ui=false", "color.grep=false", "grep.column=false", "grep.fullName=false"],
].flatMap((setting) => ["-c", setting]);

/** The result of running git. */
export interface GitAnswer {
  /** The exit code; `null` if it took too long. */
  readonly code: number | null;
  readonly output: string;
  /** Git's standard error, in English. */
  readonly errors: string;
}

/**
 * Runs git in a folder, without changing anything, and without running programs that the repository configures.
 *
 * @param input git's standard input, for secrets, because other users can see a command's arguments
 * @returns `null` if git is not installed
 */
export async function git(root: string, args: readonly string[], input = ""): Promise<GitAnswer | null> {
  return await new Promise((resolve) => {
    // GIT_OPTIONAL_LOCKS: without it, some commands refresh the index.
    const child = spawn("git", ["--no-optional-locks", "--no-pager", ...SETTINGS, ...args], {
      cwd: root,
      // Doesn't fetch objects that a partial clone lacks.
      env: { ...process.env, GIT_NO_LAZY_FETCH: "1", LC_ALL: "C" },
      stdio: ["pipe", "pipe", "pipe"],
      timeout: TIMEOUT_MS,
      windowsHide: true,
    });
    let output = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (errors += chunk));
    child.on("error", () => resolve(null));
    child.on("close", (code) => resolve({ code, output, errors }));
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}
