import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { placeIn, placeOf, SourceLocation } from "./source-location.ts";

const FRAMEWORK = join(import.meta.dirname, "../errors.ts");

/** A stack as the engine formats it. */
function stackOf(...frames: string[]): string {
  return ["Error", ...frames.map((frame) => `    at ${frame}`)].join("\n");
}

test("the location of source code that Node couldn't read precedes the stack", () => {
  const unread = (place: string) =>
    placeOf(
      Object.assign(new SyntaxError("no"), {
        stack: `${place}\n  { a: ,\n       ^\n\nSyntaxError: no\n    at node:x:1:1`,
      }),
    );
  expect(unread("/srv/shop/routes/web.ts:3")).toBe("/srv/shop/routes/web.ts:3");
  expect(unread("file:///srv/a%20b/routes/web.ts:12")).toBe("/srv/a b/routes/web.ts:12");
  expect(unread("file:///srv/shop/web.ts?v=17:3")).toBe("/srv/shop/web.ts:3");
  expect(placeOf(Object.assign(new Error("no"), { stack: "Error: no\n    at node:x:1:1" }))).toBeNull();
});

describe("the location in a stack", () => {
  const inside = (name: string) => join(process.cwd(), name);

  test.each([
    ["a path", stackOf(`${inside("routes/web.ts")}:12:9`), "routes/web.ts:12"],
    ["a file URL", stackOf(`file://${inside("routes/web.ts")}:12:9`), "routes/web.ts:12"],
    ["a named function", stackOf(`Object.get (${inside("routes/web.ts")}:3:1)`), "routes/web.ts:3"],
    ["an awaited one", stackOf(`async file://${inside("app.ts")}:3:1`), "app.ts:3"],
    ["an awaited function", stackOf(`async make (file://${inside("app.ts")}:3:1)`), "app.ts:3"],
    ["a query of a module", stackOf(`file://${inside("routes/web.ts")}?v=17:4:1`), "routes/web.ts:4"],
    ["spaces and brackets", stackOf(`make (${inside("my (own) app/web.ts")}:4:1)`), "my (own) app/web.ts:4"],
    ["escapes in a URL", stackOf(`file://${inside("my%20app/caf%C3%A9.ts")}:4:1`), "my app/café.ts:4"],
    ["a folder elsewhere", stackOf("file:///srv/shop/routes/web.ts:4:1"), "/srv/shop/routes/web.ts:4"],
    ["frames of the framework", stackOf(`get (${FRAMEWORK}:1:1)`, `${inside("web.ts")}:4:1`), "web.ts:4"],
    ["frames of Node", stackOf("node:internal/x:1:1", "new Promise (<anonymous>)", `${inside("a.ts")}:4:1`), "a.ts:4"],
    ["no frame", "Error", "unknown"],
    ["only the framework", stackOf(`get (${FRAMEWORK}:1:1)`), "unknown"],
    ["something else", "anything at all\n at (x)\n    at :1:2", "unknown"],
  ])("with %s", (_, stack, place) => {
    expect(placeIn(stack)).toBe(place);
  });

  test("is that of the caller, without the given function", () => {
    const outer = (): SourceLocation => inner();
    const inner = (): SourceLocation => new SourceLocation(outer);
    const limit = Error.stackTraceLimit;
    const place = String(outer());
    expect(place).toMatch(/^packages\/ashlar\/src\/support\/platform\/source-location\.test\.ts:\d+$/);
    expect(Error.stackTraceLimit).toBe(limit);
  });
});

describe("in a separate application, run directly by Node", () => {
  let root = "";
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "ashlar-routes-"));
    const index = JSON.stringify(join(import.meta.dirname, "../../routing/index.ts"));
    mkdirSync(join(root, "routes"));
    writeFileSync(
      join(root, "routes/web.ts"),
      `import { Route } from ${index};

interface Unused { readonly types: "are stripped"; }

export const ROUTES = [
  Route.get("/a", () => "a" as string),
  Route.group({ prefix: "/g" }, [
    Route.get("/b/@id:itn", () => "b"),
  ]),
  Route
    .get("/a", () => "again")
    .name("again"),
];
`,
    );
    writeFileSync(
      join(root, "app.ts"),
      `import { Router } from ${index};
import { ROUTES } from "./routes/web.ts";
try {
  new Router([{ entries: ROUTES, stack: "web", prefix: "", respondsWithJson: false, file: "routes/web.ts" }]);
} catch (error) {
  console.log((error as Error).message);
}
`,
    );
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const run = (...args: string[]) =>
    execFileSync(process.execPath, [...args, join(root, "app.ts")], { cwd: root, encoding: "utf8" });
  const message = [
    "There are 2 problems in the routes:",
    '  routes/web.ts:8  GET /g/b/@id:itn: unknown compiler "itn". Did you mean "int"?',
    "  routes/web.ts:11  GET /a: is never reached; /a at routes/web.ts:6 matches all of its paths.",
    "",
  ].join("\n");

  test("problems name the file and the line, relative to the root", () => {
    expect(run()).toBe(message);
  });

  test("problems name them even if code generation from strings is forbidden", () => {
    expect(run("--disallow-code-generation-from-strings")).toBe(message);
  });
});
