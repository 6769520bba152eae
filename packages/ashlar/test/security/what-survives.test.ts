import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ACCESS_END_REASONS } from "../../src/auth/access/end-access.ts";
import { AccessBench } from "../support/access-bench.ts";
import { type FullUser, NEW_PASSWORD, PASSWORD } from "../support/account-application.ts";
import { desk } from "../support/desk.ts";
import { onEachDatabase, type TestEngine } from "../support/services.ts";

/** A way in which access to an account ends, or part of it. */
interface Door {
  /** Ends the access, with the account's owner logged in. */
  readonly pass: (bench: AccessBench) => Promise<unknown>;
  /** Which kinds of access still work afterwards: all of them, these, or all except these. */
  readonly survivors: "all" | { readonly only: readonly string[] } | { readonly allBut: readonly string[] };
  /** The payload of `auth.access_ended`; missing if only a login has ended. */
  readonly ended?: readonly string[];
  /** Whether the user has to be a model, with methods that the framework adds. */
  readonly isOfModels?: true;
  /** `ACCOUNTS` of the application. */
  readonly accounts?: object;
}

const HERE = "the login that did it";
const NEW = "new@example.com";
const NOTHING = { only: [] } as const;
const ONLY_HERE = { only: [HERE] } as const;
const OPERATOR = { by: "ops", reason: null, address: null };
const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };

const DOORS: Readonly<Record<string, Door>> = {
  "nothing happened": { pass: async () => {}, survivors: "all" },
  "a logout": {
    pass: ({ owner }) => owner.post("/logout"),
    survivors: { allBut: [HERE, "a copy of its cookie"] },
  },
  "the end of one login": {
    async pass({ owner, accounts }) {
      const rows = (await accounts.rows("logins")).filter(({ access_epoch }) => access_epoch !== "pending");
      // The first is the owner's, the second the other one.
      await owner.post("/end-one", { id: String(rows[1]!.id) });
    },
    survivors: { allBut: ["another login"] },
  },
  "a login too many": {
    // There are three already, and four remain.
    async pass(bench) {
      await bench.loggedIn();
      await bench.loggedIn();
    },
    survivors: { allBut: [HERE, "a copy of its cookie"] },
  },
  "the end of all other logins": {
    pass: ({ owner }) => owner.post("/end-others"),
    survivors: ONLY_HERE,
    ended: ["others: user"],
  },
  "a logout of other devices": {
    pass: ({ owner }) => owner.post("/other-devices"),
    survivors: ONLY_HERE,
    ended: ["others: user"],
  },
  "the end of all logins": {
    pass: ({ owner }) => owner.post("/end-all"),
    survivors: NOTHING,
    ended: ["everything: user"],
  },
  "accounts.endAccess": {
    pass: ({ owner }) => owner.post("/application"),
    survivors: NOTHING,
    ended: ["everything: application"],
  },
  "user.endAccess": {
    pass: async (bench) => ((await bench.user()) as unknown as FullUser).endAccess(),
    survivors: NOTHING,
    ended: ["everything: application"],
    isOfModels: true,
  },
  "a password that the application saves": {
    pass: ({ owner }) => owner.post("/save"),
    survivors: ONLY_HERE,
    ended: ["everything: application"],
    isOfModels: true,
  },
  "users:logout": {
    pass: async ({ accounts, email }) => desk(accounts.application, "users:logout", email),
    survivors: NOTHING,
    ended: ["everything: command"],
  },
  "access:end-all": {
    pass: ({ accounts }) => desk(accounts.application, "access:end-all", "--yes"),
    survivors: NOTHING,
    ended: [],
  },
  "a new password": {
    pass: ({ owner }) => owner.post("/account/password", { current_password: PASSWORD, ...passwords }),
    survivors: ONLY_HERE,
    ended: ["others: password_changed"],
  },
  "a new password by a link": {
    async pass(bench) {
      const token = await bench.services.tokens.issue("web", await bench.user());
      await bench.accounts.visitor().post("/password_reset", { token, ...passwords });
    },
    survivors: NOTHING,
    ended: ["everything: password_reset"],
  },
  "a password that is voided": {
    pass: ({ accounts, email }) => desk(accounts.application, "users:void-password", email),
    survivors: NOTHING,
    ended: ["everything: password_voided"],
  },
  "a new address": {
    pass: async (bench) => bench.owner.get(await bench.changeLink(NEW)),
    survivors: ONLY_HERE,
    ended: ["others: email_changed"],
  },
  "a new address that is confirmed elsewhere": {
    pass: async (bench) => bench.accounts.visitor().post(await bench.changeLink(NEW)),
    survivors: NOTHING,
    ended: ["everything: email_changed"],
  },
  "a change of address that is undone": {
    async pass(bench) {
      await bench.owner.get(await bench.changeLink(NEW));
      const mail = (await bench.accounts.mails()).find(({ text }) => text.includes("/email/undo/"));
      await bench.accounts.visitor().post(new URL(/https?:\S+/.exec(mail!.text)![0]).pathname);
    },
    survivors: NOTHING,
    ended: ["others: email_changed", "everything: email_change_undone"],
  },
  "an address that is registered again": {
    async pass(bench) {
      await bench.unverify();
      await bench.accounts.visitor().post("/register", { name: "Cleo", email: bench.email, ...passwords });
    },
    survivors: NOTHING,
    ended: ["everything: registered_again"],
    accounts: { preventEnumeration: true },
  },
  "an address that is proved for the first time": {
    async pass(bench) {
      await bench.unverify();
      const { application } = bench.accounts;
      const context = application.serving.contextFor(new Request(application.url));
      await bench.services.firstProof.give(context, "web", await bench.user());
    },
    survivors: NOTHING,
    ended: ["everything: address_proved"],
  },
  "a block": {
    pass: async (bench) => bench.services.blocks.block("web", await bench.user(), OPERATOR),
    survivors: NOTHING,
    ended: ["everything: blocked"],
  },
  "a block, and its end": {
    async pass(bench) {
      await bench.services.blocks.block("web", await bench.user(), OPERATOR);
      await bench.services.blocks.unblock("web", await bench.user(), OPERATOR);
    },
    survivors: NOTHING,
    ended: ["everything: blocked", "everything: unblocked"],
  },
  "the closing of an account": {
    pass: async (bench) => bench.services.closing.close("web", await bench.user(), "none", OPERATOR),
    survivors: NOTHING,
    ended: ["everything: closed"],
  },
  "the closing of an account, and a login that reopens it": {
    async pass(bench) {
      await bench.services.closing.close("web", await bench.user(), "none", OPERATOR);
      await bench.accounts.visitor().post("/login", { email: bench.email, password: PASSWORD });
    },
    survivors: NOTHING,
    ended: ["everything: closed"],
  },
  "the removal of a closed account whose row is kept": {
    pass: async (bench) => bench.services.closing.close("web", await bench.user(), "none", OPERATOR),
    survivors: NOTHING,
    ended: ["everything: closed", "everything: anonymized"],
    accounts: { closing: { graceDays: 0, removal: "anonymize" } },
  },
  "a deletion": {
    pass: async (bench) => bench.services.deletion.ofGuard("web", await bench.user()),
    survivors: NOTHING,
    ended: ["everything: deleted"],
  },
};

const KEYS = [
  HERE,
  "a copy of its cookie",
  "another login",
  "a remembered login",
  "a login that waits",
  "a single API token",
  "one of many API tokens",
  "a refresh token",
  "a personal token",
  "a reset link",
  "a device link",
  "a link to a new address",
];

function survives({ survivors }: Door, key: string): boolean {
  if (survivors === "all") return true;
  return "only" in survivors ? survivors.only.includes(key) : !survivors.allBut.includes(key);
}

function testsWith(engine: TestEngine | null): void {
  const ends: (() => Promise<void>)[] = [];
  const benches = new Map<string, Promise<AccessBench>>();
  const benchOf = (settings: object): Promise<AccessBench> => {
    const name = JSON.stringify(settings);
    const bench = benches.get(name) ?? AccessBench.open(engine, settings, (end) => ends.push(end));
    benches.set(name, bench);
    return bench;
  };
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });

  const doors = Object.entries(DOORS).filter(([, { isOfModels }]) => engine !== null || isOfModels !== true);
  describe.each(doors)("after %s,", (_, door) => {
    const open = new Map<string, boolean>();
    let said: readonly string[] = [];
    beforeAll(async () => {
      const bench = await benchOf(door.accounts ?? {});
      await bench.reset();
      const opened: [string, () => Promise<boolean>][] = [];
      // In the order in which their logins begin.
      for (const [key, make] of Object.entries(bench.keys)) opened.push([key, await make()]);
      said = await bench.ended(() => door.pass(bench));
      // The copied cookie comes last, because it could get the new one.
      for (const [key, isOpen] of opened) open.set(key, await isOpen());
    }, 60_000);

    test.each(KEYS)(`S51 %s`, (key) => {
      expect(open.get(key) === true ? "gives access" : "gives none").toBe(
        survives(door, key) ? "gives access" : "gives none",
      );
    });

    test("S51 the event says what ended, and why", () => {
      expect(said).toEqual(door.ended ?? []);
    });
  });
}

await onEachDatabase("what survives", testsWith);
describe("what survives with the application's own account store", () => testsWith(null));

describe("the table of doors", () => {
  const reasons = new Set(
    Object.values(DOORS)
      .flatMap(({ ended = [] }) => ended)
      .map((said) => said.split(": ")[1]),
  );

  test("has a door for each reason", () => {
    expect([...reasons].sort()).toEqual([...ACCESS_END_REASONS].sort());
  });

  test("has all of the bench's keys", async () => {
    const { keys } = AccessBench.prototype;
    expect(Object.keys(keys).sort()).toEqual([...KEYS].sort());
  });

  test("knows every place that ends access", () => {
    const root = new URL("../../src/", import.meta.url);
    const names = readdirSync(root, { recursive: true, encoding: "utf8" });
    const ending = names.filter((name) => {
      if (!/^(?:auth|api)\/.*(?<!\.test)\.ts$/.test(name)) return false;
      const code = readFileSync(new URL(name, root), "utf8").replace(/^\s*(?:\*|\/\/|\/\*\*).*$/gm, "");
      return ENDS.test(code);
    });
    // If a new file appears here, access ends in a new way: add a door for it above, and then its name.
    expect(ending.sort()).toEqual(PLACES);
  });
});

/** The calls that end access, or only logins. */
const ENDS = /\b(?:endAccess|announceEnd|access\.end|rotateAccess|updateEnding|store\.end)\(|\.(?:endAll|endOldest)\(/;

const PLACES = [
  "auth/access/end-access.ts",
  "auth/access/rotate-access.ts",
  "auth/accounts/access/account-access.ts",
  "auth/accounts/access/account-blocks.ts",
  "auth/accounts/access/account-closing.ts",
  "auth/accounts/access/all-access.ts",
  "auth/accounts/access/closed-account-removal.ts",
  "auth/accounts/access/first-proof.ts",
  "auth/accounts/access/password-voiding.ts",
  "auth/accounts/access/user-deletion.ts",
  "auth/accounts/account-administration.ts",
  "auth/accounts/account-data.ts",
  "auth/accounts/addresses/email-change.ts",
  "auth/accounts/addresses/email-undo.ts",
  "auth/accounts/addresses/unfinished-registrations.ts",
  "auth/accounts/passwords/password-change.ts",
  "auth/accounts/passwords/password-reset.ts",
  "auth/commands/users-logout.ts",
  "auth/logins/user-logins.ts",
  "auth/models/authenticates.ts",
  "auth/models/model-accounts.ts",
  "auth/models/user-model.ts",
  "auth/web/web-guard.ts",
  "auth/web/web-guards.ts",
];
