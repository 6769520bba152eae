import { spawn } from "node:child_process";
import { devNull } from "node:os";

/** How long one call may take, in milliseconds. */
const TIMEOUT_MS = 8000;

/** Overrides for configuration, of the user or in the repository, that could run a program or change the output. */
const SETTINGS = [
  ...["core.fsmonitor=false", `core.hooksPath=${devNull}`, "submodule.recurse=false", "log.showSignature=false"],
  ...["color.ui=false", "color.grep=false", "grep.column=false", "grep.fullName=false"],
].flatMap((setting) => ["-c", setting]);

/** Git's answer. */
export interface GitAnswer {
  /** `null` if it took too long. */
  readonly code: number | null;
  readonly output: string;
  /** Its standard error, in English. */
  readonly errors: string;
}

/**
 * Runs git in a folder. Nothing is changed, and no program that the repository names is run.
 *
 * @param input its standard input; secrets go there, because other users can see a command's arguments
 * @returns `null` if there is no git on this machine
 */
export async function git(root: string, args: readonly string[], input = ""): Promise<GitAnswer | null> {
  return await new Promise((resolve) => {
    // GIT_OPTIONAL_LOCKS: without it, some commands refresh the index.
    const child = spawn("git", ["--no-optional-locks", "--no-pager", ...SETTINGS, ...args], {
      cwd: root,
      // Objects that a partial clone lacks aren't fetched.
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
