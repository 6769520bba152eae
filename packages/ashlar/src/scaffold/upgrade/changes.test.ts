import { expect, test } from "vitest";
import { Code } from "../edits/code.ts";
import { CHANGES } from "./changes.ts";

/** A file after all changes that apply to it; `null` if one of them can't be made. */
async function changed(path: string, text: string): Promise<string | null> {
  let code: Code | null = await Code.of(text, path);
  for (const { files, sign, edit } of CHANGES) {
    if (code !== null && files.test(path) && code.text.includes(sign)) code = edit(code);
  }
  return code?.text ?? null;
}

test.each<{ title: string; path: string; before: string; after: string }>([
  {
    title: "trustProxy beside other settings leaves the server",
    path: "config/app.ts",
    before: `export const APP = {
  server: {
    // Of the load balancer.
    trustProxy: ["10.0.0.0/8"],
    port: 3000,
  },
};
`,
    after: `export const APP = {
  trustedProxies: ["10.0.0.0/8"],
  server: {
    // Of the load balancer.
    port: 3000,
  },
};
`,
  },
  {
    title: "trustProxy alone takes the server with it",
    path: "config/app.js",
    before: `export const APP = { name: "Shop", server: { trustProxy: "loopback" } };\n`,
    after: `export const APP = { name: "Shop", trustedProxies: "loopback" };\n`,
  },
  {
    title: "trustProxy beside trustedProxies stays",
    path: "config/app.ts",
    before: `export const APP = { trustedProxies: [], server: { trustProxy: "loopback" } };\n`,
    after: `export const APP = { trustedProxies: [], server: { trustProxy: "loopback" } };\n`,
  },
  {
    title: "answersJson() of routes, and of nothing else",
    path: "routes/web.ts",
    before: `import { Route } from "ashlar";

export const ROUTES = [
  Route.get("/orders", list).answersJson(), // as before
  Route.group(() => [Route.post("/orders", add).answersJson().as("orders.add")]),
];
const answersJson = () => client.answersJson("yes");
`,
    after: `import { Route } from "ashlar";

export const ROUTES = [
  Route.get("/orders", list).respondsWithJson(), // as before
  Route.group(() => [Route.post("/orders", add).respondsWithJson().as("orders.add")]),
];
const answersJson = () => client.answersJson("yes");
`,
  },
  {
    title: "answersJson() in a file without routes",
    path: "app/clients/shop.ts",
    before: `export const isJson = (shop: Shop): boolean => shop.answersJson();\n`,
    after: `export const isJson = (shop: Shop): boolean => shop.answersJson();\n`,
  },
  {
    title: "whole keeps its name in the file",
    path: "config/shop.ts",
    before: `import { type Settings, whole } from "ashlar/settings";\n\nexport const RULES = { items: whole({ min: 1 }) };\n`,
    after: `import { type Settings, integer as whole } from "ashlar/settings";\n\nexport const RULES = { items: whole({ min: 1 }) };\n`,
  },
  {
    title: "whole with a name of its own",
    path: "config/shop.ts",
    before: `import { whole as count } from "ashlar/settings";\n`,
    after: `import { integer as count } from "ashlar/settings";\n`,
  },
  {
    title: "whole of another package",
    path: "config/shop.ts",
    before: `import { text } from "ashlar/settings";\nimport { whole } from "../numbers.ts";\n`,
    after: `import { text } from "ashlar/settings";\nimport { whole } from "../numbers.ts";\n`,
  },
  {
    title: "createSigningKey is a class, also under another name",
    path: "app/partner.ts",
    before: `import { createSigningKey, createVerificationKey as keyOf, signJwt } from "ashlar/jwt";

export const key = createSigningKey("HS256", process.env.SECRET!);
export const keys = [keyOf("HS256", "a"), keyOf("HS256", "b")];
`,
    after: `import { SigningKey, VerificationKey, signJwt } from "ashlar/jwt";

export const key = new SigningKey("HS256", process.env.SECRET!);
export const keys = [new VerificationKey("HS256", "a"), new VerificationKey("HS256", "b")];
`,
  },
  {
    title: "csrfToken() is Csrf.token()",
    path: "routes/form.ts",
    before: `import { csrfToken } from "ashlar/session";\n\nexport const show = (context) => form(csrfToken(context));\n`,
    after: `import { Csrf } from "ashlar/session";\n\nexport const show = (context) => form(Csrf.token(context));\n`,
  },
  {
    title: "createTokenClient of another package",
    path: "app/client.ts",
    before: `import { createTokenClient } from "./own.ts";\n\nexport const api = createTokenClient({ url: "" });\n`,
    after: `import { createTokenClient } from "./own.ts";\n\nexport const api = createTokenClient({ url: "" });\n`,
  },
  {
    title: "reauthWithin and clockSkew of each driver, shorthands included",
    path: "config/api.ts",
    before: `const clockSkew = 5;
export const DRIVERS = {
  jwt: { model: User, reauthWithin: 60 * 24, clockSkew },
  "partner-api": {
    reauthWithin: null, // never
    clockSkew: 30,
  },
} satisfies DriversSettings;
export const OTHER = { jwt: { clockSkew: 1 } };
`,
    after: `const clockSkew = 5;
export const DRIVERS = {
  jwt: { model: User, reauthWithinMinutes: 60 * 24, clockSkewSeconds: clockSkew },
  "partner-api": {
    reauthWithinMinutes: null, // never
    clockSkewSeconds: 30,
  },
} satisfies DriversSettings;
export const OTHER = { jwt: { clockSkew: 1 } };
`,
  },
  {
    title: "what moved joins what is imported already",
    path: "app/a.ts",
    before: `import { Request, Response } from "ashlar/http";\nimport { Route } from "ashlar/routing";\n\nexport const x = Request;\n`,
    after: `import { Request, Response, Route } from "ashlar";\n\nexport const x = Request;\n`,
  },
  {
    title: "types, and what is imported in another form, only get the new source",
    path: "app/a.ts",
    before: `import type { HttpContext } from "ashlar/http";
import { type Router, Request } from "ashlar/http";
import { Route as Own } from "ashlar/routing";
import * as routing from "ashlar/routing";
import "ashlar/http";
`,
    after: `import type { HttpContext } from "ashlar";
import { type Router, Request } from "ashlar";
import { Route as Own } from "ashlar";
import * as routing from "ashlar";
import "ashlar";
`,
  },
  {
    title: "an import at the end of a file, which other code precedes",
    path: "app/a.ts",
    before: `const a = 1;\nimport { Request } from "ashlar/http";`,
    after: `import { Request } from "ashlar";\n\nconst a = 1;\n`,
  },
  {
    title: "the minutes of the links in mails",
    path: "config/auth.ts",
    before: `export const ACCOUNTS = { verificationExpires: 60, emailChangeExpires: 5, passwordExpires: 1 };\n`,
    after: `export const ACCOUNTS = { verificationExpiresInMinutes: 60, emailChangeExpiresInMinutes: 5, passwordExpires: 1 };\n`,
  },
  {
    title: "the minutes of the links in mails, as they were named in between",
    path: "config/auth.js",
    before: `export const ACCOUNTS = { verificationExpiresMinutes: 60, emailChangeExpiresMinutes };\n`,
    after: `export const ACCOUNTS = { verificationExpiresInMinutes: 60, emailChangeExpiresInMinutes: emailChangeExpiresMinutes };\n`,
  },
  {
    title: "a setting that has its new name already stays, and so does one of a nested object",
    path: "config/auth.ts",
    before: `export const ACCOUNTS = { verificationExpires: 1, verificationExpiresInMinutes: 2, own: { emailChangeExpires: 1 } };\n`,
    after: `export const ACCOUNTS = { verificationExpires: 1, verificationExpiresInMinutes: 2, own: { emailChangeExpires: 1 } };\n`,
  },
  {
    title: "how many logins a user can have at each guard",
    path: "config/auth.ts",
    before: `export const GUARDS = { web: { maxLoginsPerUser: 5 }, admin: { maxLoginsPerUser: 1, maxPerUser: 2 } };\n`,
    after: `export const GUARDS = { web: { maxPerUser: 5 }, admin: { maxLoginsPerUser: 1, maxPerUser: 2 } };\n`,
  },
  {
    title: "how many tokens a user can have, in the options of many() and personal(), under any name",
    path: "config/api.ts",
    before: `import { many as several, personal } from "ashlar/api";

const perUser = 3;
export const DRIVERS = {
  jwt: { tokens: several({ accessMinutes: 5, maxTokensPerUser: 20 }), personal: personal({ perUser }) },
  own: { personal: personal(), perUser: own({ perUser: 1 }) },
};
`,
    after: `import { many as several, personal } from "ashlar/api";

const perUser = 3;
export const DRIVERS = {
  jwt: { tokens: several({ accessMinutes: 5, maxPerUser: 20 }), personal: personal({ maxPerUser: perUser }) },
  own: { personal: personal(), perUser: own({ perUser: 1 }) },
};
`,
  },
  {
    title: "the driver of sessions is a function",
    path: "config/session.ts",
    before: `import type { SessionSettings } from "ashlar/session";

export const SESSION = {
  driver: "cookie",
  lifetime: 120,
} satisfies SessionSettings;
`,
    after: `import type { SessionSettings } from "ashlar/session";
import { cookieSessions } from "ashlar/session";

export const SESSION = {
  store: cookieSessions(),
  lifetime: 120,
} satisfies SessionSettings;
`,
  },
  {
    title: "the driver of sessions as a constant",
    path: "config/session.ts",
    before: `export const SESSION = { driver: "database" as const };\n`,
    after: `import { databaseSessions } from "ashlar/session";\n\nexport const SESSION = { store: databaseSessions() };\n`,
  },
  {
    title: "every connection calls its driver, also several with the same one",
    path: "config/database.ts",
    before: `export const DATABASES = {
  default: "main",
  main: {
    driver: "sqlite",
    path: "database/app.sqlite",
  },
  archive: { path: "database/archive.sqlite", driver: "sqlite" },
  reports: { driver: "postgres", host: "reports.internal" },
  own: { driver: mine, host: "a" },
  other: { driver: "toString" },
};
`,
    after: `import { postgres, sqlite } from "ashlar/database";

export const DATABASES = {
  default: "main",
  main: sqlite({
    path: "database/app.sqlite",
  }),
  archive: sqlite({ path: "database/archive.sqlite", }),
  reports: postgres({ host: "reports.internal" }),
  own: { driver: mine, host: "a" },
  other: { driver: "toString" },
};
`,
  },
  {
    title: "the controllers of logins and password resets",
    path: "app/controllers/auth/index.ts",
    before: `export const AuthControllers = { forgotPassword: ForgotPassword, sessions };\n`,
    after: `export const AuthControllers = { requestPasswordReset: ForgotPassword, logins: sessions };\n`,
  },
  {
    title: "answersJson() of routes under another name, but neither with an argument nor by a string",
    path: "routes/web.ts",
    before: `import { Route as R } from "ashlar";
export const ROUTES = [R.get("/", a).answersJson(), R.get("/b", b).answersJson(1), R.get("/c", c)["answersJson"]()];
`,
    after: `import { Route as R } from "ashlar";
export const ROUTES = [R.get("/", a).respondsWithJson(), R.get("/b", b).answersJson(1), R.get("/c", c)["answersJson"]()];
`,
  },
  {
    title: "Migrations of an application's own",
    path: "tests/a.ts",
    before: `import { Migrations } from "../migrations.ts";\n`,
    after: `import { Migrations } from "../migrations.ts";\n`,
  },
])("$title", async ({ path, before, after }) => {
  expect(await changed(path, before)).toBe(after);
  // A second upgrade finds nothing to change.
  expect(await changed(path, after)).toBe(after);
});

test.each([
  [
    "a value that is imported under another name already",
    "app/a.ts",
    `import { Request } from "ashlar/http";\nimport { Request as Own } from "ashlar";\n`,
  ],
  [
    "a driver whose name is taken",
    "config/database.ts",
    `const sqlite = 1;\nexport const DATABASES = { main: { driver: "sqlite" } };\n`,
  ],
  [
    "a driver that is imported under another name",
    "config/database.ts",
    `import { sqlite as file } from "ashlar/database";\nexport const DATABASES = { main: { driver: "sqlite" }, own: file({}) };\n`,
  ],
  ["a store that can't be told", "config/session.ts", `export const SESSION = { driver: env("DRIVER") };\n`],
  ["a store that there isn't one of", "config/session.ts", `export const SESSION = { driver: "redis" };\n`],
  [
    "a store whose name is taken",
    "config/session.ts",
    `const cookieSessions = 1;\nexport const SESSION = { driver: "cookie" };\n`,
  ],
  [
    "a key function that is passed on",
    "app/a.ts",
    `import { createSigningKey } from "ashlar/jwt";\nkeys.map(createSigningKey);\n`,
  ],
  [
    "a key function beside a type of the class's name",
    "app/a.ts",
    `import { createSigningKey, type SigningKey } from "ashlar/jwt";\ncreateSigningKey("HS256", "");\n`,
  ],
  ["the mailbox as a function", "config/mail.ts", `import { mailbox } from "ashlar/mail";\n`],
  ["Migrations of the framework", "tests/a.ts", `import { Migrations } from "ashlar/database";\n`],
])("%s is left to the author", async (_, path, text) => {
  expect(await changed(path, text)).toBeNull();
});
