import { describe, expect, test } from "vitest";
import { creatingWith, exportingApplication } from "./application-edits.ts";
import { Code } from "./code.ts";
import { declaring, type Edit, inList, inObject, inRoutes } from "./edits.ts";
import { binding, inHttpMiddleware, inMiddleware } from "./kernel-edits.ts";
import { mixing } from "./user-model-edits.ts";

const ORDER = ["First", "Second", "Third"];
const second = inList("LIST", "Second", "pkg", ORDER);

/** The text after an edit; `null` if the edit can't be made. Making it a second time must change nothing. */
async function after(edit: Edit, text: string, path = "file.ts"): Promise<string | null> {
  const code = edit(await Code.of(text, path));
  if (code !== null) expect(edit(await Code.of(code.text, path))?.text).toBe(code.text);
  return code?.text ?? null;
}

const IMPORT = 'import { Second } from "pkg";\n\n';

test("a text is parsed once for each language, however often it is requested", async () => {
  const text = "export const LIST = [First];\n";
  const code = await Code.of(text, "config/first.ts");
  expect(await Code.of(text, "config/other.ts")).toBe(code);
  expect(await Code.of(text, "config/first.js")).not.toBe(code);
  expect((await Code.of(text, "config/first.js")).isTypeScript).toBe(false);
  const changed = code.with({ at: text.length, text: "// the end\n" });
  expect([changed.text, code.text]).toEqual([`${text}// the end\n`, text]);
});

describe("a list", () => {
  test.each([
    ["empty", "export const LIST = [];\n", "export const LIST = [Second];\n"],
    [
      "empty, with a comment",
      "export const LIST = [\n  // none\n];\n",
      "export const LIST = [\n  // none\n  Second,\n];\n",
    ],
    ["on one line", "export const LIST = [First, Third];\n", "export const LIST = [First, Second, Third];\n"],
    ["with a type", "export const LIST: Part[] = [First];\n", "export const LIST: Part[] = [First, Second];\n"],
    [
      "that is a constant",
      "export const LIST = [First] as const;\n",
      "export const LIST = [First, Second] as const;\n",
    ],
    [
      "that satisfies a type, exported below",
      "const LIST = [Third] satisfies Part[];\nexport { LIST };\n",
      "const LIST = [Second, Third] satisfies Part[];\nexport { LIST };\n",
    ],
    ["without a last comma", "export const LIST = [\n\tFirst\n];\n", "export const LIST = [\n\tFirst,\n\tSecond\n];\n"],
    [
      "with comments",
      "export const LIST = [ // these\n  First, // one, two\n  /* the\n  last */ Third,\n];\n",
      "export const LIST = [ // these\n  First, // one, two\n  Second,\n  /* the\n  last */ Third,\n];\n",
    ],
    [
      "several on a line",
      "export const LIST = [\n  First, Third,\n];\n",
      "export const LIST = [\n  First, Second, Third,\n];\n",
    ],
    [
      "that begins with a later one",
      "export const LIST = [\n  // before\n  Third,\n];\n",
      "export const LIST = [\n  Second,\n  // before\n  Third,\n];\n",
    ],
    [
      "closed on its last line",
      "export const LIST = [\n  First,\n  Other];\n",
      "export const LIST = [\n  First,\n  Second,\n  Other];\n",
    ],
  ])("%s gets the missing entry in the right place", async (_, text, wanted) => {
    expect(await after(second, text)).toBe(IMPORT + wanted);
  });

  test.each([
    ["made by a function", "export const LIST = list(First);"],
    ["with parts from elsewhere", "export const LIST = [...OTHERS];"],
    ["in an order of its own", "export const LIST = [Third, First];"],
    ["missing", "export const OTHER = [First];"],
    ["whose new name stands for something else", "class Second {}\nexport const LIST = [First];"],
    ["with holes", "export const LIST = [First, , Third];"],
  ])("%s is left to its author", async (_, text) => {
    expect(await after(second, text)).toBeNull();
  });

  test.each([
    ["under another name", 'import { Second as Two } from "pkg";\nexport const LIST = [Two];'],
    ["as part of another value", 'import { Second } from "pkg";\nexport const LIST = list(Second);'],
    [
      "as the base of a class",
      'import { Second } from "pkg";\nclass Two extends Second {}\nexport const LIST = [Two];',
    ],
  ])("that has it %s stays", async (_, text) => {
    expect(await after(second, text)).toBe(text);
  });

  test("is not considered to have code that only a comment or a string mentions", async () => {
    const text = '// Second\nconst note = "Second";\nexport const LIST = [];\n';
    expect(await after(second, text)).toContain("LIST = [Second];");
  });
});

describe("an import", () => {
  test.each([
    ['import { A, Z } from "pkg";\n', 'import { A, Second, Z } from "pkg";\n'],
    ['import {\n  A,\n  Z,\n} from "pkg";\n', 'import {\n  A,\n  Second,\n  Z,\n} from "pkg";\n'],
    ['import { A, type Z } from "pkg";\n', 'import { A, Second, type Z } from "pkg";\n'],
    ['import type { A } from "pkg";\n', 'import type { A } from "pkg";\nimport { Second } from "pkg";\n'],
    ['import * as all from "pkg";\n', 'import * as all from "pkg";\nimport { Second } from "pkg";\n'],
    ["import { A } from 'a'\n", "import { A } from 'a'\nimport { Second } from 'pkg'\n"],
    ['import { A } from "./a.ts";\n', 'import { Second } from "pkg";\nimport { A } from "./a.ts";\n'],
    ["#!/usr/bin/env node\n", `#!/usr/bin/env node\n${IMPORT}`],
    ["// A license.\n\n", `// A license.\n\n${IMPORT}`],
  ])("is added to %j", async (before, wanted) => {
    const list = "export const LIST = [];\n";
    expect(await after(second, before + list)).toBe(wanted + list.replace("[]", "[Second]"));
  });
});

const KERNEL = 'import { HttpKernel } from "ashlar";\n\nexport class Kernel extends HttpKernel {';
const api = inMiddleware("api", [{ name: "HttpKernel", from: "ashlar" }]);
const bind = binding({ "a.b": "c" });

describe("a kernel", () => {
  test.each([
    [api, "}\n", "\n  override routeMiddleware = {\n    api: [HttpKernel],\n  };\n}\n"],
    [api, "\n\trouteMiddleware = {};\n}\n", "\n\trouteMiddleware = { api: [HttpKernel] };\n}\n"],
    [
      api,
      "\n  routeMiddleware = { web: [], x: [] };\n}\n",
      "\n  routeMiddleware = { web: [], api: [HttpKernel], x: [] };\n}\n",
    ],
    [api, '\n  routeMiddleware = { "api": [] };\n}\n', '\n  routeMiddleware = { "api": [HttpKernel] };\n}\n'],
    [bind, "}\n", '\n  override registerRoutes(): void {\n    this.container.bind("a.b", "c");\n  }\n}\n'],
    [bind, "\n  registerRoutes() {}\n}\n", '\n  registerRoutes() {\n    this.container.bind("a.b", "c");\n  }\n}\n'],
    [
      bind,
      '\n  registerRoutes() {\n    this.container.bind("x", "y"); // kept\n    // the end\n  }\n}\n',
      '\n  registerRoutes() {\n    this.container.bind("x", "y"); // kept\n    this.container.bind("a.b", "c");\n    // the end\n  }\n}\n',
    ],
    [
      binding({ "a.b": "c", "a.d": "e" }),
      '\n  registerRoutes() {\n    this.container.bind("a.b", "mine");\n  }\n}\n',
      '\n  registerRoutes() {\n    this.container.bind("a.b", "mine");\n  }\n}\n',
    ],
  ] as const)("gets its missing parts %#", async (edit, before, wanted) => {
    expect(await after(edit, KERNEL + before)).toBe(KERNEL + wanted);
  });

  test.each([
    ["}\n", "\n  override httpMiddleware = [Cors];\n}\n"],
    ["\n  httpMiddleware = [];\n}\n", "\n  httpMiddleware = [Cors];\n}\n"],
    ["\n  httpMiddleware = [Ip, Other];\n}\n", "\n  httpMiddleware = [Cors, Ip, Other];\n}\n"],
  ])("runs a middleware around every request, before the others %#", async (before, wanted) => {
    const imported = KERNEL.replace("{ HttpKernel }", "{ Cors, HttpKernel }");
    expect(await after(inHttpMiddleware("Cors", "ashlar"), KERNEL + before)).toBe(imported + wanted);
  });

  test.each([
    [api, `${KERNEL}\n  routeMiddleware = { ...others };\n}\n`],
    [inMiddleware("web", [], "VerifyCsrfToken"), `${KERNEL}\n  routeMiddleware = { web: [Other] };\n}\n`],
    [inMiddleware("api", [{ name: "Tokens", from: "pkg" }]), `${KERNEL}}\nexport class Other extends HttpKernel {}\n`],
    [bind, "export class Kernel extends Base {}"],
    [inHttpMiddleware("Cors", "pkg"), `${KERNEL}\n  httpMiddleware = others();\n}\n`],
    [inHttpMiddleware("Cors", "pkg"), "export class Kernel extends Base {}"],
  ])("in a different form is left to its author %#", async (edit, text) => {
    expect(await after(edit, text)).toBeNull();
  });
});

const MODEL = 'import { compose, Model } from "ashlar/database";\n\n';
const MIXED = 'import { Mixin } from "ashlar/auth";\n';

describe("a model", () => {
  test.each([
    [
      'import { Model } from "ashlar/database";\n\nclass User extends Model {}\n',
      `${MIXED}${MODEL}class User extends compose(Model, Mixin) {}\n`,
    ],
    [
      `${MODEL}export class User extends compose(Model, A) {}\n`,
      `${MIXED}${MODEL}export class User extends compose(Model, A, Mixin) {}\n`,
    ],
    [
      `${MODEL}class Note extends Model {}\nexport default class User extends compose(\n  Model,\n  A,\n) {}\n`,
      `${MIXED}${MODEL}class Note extends Model {}\nexport default class User extends compose(\n  Model,\n  A,\n  Mixin,\n) {}\n`,
    ],
  ])("gets a mixin %#", async (text, wanted) => {
    expect(await after(mixing("Mixin", "ashlar/auth"), text)).toBe(wanted);
  });

  test.each([
    ["class User {}"],
    [`${MODEL}class One extends Model {}\nclass Other extends Model {}`],
    ["export class User extends Base {}"],
  ])("in a different form is left to its author: %j", async (text) => {
    expect(await after(mixing("Mixin", "ashlar/auth"), text)).toBeNull();
  });
});

describe("routes and objects", () => {
  test("get their missing parts", async () => {
    expect(await after(inRoutes("Api", "pkg", ""), "export const ROUTES = [\n  home,\n];\n")).toBe(
      'import { Api } from "pkg";\n\nexport const ROUTES = [\n  home,\n  ...Api.routes(),\n];\n',
    );
    expect(await after(inObject("X", "web", "{ a: 1 }"), "export const X = { b: 2 };")).toBe(
      "export const X = { b: 2, web: { a: 1 } };",
    );
    expect(await after(inObject("X", "default", "web", "first"), "export const X = {\n  b: 2,\n};")).toBe(
      'export const X = {\n  default: "web",\n  b: 2,\n};',
    );
    expect(await after(declaring("Y", ["export const Y = {", "  a: 1,", "};"]), "const x = 1\r\nf(x)\r\n")).toBe(
      "const x = 1\r\nf(x)\r\n\r\nexport const Y = {\r\n  a: 1,\r\n}\r\n",
    );
  });

  test("keep the author's own values", async () => {
    expect(await after(inObject("X", "default", "web", "first"), "export const X = { default: 'api' };")).toBeNull();
    const routes = 'import { Api } from "pkg";\nexport const ROUTES = [...Api.routes({ prefix: "x" })];';
    expect(await after(inRoutes("Api", "pkg", ""), routes)).toBe(routes);
  });
});

const CREATE = 'import { createApplication } from "ashlar";\n';

describe("an application", () => {
  const create = creatingWith(["root: here"]);

  test.each([
    ["createApplication();", "createApplication({ root: here });"],
    ["createApplication({});", "createApplication({ root: here });"],
    ["createApplication({\n  routes,\n});", "createApplication({\n  root: here,\n  routes,\n});"],
    [
      "const options = { routes };\ncreateApplication(options);",
      "const options = { root: here, routes };\ncreateApplication(options);",
    ],
  ])("gets options: %j", async (text, wanted) => {
    const code = create(await Code.of(CREATE + text, "app.ts"));
    expect(code?.text).toBe(CREATE + wanted);
  });

  test.each([
    "createApplication(options);",
    "createApplication({ ...options });",
    "createApplication({}); createApplication({});",
  ])("in a different form is left to its author: %j", async (text) => {
    expect(create(await Code.of(CREATE + text, "app.ts"))).toBeNull();
  });

  test.each([
    ["await createApplication({});\n", "export default await createApplication({});\n"],
    ["const app = await createApplication({});\n", "const app = await createApplication({});\n\nexport default app;\n"],
    [
      "const app = await createApplication({});\nawait app.listen({ port: 1 });\nlog();\n",
      "const app = await createApplication({});\nexport default app;\nlog();\n",
    ],
  ])("becomes the default export: %j", async (text, wanted) => {
    expect(exportingApplication(await Code.of(CREATE + text, "app.ts"))?.text).toBe(CREATE + wanted);
  });

  test.each([
    "await (await createApplication({})).listen();",
    "const app = await createApplication({});\nconst server = await app.listen();",
    "const app = await createApplication({});\nawait app.listen({ port: port() });",
    "export function start() { return createApplication({}); }",
  ])("that the author uses differently is left alone: %j", async (text) => {
    expect(exportingApplication(await Code.of(CREATE + text, "app.ts"))).toBeNull();
  });
});
