import type { ChildProcess } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { type Program, startProgram } from "./programs.ts";

const PACKAGE = join(import.meta.dirname, "../../packages/ashlar");

/** An application with only a form, whose CSRF token is in a session. */
const APP = `
import { createApplication, HttpKernel, Route } from "ashlar";
import { Csrf, SessionMiddleware, SessionProvider, VerifyCsrfToken } from "ashlar/session";

class Kernel extends HttpKernel {
  routeMiddleware = { web: [SessionMiddleware, VerifyCsrfToken], api: [] };
}

export default await createApplication({
  root: import.meta.dirname,
  kernel: Kernel,
  providers: [SessionProvider],
  routes: [
    Route.get("/form", (context) => context.response.text(Csrf.token(context))),
    Route.post("/form", ({ request, response }) => response.text(String(request.input("word")))),
  ],
});
`;

/** A served application with two workers, which can be restarted. */
export interface Instance {
  readonly port: number;
  /** The logs of all its processes, one after the other. */
  readonly logFile: string;
  /** The exit codes of the processes that were stopped. */
  readonly exitCodes: readonly (number | null)[];
  /** Its process; `null` while it is stopped. */
  readonly process: () => ChildProcess | null;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Replaces its workers, and resolves once all are new. */
  reload(): Promise<void>;
}

/** An application's folder, and its environment in addition to the common variables. */
export interface Place {
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Writes the application, with the built package, into a folder.
 *
 * @returns a function that creates an instance of it
 */
export function applicationIn(folder: string): () => Promise<Instance> {
  linkPackage(folder);
  writeFileSync(join(folder, "app.ts"), APP);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return instancesOf({ folder });
}

/** Makes the built package available to an application. */
export function linkPackage(folder: string): void {
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(PACKAGE, join(folder, "node_modules/ashlar"), "dir");
}

/** The command of the package, as `npx ashlar` runs it. */
export const COMMAND: string = join(PACKAGE, "bin/ashlar.js");

/** The environment of an application in production, on this machine. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  APP_ENV: "production",
  APP_URL: "http://shop.example",
  APP_KEY: "q3Zr8pYt5Wn1Lx7Vc0Bm4Kj6Hg2Fd9Sa-_QwErTyUiO",
  HOST: "127.0.0.1",
  TRUSTED_PROXIES: "loopback",
  LOG_LEVEL: "info",
};

/** Returns a factory for instances of an application, each on a separate port. */
export function instancesOf({ folder, env = {} }: Place): () => Promise<Instance> {
  return async () => {
    const port = await freePort();
    const logFile = join(folder, `${port}.log`);
    const exitCodes: (number | null)[] = [];
    let program: Program | null = null;
    return {
      port,
      logFile,
      exitCodes,
      process: () => program?.child ?? null,
      async start() {
        const args = [COMMAND, "serve", "--workers", "2", "--port", String(port)];
        const started = startProgram(process.execPath, args, { cwd: folder, env: { ...ENVIRONMENT, ...env }, logFile });
        program = started;
        await until(
          () => isReady(port),
          () => started.output(),
        );
      },
      async stop() {
        if (program !== null) exitCodes.push(await program.stop());
        program = null;
      },
      async reload() {
        const before = count(program!.output(), "The workers have been replaced.");
        program!.child.kill("SIGHUP");
        await until(
          () => count(program!.output(), "The workers have been replaced.") > before,
          () => program!.output(),
        );
      },
    };
  };
}

async function isReady(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Waits until a condition holds, for at most two minutes. */
export async function until(isSo: () => boolean | Promise<boolean>, why: () => string): Promise<void> {
  const endsAt = performance.now() + 120_000;
  while (!(await isSo())) {
    if (performance.now() > endsAt) throw new Error(`It has not happened in two minutes:\n${why()}`);
    await sleep(50);
  }
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}
