import { cp, mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFailed, onTestFinished, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { checkTypes, execute, freePort, generateApplication } from "../support/generated-application.ts";
import { startHost } from "../support/hosted-application.ts";
import { type Page, PageVisitor } from "../support/page-visitor.ts";

const REPOSITORY = join(import.meta.dirname, "../../../..");
const EXAMPLES = join(REPOSITORY, "examples");

/** Lints an application with its own settings, as `npm run lint` does. */
async function lint(root: string): Promise<void> {
  // This repository ignores files that tests generate, and so would the linter.
  await execute(root, "git", ["init", "--quiet"]);
  const { code, output } = await execute(root, process.execPath, [
    join(REPOSITORY, "node_modules/oxlint/bin/oxlint"),
    "--format=unix",
  ]);
  expect(output).not.toContain("[Error/");
  expect(code).toBe(0);
}

/** Adds an example's files to a generated application, and returns its folder. */
async function exampleOf(name: string): Promise<string> {
  const { root, remove } = await generateApplication();
  onTestFinished(remove);
  const own = join(EXAMPLES, name);
  const filter = (path: string) => !/(?:node_modules|package\.json|README\.md)$/.test(path);
  await ashlar(root, "migrate");
  await cp(own, root, { recursive: true, filter });
  return root;
}

/** The host and port for an example. */
async function place(): Promise<{ readonly PORT: string; readonly HOST: string; readonly APP_URL: string }> {
  const port = await freePort();
  return { PORT: String(port), HOST: "127.0.0.1", APP_URL: `http://127.0.0.1:${port}` };
}

/** Starts an example's program, and returns its address. */
async function start(
  root: string,
  file: string,
  environment: Awaited<ReturnType<typeof place>>,
  announcement: RegExp,
): Promise<string> {
  const { child, output } = await startHost(root, [process.execPath, file], environment, announcement);
  onTestFinished(() => void child.kill("SIGKILL"));
  onTestFailed(() => console.log(output()));
  return `${environment.APP_URL}/`;
}

/** Goes through a shop: a guest, the login, an order with and without a CSRF token, a logout, and an API token. */
async function walkShop(url: string): Promise<void> {
  const origin = { origin: url.slice(0, -1) };
  // As browsers send them; SvelteKit checks both.
  const browser = { ...origin, accept: "text/html,*/*;q=0.8" };
  const guest = new PageVisitor(url, browser);
  expect((await guest.open("/orders")).path).toBe("/login");

  const ada = await new PageVisitor(url, browser).register();
  const credentials = { email: "ada@example.com", password: "a password of hers" };
  const login = await guest.open("/orders");
  const orders = await guest.logIn(login, credentials.email, credentials.password);
  expect([orders.path, orders.status]).toEqual(["/orders", 200]);
  expect(orders.html).toMatch(/Orders of Ada &(?:lt|#60);b/);
  expect(orders.headers.get("cache-control")).toContain("no-store");

  const item = "<tea>";
  const withoutToken = { html: "" } as Page;
  const forged = await guest.send("/orders", withoutToken, { item });
  expect([forged.status, forged.html.includes("Page Expired") || forged.html.includes("not accepted")]).toEqual([
    419,
    true,
  ]);
  const others = await ada.send("/orders", orders, { item });
  expect(others.status).toBe(419);
  expect((await guest.open("/orders")).html).not.toContain("tea");
  const ordered = await guest.send("/orders", orders, { item });
  expect([ordered.path, ordered.status]).toEqual(["/orders", 200]);
  expect(ordered.html).toMatch(/&(?:lt|#60);tea/);

  const asProgram = { accept: "application/json" };
  const refused = await fetch(`${url}shop/orders`, { headers: asProgram });
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  expect(await refused.json()).toMatchObject({ code: "E_UNAUTHENTICATED" });
  const madeUp = await fetch(`${url}shop/orders`, { headers: { authorization: "Bearer x.y.z" } });
  expect([madeUp.status, madeUp.headers.get("www-authenticate")]).toEqual([401, 'Bearer error="invalid_token"']);
  expect(await madeUp.json()).toMatchObject({ code: "E_INVALID_TOKEN" });
  const body = new URLSearchParams({ username: credentials.email, password: credentials.password });
  const authenticated = await fetch(`${url}api/auth`, { method: "POST", body, headers: origin });
  const { data } = (await authenticated.json()) as { data: string };
  const authorization = `Bearer ${data}`;
  const listed = await fetch(`${url}shop/orders`, { headers: { ...asProgram, authorization } });
  expect([listed.status, await listed.json()]).toEqual([200, [item]]);

  expect((await fetch(`${url}favicon.svg`)).headers.get("content-type")).toBe("image/svg+xml");
  expect((await fetch(`${url}nowhere`)).status).toBe(404);
  expect((await guest.press(ordered, "Log out")).path).toBe("/login");
  expect((await guest.open("/orders")).path).toBe("/login");
  expect((await ada.open("/orders")).path).toBe("/orders");
}

test.each(["hono", "fastify"])("the example with %s lets its handlers know who is logged in", async (name) => {
  const root = await exampleOf(name);
  await checkTypes(root);
  await lint(root);
  await walkShop(await start(root, "server.ts", await place(), /:(\d+)\/orders/));
});

test("the example with SvelteKit lets its pages know who is logged in", async () => {
  const root = await exampleOf("sveltekit");
  // Packages that the repository's root doesn't have. SvelteKit writes to the folder.
  const installed = join(EXAMPLES, "sveltekit/node_modules");
  await mkdir(join(root, "node_modules"));
  for (const name of await readdir(installed)) await symlink(join(installed, name), join(root, "node_modules", name));
  const vite = join(EXAMPLES, "../node_modules/vite/bin/vite.js");
  const environment = await place();
  const { code, output } = await execute(root, process.execPath, [vite, "build"], environment);
  expect({ code, output: code === 0 ? "" : output }).toEqual({ code: 0, output: "" });
  await walkShop(await start(root, "build/index.js", environment, /Listening on http:\/\/127\.0\.0\.1:(\d+)/));
});
