import { expect, test } from "vitest";
import { Code } from "../edits/code.ts";
import { CHANGES } from "./changes.ts";

/** A file after all changes that are for it; `null` if one of them can't be made. */
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
])("$title", async ({ path, before, after }) => {
  expect(await changed(path, before)).toBe(after);
  // A second upgrade finds nothing.
  expect(await changed(path, after)).toBe(after);
});
