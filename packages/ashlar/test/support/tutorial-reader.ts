import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { type Application, createApplication } from "../../src/boot/index.ts";
import { createTestClient, type TestClient } from "../../src/testing/index.ts";
import { type ApplicationFolder, makeApplicationFolder } from "./application-folder.ts";
import { COMMAND, checkTypes, execute, freePort, type ServedProcess, startServing } from "./generated-application.ts";
import { changed, pageChanges } from "./page-changes.ts";
import { fileIn, writePageFile } from "./page-files.ts";
import { markdownSamples, REPOSITORY, type Sample } from "./samples.ts";

const PACKAGE = join(import.meta.dirname, "../..");
const CREATE = join(PACKAGE, "../create-ashlar/bin/create-ashlar.js");
const OXLINT = join(REPOSITORY, "node_modules/oxlint/bin/oxlint");
const TYPESCRIPT = join(REPOSITORY, "node_modules/typescript/bin/tsc");

/** The languages of code blocks that show a command's output. */
const OUTPUT: ReadonlySet<string> = new Set(["text", "json"]);

/** A command that runs the server until it is stopped. */
const SERVE = /^(?:APP_ENV=(\w+) )?npm (?:run dev|start)$/;

/**
 * `npm` and `npx` for the tutorial's commands. The new application is inside the package, where it finds the framework,
 * zod and the tools, so there is nothing to install. But what `npm install` writes to `package.json` is written.
 */
const SHELL = `
npx() { [ "$1" = ashlar ] && shift && "$NODE" "$ASHLAR" "$@"; }
npm() {
  case "$*" in
    "create ashlar@latest tracker") "$NODE" "$CREATE" tracker --yes --no-install ;;
    "install zod") "$NODE" --eval "$INSTALL_ZOD" ;;
    "ci --omit=dev") ;;
    "test") "$NODE" --test 'tests/*.test.ts' ;;
    "run migrate") "$NODE" "$ASHLAR" migrate ;;
    "run types") "$NODE" "$TYPESCRIPT" --singleThreaded ;;
    "run lint") "$NODE" "$OXLINT" ;;
    *) echo "This command is not known to the test: npm $*"; return 1 ;;
  esac
}
set -eo pipefail
cd "$FOLDER"
`;
const INSTALL_ZOD = `
const fs = require("node:fs");
const manifest = JSON.parse(fs.readFileSync("package.json", "utf8"));
manifest.dependencies.zod = "^${(createRequire(import.meta.url)("zod/package.json") as { version: string }).version}";
fs.writeFileSync("package.json", JSON.stringify(manifest, null, 2) + "\\n");`;

/** The application's `npm run …` scripts that {@link SHELL} relies on. */
const SCRIPTS = {
  dev: "ashlar serve --watch",
  start: "ashlar serve",
  migrate: "ashlar migrate",
  test: "node --test tests/*.test.ts",
  types: "tsc",
  lint: "oxlint",
};

/**
 * Follows the tutorial like a reader: types its commands, writes its files, makes its changes, and compares the
 * commands' output with the tutorial's. Every code block is followed in order; if one can't be, that's an error.
 */
export class TutorialReader {
  readonly #parent: ApplicationFolder;
  /** The terminal's current folder. */
  #folder: string;
  #served: ServedProcess | null = null;
  /** Whether a file has changed since the server was started, as `npm run dev` would notice. */
  #isStale = false;
  readonly #ports: ReadonlyMap<string, number>;
  #variables = "";
  #text = "";
  readonly #gates: Application[] = [];

  private constructor(parent: ApplicationFolder, ports: ReadonlyMap<string, number>) {
    this.#parent = parent;
    this.#folder = parent.folder;
    this.#ports = ports;
  }

  /** A reader in an empty folder. */
  static async begin(): Promise<TutorialReader> {
    return new TutorialReader(
      await makeApplicationFolder(),
      new Map([
        ["3000", await freePort()],
        ["3001", await freePort()],
      ]),
    );
  }

  /** Ends everything that was started, and removes the folder. */
  async end(): Promise<void> {
    await this.#stop();
    for (const gate of this.#gates) await gate.shutdown();
    await this.#parent.remove();
  }

  /**
   * Follows a page from beginning to end. Afterwards the application is served with all of the page's changes.
   *
   * @param page the Markdown file, relative to the repository
   */
  async follow(page: string): Promise<void> {
    this.#text = await readFile(join(REPOSITORY, page), "utf8");
    const fences = await markdownSamples(page);
    for (const [index, fence] of fences.entries()) {
      const next = fences[index + 1];
      const shown = next !== undefined && OUTPUT.has(next.language) ? next : null;
      await this.#followFence(fence, shown, fences[index - 1]?.language).catch((error: unknown) => {
        throw new Error(`${page}:${fence.line}: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        });
      });
    }
    if (existsSync(join(this.#folder, "app.ts"))) await this.#serve();
  }

  /** Checks the types, and lints with the application's own settings. */
  async check(): Promise<void> {
    const [{ code, output }] = await Promise.all([
      execute(this.#folder, process.execPath, [OXLINT, "--format=unix"]),
      checkTypes(this.#folder),
    ]);
    expect(output).not.toContain("[Error/");
    expect(code).toBe(0);
  }

  /** Returns a text that the current page promises, to compare it with what the browser shows. */
  told(text: string): string {
    const plain = this.#text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replace(/\s+/g, " ");
    expect(plain, "The page does not promise this.").toContain(text);
    return text;
  }

  /** A visitor of the served application, with a separate browser. */
  async visitor(): Promise<TestClient> {
    const { url } = await this.#serve();
    const gate = await createApplication({ environment: { APP_ENV: "test", APP_URL: new URL(url).origin } });
    this.#gates.push(gate);
    const client = createTestClient(gate);
    // From here on, its requests use the socket.
    Object.assign(gate, { fetch: (request: Request) => fetch(request) });
    return client;
  }

  async #followFence(fence: Sample, shown: Sample | null, previous: string | undefined): Promise<void> {
    const { language } = fence;
    const code = this.#here(fence.code);
    const file = fileIn(code);
    if (file !== null) return await this.#write(file.path, file.text);
    if (language === "diff") return await this.#change(code);
    if (language === "sh") return await this.#type(code, shown === null ? null : this.#here(shown.code));
    // Already compared with the command's output.
    if (OUTPUT.has(language) && previous === "sh") return;
    throw new Error(`A reader can't tell what to do with this:\n${code}`);
  }

  /** A text from the tutorial, with ports that are free on this machine. */
  #here(text: string): string {
    let result = text;
    for (const [shown, port] of this.#ports) {
      result = result.replaceAll(`localhost:${shown}`, `localhost:${port}`).replaceAll(`PORT=${shown}`, `PORT=${port}`);
    }
    return result;
  }

  async #write(path: string, text: string): Promise<void> {
    await writePageFile(this.#folder, { path: await this.#own(path), text });
    this.#isStale = true;
  }

  /** A migration's name contains the time, so the reader's file has a different name. */
  async #own(path: string): Promise<string> {
    const [, folder, name] = /^(database\/migrations\/)\d{4}_\d\d_\d\d_\d{6}(_\w+\.ts)$/.exec(path) ?? [];
    if (folder === undefined || name === undefined) return path;
    const own = (await readdir(join(this.#folder, folder))).filter((file) => file.endsWith(name));
    expect(own, `The reader has created one migration …${name}.`).toHaveLength(1);
    return folder + own[0];
  }

  /** Makes a code block's changes. */
  async #change(code: string): Promise<void> {
    for (const change of pageChanges(code)) {
      // `PORT=3000` is the generated file's own.
      const text = this.#here(await readFile(join(this.#folder, change.path), "utf8"));
      await this.#write(change.path, changed(text, change));
    }
  }

  /** Types commands, and compares their output with the tutorial's, in which `…` matches anything. */
  async #type(code: string, shown: string | null): Promise<void> {
    let output = "";
    let isRefused = false;
    for (const line of code.replaceAll(/\\\n\s*/g, "").split("\n")) {
      expect(isRefused, "A command that fails is the last of its fence.").toBe(false);
      const serve = SERVE.exec(line);
      if (serve !== null) {
        this.#isStale = true;
        const served = await this.#serve(serve[1]).catch((error: unknown) => String(error));
        isRefused = typeof served === "string";
        output += typeof served === "string" ? served : served.line;
      } else output += await this.#run(line);
    }
    if (shown === null) {
      expect(isRefused, output).toBe(false);
      return;
    }
    let rest = squeezed(output);
    for (const part of squeezed(shown).split("…")) {
      const place = rest.indexOf(part.trim());
      expect(place, `This is shown but wasn't printed: ${part.trim()}\n${output}`).toBeGreaterThanOrEqual(0);
      rest = rest.slice(place + part.trim().length);
    }
  }

  async #run(line: string): Promise<string> {
    if (line.startsWith("curl ")) await this.#serve();
    const state = join(this.#parent.folder, "state");
    const script = `${SHELL}${this.#variables}\n${line}\npwd >"$STATE"; declare -p TOKEN >>"$STATE" 2>/dev/null || true`;
    const { code, output } = await execute(this.#folder, "bash", ["-c", script], {
      NODE: process.execPath,
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      ASHLAR: COMMAND,
      CREATE,
      OXLINT,
      TYPESCRIPT,
      INSTALL_ZOD,
      FOLDER: this.#folder,
      STATE: state,
      GIT_AUTHOR_NAME: "Reader",
      GIT_AUTHOR_EMAIL: "reader@example.com",
      GIT_COMMITTER_NAME: "Reader",
      GIT_COMMITTER_EMAIL: "reader@example.com",
    });
    // The doctor exits with an error code because it has found an error, which the page shows.
    if (code === 1 && line.startsWith("npx ashlar doctor")) return output;
    if (code !== 0) throw new Error(`${line}\n${output}`);
    const [folder = "", ...variables] = (await readFile(state, "utf8")).trimEnd().split("\n");
    this.#variables = variables.join("\n");
    if (folder !== this.#folder) await this.#enter(folder);
    return output;
  }

  async #enter(folder: string): Promise<void> {
    this.#folder = folder;
    if (!existsSync(join(folder, "package.json"))) return;
    const { scripts } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as { scripts: unknown };
    expect(scripts).toEqual(SCRIPTS);
    // This repository ignores files that tests generate, and so would the linter.
    await execute(folder, "git", ["init", "--quiet"]);
  }

  /** Serves the application, and restarts it if a file has changed. */
  async #serve(environment?: string): Promise<ServedProcess> {
    if (this.#served !== null && !this.#isStale) return this.#served;
    await this.#stop();
    const file = join(this.#folder, ".env");
    const isServer = existsSync(file) && /^APP_ENV=production$/m.test(await readFile(file, "utf8"));
    // In production, the port is in the reader's `.env`.
    const PORT = String(this.#ports.get(isServer || environment !== undefined ? "3001" : "3000"));
    const variables: Record<string, string> = environment === undefined ? { PORT } : { APP_ENV: environment, PORT };
    this.#isStale = false;
    this.#served = await startServing(this.#folder, variables);
    return this.#served;
  }

  async #stop(): Promise<void> {
    const child = this.#served?.child;
    this.#served = null;
    if (child === undefined || child.exitCode !== null) return;
    await new Promise((resolve) => child.on("close", resolve).kill("SIGTERM"));
  }
}

/** Collapses spaces, because tables are aligned to their longest line. */
function squeezed(text: string): string {
  return text.replace(/[ \t]+/g, " ");
}
