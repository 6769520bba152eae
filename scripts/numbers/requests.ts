// `node scripts/numbers/requests.ts packages/ashlar`: prints as JSON which of the framework's source files run for a login,
// a page and a request with a token. It uses V8's coverage of an application that it generates in the package's folder.
import { mkdtemp, rm } from "node:fs/promises";
import { Session } from "node:inspector/promises";
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

/** The source files in which a function ran while a request was answered. */
async function filesOf(
  inspector: Session,
  application: Application,
  request: () => Promise<unknown>,
): Promise<string[]> {
  await inspector.post("Profiler.takePreciseCoverage");
  await request();
  await application.background.settled();
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  const ran = result.filter(({ url, functions }) => {
    return url.startsWith(source) && functions.some(({ ranges }) => ranges[0]!.count > 0);
  });
  return ran
    .map(({ url }) => url.slice(source.length))
    .filter((path) => !path.startsWith("testing/"))
    .sort();
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
  const files: Record<string, string[]> = {};
  for (const [name, request] of Object.entries(requests)) files[name] = await filesOf(inspector, application, request);
  console.log(JSON.stringify(files));
  await application.shutdown();
} finally {
  inspector.disconnect();
  await rm(folder, { recursive: true, force: true });
}
