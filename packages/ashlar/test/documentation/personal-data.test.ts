import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { hashSync } from "bcryptjs";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { UNDO_EXPIRES_IN_HOURS } from "../../src/auth/accounts/links/account-links.ts";
import { PENDING_EPOCH } from "../../src/auth/logins/login-store.ts";
import { readAuthSettings } from "../../src/auth/settings.ts";
import { readWebGuardSettings } from "../../src/auth/web/web-guard-settings.ts";
import { readMailSettings } from "../../src/mail/settings.ts";
import { createSessionDataTable } from "../../src/session/index.ts";
import { readSessionSettings } from "../../src/session/stores/settings.ts";
import { now } from "../../src/support/index.ts";
import { freeze } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { sqlite } from "../support/services.ts";

const DAY_MS = 24 * 60 * 60_000;

/** SECURITY.md's section about personal data, and the first cells of the rows of its table. */
let section: string;
let rows: readonly (readonly [where: string, what: string])[];
let shop: AccountShop;

beforeAll(async () => {
  const document = await readFile(join(import.meta.dirname, "../../../../SECURITY.md"), "utf8");
  section = document.slice(document.indexOf("## Personal data\n"));
  rows = [...section.matchAll(/^\| (.+?) \| (.+?) \|/gm)].map(([, where = "", what = ""]) => [where, what]);
  shop = await AccountShop.open(sqlite);
  await createSessionDataTable(shop.application.container.make("database").kysely);
});
afterAll(() => shop.close());
beforeEach(() => shop.reset());

/** The names in backticks. */
function namesIn(text: string): string[] {
  return [...text.matchAll(/`([\w.]+)`/g)].map(([, name = ""]) => name);
}

/** The columns of each table of an application with all features. */
async function columns(): Promise<Map<string, string[]>> {
  const { kysely } = shop.application.container.make("database");
  const tables = await kysely.introspection.getTables();
  return new Map(tables.map(({ name, columns }) => [name, columns.map((column) => column.name)]));
}

test("every table is listed under personal data, and every column named there exists", async () => {
  const tables = await columns();
  const named = rows.flatMap(([where, what]) => {
    const [table = ""] = namesIn(where)[0]?.split(".") ?? [];
    const names = namesIn(`${where} ${what}`).filter((name) => name !== table && name !== "AccountStore");
    return tables.has(table) ? names.map((name) => (name.includes(".") ? name : `${table}.${name}`)) : [];
  });
  const existing = new Set([...tables].flatMap(([table, names]) => names.map((name) => `${table}.${name}`)));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !existing.has(name))).toEqual([`logins.${PENDING_EPOCH}`]);
  const mentioned = new Set(namesIn(section).map((name) => name.split(".")[0]));
  expect([...tables.keys()].filter((table) => !mentioned.has(table))).toEqual(["migrations"]);
});

test("the settings and times listed under personal data are the defaults", () => {
  const { accounts, passwordResetExpirationInMinutes } = readAuthSettings({ GUARDS: {} });
  const { prune, ...days } = accounts.retention;
  const { retryHours, keepFailedDays } = readMailSettings(undefined, shop.application.settings).outbox;
  const told = [...section.matchAll(/`(\w+Days)` \((\d+)\)/g)].map(([, name, count]) => [name, Number(count)]);
  expect(Object.fromEntries(told)).toEqual({ ...days, keepFailedDays });
  expect([prune, section.includes("`prune: false`")]).toEqual([true, true]);

  const { absoluteMs, rememberMs } = readWebGuardSettings("web", {}, { isHttps: false, suffix: "" });
  const { lifetimeMinutes } = readSessionSettings(undefined, null);
  for (const sentence of [
    `\`passwordResetExpiration\`, ${passwordResetExpirationInMinutes! / (24 * 60)} day`,
    `\`retryHours\` (${retryHours}), and then \`keepFailedDays\` (${keepFailedDays}) of \`MAIL.outbox\``,
    `after the link expires (${UNDO_EXPIRES_IN_HOURS} hours)`,
    `(${absoluteMs / 3_600_000} hours, or ${rememberMs / DAY_MS} days if remembered)`,
    `(${lifetimeMinutes / 60} hours unused)`,
  ]) {
    expect(section).toContain(sentence);
  }
});

test("the cookies listed under personal data are those that a login sets", async () => {
  using _ = freeze();
  const client = await shop.loggedIn();
  const [, names = ""] = /\| cookies (.+?) \|/.exec(section) ?? [];
  expect(client.cookies.all.map(({ name }) => name).toSorted()).toEqual(namesIn(names).toSorted());
  expect(client.cookies.find("device")?.expiresAt).toBe(now() + 400 * DAY_MS);
});

test("an imported bcrypt hash is replaced at the next login, and no password matches an exclamation mark", async () => {
  const { kysely } = shop.application.container.make("database");
  const store = (password: string) => kysely.updateTable("users").set({ password }).execute();
  await store(hashSync(PASSWORD, 4));
  expect(await shop.logsIn(shop.visitor(), EMAIL, PASSWORD)).toBe(true);
  expect((await shop.user())?.password).toMatch(/^\$argon2id\$/);

  await store("!");
  for (const password of [PASSWORD, "!", ""]) {
    expect(await shop.logsIn(shop.visitor(), EMAIL, password)).toBe(false);
  }
  expect(await shop.resetsPassword(await shop.resetLink(EMAIL), NEW_PASSWORD)).toBe(true);
  expect(await shop.logsIn(shop.visitor(), EMAIL, NEW_PASSWORD)).toBe(true);
});
