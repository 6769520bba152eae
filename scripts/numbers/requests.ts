// `node scripts/numbers/requests.ts packages/ashlar`: prints as JSON which of the framework's source files run for a login,
// a page and a request with a token: until `fetch` has returned the response, and after it, for the work that the client
// doesn't wait for, such as mails. It uses V8's coverage of an application that it generates in the package's folder.
import { mkdtemp, rm } from "node:fs/promises";
import { type Profiler, Session } from "node:inspector/promises";
import { registerHooks } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Application } from "../../packages/ashlar/src/boot/index.ts";

const packageFolder = resolve(process.argv[2]!);
const source = pathToFileURL(join(packageFolder, "src/")).href;
const EMAIL = "ada@example.com";
const PASSWORD = "a password of hers";

// The application imports the framework by name, which resolves to the source here.
registerHooks({
  resolve(specifier, context, next) {
    const [, name = "index"] = /^ashlar(?:\/([a-z]+))?$/.exec(specifier) ?? [];
    return specifier === "ashlar" || specifier.startsWith("ashlar/")
      ? { url: `${source}public/${name}.ts`, shortCircuit: true }
      : next(specifier, context);
  },
});

const { createProject } = (await import(
  `${source}scaffold/index.ts`
)) as typeof import("../../packages/ashlar/src/scaffold/index.ts");
const testing = (await import(
  `${source}testing/index.ts`
)) as typeof import("../../packages/ashlar/src/testing/index.ts");
const { createTestApplication, createTestClient } = testing;

/** The files that run for one request. */
export interface FilesOfRequest {
  /** Until `fetch` has returned the response. */
  readonly request: readonly string[];
  /** Only after that, until no background job, event listener or mail is left. */
  readonly after: readonly string[];
}

/** The source files in which a function ran while a request was answered, and after that. */
async function filesOf(
  inspector: Session,
  application: Application,
  send: () => Promise<unknown>,
): Promise<FilesOfRequest> {
  const covered = () => inspector.post("Profiler.takePreciseCoverage");
  const { fetch } = application;
  let responded: ReturnType<typeof covered> | null = null;
  const fetchCovered = async (...request: Parameters<Application["fetch"]>): Promise<Response> => {
    await covered();
    const response = await fetch(...request);
    responded = covered();
    return response;
  };
  await settle(application);
  await covered();
  await settle(application);
  const waiting = new Set(ran(await covered()).map(({ id }) => id));
  Object.assign(application, { fetch: fetchCovered });
  await send();
  Object.assign(application, { fetch });
  const request = filesIn(ran(await responded!));
  await settle(application);
  const after = filesIn(ran(await covered()).filter(({ id }) => !waiting.has(id)));
  return { request, after: after.filter((path) => !request.includes(path)) };
}

/** The framework's functions that ran. */
function ran({ result }: Profiler.TakePreciseCoverageReturnType): { readonly path: string; readonly id: string }[] {
  return result.flatMap(({ url, functions }) => {
    const path = url.startsWith(source) ? url.slice(source.length) : "testing/";
    if (path.startsWith("testing/")) return [];
    const starts = functions.flatMap(({ ranges: [range] }) => (range!.count > 0 ? [range!.startOffset] : []));
    return starts.map((start) => ({ path, id: `${path}:${start}` }));
  });
}

function filesIn(functions: readonly { readonly path: string }[]): string[] {
  return [...new Set(functions.map(({ path }) => path))].sort();
}

/** Waits for the work that requests leave behind: jobs, event listeners, and the mails that these write. */
async function settle({ background, container }: Application): Promise<void> {
  const events = container.make("events");
  do {
    await background.settled();
    await events.settled();
    await container.make("mail").settled();
  } while (background.pending > 0 || events.pending > 0);
}

/** Fails unless the response is the expected one: a refusal runs other files. */
async function expectStatus(status: number, response: Promise<{ readonly status: number }>): Promise<void> {
  const got = await response;
  if (got.status !== status) throw new Error(`Expected ${status}, got ${got.status}.`);
}

// In the package, so that the generated files find it.
const folder = await mkdtemp(join(packageFolder, ".generated-"));
const inspector = new Session();
try {
  const { root } = await createProject({ folder: join(folder, "shop"), pages: true, api: true, database: "sqlite" });
  const { Kernel } = await import(pathToFileURL(join(root, "app/kernel.ts")).href);
  const { User } = await import(pathToFileURL(join(root, "app/models/user.ts")).href);
  const application = await createTestApplication({ root, kernel: Kernel });
  const user = new User().fill({ name: "Ada", email: EMAIL });
  await user.setPassword(PASSWORD);
  await user.markEmailAsVerified();

  const logIn = async () => {
    const client = createTestClient(application);
    const page = await client.get("/login");
    return { client, send: () => expectStatus(302, client.submit(page, { email: EMAIL, password: PASSWORD })) };
  };
  const api = createTestClient(application);
  const credentials = { username: EMAIL, password: PASSWORD };
  // The first request of each kind also runs one-time code.
  const first = await logIn();
  await first.send();
  await first.client.get("/home");
  const { data: token } = (await api.post("/api/auth", credentials)).json as { data: string };
  const withToken = () => expectStatus(200, api.get("/api/me", { headers: { authorization: `Bearer ${token}` } }));
  await withToken();

  inspector.connect();
  await inspector.post("Profiler.enable");
  await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const { client, send } = await logIn();
  const requests = {
    "POST /login": send,
    "GET /home": () => expectStatus(200, client.get("/home")),
    "GET /api/me": withToken,
  };
  const files: Record<string, FilesOfRequest> = {};
  for (const [name, request] of Object.entries(requests)) files[name] = await filesOf(inspector, application, request);
  console.log(JSON.stringify(files));
  await application.shutdown();
} finally {
  inspector.disconnect();
  await rm(folder, { recursive: true, force: true });
}
