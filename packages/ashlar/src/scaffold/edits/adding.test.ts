import { describe, expect, test } from "vitest";
import { adding } from "./adding.ts";
import { Code } from "./code.ts";

describe("an addition", () => {
  const imports = [{ name: "stock", from: "pkg" }];
  const nested = adding({ imports, to: ["DRIVERS", "jwt"], text: 'stock: stock("all")' });
  const element = adding({ imports, to: ["ROUTES"], text: '...stock.routes("all")' });
  const stock = 'import { stock } from "pkg";\n\n';

  test.each([
    [
      "an object in an object",
      nested,
      "export const DRIVERS = {\n  jwt: {\n    expires: 60, // minutes\n  },\n} satisfies Drivers;\n",
      `${stock}export const DRIVERS = {\n  jwt: {\n    expires: 60, // minutes\n    stock: stock("all"),\n  },\n} satisfies Drivers;\n`,
    ],
    [
      "a list in single quotes",
      element,
      "import { Route } from 'a';\n\nexport const ROUTES = [Route.get('/')];\n",
      "import { Route } from 'a';\nimport { stock } from 'pkg';\n\nexport const ROUTES = [Route.get('/'), ...stock.routes('all')];\n",
    ],
  ])("is made in %s", async (_name, edit, before, expected) => {
    const code = edit(await Code.of(before, "file.ts"));
    expect(code?.text).toBe(expected);
  });

  test.each([
    ["a variable that isn't there", nested, "export const OTHERS = {};\n"],
    ["a key that isn't there", nested, "export const DRIVERS = { api: {} };\n"],
    ["an object that comes from elsewhere", nested, "export const DRIVERS = { jwt: driver() };\n"],
    ["an object with others in it", nested, "export const DRIVERS = { jwt: { ...base } };\n"],
    ["a key that is taken", nested, "export const DRIVERS = { jwt: { stock: null } };\n"],
    ["a list that is made by a call", element, "export const ROUTES = routes();\n"],
    ["another name", element, 'import { stock as all } from "pkg";\nexport const ROUTES = [];\n'],
    ["a name that is something else", element, "const stock = 1;\nexport const ROUTES = [];\n"],
  ])("is left to the author for %s", async (_name, edit, text) => {
    expect(edit(await Code.of(text, "file.ts"))).toBeNull();
  });
});
