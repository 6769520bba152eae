import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** The `ashlar` command of this package. */
export const COMMAND: string = join(import.meta.dirname, "../../bin/ashlar.js");

/** An application that runs in a process of its own. */
export interface ServedApplication {
  /** Where it answers, with a slash at the end. */
  readonly url: string;
  /** The line that told so. */
  readonly line: string;
  readonly child: ChildProcess;
}

/** A port that nothing listens on at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Serves an application in a process of its own, on a free port unless `PORT` is given, and stops it when the test has
 * finished.
 */
export async function serve(root: string, environment: Record<string, string> = {}): Promise<ServedApplication> {
  const child = spawn(process.execPath, [COMMAND, "serve", "--port", environment.PORT ?? "0"], {
    cwd: root,
    env: { ...process.env, APP_ENV: "development", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  return await new Promise((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const [line, url] = /^.+ answers at (http:\S+)$/m.exec(output) ?? [];
      if (line !== undefined && url !== undefined) resolve({ url, line, child });
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("close", () => reject(new Error(`The application ended:\n${output}`)));
  });
}
