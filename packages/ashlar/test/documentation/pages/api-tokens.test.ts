// The guide about API tokens, on an application that begins without an API.

import { generateKeyPairSync } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deviceName } from "../../../src/auth/logins/devices.ts";
import type { Application } from "../../../src/public/index.ts";
import { SigningKey, signJwt, VerificationKey, verifyJwt } from "../../../src/public/jwt.ts";
import { generateSecret } from "../../../src/public/security.ts";
import { createTestClient, type TestClient, travel, travelBack } from "../../../src/public/testing.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { ashlar } from "../../support/command-line.ts";
import { checkTypes, edit, generateApplication } from "../../support/generated-application.ts";
import { pageFiles } from "../../support/page-files.ts";
import { pageTables } from "../../support/page-tables.ts";
import { markdownSamples, REPOSITORY } from "../../support/samples.ts";

const PAGE = "docs/guides/api-tokens.md";
const EMAIL = "ada@example.com";
const PASSWORD = "a password of hers";

test("the guide gives the name of an unnamed token", async () => {
  const guide = (await readFile(join(REPOSITORY, PAGE), "utf8")).replaceAll(/\s+/g, " ");
  const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
  expect(guide).toContain(`such as "${deviceName(firefox)}", and "${deviceName("curl/8.14.1")}"`);
});

/** The files of the section about several tokens per user. */
const SEVERAL = [
  "app/models/token.ts",
  "app/models/user.ts",
  "database/migrations/2027_02_02_120000_create_tokens.ts",
  "app/controllers/tokens-controller.ts",
];

let root: string;
let remove: () => Promise<void>;

beforeAll(async () => {
  ({ root, remove } = await generateApplication({ api: false }));
  expect(await ashlar(root, "api:install")).toMatchObject({ code: 0, errors: "" });
  await write(
    root,
    (path, index, all) => !SEVERAL.includes(path) && all.findIndex((one) => one.path === path) === index,
  );
});
afterAll(() => remove());

type Files = Awaited<ReturnType<typeof pageFiles>>;

/** Writes some files of the page into an application. */
async function write(to: string, chosen: (path: string, index: number, all: Files) => boolean): Promise<void> {
  const files = await pageFiles(PAGE);
  for (const { path, text } of files.filter((file, index) => chosen(file.path, index, files))) {
    await mkdir(dirname(join(to, path)), { recursive: true });
    await writeFile(join(to, path), text);
  }
}

interface Shop {
  readonly application: Application;
  readonly client: TestClient;
  readonly user: InstanceType<Awaited<ReturnType<typeof userClass>>>;
}

async function withShop(run: (shop: Shop) => Promise<void>, from: string = root, options: object = {}): Promise<void> {
  const { application, end } = await bootApplication(from, options);
  try {
    const User = await userClass(from);
    const user = new User().fill({ name: "Ada", email: EMAIL });
    await user.setPassword(PASSWORD);
    await user.save();
    await run({ application, client: createTestClient(application), user });
  } finally {
    travelBack();
    await end();
  }
}

async function tokenOf(client: TestClient): Promise<string> {
  const answer = await client.postJson("/api/auth", { username: EMAIL, password: PASSWORD });
  return (answer.assertStatus(200).json as { data: string }).data;
}

const me = async ({ application }: Shop, token: string): Promise<number> =>
  (await createTestClient(application).withToken(token).get("/api/me")).status;

test("the command does the eight steps, writes the page's configuration, and then has nothing to do", async () => {
  const { rows } = (await pageTables(PAGE)).find(({ columns }) => columns[0] === "Step")!;
  expect(rows.length).toBe(8);
  const expected: readonly (readonly [path: string, text: string])[] = [
    ["config/providers.ts", "ApiProvider,"],
    ["routes/api.ts", "export const ROUTES"],
    ["app/kernel.ts", 'this.container.bind("routes.api.location", "routes/api");'],
    ["app/kernel.ts", 'this.container.bind("routes.api.prefix", "/api");'],
    ["app/models/user.ts", "compose(Model, Authenticates, AuthenticatesTokens, MustVerifyEmail)"],
    ["routes/web.ts", "...Api.routes()"],
    ["app/kernel.ts", "api: [JWTAuthenticationMiddleware],"],
    ["config/auth.ts", "jwt: { model: User },"],
    [".env.example", "JWT_SECRET="],
  ];
  for (const [path, text] of expected) expect(await readFile(join(root, path), "utf8")).toContain(text);
  expect(await readFile(join(root, ".env"), "utf8")).toMatch(/^JWT_SECRET=[\w-]{86}$/m);
  const { root: other, remove: removeOther } = await generateApplication({ api: false });
  try {
    await ashlar(other, "api:install", "--dry-run");
    await expect(readFile(join(other, "config/api.ts"))).rejects.toThrow("ENOENT");
    await ashlar(other, "api:install");
    const [config] = await pageFiles(PAGE);
    expect(await readFile(join(other, "config/api.ts"), "utf8")).toBe(config!.text);
    expect((await ashlar(other, "api:install")).output).toBe("Everything is already in place; nothing was changed.");
  } finally {
    await removeOther();
  }
});

interface Message {
  readonly head: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: unknown;
}

function messageOf(code: string, token: string): Message {
  const [top = "", ...body] = code.replaceAll("<token>", token).split("\n\n");
  const [head = "", ...lines] = top.split("\n");
  const headers = lines.map((line) => line.split(/: (.*)/, 2) as [string, string]);
  return { head, headers, body: body.length === 0 ? null : JSON.parse(body.join("\n\n")) };
}

test("each of the page's requests gets the response shown there", async () => {
  await withShop(async ({ application }) => {
    const samples = (await markdownSamples(PAGE)).filter(({ language }) => language === "http");
    expect(samples.length).toBe(10);
    let token = "";
    for (let index = 0; index < samples.length; index += 2) {
      const request = messageOf(samples[index]!.code, token);
      const [method = "", path = ""] = request.head.split(" ");
      const answer = await application.fetch(
        new Request(`http://localhost${path}`, {
          method,
          headers: Object.fromEntries(request.headers),
          ...(request.body === null ? {} : { body: JSON.stringify(request.body) }),
        }),
      );
      const body = (await answer.json()) as { readonly data?: string };
      token = body.data ?? token;
      const shown = messageOf(samples[index + 1]!.code, token);
      expect([request.head, answer.status]).toEqual([request.head, Number(shown.head.split(" ")[1])]);
      for (const [name, value] of shown.headers) expect([name, answer.headers.get(name)]).toEqual([name, value]);
      if (shown.body !== null) expect(body).toEqual(shown.body);
    }
  });
});

test("tokens are refused with the codes and headers in the tables", async () => {
  await withShop(async (shop) => {
    const { client, application } = shop;
    const token = await tokenOf(client);
    const [{ rows } = { rows: [] }] = (await pageTables(PAGE)).filter(({ columns }) =>
      columns.includes("`WWW-Authenticate`"),
    );
    const answers = [
      await createTestClient(application).get("/api/me"),
      await createTestClient(application).withToken(`${token}x`).get("/api/me"),
      await createTestClient(application).withToken(token).postJson("/api/orders", { token: "other" }),
    ];
    for (const [index, { "Status and code": code, "`WWW-Authenticate`": challenge }] of rows.entries()) {
      const answer = answers[index]!;
      const { code: sent } = answer.json as { code: string };
      expect(`${answer.status} \`${sent}\``).toBe(code);
      const header = answer.headers.get("www-authenticate");
      expect(header === null ? "" : `\`${header}\``).toBe(challenge);
    }
    (await client.postJson("/api/auth?password=x", { username: EMAIL })).assertStatus(422);
    (await client.postJson("/api/invitations", { token }))
      .assertStatus(403)
      .assertJsonContains({ code: "E_FORBIDDEN" });
    travel(61 * 60);
    expect(await me(shop, token)).toBe(401);
    const renewed = (await client.postJson("/api/reauth", { token })).assertStatus(200).json as { data: string };
    expect(await me(shop, renewed.data)).toBe(200);
    expect((await client.postJson("/api/reauth", { token })).assertStatus(200).json).toEqual(renewed);
    travel(2);
    (await client.postJson("/api/reauth", { token })).assertStatus(401).assertJsonContains({ code: "E_INVALID_TOKEN" });
  });
});

test("of several simultaneous renewals of one token, one creates the new token, and all get it", async () => {
  await withShop(async ({ application, client }) => {
    const token = await tokenOf(client);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => createTestClient(application).postJson("/api/reauth", { token })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
    expect(new Set(answers.map(({ json }) => (json as { data: string }).data)).size).toBe(1);
  });
});

test("the password limit refuses with Retry-After", async () => {
  await withShop(async ({ client }) => {
    const wrong = { username: EMAIL, password: "not her password" };
    for (let attempt = 0; attempt < 5; attempt++) (await client.postJson("/api/auth", wrong)).assertStatus(401);
    const refused = await client.postJson("/api/auth", wrong);
    refused.assertStatus(429).assertJsonContains({ code: "E_TOO_MANY_REQUESTS" }).assertHeader("Retry-After", /^\d+$/);
  });
});

test("the page's files pass the type check, and the resource has the table's routes and names", async () => {
  await checkTypes(root);
  await withShop(async ({ application, client }) => {
    const { rows } = (await pageTables(PAGE)).find(({ columns }) => columns[0] === "Method and path")!;
    const routes = application.router.routes.filter(({ name }) => name?.startsWith("api.orders."));
    expect(routes.map(({ name, pattern }) => `${pattern} ${name}`).toSorted()).toEqual(
      rows
        .map((row) => `${/(\/api\S+)`/.exec(row["Method and path"]!)![1]} ${row.Name!.replaceAll("`", "")}`)
        .toSorted(),
    );
    client.withToken(await tokenOf(client));
    const made = (await client.postJson("/api/orders", { note: "Ring twice." })).assertStatus(201).json as {
      id: number;
    };
    (await client.get("/api/orders")).assertStatus(200).assertJsonContains([{ note: "Ring twice." }]);
    (await client.putJson(`/api/orders/${made.id}`, { note: "Knock." })).assertJsonContains({ note: "Knock." });
    (await client.postJson("/api/orders", { note: "" })).assertStatus(422);
    const User = await userClass(root);
    const other = new User().fill({ name: "Bob", email: "bob@example.com" });
    await other.setPassword(PASSWORD);
    await other.save();
    const stranger = createTestClient(application);
    await stranger.actingAs(other, { guard: "jwt" });
    (await stranger.get(`/api/orders/${made.id}`)).assertStatus(404);
    (await client.delete(`/api/orders/${made.id}`)).assertStatus(204);
    (await client.get(`/api/orders/${made.id}`)).assertStatus(404).assertJsonContains({ code: "E_NOT_FOUND" });
  });
});

test("a user whose address is not verified gets a token, but does not pass the middleware verified", async () => {
  await withShop(async ({ client, user }) => {
    client.withToken(await tokenOf(client));
    (await client.post("/api/invitations")).assertStatus(403).assertJsonContains({ code: "E_FORBIDDEN" });
    await user.refresh();
    await user.markEmailAsVerified();
    (await client.post("/api/invitations")).assertStatus(200).assertJson({ from: EMAIL });
  });
});

test("a logout, a revocation, endAccess() and a new password end a token", async () => {
  await withShop(async (shop) => {
    const { client, user } = shop;
    const first = await tokenOf(client);
    (await createTestClient(shop.application).withToken(first).post("/api/logout")).assertStatus(204);
    expect(await me(shop, first)).toBe(401);
    const ends: (() => Promise<unknown>)[] = [
      () => user.revokeToken(),
      () => user.endAccess(),
      async () => {
        await user.setPassword("another password altogether");
        await user.save();
      },
    ];
    for (const end of ends) {
      const token = await tokenOf(client);
      await user.refresh();
      expect(await me(shop, token)).toBe(200);
      await end();
      expect(await me(shop, token)).toBe(401);
    }
  });
});

test("request.user() matches the table, with and without authenticates", async () => {
  const { root: other, remove: removeOther } = await generateApplication({ pages: false });
  try {
    await edit(other, "routes/api.ts", [
      "export const ROUTES: RouteEntry[] = [",
      'export const ROUTES: RouteEntry[] = [\n  Route.get("/plain", ({ apiToken, request }) => ({ id: apiToken.claims?.sub ?? null, user: request.user()?.id ?? null })),',
    ]);
    for (const [authenticates, known] of [
      [true, 1],
      [false, null],
    ] as const) {
      await edit(other, "config/api.ts", ["authenticates: true", `authenticates: ${authenticates}`]);
      await withShop(async (shop) => {
        const token = await tokenOf(shop.client);
        const plain = await createTestClient(shop.application).withToken(token).get("/api/plain");
        expect(plain.json).toEqual({ id: "1", user: known });
        expect(await me(shop, token)).toBe(200);
        await shop.user.refresh();
        await shop.user.revokeToken();
        expect(await me(shop, token)).toBe(authenticates ? 401 : 200);
      }, other);
    }
  } finally {
    await removeOther();
  }
});

interface Client {
  login(username: string, password: string): Promise<void>;
  get(path: string): Promise<unknown>;
}

test("the client logs in, renews its token when it has expired, and reports the code of an error", async () => {
  const { ShopClient } = (await import(join(root, "clients/shop-client.ts"))) as {
    ShopClient: new (base: string) => Client;
  };
  await withShop(async ({ application, user }) => {
    const { url } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
    const client = new ShopClient(url.replace(/\/$/, ""));
    await expect(client.login(EMAIL, "not her password")).rejects.toThrow(
      "E_INVALID_CREDENTIALS: The credentials are not valid.",
    );
    await client.login(EMAIL, PASSWORD);
    expect(await client.get("/api/me")).toMatchObject({ email: EMAIL });
    travel(61 * 60);
    expect(await client.get("/api/me")).toMatchObject({ email: EMAIL });
    await user.refresh();
    await user.revokeToken();
    await expect(client.get("/api/me")).rejects.toThrow("E_INVALID_TOKEN: The token is not valid.");
  });
});

test("a token in the query is ignored in a new application, and accepted with tokenInQuery: true", async () => {
  const inQuery = async (): Promise<number> => {
    let status = 0;
    await withShop(async ({ client }) => {
      status = (await client.get(`/api/me?token=${await tokenOf(client)}`)).status;
    });
    return status;
  };
  expect(await inQuery()).toBe(401);
  await edit(root, "config/api.ts", ["tokenInQuery: false", "tokenInQuery: true"]);
  try {
    expect(await inQuery()).toBe(200);
  } finally {
    await edit(root, "config/api.ts", ["tokenInQuery: true", "tokenInQuery: false"]);
  }
});

/** The page's `config/api.ts` as generated, and the version that reads a variable. */
async function configs(variable: string): Promise<{ first: string; other: string }> {
  const texts = (await pageFiles(PAGE)).filter(({ path }) => path === "config/api.ts").map(({ text }) => text);
  const [other, more] = texts.filter((text) => text.includes(variable));
  expect([other, more]).toEqual([expect.any(String), undefined]);
  return { first: texts[0]!, other: other! };
}

test("with a private key, the other service verifies with the public one, and refuses tokens in the query", async () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const { first, other: withPrivateKey } = await configs("JWT_PRIVATE_KEY");
  await writeFile(join(root, "config/api.ts"), withPrivateKey);
  try {
    await checkTypes(root);
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    await withShop(
      async (shop) => {
        const token = await tokenOf(shop.client);
        const key = new VerificationKey("Ed25519", publicKey);
        const claims = verifyJwt(token, key, { issuer: "https://shop.example", audience: "https://stock.example" });
        expect(claims).toMatchObject({ sub: "1", ver: 1 });
        expect(await me(shop, token)).toBe(200);
        (await shop.client.get(`/api/me?token=${token}`)).assertStatus(401);
        // An hour until it expires, and the 30 days in which it can be renewed.
        travel((30 * 24 * 60 + 60) * 60);
        (await shop.client.postJson("/api/reauth", { token })).assertStatus(401);
      },
      root,
      { environment: { JWT_PRIVATE_KEY: pem } },
    );
  } finally {
    await writeFile(join(root, "config/api.ts"), first);
  }
});

test("a token signed with a listed former secret is accepted, and new ones are signed with the current one", async () => {
  const { first, other: withFormerSecret } = await configs("JWT_PREVIOUS_SECRET");
  await writeFile(join(root, "config/api.ts"), withFormerSecret);
  const [current, former] = [generateSecret(), generateSecret()];
  const environment = { JWT_SECRET: current, JWT_PREVIOUS_SECRET: former };
  try {
    await withShop(
      async ({ application, client }) => {
        const service = application.container.make("api");
        const claims = { sub: "1", exp: Math.floor(Date.now() / 1000) + 60 };
        const signed = (secret: string) => service.verify(signJwt(claims, new SigningKey("HS512", secret)));
        expect(signed(former)).toMatchObject({ claims });
        expect(signed(generateSecret())).toMatchObject({ failure: "signature" });
        expect(verifyJwt(await tokenOf(client), new VerificationKey("HS512", current)).sub).toBe("1");
      },
      root,
      { environment },
    );
  } finally {
    await writeFile(join(root, "config/api.ts"), first);
  }
});

test("with a separate class, a user has a token per device, and ending the account's access ends them all", async () => {
  const { root: other, remove: removeOther } = await generateApplication({ pages: false });
  try {
    await write(other, (path) => SEVERAL.includes(path));
    await edit(other, "routes/api.ts", [
      "export const ROUTES: RouteEntry[] = [",
      `export const ROUTES: RouteEntry[] = [
  Route.post("/logout", async ({ auth, response }) => {
    await auth.guard("jwt").logout();
    return response.noContent();
  }),
  Route.api("tokens", TokensController, { only: ["index", "store", "destroy"] }).middleware("auth:jwt"),`,
    ]);
    await edit(other, "routes/api.ts", [
      "import",
      'import { TokensController } from "../app/controllers/tokens-controller.ts";\nimport',
    ]);
    await checkTypes(other);
    await withShop(async (shop) => {
      const { client, application, user } = shop;
      const laptop = await tokenOf(client);
      const phone = await tokenOf(client);
      client.withToken(laptop);
      const named = ((await client.postJson("/api/tokens", { name: "backup" })).json as { data: string }).data;
      expect([await me(shop, laptop), await me(shop, phone), await me(shop, named)]).toEqual([200, 200, 200]);
      const list = (await client.get("/api/tokens")).json as { id: number; name: string; digest?: string }[];
      expect(list.map(({ name, digest }) => [name, digest])).toEqual([
        ["login", undefined],
        ["login", undefined],
        ["backup", undefined],
      ]);
      (await client.delete(`/api/tokens/${list[2]!.id}`)).assertStatus(204);
      (await createTestClient(application).withToken(phone).post("/api/logout")).assertStatus(204);
      expect([await me(shop, laptop), await me(shop, phone), await me(shop, named)]).toEqual([200, 401, 401]);
      const renewed = ((await client.postJson("/api/reauth", { token: laptop })).json as { data: string }).data;
      expect([await me(shop, laptop), await me(shop, renewed)]).toEqual([401, 200]);
      await user.refresh();
      await user.endAccess();
      expect(await me(shop, renewed)).toBe(401);
    }, other);
  } finally {
    await removeOther();
  }
});
