import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { generatedApplication, serve } from "../support/generated-application.ts";
import { type Page, PageVisitor } from "../support/page-visitor.ts";

const STUBS = join(import.meta.dirname, "../../stubs");
const GUESTS = ["/", "/login", "/register", "/change_password", "/password_reset?token=x", "/email/verify/notice"];
const USERS = [
  "/",
  "/home",
  "/email/verify/notice",
  "/logins",
  "/confirm_password",
  "/account/password",
  "/account/email",
];

async function visitor(): Promise<PageVisitor> {
  const root = await generatedApplication();
  await ashlar(root, "migrate");
  const { url } = await serve(root);
  return new PageVisitor(url);
}

/** The opening tags of an element, each with its attributes by name. */
function tags(html: string, name: string): Record<string, string>[] {
  return [...html.matchAll(new RegExp(`<${name}\\b([^>]*)>`, "g"))].map(([, text = ""]) =>
    Object.fromEntries([...text.matchAll(/([\w-]+)(?:="([^"]*)")?/g)].map(([, key = "", value = ""]) => [key, value])),
  );
}

function checkPage({ path, status, headers, html }: Page): void {
  const visible = tags(html, "input").filter(({ type, hidden }) => type !== "hidden" && hidden === undefined);
  const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
  // An invalid reset link is gone.
  expect(status, path).toBe(path.startsWith("/password_reset") ? 410 : 200);
  expect(html, path).toMatch(/^<!doctype html>\n<html lang="en" dir="ltr">/);
  expect(html, path).toMatch(/<title>[^<]+ · Shop<\/title>/);
  expect(html.match(/<h1>/g), path).toHaveLength(1);
  expect(html.match(/<main /g), path).toHaveLength(1);
  expect(html, path).toContain('<a class="skip" href="#content">');
  expect(new Set(ids).size, path).toBe(ids.length);
  for (const input of visible) {
    expect(html, path).toContain(`<label for="${input.id}">`);
    for (const id of (input["aria-describedby"] ?? "").split(" ").filter(Boolean)) expect(ids, path).toContain(id);
    if (input.type !== "checkbox") expect(input.autocomplete, `${path} ${input.name}`).not.toBe("");
  }
  // Nothing inline, nothing from other sites: the policy would block it.
  expect(html, path).not.toMatch(/<script|<style|\sstyle=|\son\w+=|(?:src|href|action)="(?:https?:)?\/\//i);
  expect(headers.get("content-security-policy"), path).toBe(
    "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'",
  );
  expect(headers.get("cross-origin-opener-policy"), path).toBe("same-origin-allow-popups");
  expect(headers.get("cross-origin-resource-policy"), path).toBe("same-origin");
  expect(headers.get("permissions-policy"), path).toMatch(/(?:^|, )camera=\(\)/);
  expect(headers.get("x-content-type-options"), path).toBe("nosniff");
  for (const [, form = ""] of html.matchAll(/<form method="post"([\s\S]*?)<\/form>/g)) {
    expect(form, path).toContain('name="__token"');
  }
}

describe("the pages", () => {
  test("S49 are complete, labeled and without inline scripts or styles, for guests and for users", async () => {
    const somebody = await visitor();
    for (const path of GUESTS) {
      const page = await somebody.open(path);
      expect(page.path).toBe(path);
      checkPage(page);
    }
    await somebody.register();
    for (const path of USERS) {
      const page = await somebody.open(path);
      expect(page.path).toBe(path);
      checkPage(page);
    }
  });

  test("S41 show user input as text", async () => {
    const page = await (await (await visitor()).register()).open("/home");
    expect(page.html).toContain("<h1>Hello, Ada &lt;b&gt;</h1>");
    expect(page.html).not.toContain("<b>");
  });

  test("show a problem at the top and at its field, and keep the input, except for passwords", async () => {
    const somebody = await visitor();
    const form = await somebody.open("/register");
    const page = await somebody.press(form, "Register", {
      ...{ Name: "Ada", "Email address": "ada@example.com" },
      ...{ Password: "secret words", "Confirm password": "others" },
    });
    checkPage(page);
    expect(page.path).toBe("/register");
    expect(page.html).toContain("<title>Problem: Register · Shop</title>");
    expect(page.html).toContain('<a href="#password_confirmation">The passwords do not match.</a>');
    const inputs = Object.fromEntries(tags(page.html, "input").map((input) => [input.name, input]));
    expect(inputs.email).toMatchObject({ value: "ada@example.com", autocomplete: "username" });
    expect(inputs.password).not.toHaveProperty("value");
    expect(inputs.password_confirmation).toMatchObject({
      "aria-invalid": "true",
      "aria-describedby": "password_confirmation-error",
      autocomplete: "new-password",
    });
    expect(page.html).not.toContain("secret words");
    expect((await somebody.open("/register")).html).not.toContain("Problem");
  });

  test("tell password managers which field is the username, the current password and the new one", async () => {
    const somebody = await (await visitor()).register();
    const { html } = await somebody.open("/account/password");
    const autocompletes = tags(html, "input").flatMap(({ name, autocomplete }) =>
      autocomplete === undefined ? [] : [[name, autocomplete]],
    );
    expect(autocompletes).toEqual([
      [undefined, "username"],
      ["current_password", "current-password"],
      ["password", "new-password"],
      ["password_confirmation", "new-password"],
    ]);
  });

  test("GET /logout explains why it does not log the user out", async () => {
    const somebody = await (await visitor()).register();
    const page = await somebody.open("/logout");
    expect(page.status).toBe(405);
    expect(page.headers.get("allow")).toBe("POST");
    expect(page.html).toContain("Go back and use the button");
    expect((await somebody.open("/home")).path).toBe("/home");
  });
});

describe("the stylesheet", () => {
  const luminance = (colour: string): number => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one: string, other: string): number => {
    const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };

  test.for([
    ["ink", "paper", 4.5],
    ["ink", "card", 4.5],
    ["soft", "paper", 4.5],
    ["soft", "card", 4.5],
    ["mark", "paper", 4.5],
    ["mark", "card", 4.5],
    ["good", "good-ground", 4.5],
    ["bad", "bad-ground", 4.5],
    ["bad", "card", 4.5],
    ["edge", "card", 3],
    ["edge", "paper", 3],
  ] as const)("has WCAG AA contrast, in light and in dark mode: %s on %s", async ([front, back, least]) => {
    const css = await readFile(join(STUBS, "application/public/style.css.stub"), "utf8");
    const colours = (name: string) => new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(css)!.slice(1);
    const [fronts, backs] = [colours(front), colours(back)];
    expect(contrast(fronts[0]!, backs[0]!)).toBeGreaterThanOrEqual(least);
    expect(contrast(fronts[1]!, backs[1]!)).toBeGreaterThanOrEqual(least);
  });

  test("loads nothing from other sites", async () => {
    expect(await readFile(join(STUBS, "application/public/style.css.stub"), "utf8")).not.toMatch(/@import|url\(|http/);
  });
});

test("no generated page file is longer than a hundred lines, except for tests", async () => {
  const paths = (await readdir(join(STUBS, "pages"), { recursive: true })).filter((path) => path.endsWith(".stub"));
  expect(paths.length).toBeGreaterThan(40);
  for (const path of paths) {
    const lines = (await readFile(join(STUBS, "pages", path), "utf8")).split("\n").length;
    expect(lines, path).toBeLessThanOrEqual(path.startsWith("tests") ? 140 : 100);
  }
});
