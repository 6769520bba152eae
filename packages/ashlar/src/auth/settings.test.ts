import { expect, onTestFinished, test } from "vitest";
import { Person } from "../../test/support/people.ts";
import { createApplication } from "../boot/index.ts";
import { DEFAULT_HASHER } from "../security/index.ts";
import { readAccountsSettings } from "./accounts/mails/settings.ts";
import { AuthProvider } from "./auth-provider.ts";
import { authSettingsOf, readAuthSettings } from "./settings.ts";
import { userClassOf } from "./users/authenticatable.ts";
import { readWebGuardSettings } from "./web/web-guard-settings.ts";

const PASSING = { name: "passing", check: () => "passed" } as const;

test("a missing section means no guards and the built-in defaults", () => {
  expect(readAuthSettings({})).toEqual({
    defaultGuard: null,
    steps: [],
    guards: new Map(),
    passwordResetTable: "password_resets",
    passwordResetExpirationInMinutes: 1440,
    hasher: DEFAULT_HASHER,
    accounts: readAccountsSettings({}),
  });
});

test("every entry beyond the reserved names is a guard, whose driver is its own name unless it names one", () => {
  const read = readAuthSettings({
    GUARDS: {
      default: "web",
      web: { model: Person },
      staff: { driver: "web", model: Person, idleMinutes: 5 },
      passwordResetTable: "resets",
      passwordResetExpiration: 60,
    },
  });
  expect(read).toEqual({
    defaultGuard: "web",
    steps: [],
    guards: new Map([
      ["web", { driver: "web", model: Person, routes: null, steps: [], options: {} }],
      ["staff", { driver: "web", model: Person, routes: null, steps: [], options: { idleMinutes: 5 } }],
    ]),
    passwordResetTable: "resets",
    passwordResetExpirationInMinutes: 60,
    hasher: DEFAULT_HASHER,
    accounts: readAccountsSettings({}),
  });
  const { guards } = read;
  for (const part of [read, guards.get("staff"), guards.get("staff")!.options]) {
    expect(Object.isFrozen(part)).toBe(true);
  }
});

test.each(["resets ", ' "resets', "auth."])("a table of resets can't be named %j", (passwordResetTable) => {
  expect(() => readAuthSettings({ GUARDS: { passwordResetTable } })).toThrow(
    'config/auth.ts: GUARDS.passwordResetTable: is not valid. Write a table\'s name: "password_resets", or leave it out',
  );
});

test.each([[""], [null], [undefined]])("a value of %j means that it is left out", (nothing) => {
  const GUARDS = {
    default: nothing,
    passwordResetTable: nothing,
    web: { driver: nothing, model: nothing, routes: nothing },
  };
  const { guards, ...rest } = readAuthSettings({ GUARDS });
  const { guards: _, ...defaults } = readAuthSettings({});
  expect(rest).toEqual(defaults);
  expect(guards.get("web")).toEqual({ driver: "web", model: null, routes: null, steps: [], options: {} });
});

test("an expiration of null means that password resets do not expire", () => {
  const { passwordResetExpirationInMinutes } = readAuthSettings({ GUARDS: { passwordResetExpiration: null } });
  expect(passwordResetExpirationInMinutes).toBeNull();
  expect(readAuthSettings({ GUARDS: { passwordResetExpiration: 1 } }).passwordResetExpirationInMinutes).toBe(1);
});

test.each([
  [
    "GUARDS is a list",
    [],
    'config/auth.ts: GUARDS: is a list. Write an object: { default: "web", web: { model: User } }',
  ],
  ...(
    [
      [[""], "is a list"],
      ["sc", "is text"],
      [{}, "is an object"],
      ["", "is missing"],
      [null, "is missing"],
    ] as const
  ).map(([amr, problem]) => [
    `a step's amr is ${JSON.stringify(amr)}`,
    { web: { steps: [PASSING, { name: "totp", amr, check: () => "passed" }] } },
    `config/auth.ts: GUARDS.web.steps[1].amr: ${problem}. Write a list of names: ["otp"].`,
  ]),
  [
    "a guard's steps are not a list",
    { web: { steps: {} } },
    "config/auth.ts: GUARDS.web.steps: is an object. Write a list of login",
  ],
  [
    "a step is a function",
    { steps: [Object.assign(function terms() {}, { check() {} })] },
    "config/auth.ts: GUARDS.steps[0]: is a function. Write a login step: {",
  ],
  [
    "a step's name is a number",
    { steps: [{ name: 1, check() {} }] },
    "config/auth.ts: GUARDS.steps[0]: is an object. Write a login step: {",
  ],
  ["the default is not text", { default: 1 }, "config/auth.ts: GUARDS.default: "],
  ["a guard is not an object", { web: "User" }, "config/auth.ts: GUARDS.web: is text. Write web: { model: User }."],
  ["a setting is misspelled", { passwordResetTabel: "resets" }, 'Did you mean "passwordResetTable"?'],
  ["another one is misspelled", { passwordResetExpiraton: 60 }, 'Did you mean "passwordResetExpiration"?'],
  ["the default is misspelled", { defualt: "web" }, 'Did you mean "default"?'],
  ["a driver is not text", { web: { driver: 1 } }, "config/auth.ts: GUARDS.web.driver: "],
  ...[
    { name: "terms" },
    { name: "", check() {} },
    { name: "terms", page: "", check() {} },
    { name: "terms", page: 1, check() {} },
    null,
  ].map((step) => [
    `${JSON.stringify(step)} is not a step`,
    { steps: [step] },
    `config/auth.ts: GUARDS.steps[0]: is ${step === null ? "missing" : "an object"}. Write a login step: {`,
  ]),
  [
    "two steps have one name",
    { steps: [PASSING, PASSING] },
    'config/auth.ts: GUARDS.steps: two steps are named "passing".',
  ],
  [
    "a guard's step has the name of one of all guards",
    { web: { model: Person, steps: [PASSING] }, steps: [PASSING] },
    'config/auth.ts: GUARDS.web.steps: two steps are named "passing".',
  ],
  ["a model is not a class", { web: { model: "User" } }, "config/auth.ts: GUARDS.web.model: "],
  [
    "the table is not text",
    { passwordResetTable: 7 },
    `GUARDS.passwordResetTable: is a number. Write a table's name: "password_resets", or leave it out for "password_resets".`,
  ],
  [
    "the expiration is text",
    { passwordResetExpiration: "60" },
    'config/auth.ts: GUARDS.passwordResetExpiration: is "60". Write a whole number of minutes',
  ],
  ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "60"].map((expiration) => [
    `the expiration is ${JSON.stringify(expiration)} (${expiration})`,
    { passwordResetExpiration: expiration },
    "Write a whole number of minutes, 1 or more, null for no expiry, or leave it out for 1440.",
  ]),
] as [string, unknown, string][])("%s: an error with its location", (_, GUARDS, where) => {
  expect(() => readAuthSettings({ GUARDS })).toThrow(where);
});

test.each([
  ["drivr", "driver"],
  ["modle", "model"],
  ["route", "routes"],
  ["stpes", "steps"],
])("the name %s in a guard is reported with the nearest option of all guards, %s", (given, name) => {
  expect(() => readWebGuardSettings("web", { [given]: [] }, { isHttps: false, suffix: "" })).toThrow(
    `Did you mean "${name}"?`,
  );
});

test("a class that lacks what auth requires is named in the error, with the mixin that adds it", () => {
  const STATICS = ["identifierColumn", "findByAuthId", "findByIdentifier"];
  const METHODS = ["authId", "passwordHash", "storePasswordHash"];
  /** A class that would be accepted, except that one of its members is missing. */
  const without = (missing: string): object => {
    class Almost extends Person {}
    if (METHODS.includes(missing)) Object.defineProperty(Almost.prototype, missing, { value: undefined });
    else Object.defineProperty(Almost, missing, { value: undefined });
    return Almost;
  };
  class Stone {}
  const { identifierColumn, findByAuthId, findByIdentifier, prototype } = Person;
  const lookalike = { identifierColumn, findByAuthId, findByIdentifier, prototype };
  const finder = { ...lookalike, name: "Person" };
  for (const model of [
    Stone,
    lookalike,
    finder,
    { ...finder, userClass: prototype },
    { ...lookalike, userClass: Person },
    ...[...STATICS, ...METHODS].map(without),
  ]) {
    expect(() => readAuthSettings({ GUARDS: { web: { model } } })).toThrow(
      expect.objectContaining({
        code: "E_INVALID_MODEL",
        message: expect.stringMatching(/GUARDS\.web\.model: is .*\. Write a class with the mixin Authenticates/),
      }),
    );
  }
});

test("routes is the prefix of the names of a guard's routes", () => {
  const configured = (routes: unknown) => readAuthSettings({ GUARDS: { admin: { model: Person, routes } } });
  expect(configured("back.").guards.get("admin")).toEqual({
    driver: "admin",
    model: Person,
    routes: "back.",
    steps: [],
    options: {},
  });
  expect(() => configured(["login"])).toThrow(
    'config/auth.ts: GUARDS.admin.routes: is a list. Write text in quotes: "…", or leave it out.',
  );
});

test.each(["GUARD", "ACCOUNT"])("an export with a name similar to a known one makes startup fail: %s", async (name) => {
  const booting = createApplication({
    providers: [AuthProvider],
    config: { auth: { [name]: {} } },
    environment: { APP_ENV: "test" },
  });
  await expect(booting).rejects.toMatchObject({ code: "E_INVALID_CONFIGURATION" });
});

test("a guard may be named almost like a setting", () => {
  expect([...readAuthSettings({ GUARDS: { defaults: { model: Person } } }).guards.keys()]).toEqual(["defaults"]);
});

test("a class that finds the users of another one can be a guard's model", () => {
  const { identifierColumn, findByAuthId, findByIdentifier } = Person;
  const Finder = Object.assign(class Finder {}, {
    ...{ identifierColumn, findByAuthId, findByIdentifier },
    userClass: Person,
  });
  const { guards } = readAuthSettings({ GUARDS: { web: { model: Finder } } });
  expect([guards.get("web")?.model, userClassOf(Finder)]).toEqual([Finder, Person]);
});

test("an application reads its settings once", async () => {
  const application = await createApplication({ providers: [AuthProvider], environment: { APP_ENV: "test" } });
  onTestFinished(() => application.shutdown());
  expect(authSettingsOf(application.config)).toBe(authSettingsOf(application.config));
});
