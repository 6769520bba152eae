import { expect, test } from "vitest";
import { Person } from "../../test/support/people.ts";
import { createApplication } from "../boot/index.ts";
import { DEFAULT_HASHER } from "../security/index.ts";
import { AuthProvider } from "./auth-provider.ts";
import { authConfiguration } from "./configuration.ts";

test("without a section there are no guards of its own, and the defaults of the source", () => {
  expect(authConfiguration({})).toEqual({
    defaultGuard: null,
    guards: new Map(),
    passwordResetTable: "password_resets",
    passwordResetExpirationInMinutes: 1440,
    hasher: DEFAULT_HASHER,
  });
});

test("every entry beyond the three names is a guard, whose driver is its own name unless it says otherwise", () => {
  const configuration = authConfiguration({
    GUARDS: {
      default: "web",
      web: { model: Person },
      staff: { driver: "web", model: Person, idleMinutes: 5 },
      passwordResetTable: "resets",
      passwordResetExpiration: 60,
    },
  });
  expect(configuration).toEqual({
    defaultGuard: "web",
    guards: new Map([
      ["web", { driver: "web", model: Person, routes: null, options: {} }],
      ["staff", { driver: "web", model: Person, routes: null, options: { idleMinutes: 5 } }],
    ]),
    passwordResetTable: "resets",
    passwordResetExpirationInMinutes: 60,
    hasher: DEFAULT_HASHER,
  });
  const { guards } = configuration;
  for (const part of [configuration, guards.get("staff"), guards.get("staff")!.options]) {
    expect(Object.isFrozen(part)).toBe(true);
  }
});

test("an expiration of null means that password resets do not expire", () => {
  const { passwordResetExpirationInMinutes } = authConfiguration({ GUARDS: { passwordResetExpiration: null } });
  expect(passwordResetExpirationInMinutes).toBeNull();
  expect(authConfiguration({ GUARDS: { passwordResetExpiration: 1 } }).passwordResetExpirationInMinutes).toBe(1);
});

test.each([
  ["GUARDS is a list", [], "config/auth.ts: GUARDS: "],
  ["the default is no text", { default: 1 }, "config/auth.ts: GUARDS.default: "],
  [
    "a guard is no object",
    { web: "User" },
    "config/auth.ts: GUARDS.web: it is not an object. Write web: { model: User }.",
  ],
  ["a setting is misspelled", { passwordResetTabel: "resets" }, 'Did you mean "passwordResetTable"?'],
  ["another is", { passwordResetExpiraton: 60 }, 'Did you mean "passwordResetExpiration"?'],
  ["the default is", { defualt: "web" }, 'Did you mean "default"?'],
  ["a driver is no text", { web: { driver: 1 } }, "config/auth.ts: GUARDS.web.driver: "],
  ["a model is no class", { web: { model: "User" } }, "config/auth.ts: GUARDS.web.model: "],
  ["the table is no text", { passwordResetTable: 7 }, "GUARDS.passwordResetTable: it is not the name of a table."],
  [
    "the table is blank",
    { passwordResetTable: "" },
    'GUARDS.passwordResetTable: it is not the name of a table. Write passwordResetTable: "password_resets".',
  ],
  ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "60"].map((expiration) => [
    `the expiration is ${JSON.stringify(expiration)} (${expiration})`,
    { passwordResetExpiration: expiration },
    "GUARDS.passwordResetExpiration: it is neither a positive whole number of minutes nor null. Write passwordResetExpiration: 1440.",
  ]),
] as [string, unknown, string][])("%s: an error that says where", (_, GUARDS, where) => {
  expect(() => authConfiguration({ GUARDS })).toThrow(where);
});

test("a class without what auth asks of it is named with the mixin that mends it", () => {
  const STATICS = ["identifierColumn", "findByAuthId", "findByIdentifier"];
  const METHODS = ["authId", "passwordHash", "storePasswordHash"];
  /** A class like any that is accepted, but for one of its members. */
  const without = (missing: string): object => {
    class Almost extends Person {}
    if (METHODS.includes(missing)) Object.defineProperty(Almost.prototype, missing, { value: undefined });
    else Object.defineProperty(Almost, missing, { value: undefined });
    return Almost;
  };
  class Stone {}
  const { identifierColumn, findByAuthId, findByIdentifier, prototype } = Person;
  const lookalike = { identifierColumn, findByAuthId, findByIdentifier, prototype };
  for (const model of [Stone, lookalike, ...[...STATICS, ...METHODS].map(without)]) {
    expect(() => authConfiguration({ GUARDS: { web: { model } } })).toThrow(
      expect.objectContaining({
        code: "E_INVALID_MODEL",
        message: expect.stringMatching(/GUARDS\.web\.model: it is not a class .* mixin Authenticates/),
      }),
    );
  }
});

test("routes is what the names of a guard's routes begin with", () => {
  const configured = (routes: unknown) => authConfiguration({ GUARDS: { admin: { model: Person, routes } } });
  expect(configured("back.").guards.get("admin")).toEqual({
    driver: "admin",
    model: Person,
    routes: "back.",
    options: {},
  });
  expect(() => configured(["login"])).toThrow(
    'config/auth.ts: GUARDS.admin.routes: it is not text. Write what the names of the guard\'s routes begin with: routes: "admin.".',
  );
});

test.each(["GUARD", "ACCOUNT"])("an export whose name is near one that is read ends the boot: %s", async (name) => {
  const booting = createApplication({
    providers: [AuthProvider],
    config: { auth: { [name]: {} } },
    environment: { APP_ENV: "test" },
  });
  await expect(booting).rejects.toMatchObject({ code: "E_INVALID_CONFIGURATION" });
});
