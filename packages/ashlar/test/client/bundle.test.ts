// The built module, as a bundler includes it in a front end.
import { readFileSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";
import { COMPILERS, compile } from "../support/installed-application.ts";
import { outputOf } from "../support/own-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const PACKAGE = join(import.meta.dirname, "../..");
const BUILT = join(PACKAGE, "dist/client.js");
const LIMIT = 5000;

/** Bundles a program that imports these names from the client, minified and without remaining imports. */
async function bundled(names: string): Promise<string> {
  const entry = "front-end";
  const bundle = await rolldown({
    input: entry,
    platform: "browser",
    plugins: [
      {
        name: entry,
        resolveId: (id) => (id === entry ? entry : id === "ashlar/client" ? BUILT : null),
        load: (id) => (id === entry ? `export ${names} from "ashlar/client";` : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  expect(output.length).toBe(1);
  expect(output[0].imports).toEqual([]);
  return output[0].code;
}

const sizeOf = (code: string): number => gzipSync(code).length;

test("the built module imports nothing, and is smaller than 5 kB when it is minified and compressed", async () => {
  expect(readFileSync(BUILT, "utf8")).not.toMatch(/\bimport\b|\brequire\(|node:|\bBuffer\b|\bprocess\b|localStorage/);
  expect(sizeOf(await bundled("*"))).toBeLessThan(LIMIT);
});

test("a front end that uses one kind of client doesn't get the other", async () => {
  const [all, session, tokens] = await Promise.all(
    ["*", "{ SessionClient }", "{ TokenClient }"].map((names) => bundled(names)),
  );
  expect(session).toContain("/csrf");
  expect(session).not.toContain("/api/reauth");
  expect(tokens).toContain("/api/reauth");
  expect(tokens).not.toMatch(/\/csrf|\/change_password/);
  expect(sizeOf(session!)).toBeLessThan(sizeOf(all!) - 500);
  expect(sizeOf(tokens!)).toBeLessThan(sizeOf(all!) - 500);
});

/** Runs a program in a context with only the language's own globals and these, as in React Native. */
const BARE = `
  import { readFileSync } from "node:fs";
  import { createContext, SourceTextModule } from "node:vm";

  const sent = [];
  const fetch = async (url, init) => {
    sent.push([init.method, url, init.headers.authorization ?? null]);
    const isLogin = url.endsWith("/api/auth");
    const isOld = init.headers.authorization === "Bearer old";
    const body = isLogin ? { data: "old", refresh: "one" } : url.endsWith("/api/reauth") ? { data: "new", refresh: "two" } : isOld ? { code: "E_INVALID_TOKEN" } : { ok: true };
    return { ok: !isOld, status: isOld ? 401 : 200, headers: { get: () => null }, text: async () => JSON.stringify(body) };
  };
  const globals = { fetch, setTimeout, clearTimeout, AbortController };
  const context = createContext({ ...globals });
  const client = new SourceTextModule(readFileSync(process.argv[1], "utf8"), { context });
  await client.link(() => { throw new Error("it imports something"); });
  await client.evaluate();
  const kept = new Map();
  const store = {
    get: async () => kept.get("tokens") ?? null,
    set: async (text) => void kept.set("tokens", text),
    remove: async () => void kept.delete("tokens"),
  };
  const tokens = new client.namespace.TokenClient({ url: "https://shop.example", store });
  await tokens.login({ username: "ada@example.com", password: "secret" });
  const body = await tokens.get("/api/me");
  console.log(JSON.stringify({ sent, body, kept: JSON.parse(kept.get("tokens")).access }));
`;

test("it needs nothing but fetch, timers and AbortController", async () => {
  const output = await outputOf(BARE, { args: [BUILT], flags: ["--experimental-vm-modules", "--no-warnings"] });
  expect(JSON.parse(output)).toEqual({
    sent: [
      ["POST", "https://shop.example/api/auth", null],
      ["GET", "https://shop.example/api/me", "Bearer old"],
      ["POST", "https://shop.example/api/reauth", null],
      ["GET", "https://shop.example/api/me", "Bearer new"],
    ],
    body: { ok: true },
    kept: "new",
  });
});

/** A front end that uses the client's types, and branches on codes. */
const FRONT_END = `
import { ClientError, SessionClient, TokenClient, type TokenStore } from "ashlar/client";

declare module "ashlar/client" {
  interface ClientErrorCodes {
    E_ORDER_CLOSED: 409;
  }
}

export const client = new SessionClient({ url: "https://api.shop.example", fetch: window.fetch });
const store: TokenStore = {
  get: () => localStorage.getItem("tokens"),
  set: (text) => localStorage.setItem("tokens", text),
  remove: () => localStorage.removeItem("tokens"),
};
export const tokens = new TokenClient({ url: "", store, onUnauthenticated: () => location.assign("/login") });

export function sentence(error: unknown): string {
  if (!(error instanceof ClientError)) throw error;
  switch (error.code) {
    case "E_INVALID_INPUT":
      return error.fields.email?.[0] ?? error.message;
    case "E_TOO_MANY_REQUESTS":
      return \`Wait \${error.retryAfter ?? 60} seconds.\`;
    case "E_NETWORK":
    case "E_ORDER_CLOSED":
      return "Later.";
    // @ts-expect-error: no such code
    case "E_INVALID_IMPUT":
      return "";
    default:
      return error.message;
  }
}

export async function flows(form: FormData, signal: AbortSignal): Promise<string> {
  const answer = await client.login({ email: "a", password: "b", remember: true }, { signal });
  if (answer.status === "pending") return answer.step;
  // @ts-expect-error: a new password is needed
  await client.changePassword({ current_password: "a" });
  const user = await client.user<{ name: string }>();
  const order = await client.post<{ id: number }>("/orders", form);
  const { logins } = await client.logins();
  return \`\${user?.name} \${order.id} \${logins[0]?.device}\`;
}
`;

test.each(Object.keys(COMPILERS) as (keyof typeof COMPILERS)[])(
  "its types need the browser's, and none from Node: %s",
  async (compiler) => {
    const root = await temporaryFolder();
    await mkdir(join(root, "node_modules"));
    await symlink(PACKAGE, join(root, "node_modules/ashlar"), "junction");
    await writeFile(join(root, "package.json"), '{ "type": "module" }');
    await writeFile(join(root, "front-end.ts"), FRONT_END);
    const compilerOptions = {
      ...{ target: "ES2022", lib: ["ES2022", "DOM"], types: [], module: "ESNext", moduleResolution: "bundler" },
      ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: false },
    };
    await writeFile(join(root, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["front-end.ts"] }));
    expect(await compile(root, compiler)).toBe("");
    expect(await compile(root, compiler, "--listFilesOnly")).not.toMatch(/@types\/node|public\/index\.d\.ts/);
  },
);
