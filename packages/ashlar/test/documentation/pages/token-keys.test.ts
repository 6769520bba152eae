// The guide about the keys of tokens, on a generated application.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import type { Kysely } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestClient } from "../../../src/public/testing.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { ashlar } from "../../support/command-line.ts";
import { checkTypes, edit, generateApplication } from "../../support/generated-application.ts";
import { pageFiles, writePageFile } from "../../support/page-files.ts";
import { issuerKey, startIssuer } from "../../support/token-issuer.ts";

const PAGE = "docs/guides/token-keys.md";
const EMAIL = "ada@example.com";
const PASSWORD = "a password of hers";

interface Tables {
  readonly identities: { readonly issuer: string; readonly subject: string; readonly user_id: number };
}

let root: string;
let remove: () => Promise<void>;

// One for each test: a process loads a module of an application once.
beforeEach(async () => {
  ({ root, remove } = await generateApplication());
});
afterEach(() => remove());

/** Writes a file of the page: the first or a later one with this path. */
async function write(path: string, index = 0, change: (text: string) => string = (text) => text): Promise<void> {
  const file = (await pageFiles(PAGE)).filter((one) => one.path === path)[index]!;
  await writePageFile(root, { path, text: change(file.text) });
}

async function addUser(): Promise<number> {
  const User = await userClass(root);
  const user = new User().fill({ name: "Ada", email: EMAIL });
  await user.setPassword(PASSWORD);
  await user.save();
  return (user as unknown as { id: number }).id;
}

test("the command creates a key, the page's configuration signs with it, and jose verifies with the published keys", async () => {
  const { output } = await ashlar(root, "key:generate", "--jwt", "ES256");
  await write("config/api.ts");
  const config = await readFile(join(root, "config/api.ts"), "utf8");
  for (const line of output.split("\n").slice(2)) expect(config).toContain(line.trim());
  expect((await ashlar(root, "key:generate", "--jwt", "ES256")).output).not.toContain("config/api.ts");
  await write("routes/web.ts");
  await checkTypes(root);
  const { application, end } = await bootApplication(root);
  try {
    await addUser();
    const client = createTestClient(application);
    const answer = await client.postJson("/api/auth", { username: EMAIL, password: PASSWORD });
    const token = (answer.assertStatus(200).json as { data: string }).data;
    const keys = (await client.get("/.well-known/jwks.json")).assertStatus(200);
    const shown = (await readFile(join(import.meta.dirname, "../../../../..", PAGE), "utf8")).match(
      /```json\n([\s\S]*?)```/,
    )![1]!;
    const example = JSON.parse(shown) as JSONWebKeySet;
    const published = keys.json as JSONWebKeySet;
    expect(published.keys.map((key) => Object.keys(key))).toEqual(example.keys.map((key) => Object.keys(key)));
    const { payload } = await jwtVerify(token, createLocalJWKSet(published), {
      issuer: "https://shop.example",
      audience: "https://api.shop.example",
      typ: "JWT",
    });
    expect(payload.sub).toBe("1");
  } finally {
    await end();
  }
});

test("another issuer's tokens are accepted with the user from the page's hook", async () => {
  const issuer = await startIssuer([issuerKey("first")]);
  await write("config/api.ts", 1, (text) =>
    text
      .replace("https://id.example/.well-known/jwks.json", issuer.url)
      .replaceAll("https://id.example/", issuer.issuer),
  );
  await write("app/models/identity.ts");
  await write("database/migrations/2027_02_03_120000_create_identities.ts");
  await write("routes/api.ts");
  await edit(root, "app/kernel.ts", [
    "api: [JWTAuthenticationMiddleware],",
    "api: [JWTAuthenticationMiddleware],\n    jwt: [JWTAuthenticationMiddleware],",
  ]);
  await checkTypes(root);
  const { application, end } = await bootApplication(root);
  try {
    const id = await addUser();
    const client = createTestClient(application);
    const get = async (token: string) => client.withToken(token).get("/api/partner/me");
    (await get(await issuer.token())).assertStatus(401);
    const identity = { issuer: issuer.issuer, subject: "idp|ada", user_id: id };
    const { kysely } = application.container.make("database");
    await (kysely as unknown as Kysely<Tables>).insertInto("identities").values(identity).execute();
    expect((await get(await issuer.token())).assertStatus(200).json).toMatchObject({
      user: { email: EMAIL },
      client: "shop-app",
    });
    (await get(await issuer.token({ sub: String(id) }))).assertStatus(401);
    (await get(await issuer.token({}, { typ: "JWT" }))).assertStatus(401);
  } finally {
    await end();
  }
});
