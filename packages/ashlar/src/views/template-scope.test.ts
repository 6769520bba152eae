import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Views } from "./index.ts";

let directory: string;
let views: Views;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "scope-"));
});

afterAll(() => {
  rmSync(directory, { recursive: true });
});

beforeEach(() => {
  views = new Views({ directory, cache: false });
});

/** Renders a template with this text. */
function render(text: string, data: object = {}): Promise<string> {
  writeFileSync(join(directory, "page.edge"), text);
  return views.render("page", data);
}

/** Names of globals that other runtimes and browsers have, in addition to those of this process. */
const FOREIGN = ["name", "status", "closed", "Deno", "Bun", "window", "self", "location", "alert", "length", "event"];

/** Every name that could be a global and can be written in a template. */
const GLOBALS = [
  ...new Set([...Object.getOwnPropertyNames(globalThis), ...FOREIGN, "require", "module", "eval"]),
].filter((name) => /^[\w$]+$/.test(name) && !["undefined", "NaN", "Infinity"].includes(name));

/** The parts of JavaScript that a template may use. */
const LANGUAGE = [
  ...["Array", "BigInt", "Boolean", "Date", "Intl", "JSON", "Map", "Math", "Number", "Object", "Promise", "RegExp"],
  ...["Set", "String", "URL", "URLSearchParams", "decodeURI", "decodeURIComponent", "encodeURI"],
  ...["encodeURIComponent", "isFinite", "isNaN", "parseFloat", "parseInt"],
];

describe("S154 a template sees its data, its own variables and registered values, and nothing else of the process", () => {
  test("data with the name of any global is printed, whether or not the process has that global", async () => {
    const data = Object.fromEntries(GLOBALS.map((name) => [name, `data:${name}`]));
    const printed = await render(GLOBALS.map((name) => `{{ ${name} }}`).join("\n"), data);
    expect(printed.split("\n")).toEqual(GLOBALS.map((name) => `data:${name}`));
  });

  test("a global that appears later, such as Deno's name, changes nothing", async () => {
    Object.defineProperty(globalThis, "name", { value: "of the process", configurable: true });
    try {
      expect(await render("{{ name }} {{ typeof name }}", { name: "email" })).toBe("email string");
      expect(await render("{{ typeof name }}")).toBe("undefined");
    } finally {
      Reflect.deleteProperty(globalThis, "name");
    }
  });

  test("without data, only parts of the language are known", async () => {
    const printed = await render(GLOBALS.map((name) => `${name}:{{ typeof ${name} }}`).join("\n"));
    const known = printed.split("\n").filter((line) => !line.endsWith(":undefined"));
    expect(known.map((line) => line.split(":")[0]).sort()).toEqual([...LANGUAGE].sort());
  });

  test.each([
    ["{{ Object.keys(order).join() }}", "a,b"],
    ["{{ Math.max(1, 2) + parseInt('3', 10) }}", "5"],
    ["{{ new Date(0).getTime() }} {{ new Map([[1, 2]]).get(1) }}", "0 2"],
    ["{{ JSON.stringify([undefined, NaN, Infinity]) }}", "[null,null,null]"],
    ["{{ list.map((x) => String(x) + suffix).join() }}", "1!,2!"],
    ["{{ pairs.map((pair, index, all, extra = offset) => pair.length + extra).join() }}", "13"],
    ["{{ list.map((x) => { return x * factor }).join() }}", "10,20"],
    ["{{ pairs.map(([a, , b]) => a + b).join() }}", "4"],
    ["{{ pairs.map(([first, ...rest]) => rest.length + first).join() }}", "3"],
    ["{{ [order].map(({ a, b: { c = 7 } }) => a + c).join() }}", "8"],
    ["{{ ({ suffix, [suffix]: 2, ...order })[suffix] }}", "2"],
    ["{{ order?.missing?.deep ?? suffix }}", "!"],
    [["{{{ `", "{suffix}", "{list.length}` }}}"].join("$"), "!2"],
    ["@let(total = list.length * factor)\n{{ total }}", "20"],
    ["@each((x, key) in list)\n{{ key }}{{ x }}{{ suffix }}\n@end", "01!\n12!"],
    ["@if(factor > 1)\nmany\n@elseif(factor)\none\n@end", "many"],
    ["@assign(order.a = 5)\n{{ order.a }}", "5"],
    ["{{ await Promise.all([1, 2]).then((all) => all.length) }}", "2"],
  ])("%j is %j", async (text, expected) => {
    const data = { list: [1, 2], pairs: [[1, 2, 3]], suffix: "!", factor: 10, offset: 10, order: { a: 1, b: {} } };
    expect((await render(text, data)).trim()).toBe(expected);
  });

  test("data and shared values take precedence over the language", async () => {
    views.share("Math", "shared");
    expect(await render("{{ Date }} {{ Math }}", { Date: "2026-11-28" })).toBe("2026-11-28 shared");
  });

  test("names that the engine uses internally are available to the data", async () => {
    const data = { state: "open", template: "letter", out: "no", error: "none", line: 3, params: "p", context: "c" };
    const names = Object.keys(data);
    expect(await render(names.map((name) => `{{ ${name} }}`).join(" "), data)).toBe(Object.values(data).join(" "));
    writeFileSync(join(directory, "part.edge"), "{{ state }}{{ template }}");
    expect(await render("@include('part')", data)).toBe("openletter");
    expect(await render("{{ state[key] }}", { key: "other", other: 1 })).toBe("1");
  });

  test.each([
    ["@let(state = 1)", 1],
    ["\n@let({ a, template } = order)", 2],
    ["\n\n@each(state in states)\n{{ state }}\n@end", 3],
    ["@each((x, $out) in states)\n{{ x }}\n@end", 1],
    ["{{ states.map((state) => state + suffix) }}", 1],
    ["{{ states.map(({ a: template }) => template) }}", 1],
    ["{{ states.map((...Object) => 1) }}", 1],
    ["@component('components/box')\n@slot('main', state)\n{{ state }}\n@end\n@end", 1],
  ])("a variable that would replace one of the engine's own is refused, with its location: %j", async (text, line) => {
    const error = await render(text, { states: [] }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: "E_VIEW",
      message: expect.stringMatching(new RegExp(`page\\.edge:${line}: .*can't be the name of a variable`)),
    });
  });

  const FUNCTIONS =
    "A template may contain arrow functions with one expression, but no statements. Write others as helpers";
  const TAG = "{{ String.raw`" + "x` }}";

  test("text that is not an expression is refused with its location, too", async () => {
    const error = await render("\n{{ new.target }}").catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "E_VIEW", message: expect.stringContaining("page.edge:2: ") });
  });

  test.each([
    ["{{ this.process }}", `"this" can't be used in a template. Use it in a helper`],
    ["{{ [1].map(() => this) }}", `"this" can't be used in a template. Use it in a helper`],
    ["{{ function leak() { return process } }}", FUNCTIONS],
    ["{{ [1].map(function (x) { return x }) }}", FUNCTIONS],
    ["{{ [1].map((x) => { const y = x; return y }) }}", FUNCTIONS],
    ["{{ [1].map((x) => { if (x) return 1 }) }}", FUNCTIONS],
    ["{{ [{ run() { return 1 } }].length }}", FUNCTIONS],
    ["{{ import('node:fs') }}", "import() can't be used in a template. Use it in a helper"],
    ["{{ (function () { return this })() }}", FUNCTIONS],
    ["{{ class A {} }}", "A class can't be used in a template. Use it in a helper"],
    ["{{ [class {}].length }}", "A class can't be used in a template. Use it in a helper"],
    [TAG, "A tag before a template literal can't be used in a template. Use it in a helper"],
    ["@eval(this.x = 1)", `"this" can't be used in a template. Use it in a helper`],
  ])("%j is refused with its location, as its author wrote it, and is never printed", async (text, said) => {
    const error = await render(`\n${text}`).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: "E_VIEW",
      message: expect.stringContaining(`page.edge:2: ${said}: views.share(name, helper).`),
    });
  });
});

test("components of two engines are found in their own folders", async () => {
  const [first, second] = [mkdtempSync(join(tmpdir(), "first-")), mkdtempSync(join(tmpdir(), "second-"))];
  try {
    for (const [folder, tag] of [
      [first, "one"],
      [second, "two"],
    ] as const) {
      mkdirSync(join(folder, "components"));
      writeFileSync(join(folder, "components", `${tag}.edge`), tag);
      writeFileSync(join(folder, "page.edge"), `@!${tag}()`);
    }
    const [one, two] = [first, second].map((folder) => new Views({ directory: folder, cache: false }));
    expect([await one!.render("page"), await two!.render("page"), await one!.render("page")]).toEqual([
      "one",
      "two",
      "one",
    ]);
  } finally {
    for (const folder of [first, second]) rmSync(folder, { recursive: true });
  }
});
