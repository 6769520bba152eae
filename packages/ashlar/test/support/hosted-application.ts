import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ashlar } from "./command-line.ts";
import { generateApplication } from "./generated-application.ts";
import { shellEnvironment } from "./shell-environment.ts";

/** A program that prints `port <number>` once it serves on that port. */
export interface HostProgram {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  /** The output so far, on both streams. */
  readonly output: () => string;
}

/** An application served by a host, in a separate process. */
export interface HostedApplication extends HostProgram {
  readonly root: string;
  /** Ends the process, and removes the application. */
  readonly end: () => Promise<void>;
}

/** Routes to compare hosts with, besides those of a generated application. It exports the application, and its `fetch`. */
const SERVED = `
import { readdir, stat } from "node:fs/promises";
import { createApplication, Route } from "ashlar";
import { Kernel } from "./app/kernel.ts";

export const application = await createApplication({
  root: import.meta.dirname,
  kernel: Kernel,
  routes: [
    Route.post("/echo", ({ request }) => ({ length: request.input("text").length })),
    Route.post("/photos", async ({ request }) => {
      const [photo] = request.files("photo");
      const name = await photo.moveTo("storage/" + crypto.randomUUID());
      const files = await readdir(process.env.TMPDIR, { recursive: true });
      const written = files.filter((file) => /ashlar-uploads-[^/]*\\/[\\da-f-]{36}$/.test(file));
      return { size: photo.size, saved: (await stat(name)).size, written: written.length };
    }).bodyLimit("10mb"),
    Route.post("/films", async ({ request }) => {
      const sizes = [];
      for await (const part of request.parts()) sizes.push((await stat(await part.moveTo("storage/" + crypto.randomUUID()))).size);
      return { title: request.input("title"), sizes };
    }).streamsFiles().bodyLimit("10mb"),
    Route.get("/left", async () => {
      const files = await readdir(process.env.TMPDIR, { recursive: true });
      return { left: files.filter((file) => /ashlar-uploads-[^/]*\\/[\\da-f-]{36}$/.test(file)).length };
    }),
    Route.get("/stream", ({ response }) => response.stream((async function* () {
      for (let piece = 0; piece < 64; piece++) yield String.fromCharCode(97 + (piece % 26)).repeat(65536);
    })(), "text/plain")),
    Route.get("/address", ({ request }) => ({ address: request.remoteAddress })),
    Route.get("/seen", ({ request }) => ({
      address: request.clientAddress,
      token: request.bearerToken(),
      cookie: request.cookie("b"),
      path: request.getPath(),
    })),
    Route.get("/platform", () => new Response("from the platform", { status: 201, headers: { "content-type": "text/plain;charset=UTF-8" } })),
    Route.get("/failing", () => { throw new Error("no s3cret"); }),
  ],
});
export const { fetch } = application;

/** A handler in another framework that calls authenticate(). */
export async function whoami(request, options) {
  try {
    const visitor = await application.authenticate(request, options);
    if (visitor.user === null) return await visitor.refuse();
    const csrfToken = await visitor.csrfToken();
    return visitor.apply(Response.json({ email: visitor.user.email, address: visitor.clientAddress, csrfToken }));
  } catch (error) {
    return await application.errorResponse(request, error, options);
  }
}
`;

/** How an application is served by a host. */
export interface HostOptions {
  /** The program, which imports the application from `./served.ts`. */
  readonly program: string;
  /** The command that runs it, without the file's name; default: this Node. */
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Generates an application, and serves it with a host. */
export async function hostedApplication({ program, command, environment }: HostOptions): Promise<HostedApplication> {
  const { root, remove } = await generateApplication();
  try {
    await ashlar(root, "migrate");
    await writeFile(join(root, "served.ts"), SERVED);
    await writeFile(join(root, "host.ts"), program);
    await writeFile(join(root, "public/large.txt"), "x".repeat(300_000));
    const run = [...(command ?? [process.execPath]), "host.ts"];
    await mkdir(join(root, "storage/temporary"), { recursive: true });
    const TMPDIR = join(root, "storage/temporary");
    const host = await startHost(root, run, { APP_URL: "http://localhost:3000", TMPDIR, ...environment });
    const end = async (): Promise<void> => {
      host.child.kill("SIGKILL");
      await remove();
    };
    return { ...host, root, end };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Starts a program in a folder, and waits until it serves. */
export async function startHost(
  root: string,
  [command = "", ...args]: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  announcement: RegExp = /port (\d+)/,
): Promise<HostProgram> {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...shellEnvironment(), APP_ENV: "development", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const port = await new Promise<number>((resolve, reject) => {
    const read = (data: Buffer): void => {
      output += String(data);
      const found = announcement.exec(output);
      if (found !== null) resolve(Number(found[1]));
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("error", reject);
    child.on("close", (code) => reject(new Error(`The host ended (${code}):\n${output}`)));
  });
  return { url: `http://127.0.0.1:${port}/`, port, child, output: () => output };
}
