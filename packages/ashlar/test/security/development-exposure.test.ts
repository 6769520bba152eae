import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  COMMAND,
  edit,
  execute,
  generateApplication,
  generatedApplication,
  type ServedProcess,
  serve,
  startServing,
} from "../support/generated-application.ts";
import { startProcess } from "../support/long-process.ts";
import { exchange, rawSocket } from "../support/raw-socket.ts";

/** The other variables that production needs. */
const PRODUCTION = {
  APP_URL: "https://shop.example",
  MAIL_FROM: "shop@shop.example",
  SMTP_HOST: "127.0.0.1",
};

/** A generated application. */
let generated: { readonly root: string; readonly remove: () => Promise<void> };
beforeAll(async () => {
  generated = await generateApplication();
});
afterAll(() => generated.remove());

/** The line that a failing boot prints. */
async function bootFailure(root: string, environment: Record<string, string>): Promise<string> {
  const { ended, output } = startProcess(root, process.execPath, [COMMAND, "serve", "--port", "0"], environment);
  expect((await ended).code).toBe(1);
  expect(output()).not.toContain("is listening on");
  return output().trim();
}

/** Whether something accepts connections at an address. */
async function answersAt(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host);
  return await new Promise((resolve) => {
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
  }).then((isOpen) => {
    socket.destroy();
    return isOpen as boolean;
  });
}

const portOf = (url: string): number => Number(new URL(url).port);

describe("the environment", () => {
  test("S55 NODE_ENV=production with APP_ENV=development in .env makes startup fail, with a remedy", async () => {
    const root = await generatedApplication();
    await edit(root, ".env", ["PORT=", "APP_ENV=development\nPORT="]);
    expect(await bootFailure(root, { NODE_ENV: "production", ...PRODUCTION })).toBe(
      'Environment variable NODE_ENV: is "production", but APP_ENV is "development". Set both to the same, or remove one of them; also look in .env.',
    );
    // Commands that don't boot the application check this too.
    const { code, output } = await execute(root, "env", [
      "NODE_ENV=production",
      process.execPath,
      COMMAND,
      "migrate:fresh",
    ]);
    expect([code, output]).toEqual([1, expect.stringContaining('NODE_ENV: is "production"')]);
  });

  test.each([
    [{ APP_ENV: "production", NODE_ENV: "development" }, 'NODE_ENV: is "development", but APP_ENV is "production".'],
    [{ APP_ENV: "prod" }, 'APP_ENV: is "prod". Set it to production, development or test.'],
    [{ NODE_ENV: "prod" }, 'NODE_ENV: is "prod". Set it, or APP_ENV, to production, development or test.'],
  ])("S55 %j makes startup fail", async (environment, message) => {
    expect(await bootFailure(generated.root, { ...PRODUCTION, ...environment })).toContain(message);
  });

  test.each([
    [{ NODE_ENV: "production" }],
    [{ NODE_ENV: "Production" }],
    [{ APP_ENV: "production", NODE_ENV: "" }],
    [{ APP_ENV: "production", NODE_ENV: "production" }],
    [{ APP_ENV: "production", NODE_ENV: "test" }],
  ])("S55 %j is production, in a generated application", async (environment) => {
    const { root } = generated;
    expect(await bootFailure(root, environment)).toContain("APP_URL: is not set, and production needs it");
    const { url } = await serve(root, { ...PRODUCTION, ...environment });
    expect((await fetch(`${url}dev/mailbox`)).status).toBe(404);
  });
});

describe("listening", () => {
  test("S55 in development, it listens on 127.0.0.1 and ::1 and nowhere else", async () => {
    const { url } = await serve(generated.root, { NODE_ENV: "" });
    const port = portOf(url);
    expect(url).toBe(`http://localhost:${port}/`);
    expect(await Promise.all(["127.0.0.1", "::1"].map((host) => answersAt(host, port)))).toEqual([true, true]);
    // On Linux every address in 127.0.0.0/8 belongs to this machine, and represents its other addresses.
    expect(await answersAt("127.0.0.2", port)).toBe(false);
    for (const host of ["127.0.0.1", "[::1]", "localhost"]) {
      expect((await fetch(`http://${host}:${port}/dev/mailbox`)).status).toBe(200);
    }
  });

  test("S55 HOST and --host open it to other addresses, and production listens everywhere", async () => {
    const { root } = generated;
    const opened = [
      await serve(root, { HOST: "0.0.0.0" }),
      await serve(root, {}, ["--host", "0.0.0.0"]),
      await serve(root, { APP_ENV: "production", ...PRODUCTION }),
    ];
    for (const { url } of opened) expect(await answersAt("127.0.0.2", portOf(url))).toBe(true);
  });

  test("S55 a port that another program uses only on ::1 counts as in use", async () => {
    const { root } = generated;
    const first = await serve(root, {}, ["--host", "::1"]);
    const PORT = String(portOf(first.url));
    const { ended, output } = startProcess(root, process.execPath, [COMMAND, "serve"], { PORT });
    expect((await ended).code).toBe(1);
    expect(output()).toContain(`Port ${PORT}: Another program is using it.`);
  });
});

describe("the host of a request", () => {
  /** An application in development with an APP_URL and a failing route, open to other machines. */
  let failing: typeof generated;
  let plain: ServedProcess;
  let behindProxy: ServedProcess;
  beforeAll(async () => {
    failing = await generateApplication();
    await edit(failing.root, "routes/web.ts", [
      "export const ROUTES: RouteEntry[] = [",
      'export const ROUTES: RouteEntry[] = [\n  Route.get("/boom", () => {\n    throw new Error("the secret detail");\n  }),',
    ]);
    const open = { APP_URL: "http://shop.test:3000", HOST: "0.0.0.0" };
    plain = await startServing(failing.root, open);
    behindProxy = await startServing(failing.root, { ...open, TRUSTED_PROXIES: "loopback" });
  });
  afterAll(async () => {
    for (const served of [plain, behindProxy]) served?.child.kill("SIGKILL");
    await failing.remove();
  });

  const status = (answer: string): number => Number(answer.split(" ")[1]);
  const content = (answer: string): string => answer.slice(answer.indexOf("\n\n"));

  const PATHS = ["/dev/mailbox", "/dev/mailbox/", "/dev/mailbox/preview", "/dev/mailbox.json"];
  const OWN = ["localhost", "localhost:1", "LOCALHOST", "localhost.", "127.0.0.1:80", "[::1]:3000", "a.localhost"];
  const OWN_BY_URL = ["shop.test", "SHOP.test:9", "shop.test.:3000"];
  const FOREIGN = [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "notlocalhost:3000",
    "www.shop.test",
    "0.0.0.0",
    "192.0.2.7:3000",
    "[::2]",
  ];

  test("S55 the mailbox and the previews are available only to loopback hosts and APP_URL's host", async () => {
    const port = portOf(plain.url);
    for (const host of [...OWN, ...OWN_BY_URL]) {
      for (const path of PATHS) {
        expect([host, path, status(await exchange(port, `GET ${path}`, `Host: ${host}`))]).toEqual([host, path, 200]);
      }
    }
    for (const host of FOREIGN) {
      const nowhere = await exchange(port, "GET /nowhere", `Host: ${host}`);
      for (const path of PATHS) {
        const answer = await exchange(port, `GET ${path}`, `Host: ${host}`);
        expect([host, path, status(answer)]).toEqual([host, path, 404]);
        expect(content(answer)).toBe(content(nowhere));
      }
    }
    for (const line of ["POST /dev/mailbox", "HEAD /dev/mailbox", "OPTIONS /dev/mailbox"]) {
      expect(status(await exchange(port, line, "Host: evil.example", "Content-Length: 0"))).toBe(404);
    }
    // A request target that is a complete URL contains a host as well (RFC 9112 §3.2.2).
    expect(status(await exchange(port, "GET http://localhost/dev/mailbox", "Host: evil.example"))).toBe(404);
    expect(status(await exchange(port, "GET http://evil.example/dev/mailbox", "Host: localhost"))).toBe(404);
    expect(status(await exchange(port, "GET /dev/mailbox", "Host: evil.example", "X-Forwarded-Host: localhost"))).toBe(
      404,
    );
  });

  test("S55 behind a trusted proxy, both the requested host and the forwarded host must qualify", async () => {
    const port = portOf(behindProxy.url);
    const ask = async (host: string, forwarded: string): Promise<number> => {
      return status(await exchange(port, "GET /dev/mailbox", `Host: ${host}`, `X-Forwarded-Host: ${forwarded}`));
    };
    expect(await ask("localhost", "shop.test")).toBe(200);
    expect(await ask("shop.test", "shop.test")).toBe(200);
    expect(await ask("localhost", "evil.example")).toBe(404);
    // A page that rebinds its name reaches the application from this machine, like the proxy, and can send anything.
    expect(await ask("evil.example", "localhost")).toBe(404);
  });

  test("S55 a request without a host does not count as the developer's browser", async () => {
    const port = portOf(plain.url);
    const { closed } = rawSocket(port, "GET /dev/mailbox HTTP/1.0\r\n\r\n");
    expect(status(await closed)).toBe(404);
  });

  test("S55 an error shows its details only to loopback hosts and APP_URL's host", async () => {
    const port = portOf(plain.url);
    for (const accept of ["text/html", "application/json"]) {
      for (const host of [...OWN, ...OWN_BY_URL]) {
        const answer = await exchange(port, "GET /boom", `Host: ${host}`, `Accept: ${accept}`);
        expect([status(answer), answer.includes("the secret detail")]).toEqual([500, true]);
        expect(answer).toContain("routes/web.ts");
      }
      for (const host of FOREIGN) {
        const answer = await exchange(port, "GET /boom", `Host: ${host}`, `Accept: ${accept}`);
        expect([status(answer), answer.includes("the secret detail")]).toEqual([500, false]);
        expect(answer).not.toContain("web.ts");
      }
    }
  });
});
