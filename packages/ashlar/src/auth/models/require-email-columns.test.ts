import { expect, onTestFinished, test } from "vitest";
import { sqlite } from "../../../test/support/services.ts";
import { ApiProvider, AuthenticatesTokens } from "../../api/index.ts";
import { type Application, createApplication, Inspection, type ProviderClass } from "../../boot/index.ts";
import { compose, DatabaseProvider, Model, sql } from "../../database/index.ts";
import { generateSecret } from "../../security/index.ts";
import { SessionProvider } from "../../session/index.ts";
import { AuthProvider } from "../auth-provider.ts";
import { Authenticates } from "./authenticates.ts";

class Member extends compose(Model, Authenticates, AuthenticatesTokens) {
  static override table = "members";
  static override identifierColumn = "username";
  static override identifiesByEmail = true;
}

class OnlyNamed extends compose(Model, Authenticates) {
  static override table = "members";
  static override identifierColumn = "username";
}

const PROBLEM =
  'The class Member of the guard "web": identifiesByEmail is true, but the table members has no column email. Add the ' +
  "column in a migration, or leave identifiesByEmail out.";

/** Starts an application whose users are in a table with these columns; `null` for no table. */
async function start(
  columns: string | null,
  model: typeof Member | typeof OnlyNamed = Member,
  providers: readonly ProviderClass[] = [DatabaseProvider, SessionProvider, AuthProvider],
): Promise<Application> {
  const { database, configuration, drop } = await sqlite.open();
  onTestFinished(drop);
  if (columns !== null)
    await sql.raw(`create table members (id integer primary key, ${columns})`).execute(database.kysely);
  const application = await createApplication({
    providers,
    config: {
      auth: { GUARDS: providers.includes(AuthProvider) ? { web: { model } } : {} },
      api: { DRIVERS: { jwt: { secret: generateSecret(), model } } },
      database: { DATABASES: { default: "main", main: configuration } },
    },
    environment: { APP_ENV: "test" },
  });
  onTestFinished(() => application.shutdown());
  return application;
}

test("startup fails if users log in with their address and the table has no column for it", async () => {
  await expect(start("username text, password text")).rejects.toMatchObject({
    code: "E_INVALID_MODEL",
    message: PROBLEM,
  });
});

test("the same applies to users who only get API tokens", async () => {
  await expect(start("username text", Member, [DatabaseProvider, ApiProvider])).rejects.toMatchObject({
    code: "E_INVALID_MODEL",
    message: PROBLEM.replace('"web"', '"jwt"'),
  });
});

test.for([
  ["the table has the column", "username text, email text", Member],
  ["the table is yet to be migrated", null, Member],
  ["users log in with their name alone", "username text", OnlyNamed],
] as const)("the application boots if %s", async ([, columns, model]) => {
  expect((await start(columns, model)).container.has("auth")).toBe(true);
});

test("an inspection boots without looking into the database", async () => {
  const application = await new Inspection().run(() => start("username text"));
  expect(application.container.has("auth")).toBe(true);
});
