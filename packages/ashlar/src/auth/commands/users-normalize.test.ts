import { expect, test } from "vitest";
import { ADA, BOB, PASSWORD, type TestAccounts, testAccounts } from "../../../test/support/account-application.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import { isIn, storeShop } from "../../../test/support/store-shop.ts";
import type { CommandContext } from "../../boot/index.ts";
import { run } from "./users-normalize.ts";

const UNICODE = "bob@b\u00fccher.example";
const ASCII = "bob@xn--bcher-kva.example";

/** Runs the command, and returns its output, with any error at the end. */
async function normalize({ application }: Pick<TestAccounts, "application">, ...args: string[]): Promise<string[]> {
  const lines: string[] = [];
  const print = (line = "") => void lines.push(line);
  try {
    await run({ args, print, application: async () => application } as unknown as CommandContext);
  } catch (error) {
    lines.push((error as Error).message);
  }
  return lines;
}

async function store(accounts: TestAccounts, rows: Readonly<Record<number, string>>): Promise<void> {
  for (const [id, email] of Object.entries(rows)) {
    await accounts.database.kysely.updateTable("users").set({ email }).where("id", "=", Number(id)).execute();
  }
}

async function emails(accounts: TestAccounts): Promise<unknown[]> {
  return (await accounts.rows("users")).map(({ email }) => email);
}

await onEachDatabase("users:normalize", (engine) => {
  test("S132 normalizes earlier users, and ends none of their logins, tokens or links", async () => {
    const accounts = await testAccounts({ engine });
    await store(accounts, { [ADA.id]: "Ada@Example.com", [BOB.id]: UNICODE });
    const visitor = accounts.visitor();
    await visitor.post("/login", { email: "Ada@Example.com", password: PASSWORD });
    await accounts.mails();
    await accounts.visitor().post("/change_password", { email: UNICODE });
    const link = await accounts.link();
    const changes = ["1  email  Ada@Example.com -> ada@example.com", `2  email  ${UNICODE} -> ${ASCII}`];
    expect(await normalize(accounts, "--dry-run")).toEqual([...changes, "In the table users, 2 texts would change."]);
    expect(await emails(accounts)).toEqual(["Ada@Example.com", UNICODE]);
    expect(await normalize(accounts)).toEqual([...changes, "In the table users, 2 texts changed."]);
    expect(await emails(accounts)).toEqual(["ada@example.com", ASCII]);
    expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
    expect((await accounts.visitor().get(link)).status).toBe(200);
    expect(await normalize(accounts)).toEqual(["In the table users, 0 texts changed."]);
  });

  test("S132 merges no accounts, but names those that would become equal, and leaves both unchanged", async () => {
    const accounts = await testAccounts({ engine });
    await store(accounts, { [ADA.id]: ASCII, [BOB.id]: UNICODE });
    const collision = `Several users have one email: ${ASCII} (1), ${UNICODE} (2)`;
    const error =
      "1 collision left. Decide which account stays, delete or change the other one, and run the command again.";
    expect(await normalize(accounts)).toEqual([collision, "In the table users, 0 texts changed.", error]);
    expect(await emails(accounts)).toEqual([ASCII, UNICODE]);
    await store(accounts, { [ADA.id]: "A@x.example", [BOB.id]: "a@X.example" });
    expect(await normalize(accounts)).toEqual([
      "Several users have one email: A@x.example (1), a@X.example (2)",
      "In the table users, 0 texts changed.",
      error,
    ]);
  });

  test("S132 changes thousands of rows in batches, and leaves invalid addresses alone", async () => {
    const accounts = await testAccounts({ engine });
    const { kysely } = accounts.database;
    const rows = Array.from({ length: 1200 }, (_, index) => ({
      name: "X",
      email: index === 700 ? "deleted-700" : `User${index}@Example.com`,
      password: "!",
    }));
    for (let from = 0; from < rows.length; from += 300) {
      await kysely
        .insertInto("users")
        .values(rows.slice(from, from + 300))
        .execute();
    }
    expect((await normalize(accounts)).at(-1)).toBe("In the table users, 1199 texts changed.");
    const stored = (await emails(accounts)).slice(2);
    expect(stored).toEqual(rows.map(({ email }) => email.toLowerCase()));
  });
});

test("S132 changes users in your own store if it lists its accounts, ends none of their logins, and merges none", async () => {
  const { accounts, store, rows, cleo } = await storeShop();
  const visitor = await cleo();
  const [user] = await store.accountsAfter(null, 1);
  await store.update(user!, { email: "Cleo@B\u00fccher.example" }, {});
  const twins = ["a@x.example", "A@x.example"];
  for (const email of twins) {
    await store.create({ email, passwordHash: "!", accessEpoch: email, attributes: { name: "A" } });
  }
  expect(await normalize(accounts)).toEqual([
    "1  email  Cleo@B\u00fccher.example -> cleo@xn--bcher-kva.example",
    "Several users have one email: a@x.example (2), A@x.example (3)",
    "In the accounts of User, 1 text changed.",
    "1 collision left. Decide which account stays, delete or change the other one, and run the command again.",
  ]);
  const emails = rows().map((row) => (row as { readonly email: string }).email);
  expect(emails).toEqual(["cleo@xn--bcher-kva.example", ...twins]);
  expect(await isIn(visitor)).toBe(true);
  Object.assign(store, { accountsAfter: undefined });
  expect(await normalize(accounts)).toEqual([
    'The users of the guard "web" can\'t be listed: User has no method accountsAfter(). Add it, or store their addresses with normalizeEmail of ashlar/security yourself.',
  ]);
});

test("S171 names addresses that mail software can read as a different one, and prints no control characters", async () => {
  const accounts = await testAccounts();
  await store(accounts, { [ADA.id]: "a%b@corp.example", [BOB.id]: "Bob@Example.com\u001b[2J" });
  expect(await normalize(accounts)).toEqual([
    "Mail software can read this address as another one, and it gets no mails: a%b@corp.example (1)",
    "In the table users, 0 texts changed.",
  ]);
});

test("an argument is refused", async () => {
  const accounts = await testAccounts();
  expect(await normalize(accounts, "--all")).toEqual(["users:normalize takes no arguments but --dry-run."]);
});
