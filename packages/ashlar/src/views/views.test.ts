import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { HttpContext } from "../http/index.ts";
import { AshlarError } from "../support/index.ts";
import { View, Views } from "./index.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "views-"));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

function write(name: string, text: string, under = directory): string {
  const file = join(under, `${name}.edge`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

function create(cache = false): Views {
  return new Views({ directory, cache });
}

/** Returns the error that rendering fails with. */
async function failure(rendering: Promise<string>): Promise<AshlarError> {
  const outcome = await rendering.catch((error: unknown) => error);
  if (outcome instanceof AshlarError) return outcome;
  throw new Error(`Expected a failure, got ${String(outcome)}`);
}

describe("rendering", () => {
  test("a template is identified by its path, without extension, and gets values by name", async () => {
    write("users/show", "<h1>{{ user.name }}</h1>\n@each(role in user.roles)\n<i>{{ role }}</i>\n@end\n");
    const html = await create().render("users/show", { user: { name: "Jane", roles: ["admin", "owner"] } });
    expect(html).toBe("<h1>Jane</h1>\n<i>admin</i>\n<i>owner</i>");
  });

  test("the extension may be included", async () => {
    write("welcome", "hello");
    expect(await create().render("welcome.edge")).toBe("hello");
  });

  test("a name may contain dots: the extension comes after them", async () => {
    write("mail/welcome.text", "hello");
    expect(await create().render("mail/welcome.text")).toBe("hello");
  });

  test("a model with accessors, a list and a date reach the template unchanged", async () => {
    class User {
      readonly #name = "Jane";
      get name(): string {
        return this.#name;
      }
    }
    write("show", "{{ user.name }} {{ list.length }} {{ date.getUTCFullYear() }} {{ user === same }}");
    const user = new User();
    const data = { user, same: user, list: [1, 2], date: new Date(0) };
    expect(await create().render("show", data)).toBe("Jane 2 1970 true");
  });

  test("a template can await", async () => {
    write("wait", "{{ await load() }}");
    expect(await create().render("wait", { load: async () => "loaded" })).toBe("loaded");
  });

  test("partials see the template's values; components see their own and the shared ones", async () => {
    write("page", "@include('partials/name')\n@!component('components/box', { title: 'T' })\n");
    write("partials/name", "[{{ name }}]");
    write("components/box", "({{ title }} {{ typeof name }} {{ app }} {{ once }})");
    const views = create();
    views.share("app", "Shop");
    expect(await views.render("page", { name: "Jane" }, { once: "now" })).toBe("[Jane]\n(T undefined Shop now)");
  });

  test.each([true, false])("components in components/ can be used as tags, with cache: %s", async (cache) => {
    write("page", "@box({ title: 'T' })\ninside\n@end\n");
    write("components/box", "<b>{{ title }}</b>{{{ await $slots.main() }}}");
    const views = create(cache);
    expect([await views.render("page"), await views.render("page")]).toEqual(["<b>T</b>inside", "<b>T</b>inside"]);
  });

  test("without a cache, a component can be used as a tag as soon as its file exists", async () => {
    const views = create();
    write("page", "none");
    expect(await views.render("page")).toBe("none");
    write("page", "@!box()");
    write("components/box", "<b></b>");
    expect(await views.render("page")).toBe("<b></b>");
  });

  test("a hundred concurrent renderings do not mix", async () => {
    write("wait", "{{ name }}{{ await pause() }}{{ name }}");
    const views = create(true);
    const pause = () => new Promise<string>((resolve) => setTimeout(() => resolve(" "), Math.random() * 5));
    const pages = await Promise.all(Array.from({ length: 100 }, (_, name) => views.render("wait", { name, pause })));
    expect(pages).toEqual(Array.from({ length: 100 }, (_, name) => `${name} ${name}`));
  });
});

describe("escaping", () => {
  test("S41 printed values are escaped, in text and in attributes", async () => {
    write("show", `<p title="{{ text }}" data-x='{{ text }}'>{{ text }}</p>`);
    const escaped = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#x27;&#x60;";
    expect(await create().render("show", { text: `<script>alert("1")</script> & '\`` })).toBe(
      `<p title="${escaped}" data-x='${escaped}'>${escaped}</p>`,
    );
  });

  test("S41 no printed text can become markup", async () => {
    write("show", "{{ text }}");
    const views = create(true);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: fc.constantFrom(..."<>\"'`&;x/= ") }), async (text) => {
        const html = await views.render("show", { text: `x${text}x` });
        expect(html).not.toMatch(/[<>"'`]/);
        expect(html.replace(/&(?:lt|gt|quot|amp|#x27|#x60);/g, "")).not.toContain("&");
      }),
    );
  });

  test("S41 an object's text is escaped too", async () => {
    write("show", "{{ value }} {{ list }}");
    const value = { value: "<b>", toString: () => "<i>" };
    expect(await create().render("show", { value, list: ["<u>"] })).toBe("&lt;i&gt; &lt;u&gt;");
  });

  test("S41 a template expression inside a value is text", async () => {
    write("show", "{{ text }}");
    expect(await create().render("show", { text: "{{ 1 + 1 }} @if(true) {{{ 2 }}}" })).toBe(
      "{{ 1 + 1 }} @if(true) {{{ 2 }}}",
    );
  });

  test("three braces print markup unescaped", async () => {
    write("show", "{{{ html }}}");
    expect(await create().render("show", { html: "<b>bold</b>" })).toBe("<b>bold</b>");
  });

  test("instances of a registered class are not escaped, whether it was registered before the first rendering or after", async () => {
    class Before {
      readonly value = "<b>";
    }
    class After {
      readonly value = "<i>";
    }
    write("show", "{{ html }}");
    const views = create();
    views.printUnescaped(Before);
    expect(await views.render("show", { html: new Before() })).toBe("<b>");
    views.printUnescaped(After);
    expect(await views.render("show", { html: new After() })).toBe("<i>");
  });
});

describe("sharing", () => {
  test("a shared value is available to every template; data takes precedence over local values, and those over shared ones", async () => {
    write("show", "{{ value }}");
    const views = create(true);
    views.share("value", "shared");
    expect(await views.render("show")).toBe("shared");
    expect(await views.render("show", {}, { value: "local" })).toBe("local");
    expect(await views.render("show", { value: "data" }, { value: "local" })).toBe("data");
    expect(await views.render("show")).toBe("shared");
  });

  test("a value can be shared after the first template was rendered, and replaced", async () => {
    write("show", "{{ typeof later === 'undefined' ? 'none' : later }}");
    const views = create(true);
    expect(await views.render("show")).toBe("none");
    views.share("later", 1);
    expect(await views.render("show")).toBe("1");
    views.share("later", 2);
    expect(await views.render("show")).toBe("2");
  });

  test("a template that looks up a value by name only finds values that it was given", async () => {
    write("show", "@each(name in names)\n{{ state[name] ?? 'none' }}\n@end");
    const views = create(true);
    views.share("known", "shared");
    const data = { names: ["known", "constructor", "toString", "__proto__"] };
    const view = new View(views, { currentUser: null } as unknown as HttpContext);
    for (const html of [await views.render("show", data), await view.render("show", data)]) {
      expect(html.trim().split(/\s+/)).toEqual(["shared", "none", "none", "none"]);
    }
  });

  test("two applications share nothing", async () => {
    write("show", "{{ typeof name === 'undefined' ? 'none' : name }}");
    const [first, second] = [create(true), create(true)];
    first.share("name", "first");
    expect(await first.render("show")).toBe("first");
    expect(await second.render("show")).toBe("none");
  });
});

test("the next minor garbage collection frees the contexts of rendered pages", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: { readonly type: "minor" | "major" }) => void;
  write("components/name", "{{ user.name }}");
  write("page", "@include('partial')");
  write("partial", "{{ count }}\n@!component('components/name')");
  const views = create(true);
  const megabytesKept = async (pages: number): Promise<number> => {
    collect({ type: "major" });
    const before = process.memoryUsage().heapUsed;
    for (let count = 0; count < pages; count++) {
      // The thousand numbers stand for a request's data.
      const context = { currentUser: { name: "Jane", held: Array.from({ length: 1000 }, Math.random) } };
      const view = new View(views, context as unknown as HttpContext);
      expect(await view.render("page", { count })).toBe(`${count}Jane`);
    }
    for (let time = 0; time < 3; time++) collect({ type: "minor" });
    return (process.memoryUsage().heapUsed - before) / 2 ** 20;
  };
  await megabytesKept(10);
  expect(await megabytesKept(2000)).toBeLessThan(4);
});

describe("mounts", () => {
  test("a directory's templates are available under its name, before and after the first rendering", async () => {
    write("welcome", "own");
    write("welcome", "mounted", join(directory, "a"));
    write("welcome", "mounted later", join(directory, "b"));
    const views = create(true);
    views.mount("mail", join(directory, "a"));
    expect(await views.render("welcome")).toBe("own");
    expect(await views.render("mail::welcome")).toBe("mounted");
    views.mount("later", join(directory, "b"));
    expect(await views.render("later::welcome")).toBe("mounted later");
  });

  test.each(["default", "", "a b", "a/b", "a::b", "../x"])("nothing can be mounted as %j", (name) => {
    expect(() => create().mount(name, directory)).toThrow(expect.objectContaining({ code: "E_INVALID_CONFIGURATION" }));
  });
});

describe("caching", () => {
  test.each([
    ["with a cache, a template is read once", true, "firstp1\nc1"],
    ["without, it is read each time it is rendered", false, "secondp2\nc2"],
  ])("%s, and its partials and components too", async (_, cache, expected) => {
    write("welcome", "first\n@include('part')\n@!component('components/box')");
    write("part", "p1");
    write("components/box", "c1");
    const views = create(cache);
    expect(await views.render("welcome")).toBe("firstp1\nc1");
    write("welcome", "second\n@include('part')\n@!component('components/box')");
    write("part", "p2");
    write("components/box", "c2");
    expect(await views.render("welcome")).toBe(expected);
  });

  test("with a cache, a partial sees the variables of the template that includes it, each time", async () => {
    write("part", "[{{ typeof item === 'undefined' ? 'none' : item }}]");
    write("list", "@each(item in items)\n@include('part')\n@end\n");
    write("other", "@each(one in items)\n@include('part')\n@end\n");
    const views = create(true);
    for (let time = 0; time < 2; time++) {
      expect(await views.render("list", { items: ["a", "b"] })).toBe("[a]\n[b]");
      expect(await views.render("other", { items: ["a", "b"] })).toBe("[none]\n[none]");
      expect(await views.render("part")).toBe("[none]");
    }
  });

  test("with a cache, a mount that replaces another is used", async () => {
    write("welcome", "one", join(directory, "a"));
    write("welcome", "two", join(directory, "b"));
    const views = create(true);
    views.mount("mail", join(directory, "a"));
    expect(await views.render("mail::welcome")).toBe("one");
    views.mount("mail", join(directory, "b"));
    expect(await views.render("mail::welcome")).toBe("two");
  });
});

describe("failures", () => {
  test("a missing template is an error with its file and suggestions", async () => {
    write("users/show", "");
    write("users/index", "");
    const error = await failure(create().render("users/shwo"));
    expect(error).toMatchObject({
      code: "E_VIEW",
      status: 500,
      message: `There is no view "users/shwo": ${join(directory, "users/shwo.edge")} does not exist. Did you mean "users/show"?`,
    });
  });

  test("an unknown mount is an error with suggestions", async () => {
    const views = create();
    views.mount("mail", directory);
    expect(await failure(views.render("mial::welcome"))).toMatchObject({
      code: "E_VIEW",
      message: 'No views are mounted as "mial". Did you mean "mail"?',
    });
  });

  test("a missing template is an error without suggestions if there are no templates", async () => {
    const views = new Views({ directory: join(directory, "none"), cache: true });
    expect(await failure(views.render("welcome"))).toMatchObject({
      code: "E_VIEW",
      message: `There is no view "welcome": ${join(directory, "none/welcome.edge")} does not exist.`,
    });
  });

  test.each([
    ["an absolute path", "/etc/passwd"],
    ["a path upward", "../secrets"],
    ["a path upward in the middle", "users/../../secrets"],
    ["a path upward under a mount", "mail::../secrets"],
    ["another separator", "..\\secrets"],
    ["a NUL", "welcome\0"],
    ["a line feed", "welcome\n"],
    ["a hidden file", ".env"],
    ["a hidden directory", ".git/config"],
    ["an empty segment", "users//show"],
    ["an empty name", ""],
    ["a URL", "file:///etc/passwd"],
  ])("%s is not a template's name", async (_, name) => {
    write("secrets", "secret", dirname(directory));
    const views = create();
    views.mount("mail", directory);
    expect(await failure(views.render(name))).toMatchObject({
      code: "E_VIEW",
      message: `"${name}" cannot be the name of a view. One looks like "users/show".`,
    });
    rmSync(join(dirname(directory), "secrets.edge"));
  });

  test("a missing value is reported with the template's file and line, and the cause", async () => {
    const file = write("show", "<p>\n\n{{ user.name }}\n</p>");
    const error = await failure(create().render("show"));
    expect(error).toMatchObject({
      code: "E_VIEW",
      message: `The view "show" failed at ${file}:3: Cannot read properties of undefined (reading 'name')`,
    });
    expect(error.cause).toBeInstanceOf(TypeError);
  });

  test("a failure in a partial or a component is reported with its own file and line", async () => {
    write("page", "@include('part')");
    const part = write("part", "\n@!component('components/box')");
    const box = write("components/box", "\n\n\n{{ fail() }}");
    const views = create(true);
    const fail = () => {
      throw new AshlarError("E_UNKNOWN_ROUTE", "No route has this name.");
    };
    views.share("fail", fail);
    const error = await failure(views.render("page"));
    expect(error.message).toBe(`The view "page" failed at ${box}:4: No route has this name.`);
    expect(error.cause).toMatchObject({ code: "E_UNKNOWN_ROUTE" });
    write("components/box", "");
    rmSync(box);
    expect((await failure(create().render("page"))).message).toMatch(`The view "page" failed at ${part}:2: `);
  });

  test("a missing partial is reported with the line that includes it", async () => {
    const file = write("page", "<p>\n@include('nope')\n</p>");
    const error = await failure(create().render("page"));
    expect(error.message).toBe(
      `The view "page" failed at ${file}:2: Cannot resolve "${join(directory, "nope.edge")}". Make sure the file exists`,
    );
  });

  test.each([
    ["an invalid expression", "\n{{ user. }}", 2],
    ["an unclosed tag", "<p>\n@if(true)\n</p>", 2],
    ["unclosed braces", "\n\n{{ user", 3],
    ["an invalid tag argument", "\n@each(x of)\n@end", 2],
  ])("%s is reported with file and line", async (_, text, line) => {
    const file = write("broken", text);
    const error = await failure(create().render("broken"));
    expect(error.code).toBe("E_VIEW");
    expect(error.message).toMatch(`The view "broken" failed at ${file}:${line}: `);
  });

  test("a thrown value that is not an error is reported too", async () => {
    const file = write("show", "\n{{ fail() }}");
    const fail = () => {
      throw "no paper";
    };
    expect((await failure(create().render("show", { fail }))).message).toBe(
      `The view "show" failed at ${file}:2: no paper`,
    );
  });

  test("a template that failed renders again once it is fixed", async () => {
    write("show", "{{ user.name }}");
    const views = create(true);
    await failure(views.render("show"));
    expect(await views.render("show", { user: { name: "Jane" } })).toBe("Jane");
  });
});
