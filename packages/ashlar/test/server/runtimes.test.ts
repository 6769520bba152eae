import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { execute, generateApplication } from "../support/generated-application.ts";
import { walkAccount, walkAuthentication, walkResponses, walkUploads } from "../support/host-walks.ts";
import { type HostedApplication, hostedApplication } from "../support/hosted-application.ts";
import { rawSocket } from "../support/raw-socket.ts";
import { BUN, DENO } from "../support/runtimes.ts";

/** How each runtime serves an application, as the manual shows it. */
const RUNTIMES = {
  Bun: {
    command: [BUN, "run"],
    program: `
import { application, whoami } from "./served.ts";
const { port } = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  routes: { "/whoami": (request, server) => whoami(request, { address: server.requestIP(request)?.address }) },
  fetch: (request, server) => application.fetch(request, { address: server.requestIP(request)?.address }),
});
console.log("port " + port);`,
  },
  Deno: {
    command: [DENO, "run", "--allow-all"],
    program: `
import { application, whoami } from "./served.ts";
Deno.serve(
  { port: 0, hostname: "127.0.0.1", onListen: ({ port }) => console.log("port " + port) },
  (request, { remoteAddr }) => {
    const handle = new URL(request.url).pathname === "/whoami" ? whoami : application.fetch;
    return handle(request, { address: remoteAddr.hostname });
  },
);`,
  },
} as const;

describe.each(Object.keys(RUNTIMES) as (keyof typeof RUNTIMES)[])("an application on %s", (runtime) => {
  let served: HostedApplication;
  beforeAll(async () => {
    served = await hostedApplication(RUNTIMES[runtime]);
  });
  afterAll(() => served.end());

  test("supports the complete life cycle of an account", async () => {
    await walkAccount(served.url);
    expect(served.child.exitCode).toBeNull();
  });

  test("S154 renders pages as on Node, with every field's name", async () => {
    const fields = async (path: string) => {
      const html = await (await fetch(new URL(path, served.url))).text();
      return [...html.matchAll(/<input[^>]* name="([^"]*)"/g)].map(([, name]) => name);
    };
    expect(await fields("register")).toEqual(["__token", "name", "email", "password", "password_confirmation"]);
    expect(await fields("login")).toEqual(["__token", "email", "password", "remember"]);
  });

  test("S197 accepts uploads, and leaves no files behind", async () => {
    // Deno would read a file into memory anyway.
    await walkUploads(served.url, runtime !== "Deno");
    expect(served.child.exitCode).toBeNull();
  });

  test("gives its handlers the client's address", async () => {
    await walkAuthentication(served.url, "127.0.0.1");
    expect(served.child.exitCode).toBeNull();
  });

  test("S109 takes the address from the socket, and ignores fields that are sent twice or could choose the path", async () => {
    const ask = async (...lines: string[]) => {
      const answer = await rawSocket(served.port, [...lines, "Connection: close", "", ""].join("\r\n")).closed;
      const [, body = ""] = answer.split("\r\n\r\n");
      return [Number(answer.split(" ")[1]), body.startsWith("{") ? JSON.parse(body) : null];
    };
    const forged = ["X-Forwarded-For: 6.6.6.6", "X-Real-IP: 6.6.6.6", "Forwarded: for=6.6.6.6"];
    const twice = ["Authorization: Bearer one", "Authorization: Bearer two", "Cookie: a=1", "Cookie: b=2"];
    expect(await ask("GET /seen HTTP/1.1", "Host: a.example", ...forged, ...twice)).toEqual([
      200,
      { address: "127.0.0.1", token: null, cookie: "2", path: "/seen" },
    ]);
    expect((await ask("GET /seen HTTP/1.1", "Host: a.example", "Host: b.example"))[0]).toBe(400);
    expect((await ask("GET /home HTTP/1.1", "Host: a.example/seen?"))[0]).toBe(400);
    expect((await ask("GET //evil.example/seen HTTP/1.1", "Host: a.example"))[0]).toBe(404);
  });

  test("S118 serves files, streams, large bodies, HEAD and errors, and development tools only to this machine", async () => {
    await walkResponses(served, "127.0.0.1");
    expect(served.child.exitCode).toBeNull();
  });
});

test("features that a runtime doesn't allow are named at startup, with a remedy", async () => {
  const { root, remove } = await generateApplication();
  try {
    await ashlar(root, "key:generate");
    const allowed = ["net", "read", "write", "env", "sys"].map((name) => `--allow-${name}`);
    const { code, output } = await execute(root, DENO, ["run", "--no-prompt", ...allowed, "app.ts"]);
    expect(code).toBe(1);
    expect(output).toContain("Passwords need Argon2. Run Deno with --allow-ffi.");
  } finally {
    await remove();
  }
});
