import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateSecret } from "../../src/security/index.ts";
import { builtModule } from "../support/built-module.ts";
import { ashlar } from "../support/command-line.ts";
import { startScript } from "../support/script-process.ts";
import { SocketVisitor } from "../support/socket-visitor.ts";
import { makeFolder } from "../support/temporary-folder.ts";

/** An application with a form and a session, and a signed link. */
const SCRIPT = `
import { createApplication, HttpKernel, Route, SignedMiddleware } from ${JSON.stringify(builtModule("index"))};
import { SessionMiddleware, SessionProvider, VerifyCsrfToken } from ${JSON.stringify(builtModule("session"))};

class Kernel extends HttpKernel {
  routeMiddleware = { web: [SessionMiddleware, VerifyCsrfToken], signed: [SignedMiddleware] };
}

const application = await createApplication({
  kernel: Kernel,
  routes: [
    Route.get("/form", ({ csrfField, session }) => {
      session.put("opened", "yes");
      return csrfField.toString();
    }),
    Route.post("/form", ({ session }) => "sent, opened: " + session.get("opened")),
    Route.get("/link", () => application.router.signed("signed")),
    Route.get("/signed", () => "signed").name("signed").middleware("signed"),
  ],
  config: { providers: { PROVIDERS: [SessionProvider] } },
});
const { url } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
console.log("port " + new URL(url).port);
`;

type Generation = "before" | "staged" | "promoted" | "replaced at once";
type Running = Awaited<ReturnType<typeof startScript>>;

/** A process for each generation of variables, as the command writes them in turn. */
const running = new Map<Generation, Running>();

async function generations(): Promise<Map<Generation, Record<string, string>>> {
  const { folder, remove } = makeFolder({});
  const path = join(folder, ".env");
  await writeFile(path, `APP_KEY=${generateSecret()}\n`);
  const made = new Map<Generation, Record<string, string>>();
  const note = async (generation: Generation, ...options: readonly string[]): Promise<void> => {
    if (options.length > 0) expect((await ashlar(folder, "key:generate", ...options)).code).toBe(0);
    made.set(generation, { ...parseEnv(await readFile(path, "utf8")) } as Record<string, string>);
  };
  await note("before");
  const before = await readFile(path, "utf8");
  await note("replaced at once", "--rotate");
  await writeFile(path, before);
  await note("staged", "--rotate", "--stage");
  await note("promoted", "--rotate", "--promote");
  remove();
  return made;
}

beforeAll(async () => {
  const made = await generations();
  await Promise.all(
    [...made].map(async ([generation, env]) => running.set(generation, await startScript(SCRIPT, { env }))),
  );
});

afterAll(() => {
  for (const { kill } of running.values()) kill();
});

function visitor(generation: Generation, cookies: ReadonlyMap<string, string> = new Map()): SocketVisitor {
  const one = new SocketVisitor(`http://127.0.0.1:${running.get(generation)!.port}`);
  for (const [name, value] of cookies) one.cookies.set(name, value);
  return one;
}

/** Opens a form in one process, and sends it to another. */
async function exchanged(from: Generation, to: Generation): Promise<readonly [status: number, body: string]> {
  const opener = visitor(from);
  const [, token = ""] = /value="([^"]+)"/.exec((await opener.get("/form")).body) ?? [];
  const { status, body } = await visitor(to, opener.cookies).post("/form", { __token: token });
  return [status, status === 200 ? body : ""];
}

async function linked(from: Generation, to: Generation): Promise<number> {
  const link = new URL((await visitor(from).get("/link")).body, "http://127.0.0.1");
  return (await visitor(to).get(link.pathname + link.search)).status;
}

describe("S26 while a key is replaced in two steps", () => {
  // Each step, and each step back, is a deployment in which processes of two generations run side by side.
  test.each([
    ["before", "staged"],
    ["staged", "before"],
    ["staged", "promoted"],
    ["promoted", "staged"],
    ["before", "before"],
    ["promoted", "promoted"],
  ] as const)(
    "values from a process of the generation %s are accepted by one of the generation %s",
    async (from, to) => {
      expect(await exchanged(from, to)).toEqual([200, "sent, opened: yes"]);
      expect(await linked(from, to)).toBe(200);
    },
  );

  test("the previous generation does not know the new key, which is why the first step exists", async () => {
    for (const later of ["promoted", "replaced at once"] as const) {
      expect(await exchanged("before", later)).toEqual([200, "sent, opened: yes"]);
      expect(await exchanged(later, "before")).toEqual([419, ""]);
      expect(await linked(later, "before")).toBe(403);
    }
  });
});
