// The guide's table of what ends API tokens: each row is done, and its words are compared with what happens.

import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { many, single } from "../../../src/api/index.ts";
import { generateSecret } from "../../../src/security/index.ts";
import { now, setClock } from "../../../src/support/index.ts";
import { ADA, PASSWORD } from "../../support/api-application.ts";
import { type ManyTokensApi, manyTokensApi, type Pair } from "../../support/many-tokens.ts";
import { pageTables } from "../../support/page-tables.ts";

const [HAPPENS, OF_SINGLE, OF_MANY, WITHOUT_LOOKUP] = [
  "What happens",
  "ends a token of `single()`",
  "ends tokens of `many()`",
  "At once with `authenticates: true`. With `false`:",
];
const MINUTE = 60_000;

interface Held {
  readonly access: string;
  readonly renewal: string;
}

interface Event {
  /** Whether the token has been renewed before, more than a minute ago. */
  readonly isReplaced?: boolean;
  readonly act?: (tokens: ManyTokensApi, held: Held) => Promise<unknown>;
  /** Options of the driver after a deployment. */
  readonly later?: object;
  readonly minutes?: number;
}

async function withUser({ api }: ManyTokensApi, change: (user: InstanceType<typeof api.User>) => Promise<unknown>) {
  const user = (await api.User.find(ADA.id))!;
  await change(user);
}

/** Does what the first column says. */
const EVENTS: Readonly<Record<string, readonly Event[]>> = {
  '`POST /api/logout`, `auth.guard("jwt").logout()`': [
    { act: ({ api }, { renewal }) => api.post("/api/logout", { token: renewal }) },
    { act: ({ api }, { access }) => api.post("/api/leave", {}, { token: access }) },
  ],
  "another login at `/api/auth`": [{ act: (tokens) => tokens.login() }],
  renewal: [{ act: (tokens, { renewal }) => tokens.renew(renewal) }],
  "a replaced refresh token is used after a minute": [
    { isReplaced: true, act: (tokens, { renewal }) => tokens.renew(renewal) },
  ],
  'a new password, another address, "Log out all other devices" on `/logins`, `user.endAccess()`, `accounts.endAccess(user)`':
    [
      {
        act: (tokens) =>
          withUser(tokens, async (user) => {
            await user.setPassword("another password altogether");
            await user.save();
          }),
      },
      {
        act: (tokens) =>
          withUser(tokens, async (user) => {
            (user as unknown as { email: string }).email = "ada@other.example";
            await user.save();
          }),
      },
      { act: (tokens) => withUser(tokens, (user) => user.endAccess()) },
    ],
  "the user is deleted": [{ act: (tokens) => withUser(tokens, (user) => user.delete()) }],
  "another `version`": [{ later: { version: 2 } }],
  "another `secret`, without `previousSecrets`": [{ later: { secret: generateSecret() } }],
  time: [{ minutes: 11 }],
};

/** What a cell says about the access token, and about what renews it. */
const ENDS: Readonly<Record<string, { readonly access: boolean; readonly renewal: boolean }>> = {
  "": { access: false, renewal: false },
  nothing: { access: false, renewal: false },
  "the token": { access: true, renewal: true },
  "the previous token": { access: true, renewal: true },
  "the oldest, beyond `maxPerUser`": { access: true, renewal: true },
  "the old token": { access: true, renewal: true },
  all: { access: true, renewal: true },
  "all tokens of that login": { access: true, renewal: true },
  "all of the user's": { access: true, renewal: true },
  "the access and refresh token of that login": { access: true, renewal: true },
  "the refresh token; the access token lasts until it expires": { access: false, renewal: true },
  "access tokens: clients renew them": { access: true, renewal: false },
  "after `expires`; it can still be renewed": { access: true, renewal: false },
  "access tokens after `accessMinutes`; refresh tokens after `refreshDays` without use": {
    access: true,
    renewal: false,
  },
};
const UNTIL_EXPIRY = ["until the access token expires, it is accepted", "as above"];
const AT_ONCE = ["at once", "the same"];

/** The tokens of a response; one of `single()` is for both. */
function heldIn({ data, refresh = data }: Pair): Held {
  return { access: data, renewal: refresh };
}

/** Stops the clock, some minutes from now. */
function wait(minutes: number): void {
  const then = now() + minutes * MINUTE;
  setClock(() => then);
}

beforeEach(() => wait(0));
afterEach(() => setClock(null));

let rows: readonly Readonly<Record<string, string>>[];
beforeAll(async () => {
  const tables = await pageTables("docs/guides/api-tokens.md");
  rows = tables.find(({ columns }) => columns[0] === HAPPENS)!.rows;
});

test("each row and each cell is known to this test", () => {
  expect(rows.map((row) => row[HAPPENS!])).toEqual(Object.keys(EVENTS));
  expect(rows.flatMap((row) => [row[OF_SINGLE!]!, row[OF_MANY!]!]).filter((cell) => !(cell in ENDS))).toEqual([]);
  const cells = rows.map((row) => row[WITHOUT_LOOKUP!]!);
  expect(cells.filter((cell) => ![...UNTIL_EXPIRY, ...AT_ONCE].includes(cell))).toEqual([]);
});

describe.each(["single", "many"] as const)("tokens: %s()", (strategy) => {
  describe.each([true, false])("authenticates: %s", (authenticates) => {
    test.each(Object.keys(EVENTS))("S99 %s", async (name) => {
      const row = rows.find((one) => one[HAPPENS!] === name)!;
      const cell = row[strategy === "single" ? OF_SINGLE! : OF_MANY!]!;
      const ends = ENDS[cell]!;
      for (const event of EVENTS[name]!) {
        // A second login is one beyond the limit.
        const several = { tokens: many({ accessMinutes: 10, maxPerUser: 1 }) };
        const tokens = strategy === "single" ? { tokens: single(), expires: 10 } : several;
        const driver = { ...tokens, authenticates, version: 1 };
        const before = await manyTokensApi({ driver });
        const first = heldIn(await before.login({ password: PASSWORD }));
        const held = [first];
        if (event.isReplaced) {
          held.unshift(heldIn(await before.renewed(first.renewal)));
          wait(1.2);
        }
        await event.act?.(before, first);
        const after =
          event.later === undefined
            ? before
            : await manyTokensApi({ sharing: before.api, driver: { ...driver, ...event.later } });
        // After a minute, an answer that was lost is no longer given again.
        wait(event.minutes ?? 1.2);
        const isAtOnce = authenticates || AT_ONCE.includes(row[WITHOUT_LOOKUP!]!);
        // If the row ends nothing, that applies to the token in use: its predecessor has already ended.
        const concerned = cell === "" ? held.slice(0, 1) : held;
        for (const { access, renewal } of concerned) {
          const statuses = [await after.status(access), (await after.renew(renewal)).status];
          expect(statuses).toEqual([ends.access && isAtOnce ? 401 : 200, ends.renewal ? 401 : 200]);
        }
        wait(11);
        for (const { access } of held) expect(await after.status(access)).toBe(401);
      }
    });
  });
});
