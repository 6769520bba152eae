import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { ADA, FullUser, type TestAccounts, testAccounts } from "../../test/support/account-application.ts";
import { SECRET } from "../../test/support/api-application.ts";
import { migrationOfStub } from "../../test/support/migration-folder.ts";
import { onEachDatabase, type TestEngine } from "../../test/support/services.ts";
import { setClock } from "../support/index.ts";
import { ApiProvider } from "./api-provider.ts";
import { many } from "./index.ts";

const NOON = Date.parse("2026-03-01T12:00:00.000Z");
const DAY = 86_400_000;
const BROWSER = "Ada's own browser";

class User extends FullUser {
  static override table = "users";
}

beforeEach(() => setClock(() => NOON));
afterEach(() => setClock(null));

/** An application whose users have several tokens, each with a row. */
async function withTokens(retention: object = {}, engine?: TestEngine): Promise<TestAccounts> {
  const accounts = await testAccounts({
    ...(engine && { engine }),
    User,
    ACCOUNTS: { retention },
    providers: [ApiProvider],
    config: { api: { DRIVERS: { jwt: { secret: SECRET, model: User, tokens: many({ refreshDays: 90 }) } } } },
  });
  const { up } = await migrationOfStub("api/create_api_tokens.ts.stub");
  await up(accounts.database.kysely);
  return accounts;
}

/** Stores tokens of Ada's, each last used this many milliseconds ago. */
async function store({ database }: TestAccounts, agos: readonly number[]): Promise<void> {
  const rows = agos.map((ago, index) => ({
    user_id: ADA.id,
    guard: "jwt",
    name: `Token ${index}`,
    family: `${index}`,
    token_hash: `${index}`,
    access_epoch: "-",
    device: BROWSER,
    created_at: new Date(NOON - 80 * DAY),
    last_used_at: new Date(NOON - ago),
    expires_at: new Date(NOON + DAY),
  }));
  await database.kysely.insertInto("api_tokens").values(rows).execute();
}

async function devices({ database }: TestAccounts): Promise<unknown[]> {
  const rows = await database.kysely.selectFrom("api_tokens").select("device").orderBy("id").execute();
  return rows.map(({ device }) => device);
}

/** Counts the statements that change tokens, from now on. */
function changesOf({ database }: TestAccounts): string[] {
  const changes: string[] = [];
  database.onQuery(({ sql }) => {
    if (/^update .api_tokens/.test(sql)) changes.push(sql);
  });
  return changes;
}

await onEachDatabase("pruning tokens", (engine) => {
  test.each([
    [{}, 30],
    [{ addressDays: 7 }, 7],
  ])("S71 with retention %o, a token loses its device %s days after its last use", async (retention, days) => {
    const accounts = await withTokens(retention, engine);
    await store(accounts, [days * DAY + 1, days * DAY, days * DAY - 1, 0]);
    // No token was deleted.
    expect(await accounts.application.prune()).toMatchObject({ "API tokens": 0 });
    expect(await devices(accounts)).toEqual([null, null, BROWSER, BROWSER]);
  });

  test("leaves tokens alone that have already lost their device, or are in use", async () => {
    const accounts = await withTokens({}, engine);
    await store(accounts, [31 * DAY, 0]);
    const changes = changesOf(accounts);
    await accounts.application.prune();
    expect([await devices(accounts), changes.length]).toEqual([[null, BROWSER], 1]);
    await accounts.application.prune();
    expect(changes).toHaveLength(1);
  });
});

test("S71 a token that is used while the table is being processed keeps its device", async () => {
  const accounts = await withTokens();
  await store(accounts, [31 * DAY, 32 * DAY]);
  const { DATABASES } = accounts.application.config.section("database") as {
    readonly DATABASES: { readonly main: { readonly path: string } };
  };
  const other = new DatabaseSync(DATABASES.main.path);
  onTestFinished(() => other.close());
  accounts.database.onQuery(({ sql }) => {
    if (sql.startsWith('update "api_tokens"'))
      other.exec("update api_tokens set last_used_at = expires_at where id = 1");
  });
  await accounts.application.prune();
  expect(await devices(accounts)).toEqual([BROWSER, null]);
});

test("devices are forgotten a few rows at a time, until the signal is aborted", async () => {
  const accounts = await withTokens();
  await store(
    accounts,
    Array.from({ length: 501 }, () => 31 * DAY),
  );
  const stop = new AbortController();
  accounts.database.onQuery(({ sql }) => {
    if (sql.startsWith('update "api_tokens"')) stop.abort();
  });
  await accounts.application.prune(stop.signal);
  expect((await devices(accounts)).filter((device) => device !== null)).toHaveLength(1);
  await accounts.application.prune();
  expect((await devices(accounts)).filter((device) => device !== null)).toEqual([]);
});
